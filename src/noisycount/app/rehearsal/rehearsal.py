"""A question asked of made-up records, and what a reader needs to understand it."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from noisycount.app.count.counter import Counter
from noisycount.app.plan.plan import planned
from noisycount.app.table.asked import Asked
from noisycount.app.table.question import Pay, check_drawable, check_public, viewed
from noisycount.app.table.wish import Viewed, wish_of
from noisycount.errors import NoisyCountError
from noisycount.model.half_width import error_within
from noisycount.model.noises.discrete_laplace import DiscreteLaplace
from noisycount.release.rehearsal.rehearsal import (
    RehearsedCount,
    RehearsedTable,
    rehearsed_count,
    rehearsed_table,
)

__all__ = ["CountRehearsal", "Rehearsal", "TableRehearsal", "rehearsal_of"]


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
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
