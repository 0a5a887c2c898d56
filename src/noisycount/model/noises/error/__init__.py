"""The law of a noise at many errors, what follows for a count, and the complement of a chance."""
