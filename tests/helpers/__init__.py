"""Helpers that several files of tests share, one module for each purpose."""
