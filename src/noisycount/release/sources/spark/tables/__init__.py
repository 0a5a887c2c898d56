"""Tables by key on Spark."""
