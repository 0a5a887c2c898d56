"""Exact draws from integers alone."""
