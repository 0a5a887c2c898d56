"""The appendix of a report: the counts of each table with their keys."""

from collections.abc import Iterator

from noisycount.app.refine.tables.stored.rows import StoredRows
from noisycount.app.report.released import Released
from noisycount.app.report.report import Report
from noisycount.model.tables.margins import OTHER
from noisycount.shown.numbers import plus_minus, signed

__all__ = ["appendix"]

Rows = list[tuple[str, ...]]

_MOST = 200  # rows of one table; JSON has all


def appendix(report: Report) -> Iterator[tuple[str, tuple[str, ...], Rows]]:
    """The title, the names of the columns and the rows of each table that was answered."""
    for dataset in report.datasets:
        for released in dataset.releases:
            found = released.rows
            if found is not None and found.rows:
                made = f"{released.entry.made:%Y-%m-%d %H:%M} UTC"
                title = f"{dataset.account.name}: {released.question}, {made}"
                header = ("counts by", *found.names, "answer")
                yield title, header, _rows(released, found)


def _rows(released: Released, found: StoredRows) -> Rows:
    """The first rows, each with the error of its level."""
    rows, other = found.rows, None if OTHER in found.names else OTHER
    names = list(dict.fromkeys(row.level for row in rows if row.level != other))
    errors = dict(zip(names, released.noises, strict=False))
    told = []
    for row in rows[:_MOST]:
        noise = errors.get(row.level, released.noises[0] if released.noises else None)
        error = "" if noise is None else f" {plus_minus(noise.error)}"
        told.append((row.level, *row.texts, f"{signed(row.answer)}{error}"))
    if len(rows) > _MOST:
        rest = f"{len(rows) - _MOST:,} more rows are in the JSON form"
        told.append(("…", *("" for _ in rows[0].texts), rest))
    return told
