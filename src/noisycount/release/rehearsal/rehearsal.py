"""The same question asked of made-up records: counted and noised as the real one would be."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from noisycount.model.noises.discrete_laplace import DiscreteLaplace
from noisycount.release.budget.loss import Loss
from noisycount.release.ledger.table_answer import TableAnswer
from noisycount.release.question.operands import Column
from noisycount.release.question.reading import read
from noisycount.release.question.schema import Kind
from noisycount.release.question.tree import columns
from noisycount.release.rehearsal.examples import Examples, examples_of_keys, examples_of_where
from noisycount.release.rehearsal.made_up import MOST_UNITS, made_up
from noisycount.release.sources.interface import Source
from noisycount.release.tables.asked.cells import AskedCells
from noisycount.release.tables.asked.keys import AskedKeys
from noisycount.release.tables.asked.questions import AskedQuestions
from noisycount.release.tables.asked.table import AskedTable
from noisycount.release.tables.release import TableRelease

__all__ = ["MADE_UP", "RehearsedCount", "RehearsedTable", "rehearsed_count", "rehearsed_table"]

MADE_UP = "made-up records"
_UNITS = 1000  # where nobody knows how many there are


@dataclass(frozen=True, slots=True)
class RehearsedCount:
    """A count of made-up records.

    Attributes:
        units: How many persons or rows were made up.
        count: How many of them match; it says nothing of real ones.
        answer: The same with noise.
    """

    units: int
    count: int
    answer: int


@dataclass(frozen=True, slots=True)
class RehearsedTable:
    """A table of made-up records.

    Attributes:
        units: How many persons or rows were made up.
        counts: Without noise, row by row; None where keys are hidden.
        release: With noise; it is in no ledger.
    """

    units: int
    counts: tuple[int, ...] | None
    release: TableRelease


def rehearsed_count(
    where: str,
    schema: Mapping[str, Kind],
    unit: str | None,
    epsilon: Fraction,
    size: int | None = None,
) -> RehearsedCount:
    """The count of made-up units, and one answer about it.

    Args:
        where: The question.
        schema: The columns that questions may use.
        unit: The column that names the person; None: rows are counted.
        epsilon: The price that a real answer would have.
        size: How many units there are, where that is public.

    Raises:
        PredicateError: The question is outside the language.

    Example:
        >>> made = rehearsed_count("age >= 65", {"age": Kind.INTEGER}, None, Fraction(1), 500)
        >>> made.units, 0 < made.count < 500
        (500, True)
    """
    predicate = read(where, schema).normal
    units, names = _units(size), set(columns(predicate))
    with made_up(_kinds(names), unit, _gathered(examples_of_where(predicate)), units) as source:
        (count,) = source.count([predicate])
    return RehearsedCount(units, count, DiscreteLaplace.for_epsilon(epsilon).release(count))


def rehearsed_table(
    asked: AskedTable, unit: str | None, size: int | None = None, confidence: float = 0.95
) -> RehearsedTable:
    """A table of made-up units.

    Args:
        asked: The table, understood and priced.
        unit: The column that names the person; None: rows are counted.
        size: How many units there are, where that is public.
        confidence: With which errors are stated.
    """
    units = _units(size)
    with made_up(_kinds(asked.read), unit, _examples(asked), units) as source:
        answer = asked.drawn(source)
        exact = _exact(asked, source)
    shown = asked.published(answer)
    release = TableRelease(
        answers=shown.answers,
        plan=asked.plan,
        levels=shown.levels,
        labels=shown.labels,
        charged=Loss(),
        remaining=Fraction(0),
        dataset=MADE_UP,
        key="",
        where=asked.where,
        unit=unit,
        has_other=asked.has_other,
        is_additive=asked.plan.groups == 1 and asked.plan.threshold is None,
        is_cumulative=asked.is_cumulative,
        confidence=confidence,
    )
    levels = None if exact is None else asked.published(exact).answers
    counts = None if levels is None else tuple(int(each) for level in levels for each in level)
    return RehearsedTable(units, counts, release)


def _exact(asked: AskedTable, source: Source) -> TableAnswer | None:
    """The counts without noise, as they are kept; None for hidden keys."""
    if isinstance(asked, AskedCells):
        question = asked.question.cell_question(asked.canonical)
        return TableAnswer.of(source.count_cells(question))
    if isinstance(asked, AskedQuestions):
        ordered = [asked.questions.predicates[place] for place in asked.questions.order]
        return TableAnswer.of([np.array(source.count(ordered), dtype=np.int64)])
    return None


def _examples(asked: AskedTable) -> Examples:
    """The values that a table names."""
    found: list[tuple[Column, object]] = []
    if isinstance(asked, AskedQuestions):
        for predicate in asked.questions.predicates:
            found += examples_of_where(predicate)
    elif isinstance(asked, AskedCells | AskedKeys):
        question = asked.question
        found += examples_of_keys(question.parts, question.keys)
        if question.where is not None:
            found += examples_of_where(question.where)
    return _gathered(found)


def _gathered(pairs: Iterable[tuple[Column, object]]) -> Examples:
    gathered: defaultdict[str, list[object]] = defaultdict(list)
    for column, value in pairs:
        gathered[column.name].append(value)
    return gathered


def _kinds(read: Iterable[Column]) -> dict[str, Kind]:
    return {column.name: column.kind for column in sorted(read, key=lambda each: each.name)}


def _units(size: int | None) -> int:
    return min(size or _UNITS, MOST_UNITS)
