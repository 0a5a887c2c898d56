"""Refinement of noisy counts: better estimates from published answers and a prior.

The package reads one answer, a column of answers or a table, and returns posterior means, medians and intervals.
"""
