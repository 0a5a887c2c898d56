"""A question asked of made-up records, and what a reader needs to understand it.

A rehearsal in words.

A rehearsal as JSON.
"""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, Self

from noisycount.display.numbers import exact_text, percent, plus_minus, signed
from noisycount.errors import NoisyCountError
from noisycount.frozen import frozen
from noisycount.model.half_width import error_within
from noisycount.model.noises.laplace import DiscreteLaplace
from noisycount.release.rehearsal import (
    RehearsedCount,
    RehearsedTable,
    rehearsed_count,
    rehearsed_table,
)
from noisycount.tasks.opening import Counter
from noisycount.tasks.plan import planned
from noisycount.tasks.table.asked import Asked
from noisycount.tasks.table.levels import shown_levels
from noisycount.tasks.table.table import Pay, check_drawable, check_public, viewed
from noisycount.tasks.table.trial import level_objects, loss_object
from noisycount.tasks.table.wish import Viewed, wish_of

__all__ = [
    "CountRehearsal",
    "Rehearsal",
    "TableRehearsal",
    "made_up_words",
    "rehearsal_object",
    "rehearsal_of",
    "rehearsal_words",
]


@frozen
class CountRehearsal:
    """One count of made-up records.

    Attributes:
        told: The count and its answer.
        where: The question.
        unit: The column that names the person; None: rows were counted.
        epsilon: What a real answer would cost.
        confidence: With which the error is stated.
    """

    told: RehearsedCount
    where: str
    unit: str | None
    epsilon: Fraction
    confidence: float

    @property
    def error(self) -> int:
        """The count lies within ±error of the answer with the confidence, in units."""
        return error_within(DiscreteLaplace.for_epsilon(self.epsilon), self.confidence)

    @classmethod
    def of(cls, where: str, view: Viewed, pay: Pay, size: int | None) -> Self:
        """The rehearsal of one question at a price, from what is public of the records.

        Raises:
            NoisyCountError: The question is outside the language, or the goal has no price.
        """
        epsilon = pay.epsilon
        if epsilon is None and pay.goal is not None:
            epsilon = planned(pay.goal.guess, pay.goal.within, pay.goal.confidence).epsilon
        if epsilon is None:
            raise NoisyCountError("one count needs a price in ε: give epsilon, or within and guess")
        told = rehearsed_count(where, view.columns, view.unit, epsilon, size)
        return cls(told, where, view.unit, epsilon, pay.confidence)


@frozen
class TableRehearsal:
    """A table of made-up records.

    Attributes:
        told: The counts and their answers.
    """

    told: RehearsedTable

    @property
    def unit(self) -> str | None:
        """The column that names the person; None: rows were counted."""
        return self.told.release.unit

    @classmethod
    def of(cls, asked: Asked, view: Viewed, pay: Pay, size: int | None) -> Self:
        """The rehearsal of a table at a price, from what is public of the records.

        Raises:
            NoisyCountError: The table cannot be asked of such records.
        """
        table = view.understood(wish_of(asked, view, pay.epsilon, pay.goal))
        check_drawable(asked, table.plan)
        return cls(rehearsed_table(table, view.unit, size, pay.confidence))


Rehearsal = CountRehearsal | TableRehearsal


def rehearsal_of(counter: Counter, asked: Asked, pay: Pay) -> Rehearsal:
    """The rehearsal of what was asked; no record is read, and nothing is charged.

    Args:
        counter: The data set, of which the columns, their kinds and the public size are used.
        asked: What was asked.
        pay: At what price.

    Raises:
        NoisyCountError: It cannot be asked of these columns.
    """
    check_public(asked, counter.dataset)
    view, size = viewed(counter.records, counter.dataset, None), counter.dataset.size
    if asked.is_table:
        return TableRehearsal.of(asked, view, pay, size)
    (where,) = asked.wheres
    return CountRehearsal.of(where, view, pay, size)


def made_up_words(rehearsal: Rehearsal) -> str:
    """What was counted, and that it says nothing of the data set."""
    units = "rows" if rehearsal.unit is None else "persons"
    return (
        f"{signed(rehearsal.told.units)} made-up {units} with these columns: no record of the data "
        "set was read, nothing was charged, and the numbers say nothing about it"
    )


def rehearsal_words(rehearsal: CountRehearsal) -> str:
    """The answer beside the count that it hides."""
    told, sure = rehearsal.told, percent(rehearsal.confidence)
    return (
        f"{signed(told.count)} of the made-up ones match; the answer was {signed(told.answer)} "
        f"{plus_minus(rehearsal.error)} ({sure}), so {signed(abs(told.answer - told.count))} off"
    )


def rehearsal_object(rehearsal: Rehearsal) -> dict[str, Any]:
    """A rehearsal; `made_up` is a count of made-up records, `answer` the same with noise."""
    told = _table(rehearsal) if isinstance(rehearsal, TableRehearsal) else _count(rehearsal)
    return {
        "rehearsal": True,
        "units": rehearsal.told.units,
        "note": made_up_words(rehearsal),
        **told,
        "charged": "0",
    }


def _count(rehearsal: CountRehearsal) -> dict[str, Any]:
    return {
        "where": rehearsal.where,
        "unit": rehearsal.unit,
        "made_up": rehearsal.told.count,
        "answer": rehearsal.told.answer,
        "error": rehearsal.error,
        "confidence": rehearsal.confidence,
        "epsilon": exact_text(rehearsal.epsilon),
    }


def _table(rehearsal: TableRehearsal) -> dict[str, Any]:
    release = rehearsal.told.release
    return {
        "where": release.where,
        "unit": release.unit,
        "by": list(release.labels.names),
        "rows": list(_rows(rehearsal)),
        "confidence": release.confidence,
        "price": loss_object(release.price),
        "levels": level_objects(shown_levels(release.plan, release.confidence, len(release))),
    }


def _rows(rehearsal: TableRehearsal) -> Iterator[dict[str, Any]]:
    release, counts = rehearsal.told.release, rehearsal.told.counts
    for place, row in enumerate(release.rows):
        yield {
            "level": row.level,
            "keys": dict(zip(release.labels.names, row.labels, strict=True)),
            "made_up": None if counts is None else counts[place],
            "answer": row.answer,
            "error": row.error,
            "error_of_all": row.error_of_all,
            **({} if row.sum_of is None else {"sum_of": row.sum_of}),
        }
