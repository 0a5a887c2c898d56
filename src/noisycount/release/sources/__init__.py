"""Where records are counted: one interface, one file an engine."""
