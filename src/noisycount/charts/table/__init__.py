"""The chart of a table of published counts."""
