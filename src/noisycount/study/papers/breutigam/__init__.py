"""Breutigam and Reischuk: statistical privacy."""
