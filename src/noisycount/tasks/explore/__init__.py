"""What noise does to a count, for sliders: charts with their numbers."""
