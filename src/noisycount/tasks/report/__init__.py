"""Reports for a privacy officer: every release with its noise, purpose and price.

`report` collects the contents, `words` formats them as text, `forms` writes files, `registry` writes registry entries.
"""
