"""A release as those who install it meet it: `python -m tests.release_trial`."""
