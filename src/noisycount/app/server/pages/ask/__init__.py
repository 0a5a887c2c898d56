"""Asking from a browser: a question is built or typed, previewed, and paid for on purpose."""
