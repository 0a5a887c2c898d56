"""Rows as tables of HTML."""

from collections.abc import Iterable, Sequence
from html import escape

__all__ = ["MOST_ROWS", "row_table"]

MOST_ROWS = 30
"""More rows than these are better told by their number."""


def row_table(
    caption: str,
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    notes: Iterable[str],
    left_out: int = 0,
) -> str:
    """A table of texts with notes below; every text is escaped.

    Args:
        caption: What stands above it.
        header: The names of the columns.
        rows: The texts of each row.
        notes: What stands below.
        left_out: How many rows there are more.

    Example:
        >>> row_table("Persons", ["town"], [["Bern"]], ["free"]).partition("<tbody>")[2]
        '<tr><td>Bern</td></tr></tbody></table><p>free</p>'
    """
    lines = (_line("td", row) for row in rows)
    more = f"<p>… {left_out:,} more rows</p>" if left_out else ""
    return (
        f"<table><caption>{escape(caption)}</caption><thead>{_line('th', header)}</thead>"
        f"<tbody>{''.join(lines)}</tbody></table>{more}"
        f"<p>{escape('; '.join(notes))}</p>"
    )


def _line(cell: str, texts: Sequence[str]) -> str:
    return f"<tr>{''.join(f'<{cell}>{escape(text)}</{cell}>' for text in texts)}</tr>"
