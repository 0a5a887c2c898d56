"""What a chart of a refined table shows: two dots a count, the answer and the estimate.

What a chart of a table posterior shows: answers beside estimates, of cells and of their sums.
"""

from collections.abc import Sequence
from typing import Self

import numpy as np

from noisycount.analysis.accuracy.accuracy import accuracy
from noisycount.analysis.tables.table_estimates import TablePosterior
from noisycount.frozen import frozen
from noisycount.model.mechanism import Mechanism
from noisycount.model.noises.additive import SymmetricNoise

__all__ = [
    "MOST_DOTS",
    "RefinedDot",
    "RefinedDots",
    "RefinedSums",
    "answer_error",
    "posterior_dots",
]

MOST_DOTS = 60
"""Of more counts of a level the largest are shown."""

_MOST_SUMS = 2 * MOST_DOTS  # of all levels together


@frozen
class RefinedDot:
    """One cell, or one sum of cells.

    Args:
        label: What was counted.
        answer: The published count, in records; None: there is none.
        error: The count lies within ±error of the answer; of a missing one 0.
        estimate: The expected count given all answers.
        low: The smallest count of its interval,
        high: and the largest.
    """

    label: str
    answer: float | None
    error: float
    estimate: float
    low: int
    high: int


@frozen
class RefinedSums:
    """A level of sums, which has a scale of its own: sums are larger than cells.

    Args:
        name: Which level it is.
        dots: Its counts, in their order.

    Raises:
        ValueError: There is none, or there are more than anybody reads.
    """

    name: str
    dots: Sequence[RefinedDot]

    def __post_init__(self) -> None:
        """The refusal of what cannot be drawn."""
        _check(self.dots)

    @classmethod
    def of_largest(cls, name: str, dots: Sequence[RefinedDot]) -> Self:
        """All of a level or, where there are more than anybody reads, the largest, largest first.

        Args:
            name: Which level it is.
            dots: Its counts, in their order.

        Example:
            >>> sums = [RefinedDot(str(n), n, 2, n, n - 1, n + 1) for n in range(100)]
            >>> RefinedSums.of_largest("county", sums).name
            'county: the 60 largest of 100'
        """
        shown, told = _largest(dots)
        return cls(f"{name}: {told}" if told else name, shown)


@frozen
class RefinedDots:
    """What a chart of a refined table shows.

    Args:
        dots: The cells, in their order.
        title: The heading.
        notes: Lines below it.
        level: The probability of every interval.
        unit: What is counted, in the plural.
        sums: The levels of sums that stand below the cells.

    Raises:
        ValueError: There is no cell, or there are more than anybody reads.
    """

    dots: Sequence[RefinedDot]
    title: str
    notes: Sequence[str]
    level: float = 0.95
    unit: str = "records"
    sums: Sequence[RefinedSums] = ()

    def __post_init__(self) -> None:
        """The refusal of what cannot be drawn."""
        _check(self.dots)

    @classmethod
    def of_largest(  # noqa: PLR0913, PLR0917 - what a chart shows
        cls,
        dots: Sequence[RefinedDot],
        title: str,
        notes: Sequence[str] = (),
        level: float = 0.95,
        unit: str = "records",
        sums: Sequence[RefinedSums] = (),
    ) -> Self:
        """All cells or, where there are more than anybody reads, the largest, largest first.

        Args:
            dots: The cells, in their order.
            title: The heading.
            notes: Lines below it.
            level: The probability of every interval.
            unit: What is counted, in the plural.
            sums: The levels of sums that stand below the cells.

        Example:
            >>> cells = [RefinedDot(str(n), n, 2, n, n - 1, n + 1) for n in range(100)]
            >>> shown = RefinedDots.of_largest(cells, "Towns")
            >>> len(shown.dots), shown.dots[0].label, shown.notes
            (60, '99', ['the 60 largest of 100 cells'])
        """
        shown, told = _largest(dots)
        notes = [*notes, f"{told} cells"] if told else list(notes)
        drawn = _fewest(sums)
        if len(drawn) < len(sums):
            notes.append(f"{len(drawn)} of {len(sums)} levels of sums: those with the fewest")
        return cls(shown, title, notes, level, unit, drawn)


def _fewest(sums: Sequence[RefinedSums]) -> list[RefinedSums]:
    """The levels with the fewest counts, in their order, as many as anybody reads together."""
    left, drawn = _MOST_SUMS, []
    for one in sorted(sums, key=lambda one: len(one.dots)):
        left -= len(one.dots)
        if left >= 0:
            drawn.append(one)
    return [one for one in sums if one in drawn]


def _check(dots: Sequence[RefinedDot]) -> None:
    """The refusal of no dots, and of more than anybody reads."""
    if not 1 <= len(dots) <= MOST_DOTS:
        raise ValueError(f"dots must be 1 to {MOST_DOTS}, got {len(dots):,}: draw the largest")


def _largest(dots: Sequence[RefinedDot]) -> tuple[Sequence[RefinedDot], str]:
    """As many as anybody reads, and in words which, if they are not all."""
    if len(dots) <= MOST_DOTS:
        return dots, ""
    largest = sorted(dots, key=lambda dot: -dot.estimate)[:MOST_DOTS]
    return largest, f"the {MOST_DOTS} largest of {len(dots):,}"


def answer_error(mechanism: Mechanism | None, level: float) -> float:
    """A count lies within ±this of its answer with that probability; 0 of an exact one.

    Example:
        >>> from noisycount import DiscreteLaplace, Exact
        >>> answer_error(DiscreteLaplace.for_epsilon(0.15), 0.95), answer_error(Exact(), 0.95)
        (20, 0.0)
    """
    if not isinstance(mechanism, SymmetricNoise):
        return 0.0
    return accuracy(mechanism, 1 - level) - mechanism.is_discrete


_LEVEL = 0.95


def posterior_dots(told: TablePosterior) -> RefinedDots:
    """The cells of a table, and each level of sums about which something was answered.

    Args:
        told: The laws of the counts.
    """
    cells = told.tree.depth - 1
    sums = [
        RefinedSums.of_largest(told.tree.names[level], _level(told, level))
        for level in reversed(range(cells))
        if told.solution.answers(level)
    ]
    title, notes = "What are the true counts?", [told.prior.words]
    return RefinedDots.of_largest(_level(told, cells), title, notes, _LEVEL, sums=sums)


def _level(told: TablePosterior, level: int) -> list[RefinedDot]:
    """The nodes of a level, each with its answer if it has one, and its estimate."""
    estimates = told.level(level)
    number = len(estimates.mean)
    answers, errors = np.full(number, np.nan), np.zeros(number)
    for one in told.solution.answers(level):
        given = ~one.suppressed
        answers[one.nodes[given]] = one.answers[given]
        errors[one.nodes[given]] = answer_error(one.mechanism, _LEVEL)
    return [
        RefinedDot(
            ", ".join(told.tree.label(level, node)) or told.tree.names[level],
            None if np.isnan(answers[node]) else float(answers[node]),
            float(errors[node]),
            float(estimates.mean[node]),
            int(estimates.low[node]),
            int(estimates.high[node]),
        )
        for node in range(number)
    ]
