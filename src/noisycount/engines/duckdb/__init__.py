"""Duckdb."""
