"""Names and texts as DuckDB reads them."""

__all__ = ["quoted_name", "quoted_text"]


def quoted_name(name: str) -> str:
    """A name between double quotes."""
    escaped = name.replace('"', '""')
    return f'"{escaped}"'


def quoted_text(text: str) -> str:
    """A text between single quotes."""
    escaped = text.replace("'", "''")
    return f"'{escaped}'"
