"""What the answers of a tree tell: its counts, sums of its cells, whole tables drawn from it."""
