"""What an officer for data protection is told of a ledger."""
