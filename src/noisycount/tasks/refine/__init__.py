"""Refine."""
