"""A count that was answered before, as a ledger keeps it."""

from dataclasses import dataclass
from fractions import Fraction

from noisycount.model.half_width import error_within
from noisycount.model.noises.discrete_laplace import DiscreteLaplace
from noisycount.release.budget.exact import exact_text
from noisycount.release.ledger.asked import asks_for_table
from noisycount.release.ledger.entries import Entry
from noisycount.shown.numbers import plus_minus, signed

__all__ = ["StoredCount"]


@dataclass(frozen=True, slots=True)
class StoredCount:
    """A noisy count and its price.

    Attributes:
        answer: In units.
        epsilon: What it cost.
        key: Under which the ledger keeps it.
    """

    answer: int
    epsilon: Fraction
    key: str

    @classmethod
    def of(cls, entry: Entry) -> "StoredCount | None":
        """The count of an entry; None where there is no answer yet, or it is a table."""
        answer, epsilon = entry.answer, entry.request.epsilon
        if not isinstance(answer, int) or epsilon is None or asks_for_table(entry):
            return None
        return cls(answer, epsilon, entry.key)

    def error(self, confidence: float) -> int:
        """The true count lies within ±error of the answer with the confidence, in units."""
        return error_within(DiscreteLaplace.for_epsilon(self.epsilon), confidence)

    def words(self, confidence: float) -> str:
        """Where the count is better known than by an answer at a lower price."""
        price, error = exact_text(self.epsilon), plus_minus(self.error(confidence))
        return (
            f"a better answer to this question is stored, and free with --epsilon {price}: "
            f"{signed(self.answer)} {error}"
        )
