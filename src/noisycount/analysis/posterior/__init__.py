"""Posterior distribution of a count, given its noisy answer."""
