"""A refined table in words: rows above, and what is to be known of all of them below."""

from collections.abc import Iterator
from pathlib import Path

from noisycount.app.refine.tables.prior_words import prior_words, told_sensitivity
from noisycount.app.refine.tables.published import PublishedTable
from noisycount.app.refine.tables.refined import RefinedTable
from noisycount.app.refine.tables.shown import shown_rows, shown_spreads
from noisycount.app.terminal.printing import (
    Facts,
    console,
    file_facts,
    print_facts,
    print_table,
)
from noisycount.model.noises.additive import AdditiveNoise
from noisycount.shown.numbers import percent, signed

__all__ = ["print_refined"]

_ON_TERMINAL, _IN_FILE = 60, 1000  # rows that are shown at most
_LEVELS = 4  # more are told by their number


def print_refined(
    refined: RefinedTable, total: int | None, out: Path | None, plot: Path | None
) -> None:
    """A refined table on standard output.

    Args:
        refined: The table.
        total: The public number of records in all; None: not known.
        out: Where all rows were written; None: nowhere.
        plot: Where its picture was drawn; None: nowhere.
    """
    table = refined.published
    print_facts(
        [
            ("table", table.subject),
            ("noise", _noise(table)),
            *([("total", f"{signed(total)}, which is public")] if total is not None else []),
            *(("note", note) for note in table.notes),
        ]
    )
    places = _places(len(table.answers))
    _print_rows(*shown_rows(refined, places), len(table.answers))
    if refined.draws:  # below, as both have no room beside each other
        cells = table.cells.rows.tolist()
        told = [cells[place] for place in _places(len(cells))]
        _print_rows(*shown_spreads(refined, told), len(cells))
    print_facts([*_facts(refined, len(places), out), *file_facts(out, plot)])


def _noise(table: PublishedTable) -> str:
    """The noise of each level, or how many there are."""
    words: dict[str, list[str]] = {}
    for level in table.levels:
        words.setdefault(_noise_words(level.mechanism), []).append(level.name)
    if len(words) == 1:
        return next(iter(words))
    if len(words) > _LEVELS:
        return f"of {len(words)} scales; of cells {_noise_words(table.cells.mechanism)}"
    return "; ".join(f"{noise} for {', '.join(names)}" for noise, names in words.items())


def _noise_words(mechanism: object) -> str:
    """A noise by its name and its scale."""
    if isinstance(mechanism, AdditiveNoise):
        return f"{mechanism.name}, scale {float(mechanism.scale):,.4g}"
    return repr(mechanism)


def _print_rows(header: list[str], rows: list[list[str]], number: int) -> None:
    """So many rows, or those that are shown, with a mark in their middle for the others."""
    if len(rows) < number:
        rows.insert(len(rows) // 2, ["…"] * len(header))
    print_table(header, rows)


def _places(rows: int) -> list[int]:
    """Which rows are shown: all, or the first and the last where nobody reads them all."""
    most = _ON_TERMINAL if console().is_terminal else _IN_FILE
    if rows <= most:
        return list(range(rows))
    return [*range(most // 2), *range(rows - most // 2, rows)]


def _facts(refined: RefinedTable, shown: int, out: Path | None) -> Facts:
    """What is to be known of all rows."""
    moved = told_sensitivity(refined)
    return [
        (percent(refined.level), "the count lies in that interval with this probability"),
        *(("prior", words) for words in prior_words(refined)),
        *([("", moved.words)] if moved is not None else []),
        *_sums(refined),
        *_draws(refined),
        *_left_out(refined, shown, out),
        *_warning(refined),
    ]


def _sums(refined: RefinedTable) -> Iterator[tuple[str, str]]:
    """What levels were not used, and where sums of cells are told."""
    if refined.nested is None:
        return
    if refined.nested.left_out:
        names = ", ".join(refined.nested.left_out)
        yield "unused", f"{names}: a tree has no place for sums that cross the others"


def _draws(refined: RefinedTable) -> Iterator[tuple[str, str]]:
    """Where shares and ranks come from."""
    if refined.draws:
        yield "draws", f"shares and ranks are from {refined.draws:,} exact draws of the whole table"


def _warning(refined: RefinedTable) -> Iterator[tuple[str, str]]:
    """What is odd about the answers."""
    if refined.told is not None and (odd := refined.told.warning) is not None:
        yield "warning", odd


def _left_out(refined: RefinedTable, shown: int, out: Path | None) -> Iterator[tuple[str, str]]:
    """How to get the rows that are not shown."""
    rows = len(refined.published.answers)
    if rows > shown:
        more = "" if out is not None else ": --out FILE writes all"
        yield "rows", f"{rows:,}, of which {rows - shown:,} are not shown{more}"
