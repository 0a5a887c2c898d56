"""Probability models: populations, mechanisms and their noise, and exact sampling.

Start with `mechanism` and `populations.population`; `laws` has the distributions that both are combined into.
"""
