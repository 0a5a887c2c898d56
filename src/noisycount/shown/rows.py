"""Rows as tables of HTML."""

from collections.abc import Iterable, Sequence
from html import escape

__all__ = ["MOST_ROWS", "row_table"]

MOST_ROWS = 30
"""More rows than these are told by their number."""


def row_table(
    caption: str, header: Sequence[str], rows: Iterable[Sequence[str]], notes: Iterable[str]
) -> str:
    """A table of texts, cut where it is long, with notes below; every text is escaped.

    Example:
        >>> row_table("Persons", ["town"], [["Bern"]], ["free"])[-57:]
        '<tbody><tr><td>Bern</td></tr></tbody></table><p>free</p>'
    """
    lines = [_line("td", row) for row in rows]
    left_out = len(lines) - MOST_ROWS
    more = f"<p>… {left_out:,} more rows</p>" if left_out > 0 else ""
    return (
        f"<table><caption>{escape(caption)}</caption><thead>{_line('th', header)}</thead>"
        f"<tbody>{''.join(lines[:MOST_ROWS])}</tbody></table>{more}"
        f"<p>{escape('; '.join(notes))}</p>"
    )


def _line(cell: str, texts: Sequence[str]) -> str:
    return f"<tr>{''.join(f'<{cell}>{escape(text)}</{cell}>' for text in texts)}</tr>"
