"""What is written down of a data set: whose rows, of which kinds, with what content."""
