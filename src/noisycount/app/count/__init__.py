"""One private count from start to end."""
