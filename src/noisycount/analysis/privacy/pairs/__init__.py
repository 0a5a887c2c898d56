"""The laws of a count given that one record is positive, and negative."""
