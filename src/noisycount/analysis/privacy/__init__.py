"""How much one record can move the answer."""
