"""Populations: an adversary's distribution of a count before any answer, one kind a file.

Start with `population`, which has the base classes and the neighbours; `binomial` has the most used populations.
"""
