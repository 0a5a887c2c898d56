"""The posterior mean: how far it is from the count, and how often nearer than the answer."""
