"""Catalog of data sets: the stored description of each data set, and its records opened under that description.

Begin with `catalog` (descriptions), then read `sources` (opening and counting).
"""
