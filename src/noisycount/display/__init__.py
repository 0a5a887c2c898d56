"""How values show themselves: numbers in words, one line, a table, plain data."""
