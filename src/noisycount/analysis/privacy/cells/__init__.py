"""How much the counts of disjoint cells tell about the cell of one record."""
