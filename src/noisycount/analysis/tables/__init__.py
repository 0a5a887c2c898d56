"""Posterior distribution of the counts of a table, given noisy answers about its levels."""
