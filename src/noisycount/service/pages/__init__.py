"""The pages for a browser."""
