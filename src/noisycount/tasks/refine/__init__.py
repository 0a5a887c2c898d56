"""The true count from a noisy answer and a known rate."""
