"""What a chart of a refined table shows: two dots a cell, the answer and the estimate."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from noisycount.analysis.accuracy.accuracy import accuracy
from noisycount.model.mechanism import Mechanism
from noisycount.model.noises.additive import SymmetricNoise

__all__ = ["MOST_DOTS", "RefinedDot", "RefinedDots", "answer_error"]

MOST_DOTS = 60
"""Of more cells the largest are shown."""


@dataclass(frozen=True, slots=True)
class RefinedDot:
    """One cell.

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


@dataclass(frozen=True, slots=True)
class RefinedDots:
    """What a chart of a refined table shows.

    Args:
        dots: The cells, in their order.
        title: The heading.
        notes: Lines below it.
        level: The probability of every interval.
        unit: What is counted, in the plural.

    Raises:
        ValueError: There is no cell, or there are more than anybody reads.
    """

    dots: Sequence[RefinedDot]
    title: str
    notes: Sequence[str]
    level: float = 0.95
    unit: str = "records"

    def __post_init__(self) -> None:
        """The refusal of what cannot be drawn."""
        if not 1 <= len(self.dots) <= MOST_DOTS:
            raise ValueError(
                f"dots must be 1 to {MOST_DOTS}, got {len(self.dots):,}: draw the largest"
            )

    @classmethod
    def of_largest(
        cls,
        dots: Sequence[RefinedDot],
        title: str,
        notes: Sequence[str] = (),
        level: float = 0.95,
        unit: str = "records",
    ) -> Self:
        """All cells or, where there are more than anybody reads, the largest, largest first.

        Args:
            dots: The cells, in their order.
            title: The heading.
            notes: Lines below it.
            level: The probability of every interval.
            unit: What is counted, in the plural.

        Example:
            >>> cells = [RefinedDot(str(n), n, 2, n, n - 1, n + 1) for n in range(100)]
            >>> shown = RefinedDots.of_largest(cells, "Towns")
            >>> len(shown.dots), shown.dots[0].label, shown.notes
            (60, '99', ['the 60 largest of 100 cells'])
        """
        if len(dots) <= MOST_DOTS:
            return cls(dots, title, list(notes), level, unit)
        largest = sorted(dots, key=lambda dot: -dot.estimate)[:MOST_DOTS]
        told = f"the {MOST_DOTS} largest of {len(dots):,} cells"
        return cls(largest, title, [*notes, told], level, unit)


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
