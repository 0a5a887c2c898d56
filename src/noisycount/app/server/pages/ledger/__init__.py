"""What was asked, by whom and for what, at what price, and what is left."""
