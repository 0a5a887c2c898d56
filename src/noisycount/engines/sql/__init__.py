"""Tables of SQL servers: connections, dialects, views that are safe to count, and the counted table (`source`)."""
