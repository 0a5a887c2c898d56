"""What a question would cost and give, without asking it."""

from dataclasses import dataclass, replace
from fractions import Fraction

from noisycount.app.config.config import Config, DatasetConfig
from noisycount.app.count.opening import records_of, register_of
from noisycount.app.ledger.access import existing_ledger
from noisycount.model.half_width import error_within
from noisycount.model.noises.discrete_laplace import DiscreteLaplace
from noisycount.release.budget.loss import Loss
from noisycount.release.ledger.entries import Analyst, Entry

__all__ = ["Trial"]


@dataclass(frozen=True, slots=True)
class Trial:
    """A question that parses, and what an answer would cost; nothing is charged or counted.

    Attributes:
        dataset: Whose records would be counted.
        unit: The column whose distinct values would be; None for rows.
        where: The canonical text of the question.
        meaning: The question in English.
        epsilon: The price of an answer.
        error: The count would lie within ±error of the answer with the confidence, in units.
        confidence: The probability of that.
        analyst: Who would ask.
        remaining: The largest ε at which one more question may be asked now.
        repeated: Whether it was asked at this price before, and is free.
        unreadable_as_missing: The columns of the question whose cells, where they could not be
            read, count as missing.
    """

    dataset: DatasetConfig
    unit: str | None
    where: str
    meaning: str
    epsilon: Fraction
    error: int
    confidence: float
    analyst: Analyst
    remaining: Fraction
    repeated: bool
    unreadable_as_missing: tuple[str, ...] = ()

    @classmethod
    def of(  # noqa: PLR0913, PLR0917 - all that decides a price
        cls,
        where: str,
        dataset: DatasetConfig,
        configuration: Config,
        epsilon: Fraction,
        confidence: float,
        analyst: Analyst,
    ) -> "Trial":
        """The trial of a question at a price; no ledger is made for it.

        Raises:
            NoisyCountError: The file, the question or the ledger refuses it.
        """
        with (
            existing_ledger(configuration) as ledger,
            records_of(dataset, register_of(ledger, configuration)) as records,
        ):
            text, meaning = records.text(where), records.meaning(where)
            entries = ledger.entries() if ledger else []
            earlier = records.earlier(where, entries)
            dataset, unit = replace(dataset, account=records.name), records.unit
            accepted = records.unreadable_as_missing(where)
        return cls(
            dataset=dataset,
            unit=unit,
            where=text,
            meaning=meaning,
            epsilon=epsilon,
            error=error_within(DiscreteLaplace.for_epsilon(epsilon), confidence),
            confidence=confidence,
            analyst=analyst,
            remaining=_remaining(dataset, analyst, entries),
            repeated=any(entry.request.epsilon == epsilon for entry in earlier),
            unreadable_as_missing=accepted,
        )

    @property
    def affordable(self) -> bool:
        """Whether the budget pays for it."""
        return self.repeated or self.epsilon <= self.remaining

    @property
    def cost(self) -> Fraction:
        """What it would be charged."""
        return Fraction(0) if self.repeated else self.epsilon


def _remaining(dataset: DatasetConfig, analyst: Analyst, entries: list[Entry]) -> Fraction:
    """The largest ε of one more question; the budgets of both must pay it."""
    paid = [entry.spent for entry in entries if entry.request.dataset == dataset.account]
    left = dataset.budget.left(paid[-1] if paid else Loss())
    if analyst.budget is None:
        return left
    own = [entry.analyst_spent for entry in entries if entry.analyst == analyst.name]
    return min(left, analyst.budget.left(own[-1] if own else Loss()))
