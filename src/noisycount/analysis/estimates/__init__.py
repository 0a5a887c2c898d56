"""How good estimates of the count are on average, by exact sums over counts and answers."""
