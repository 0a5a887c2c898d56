"""Privacy curves: what is shown of them, and their chart."""
