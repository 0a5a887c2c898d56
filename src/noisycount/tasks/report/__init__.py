"""Reports for a privacy officer: every release with its noise, purpose and price.

`report` collects the contents, `words` formats them as text, and `forms` writes files.
"""
