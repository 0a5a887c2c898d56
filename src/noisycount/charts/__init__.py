"""Results as charts; nothing is computed here."""
