"""Many counts in one question: its parts and keys, its price, and what is published."""
