"""The text of a question becomes a typed tree with one normal form."""
