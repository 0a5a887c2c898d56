"""The law of a sum of independent counts, and of a sum without each of them."""
