"""The answers that were given about one data set, as a list of questions."""

from dataclasses import dataclass
from fractions import Fraction

from noisycount.model.noises.discrete_laplace import DiscreteLaplace

__all__ = ["AnswersSoFar"]


@dataclass(frozen=True, slots=True)
class AnswersSoFar:
    """What was asked of a data set so far.

    Attributes:
        dataset: Its name.
        size: Its public size; None where there is none.
        questions: Each different question once, in words, oldest first.
        places: Of each answer the place of its question.
        prices: The ε of each answer.
        tables: How many tables were answered beside.
        spent: The sum of the ε of all answers; None: they have none.
    """

    dataset: str
    size: int | None
    questions: tuple[str, ...]
    places: tuple[int, ...]
    prices: tuple[Fraction, ...]
    tables: int
    spent: Fraction | None

    @property
    def mechanisms(self) -> list[DiscreteLaplace]:
        """The noise of each answer."""
        return [DiscreteLaplace.for_epsilon(price) for price in self.prices]
