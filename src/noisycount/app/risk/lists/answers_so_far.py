"""The answers that were given about one data set, as a list of questions."""

from dataclasses import dataclass
from fractions import Fraction

from noisycount.app.risk.lists.paid import Paid
from noisycount.model.noises.discrete_laplace import DiscreteLaplace
from noisycount.release.budget.loss import Loss

__all__ = ["AnswersSoFar", "AskedTable"]


@dataclass(frozen=True, slots=True)
class AskedTable:
    """A table that was answered.

    Attributes:
        words: What was asked.
        price: What it cost.
    """

    words: str
    price: Loss


@dataclass(frozen=True, slots=True)
class AnswersSoFar:
    """What was asked of a data set so far.

    Attributes:
        dataset: Its name.
        size: Its public size; None where there is none.
        questions: Each different question for one count once, in words, oldest first.
        places: Of each count the place of its question.
        prices: The ε of each count.
        tables: Each table, oldest first.
        paid: What all of them cost together.
    """

    dataset: str
    size: int | None
    questions: tuple[str, ...]
    places: tuple[int, ...]
    prices: tuple[Fraction, ...]
    tables: tuple[AskedTable, ...]
    paid: Paid

    @property
    def mechanisms(self) -> list[DiscreteLaplace]:
        """The noise of each count."""
        return [DiscreteLaplace.for_epsilon(price) for price in self.prices]

    @property
    def dearest(self) -> Fraction:
        """The largest ε of an answer; 1 where none has an ε."""
        of_tables = [table.price.epsilon for table in self.tables]
        known = [*self.prices, *(price for price in of_tables if price is not None)]
        return max(known, default=Fraction(1))
