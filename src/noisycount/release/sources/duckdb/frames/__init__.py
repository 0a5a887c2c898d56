"""Tables in memory, counted by DuckDB where they are."""
