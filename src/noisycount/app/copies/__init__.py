"""Copies of texts that were read once."""
