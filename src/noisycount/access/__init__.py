"""Keys to a server: who holds which, and what they may ask."""
