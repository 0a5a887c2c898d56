"""What a ledger says."""
