"""A list of disjoint questions as a table."""

from collections.abc import Iterator

from noisycount.analysis.privacy.cells.cell import Cell
from noisycount.analysis.privacy.cells.table import TableAnswers
from noisycount.analysis.privacy.lists.reduced import Pattern, ReducedList
from noisycount.model.exact import Exact
from noisycount.model.noises.additive import SymmetricNoise

__all__ = ["is_noiseless", "is_table", "table_answers"]


def is_table(told: ReducedList) -> bool:
    """Whether no record satisfies two of the questions, each of which is answered once."""
    disjoint = all(sum(pattern) <= 1 for pattern in told.rates)
    return disjoint and len(told.answers) == len(told.mechanisms)


def is_noiseless(told: ReducedList) -> bool:
    """Whether no answer has noise."""
    return all(isinstance(one, Exact) for _, one in told.answers)


def table_answers(told: ReducedList) -> TableAnswers:
    """The divergences of disjoint questions, and of what satisfies none of them."""
    return TableAnswers(told.size, tuple(_cells(told)))


def _cells(told: ReducedList) -> Iterator[Cell]:
    """The cells; the count of the last is known if those of all others are."""
    mechanisms, is_exact = [one for _, one in told.answers], is_noiseless(told)
    for pattern, rate in told.rates.items():
        yield Cell(rate, _mechanism(pattern, mechanisms) or (Exact() if is_exact else None))


def _mechanism(
    pattern: Pattern, mechanisms: list[Exact | SymmetricNoise]
) -> Exact | SymmetricNoise | None:
    """How the count of a cell is answered; None: nobody asks for it."""
    return mechanisms[pattern.index(1)] if any(pattern) else None
