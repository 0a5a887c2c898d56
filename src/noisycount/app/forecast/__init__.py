"""A table before there is one: how far off its counts would be, from their number alone."""
