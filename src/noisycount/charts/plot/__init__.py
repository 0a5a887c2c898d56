"""A plot of lines: its values, and its chart."""
