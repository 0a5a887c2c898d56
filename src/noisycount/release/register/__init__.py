"""What is written down of data sets: whose records, of which kinds, with what content."""
