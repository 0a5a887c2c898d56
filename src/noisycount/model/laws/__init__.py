"""Distributions of a count, and the factors that are multiplied to make them.

Start with `factors` and `count_law`; `smooth_law` sums smooth products, and `gamma` keeps their logarithms precise.
"""
