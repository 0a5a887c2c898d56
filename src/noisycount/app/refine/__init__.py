"""What a noisy answer says about the count."""
