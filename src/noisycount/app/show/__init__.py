"""What may be asked of a data set, and what was."""
