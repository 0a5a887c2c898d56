"""What an answer reveals about one person."""
