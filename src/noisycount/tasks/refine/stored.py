"""Counts and tables that a ledger keeps, read again: free, and without their records."""

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from itertools import accumulate
from typing import Any

import numpy as np

from noisycount.config.config import Config
from noisycount.display.texts import redacted_name
from noisycount.errors import NoisyCountError
from noisycount.frozen import frozen
from noisycount.ledger.entries import Entry, TableAnswer, asks_for_table
from noisycount.ledger.series import parts_of
from noisycount.model.mechanism import Mechanism
from noisycount.model.noises.combined_gaussian import CombinedGaussian
from noisycount.model.tables.levels import OTHER, Codes, Label, Level, TableLabels, all_levels
from noisycount.query.grouping import EachValue, GroupBy, NumberRanges, Period
from noisycount.query.predicate import Column
from noisycount.query.query import PERIODS, ColumnGrouping, parse_by_text
from noisycount.query.schema import Kind
from noisycount.readers.values import noise_of
from noisycount.release.query_plan import gaussian_noises, told_answer
from noisycount.tasks.answer import StoredCount
from noisycount.tasks.ledger import asked_words, entry_under_key
from noisycount.tasks.refine.published import PublishedLevel, PublishedTable, written_columns


def _stored_entry(key: str, source: str | None, configuration: Config) -> Entry:
    """The debit under a key of the ledger, or under the one key that begins so."""
    entry = entry_under_key(key, configuration, "--key")
    if source is not None and configuration.dataset(source).account != entry.request.dataset:
        raise NoisyCountError(
            f"--key {key!r}: that is an answer about {redacted_name(entry.request.dataset)}: leave {source!r} out"
        )
    return entry


def stored_count(key: str, source: str | None, configuration: Config) -> StoredCount:
    """The count under a key of the ledger."""
    entry = _stored_entry(key, source, configuration)
    if asks_for_table(entry):
        raise NoisyCountError(
            f"--key {key!r}: that is a table, whose counts it knows: leave --size, --rate and --strata out"
        )
    found = StoredCount.of(entry)
    if found is None:
        raise NoisyCountError(f"--key {key!r}: there is no answer yet: ask the same question again")
    return found


@frozen
class StoredCells:
    """The cells of a stored table."""

    labels: TableLabels  # their keys, for a reader
    codes: Codes  # the places of the keys, shape (cells, parts)

    @classmethod
    def of(cls, asked: dict[str, Any], answer: TableAnswer) -> "StoredCells":
        """The cells, from a question or, where only the records knew them, from its answer."""
        if "questions" in asked:
            questions = tuple(asked["questions"])
            codes = np.arange(len(questions), dtype=np.int32)[:, np.newaxis]
            return cls(TableLabels(("question",), (questions,)), codes)
        parts = [_part(item) for text in asked["by"] for item in parse_by_text(text)]
        values, codes = _coded(asked["keys"], answer.keys or (), len(parts))
        labels = tuple(tuple(map(part.label, keys)) for part, keys in zip(parts, values, strict=True))
        names = tuple(part.column.name for part in parts)
        return cls(TableLabels(names, labels, codes, is_hidden=asked["keys"] is None), codes)


def stored_levels(asked: dict[str, Any], cells: StoredCells) -> list[Level]:
    """What was counted, level by level, the cells first."""
    margins = None if asked.get("cumulative") else asked.get("margins", ())
    levels = [*all_levels(cells.codes, cells.labels.names, margins, has_other=bool(asked.get("other")))]
    return [replace(levels[0], name="questions")] if "questions" in asked else levels


def _part(item: ColumnGrouping) -> GroupBy:
    """What the table was grouped by, from its text; the kind of the column decides no label."""
    if not item.grouping:
        return EachValue(Column(item.column, Kind.TEXT))
    if item.grouping in PERIODS:
        return Period(Column(item.column, Kind.DATE), PERIODS[item.grouping])
    edges = tuple(float(edge) for edge in item.grouping.split(","))
    return NumberRanges(Column(item.column, Kind.REAL), edges)


def _coded(written: dict[str, Any] | None, found: Sequence[Sequence[Any]], parts: int) -> tuple[list[list[Any]], Codes]:
    """The values of each part, and the places of each cell's keys among them."""
    if written is None:
        columns = [[row[part] for row in found] for part in range(parts)]
        values = [list({json.dumps(key): key for key in column}.values()) for column in columns]
        places = [{json.dumps(key): at for at, key in enumerate(keys)} for keys in values]
        listed = [[at[json.dumps(key)] for at, key in zip(places, row, strict=True)] for row in found]
        return values, np.array(listed, dtype=np.int32).reshape(len(found), parts)
    if "grid" in written:
        sizes = [len(keys) for keys in written["grid"]]
        codes = np.indices(sizes, dtype=np.int32).reshape(len(sizes), -1).T
        return written["grid"], np.ascontiguousarray(codes)
    return written["values"], np.array(written["cells"], dtype=np.int32)


_UNREADABLE = (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError)


@frozen
class StoredRow:
    """One count."""

    level: str  # which counts it belongs to, such as "town" or "total"
    keys: tuple[Label, ...]  # None where the level sums over them, and for missing values
    texts: tuple[str, ...]  # the same as people read them
    answer: int  # the noisy count, in units
    sum_of: str | None = None  # of whom it is the sum; None of a cell


