"""What answers reveal about one person."""
