"""Monte Carlo, to check what is exact."""
