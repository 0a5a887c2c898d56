"""A table that a ledger keeps, read again: free, and without its records."""

from collections.abc import Sequence
from contextlib import suppress
from itertools import accumulate
from typing import Any

import numpy as np

from noisycount.app.config.config import Config
from noisycount.app.ledger.asked_words import asked_words
from noisycount.app.refine.stored import stored_entry
from noisycount.app.refine.tables.noises import noise_named
from noisycount.app.refine.tables.published import PublishedLevel, PublishedTable
from noisycount.app.refine.tables.stored.cells import StoredCells, stored_levels
from noisycount.app.refine.tables.stored.rows import level_names
from noisycount.errors import NoisyCountError
from noisycount.model.tables.levels import Level
from noisycount.release.ledger.asked import asked_of
from noisycount.release.ledger.entries import Entry
from noisycount.release.ledger.table_answer import TableAnswer
from noisycount.shown.columns import Cells, free_name
from noisycount.shown.told import told_name

__all__ = ["NO_SUMS", "stored_table", "table_of_entry"]

NO_SUMS = "sums are not used: one person may be in several cells, or cells are hidden"


def stored_table(key: str, source: str | None, configuration: Config) -> PublishedTable:
    """The table under a key of the ledger, or under the one key that begins so.

    Args:
        key: As `noisycount count` told it.
        source: The data set that it is of, where that was said.
        configuration: Where the ledger is.

    Raises:
        NoisyCountError: There is no such table, it is of another data set, or has no answer yet.
    """
    return table_of_entry(stored_entry(key, source, configuration), key)


def table_of_entry(entry: Entry, key: str) -> PublishedTable:
    """The table of a debit.

    Args:
        entry: As the ledger has it.
        key: What it was asked by.

    Raises:
        NoisyCountError: It is no table, or has no answer yet.
    """
    asked = asked_of(entry).get("table")
    if not isinstance(asked, dict):
        raise NoisyCountError(
            f"--key {key!r}: that is one count: add --size N, and --rate P if it is known"
        )
    if not isinstance(entry.answer, TableAnswer):
        raise NoisyCountError(f"--key {key!r}: there is no answer yet: ask the same question again")
    words = asked_words(entry)  # refuses what no noisycount wrote
    with suppress(ValueError, TypeError, KeyError, IndexError, OverflowError):
        return _table(entry, asked, entry.answer, words)
    raise NoisyCountError(f"--key {key!r}: the ledger has it in a form that no noisycount wrote")


def _table(entry: Entry, asked: dict[str, Any], answer: TableAnswer, words: str) -> PublishedTable:
    """The rows and the levels of a stored table."""
    question, cells = asked_of(entry), StoredCells.of(asked, answer)
    counted, is_hidden = stored_levels(asked, cells), answer.keys is not None
    levels = _levels(counted, question["mechanism"], question["scales"])
    is_sum = not is_hidden and (question["unit"] is None or asked.get("groups_per_unit") == 1)
    answers = np.concatenate(answer.levels)
    return PublishedTable(
        subject=f"{words} in {told_name(entry.request.dataset)}",
        names=cells.labels.names,
        keys=[texts for level in counted for texts in cells.labels.all_texts(level)],
        answers=answers.astype(np.float64),
        levels=levels if is_sum else levels[:1],
        below=np.full(answers.size, np.nan),
        columns=_columns(cells, counted, answers.tolist(), has_other=bool(asked.get("other"))),
        is_selected=is_hidden,
        notes=() if is_sum or len(levels) == 1 else (NO_SUMS,),
        unit="records" if question["unit"] is None else "persons",
    )


def _levels(
    counted: Sequence[Level], noise: str, scales: Sequence[str]
) -> tuple[PublishedLevel, ...]:
    """Levels, each with its rows and its noise."""
    starts = accumulate((level.size for level in counted), initial=0)
    return tuple(
        PublishedLevel(
            level.name,
            np.arange(start, start + level.size),
            noise_named(noise, scale),
            _kept(level),
            None if level.codes is not None else level.of_cell.astype(np.int64),
        )
        for level, scale, start in zip(counted, scales, starts, strict=False)
    )


def _kept(level: Level) -> tuple[int, ...]:
    """The columns by which the counts of a level differ."""
    if level.codes is None:
        return ()
    return tuple(np.flatnonzero((level.codes >= 0).any(axis=0)).tolist())


def _columns(
    cells: StoredCells, counted: Sequence[Level], answers: list[int], *, has_other: bool
) -> dict[str, Cells]:
    """What the table says of each row, as `count --by` writes it."""
    labels = [each for level in counted for each in cells.labels.of(level)]
    columns: dict[str, Cells] = {
        name: [row[place] for row in labels] for place, name in enumerate(cells.labels.names)
    }
    columns[free_name("level", columns)] = level_names(counted, has_other=has_other)
    columns[free_name("answer", columns)] = answers
    return columns
