"""Answers to a list of questions about one database."""
