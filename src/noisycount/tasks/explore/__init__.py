"""Explore."""
