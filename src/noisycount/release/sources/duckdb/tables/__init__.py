"""Tables counted by DuckDB: what a group is in SQL, and the queries that count groups."""
