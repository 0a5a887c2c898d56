"""Counts and tables that a ledger keeps, read again: free, and without their records."""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from itertools import accumulate
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from noisycount.config.config import Config
from noisycount.display.texts import redacted_name
from noisycount.errors import NoisyCountError
from noisycount.frozen import frozen
from noisycount.ledger.entries import Entry, TableAnswer, asks_for_table
from noisycount.ledger.price import TablePrice
from noisycount.ledger.series import parts_of, scales_in
from noisycount.model.mechanism import Mechanism
from noisycount.model.noises.additive import DiscreteNoise
from noisycount.model.noises.discrete_gaussian import DiscreteGaussian
from noisycount.model.noises.laplace import DiscreteLaplace
from noisycount.model.tables.levels import Codes, Level, TableLabels, all_levels
from noisycount.query.grouping import EachValue, GroupBy, NumberRanges, Period
from noisycount.query.predicate import Column
from noisycount.query.query import PERIODS, ColumnGrouping, parse_by_text
from noisycount.query.schema import Kind
from noisycount.query.table import same_nodes
from noisycount.readers.values import noise_of
from noisycount.release.goal import Goal, Stopping
from noisycount.release.noise_plan import LevelPlan, TablePlan
from noisycount.release.query_plan import gaussian_noises, level_of_questions, told_answer
from noisycount.release.results import TableRelease
from noisycount.tasks.answer import StoredCount
from noisycount.tasks.answer_json import row_json
from noisycount.tasks.ledger import asked_words, entry_under_key
from noisycount.tasks.refine.published import PublishedLevel, PublishedTable, written_columns

Places: TypeAlias = NDArray[np.int64]


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
    def of(cls, asked: dict[str, Any], answer: TableAnswer, *, is_as_asked: bool = False) -> "StoredCells":
        """Return the cells of a question, or of its answer if only the records knew them.

        They are in the order of the ledger, or in that in which the asker listed them.
        """
        if "questions" in asked:
            questions = tuple(asked["questions"])
            if is_as_asked and answer.order is not None:
                questions = tuple(questions[place] for place in answer.order.tolist())
            codes = np.arange(len(questions), dtype=np.int32)[:, np.newaxis]
            return cls(TableLabels(("question",), (questions,)), codes)
        parts = [_part(item) for text in asked["by"] for item in parse_by_text(text)]
        values, codes = _coded(asked["keys"], answer.keys or (), len(parts))
        if is_as_asked and answer.order is not None:
            values, codes = _reordered(values, codes, answer.order[: len(codes)])
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


def _reordered(values: list[list[Any]], codes: Codes, order: Places) -> tuple[list[list[Any]], Codes]:
    """Return the values of each part, and the places of each cell's keys among them, with the cells in an order.

    Values stand in the order in which they first appear, as in the question that the asker wrote.
    """
    listed, shown = codes[order], []
    for part, of_part in enumerate(values):
        first = np.sort(np.unique(listed[:, part], return_index=True)[1])
        seen = listed[first, part]
        ranks = np.zeros(len(of_part), dtype=np.int32)
        ranks[seen] = np.arange(len(seen), dtype=np.int32)
        shown.append([of_part[place] for place in seen.tolist()])
        listed[:, part] = ranks[listed[:, part]]
    return shown, listed


# what a question that no desk wrote raises when it is read
UNREADABLE = (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError, ZeroDivisionError)
CONFIDENCE = 0.95  # of the errors of an answer that was asked at a price


def stored_plan(entry: Entry) -> TablePlan:
    """Return the noise of each level of a stored question, with that of all draws that its answer combines.

    The sensitivity and the share of a level are not stored. Their ratio follows from its scale, and is all that the
    errors rest on. Raises ValueError, TypeError or KeyError if no desk wrote the question.
    """
    asked, loss = entry.request.asked, entry.loss
    if len(parts_of(entry)) > 1 and entry.answer is not None:
        noises = gaussian_noises(entry)
    else:
        noises = [_whole_noise(asked["mechanism"], scale) for scale in scales_in(asked)]
    table = asked.get("table")
    answer = _counts(entry) or TableAnswer.of([[]])
    levels = [level_of_questions(1)] if table is None else stored_levels(table, StoredCells.of(table, answer))
    plans = tuple(
        LevelPlan(level.name, level.size, 1, 1 / (noise.exact_scale * (loss.epsilon or 1)), noise)
        for level, noise in zip(levels, noises, strict=True)
    )
    threshold = None if table is None else table.get("threshold")
    price = TablePrice(DiscreteGaussian if loss.epsilon is None else DiscreteLaplace, loss, loss.delta)
    is_refined = bool(entry.replaces) and loss.epsilon is not None
    return TablePlan(price, plans, None, is_replacement=False, threshold=threshold, is_refined=is_refined)


