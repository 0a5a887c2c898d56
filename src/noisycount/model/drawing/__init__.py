"""Exact draws of noise, from integers alone."""
