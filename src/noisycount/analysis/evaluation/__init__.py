"""Average errors of the estimates of a count, and how often an estimate is closer to the count than the answer."""