def _whole_noise(name: str, scale: Fraction) -> DiscreteNoise:
    """Return the noise of a stored question, which is of whole numbers."""
    noise = noise_of(name, scale)
    if not isinstance(noise, DiscreteNoise):
        raise ValueError(f"mechanism must be of whole numbers, got {name!r}")  # noqa: TRY004
    return noise


def _counts(entry: Entry) -> TableAnswer | None:
    """Return the counts of an entry level by level; None if it has no answer."""
    if isinstance(entry.answer, int):
        return TableAnswer.of([[entry.answer]])
    return told_answer(entry)  # in the order of the newest draw


def stored_release(entry: Entry) -> TableRelease | None:
    """Return the answer of an entry as it was released, a single count as a list of one; None if it has none.

    This is the only place that computes the errors of a stored answer. An answer at a price has the errors of its
    noise at 95 %, one within a share of its counts those of its goal, at the confidence of the goal. Raises
    ValueError, TypeError or KeyError if no desk wrote the question.
    """
    answer, asked = _counts(entry), entry.request.asked
    if answer is None:
        return None
    plan, table, goal = stored_plan(entry), asked.get("table"), Goal.stored(entry)
    levels: Sequence[Level] = [level_of_questions(1)]
    labels, places = TableLabels(("question",), ((asked.get("where"),),)), [np.zeros(1, dtype=np.int64)]
    if table is not None:
        cells = StoredCells.of(table, answer, is_as_asked=True)
        levels, labels = stored_levels(table, cells), cells.labels
        places = _places(levels, stored_levels(table, StoredCells.of(table, answer)), answer)
    draws = [part.answer for part in parts_of(entry) if isinstance(part.answer, TableAnswer)]
    answers, *parts = [
        tuple(level[place] for level, place in zip(each.levels, places, strict=True))
        for each in (answer, *(draws if len(draws) > 1 else ()))
    ]
    stated = {} if goal is None else Stopping(goal, plan, entry.base).of_table(answers)
    groups = None if table is None else table.get("groups_per_unit")
    released = {
        "answers": answers,
        "plan": plan,
        "levels": tuple(levels),
        "labels": labels,
        "charged": entry.request.price,
        "remaining": Fraction(0),
        "dataset": redacted_name(entry.request.dataset),
        "key": entry.key,
        "unit": asked.get("unit"),
        "has_other": bool(table and table.get("other")),
        "is_cumulative": bool(table and table.get("cumulative")),
        "is_additive": answer.keys is None and (asked.get("unit") is None or groups == 1),
        "confidence": CONFIDENCE,
        "replaces": entry.replaces,
        "parts": tuple(parts),
    }
    return TableRelease(**{**released, **stated})


def _places(levels: Sequence[Level], stored: Sequence[Level], answer: TableAnswer) -> list[Places]:
    """Return for each level the places of its nodes in the ledger."""
    if answer.order is None:
        return [np.arange(level.size) for level in stored]
    return [same_nodes(mine, other, answer.order) for mine, other in zip(levels, stored, strict=True)]


def rows_json(entry: Entry) -> dict[str, Any]:
    """Return the confidence of the errors of an entry, and its rows or its error as `count --json` names them.

    Return {} if there is no answer, or if no desk wrote the question.
    """
    with suppress(*UNREADABLE):
        release = stored_release(entry)
        if release is not None and asks_for_table(entry):
            rows = [row_json(release.labels.names, row) for row in release.rows]
            return {"confidence": release.confidence, "rows": rows}
        if release is not None:
            return {"confidence": release.confidence, "error": release.error_at(0, 0)}
    return {}


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
    with suppress(*UNREADABLE):
        if (release := stored_release(entry)) is not None:
            return _table(release, words)
    raise NoisyCountError(f"--key {key!r}: the ledger has it in a form that no noisycount wrote")


def _table(release: TableRelease, words: str) -> PublishedTable:
    """Return the rows and the levels of a stored table."""
    counted, names, is_hidden = release.levels, release.labels.names, release.plan.threshold is not None
    answers = np.concatenate(release.answers)
    table = PublishedTable(
        subject=f"{words} in {release.dataset}",
        names=names,
        keys=[texts for level in counted for texts in release.labels.all_texts(level)],
        answers=np.concatenate(release.means),
        levels=_levels(counted, [level.mechanism for level in release.plan.levels]),
        below=np.full(answers.size, np.nan),
        columns=written_columns(
            names,
            [keys for level in counted for keys in release.labels.of(level)],
            release.level_names,
            answers.tolist(),
        ),
        is_selected=is_hidden,
        unit="records" if release.unit is None else "persons",
    )
    return table if release.is_additive else table.without_sums()


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
