"""A question as typed text, checked against the columns."""
