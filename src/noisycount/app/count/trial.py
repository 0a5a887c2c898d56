"""What a question would cost and give, without asking it."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from noisycount.app.config.config import Config, DatasetConfig
from noisycount.app.count.counter import Counter, counter_of
from noisycount.app.count.impossible import impossible_hints
from noisycount.app.count.question import better_answer
from noisycount.app.count.spent import Spent
from noisycount.model.half_width import error_within
from noisycount.model.noises.discrete_laplace import DiscreteLaplace
from noisycount.release.ledger.entries import Analyst
from noisycount.release.remains import Remains

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
        remains: What is left of both budgets now.
        repeated: Whether the analyst asked it at this price before, and it is free. What only
            others asked is told as what nobody asked: at its full price.
        unreadable_as_missing: The columns of the question whose cells, where they could not be
            read, count as missing.
        hints: What the question says of itself: that no record can satisfy a part of it.
    """

    dataset: DatasetConfig
    unit: str | None
    where: str
    meaning: str
    epsilon: Fraction
    error: int
    confidence: float
    analyst: Analyst
    remains: Remains
    repeated: bool
    unreadable_as_missing: tuple[str, ...] = ()
    hints: Sequence[str] = ()

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
        with counter_of(dataset, configuration) as counter:
            return cls.at(counter, where, epsilon, confidence, analyst)

    @classmethod
    def at(
        cls, counter: Counter, where: str, epsilon: Fraction, confidence: float, analyst: Analyst
    ) -> "Trial":
        """The same of open records.

        Raises:
            NoisyCountError: The question or the ledger refuses it.
        """
        records, dataset = counter.records, counter.account
        text, meaning = records.text(where), records.meaning(where)
        better = better_answer(counter, where, epsilon, analyst)
        return cls(
            dataset=dataset,
            unit=records.unit,
            where=text,
            meaning=meaning,
            epsilon=epsilon,
            error=error_within(DiscreteLaplace.for_epsilon(epsilon), confidence),
            confidence=confidence,
            analyst=analyst,
            remains=Spent.of(dataset, analyst, counter.ledger).remains,
            repeated=counter.is_free(analyst, records.count_requests(where, epsilon)),
            unreadable_as_missing=records.unreadable_as_missing(where),
            hints=[
                *impossible_hints([where], records.schema),
                *([] if better is None else [better.words(confidence)]),
            ],
        )

    @property
    def remaining(self) -> Fraction:
        """The largest ε at which one more question may be asked now."""
        return self.remains.remaining

    @property
    def affordable(self) -> bool:
        """Whether the budget pays for it."""
        return self.repeated or self.epsilon <= self.remaining

    @property
    def affordable_answers(self) -> int | None:
        """How many answers at this price the budget pays for; None where prices do not add up."""
        return self.remaining // self.epsilon if self.remains.is_a_sum else None

    @property
    def cost(self) -> Fraction:
        """What it would be charged."""
        return Fraction(0) if self.repeated else self.epsilon
