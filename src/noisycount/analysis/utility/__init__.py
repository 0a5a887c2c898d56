"""What the noise costs whoever uses the answer."""
