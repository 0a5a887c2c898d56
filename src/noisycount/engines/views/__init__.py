"""Proof, from the definition of a view, that each of its rows comes from the records of one unit."""
