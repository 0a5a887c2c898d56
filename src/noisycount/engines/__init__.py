"""Where records are counted: one interface, one folder an engine."""
