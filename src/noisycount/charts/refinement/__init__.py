"""A count before and after its noisy answer: what is shown of it, and its chart."""
