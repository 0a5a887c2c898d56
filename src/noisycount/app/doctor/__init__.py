"""Whether the engine of a data set can be trusted."""
