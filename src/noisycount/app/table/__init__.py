"""Many private counts in one question."""
