"""What the count is, given the answer."""
