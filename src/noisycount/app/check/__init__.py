"""What is in private records, for their owner."""
