"""What all answers of a ledger show together."""
