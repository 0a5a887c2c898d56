"""Tables of a cluster."""
