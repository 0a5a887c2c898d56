"""How values show themselves to people: on one line, as a table, as plain data."""
