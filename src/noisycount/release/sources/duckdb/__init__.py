"""Files that DuckDB reads."""
