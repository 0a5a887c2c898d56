"""Reproduction of the figures and numerical claims of papers, one module for each paper. Begin with `catalogue`."""
