"""A goal, and the noise that meets it."""
