"""What the noisy counts of a published table say together."""