@frozen
class StoredRows:
    """The counts of a table, in the order of the ledger."""

    names: tuple[str, ...]  # what the table is grouped by
    rows: tuple[StoredRow, ...]  # the cells first


def _level_names(levels: Sequence[Level], *, has_other: bool) -> list[str]:
    """The name of the level of each count, level by level."""
    names = [level.name for level in levels for _ in range(level.size)]
    if has_other:
        names[levels[0].size - 1] = OTHER
    return names


def stored_rows(entry: Entry) -> StoredRows | None:
    """The counts of an entry; None where it is no table, has no answer or is not understood."""
    asked = entry.request.asked.get("table")
    if not isinstance(asked, dict) or not isinstance(entry.answer, TableAnswer):
        return None
    with suppress(*_UNREADABLE):
        answer = told_answer(entry)
        if answer is None:
            return None
        cells = StoredCells.of(asked, answer)
        return StoredRows(tuple(cells.labels.names), tuple(_rows(cells, answer, asked)))
    return None


def rows_member(entry: Entry) -> dict[str, Any]:
    """The counts of an entry as `rows`, named as `count --json` names them; {} for no table."""
    found = stored_rows(entry)
    if found is None:
        return {}
    return {
        "rows": [
            {"level": row.level, "keys": dict(zip(found.names, row.keys, strict=True))}
            | {"answer": row.answer}
            | ({} if row.sum_of is None else {"sum_of": row.sum_of})
            for row in found.rows
        ]
    }


def _rows(cells: StoredCells, answer: TableAnswer, asked: dict[str, Any]) -> Iterator[StoredRow]:
    """Each count, level by level."""
    levels = stored_levels(asked, cells)
    names = iter(_level_names(levels, has_other=bool(asked.get("other"))))
    for level, counts in zip(levels, answer.levels, strict=True):
        told = zip(
            cells.labels.of(level),
            cells.labels.all_texts(level),
            cells.labels.sums(level),
            counts.tolist(),
            strict=True,
        )
        for keys, texts, sum_of, count in told:
            yield StoredRow(next(names), tuple(keys), texts, count, sum_of)


def stored_table(key: str, source: str | None, configuration: Config) -> PublishedTable:
    """The table under a key of the ledger, or under the one key that begins so."""
    return table_of_entry(_stored_entry(key, source, configuration), key)


def table_of_entry(entry: Entry, key: str) -> PublishedTable:
    """The table of a debit."""
    asked = entry.request.asked.get("table")
    if not isinstance(asked, dict):
        raise NoisyCountError(f"--key {key!r}: that is one count: add --size N, and --rate P if it is known")
    if not isinstance(entry.answer, TableAnswer):
        raise NoisyCountError(f"--key {key!r}: there is no answer yet: ask the same question again")
    words = asked_words(entry)  # refuses what no noisycount wrote
    with suppress(ValueError, TypeError, KeyError, IndexError, OverflowError):
        if (answer := told_answer(entry)) is not None:
            return _table(entry, asked, answer, words)
    raise NoisyCountError(f"--key {key!r}: the ledger has it in a form that no noisycount wrote")


def _table(entry: Entry, asked: dict[str, Any], answer: TableAnswer, words: str) -> PublishedTable:
    """The rows and the levels of a stored table."""
    question, cells = entry.request.asked, StoredCells.of(asked, answer)
    counted, is_hidden = stored_levels(asked, cells), answer.keys is not None
    is_sum = not is_hidden and (question["unit"] is None or asked.get("groups_per_unit") == 1)
    noises = [noise_of(question["mechanism"], Fraction(scale)) for scale in question["scales"]]
    means = answers = np.concatenate(answer.levels)
    if len(parts := parts_of(entry)) > 1:
        noises, draws = [*gaussian_noises(entry)], [part.answer for part in parts]
        levels = zip(*(draw.levels for draw in draws if isinstance(draw, TableAnswer)), strict=True)
        of_levels = zip(noises, levels, strict=True)
        means = np.concatenate([each.means(of) for each, of in of_levels if isinstance(each, CombinedGaussian)])
    table = PublishedTable(
        subject=f"{words} in {redacted_name(entry.request.dataset)}",
        names=cells.labels.names,
        keys=[texts for level in counted for texts in cells.labels.all_texts(level)],
        answers=means.astype(np.float64),
        levels=_levels(counted, noises),
        below=np.full(answers.size, np.nan),
        columns=written_columns(
            cells.labels.names,
            [keys for level in counted for keys in cells.labels.of(level)],
            _level_names(counted, has_other=bool(asked.get("other"))),
            answers.tolist(),
        ),
        is_selected=is_hidden,
        unit="records" if question["unit"] is None else "persons",
    )
    return table if is_sum else table.without_sums()


def _levels(counted: Sequence[Level], noises: Sequence[Mechanism]) -> tuple[PublishedLevel, ...]:
    """Levels, each with its rows and its noise."""
    starts = accumulate((level.size for level in counted), initial=0)
    return tuple(
        PublishedLevel(
            level.name,
            np.arange(start, start + level.size),
            noise,
            _kept(level),
            None if level.codes is not None else level.of_cell.astype(np.int64),
        )
        for level, noise, start in zip(counted, noises, starts, strict=False)
    )


def _kept(level: Level) -> tuple[int, ...]:
    """The columns by which the counts of a level differ."""
    if level.codes is None:
        return ()
    return tuple(np.flatnonzero((level.codes >= 0).any(axis=0)).tolist())
