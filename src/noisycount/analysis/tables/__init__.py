"""What the counts of a table are, given the answers."""
