"""What questions are in the terms of an engine that takes expressions and not a text."""
