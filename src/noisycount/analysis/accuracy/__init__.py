"""How far the answer is from the count."""
