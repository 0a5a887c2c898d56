"""Queries: their texts, their typed trees with one normal form, their tables and keys, and public values of columns."""
