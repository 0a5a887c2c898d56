"""What is left of the budgets that pay for an answer, and in words what that pays for.

A published answer, and all that may be said with it.
"""

from dataclasses import field
from fractions import Fraction
from html import escape
from typing import Any

from noisycount.display.numbers import (
    approximately,
    exact_text,
    odds_sentence,
    percent,
    plus_minus,
    rounded_down,
    signed,
)
from noisycount.display.values import Shown
from noisycount.frozen import frozen
from noisycount.ledger.budget import Budget, Loss
from noisycount.model.half_width import error_within
from noisycount.model.noises.laplace import DiscreteLaplace
from noisycount.model.searches import first_true

__all__ = ["Release", "Remains", "affordable", "left_words", "next_words"]


_MOST = 10**25  # more answers than any budget pays for: 1e6 over half the square of 1e-9


_CHEAP = Fraction(1, 10**9)  # the least price


@frozen
class Remains:
    """Two budgets that must both pay for one more answer, and what is left of each.

    Attributes:
        dataset_budget: That of the data set.
        of_dataset: The largest ε that it still pays for.
        quota: That of whoever asks, over all data sets; None: there is none.
        of_quota: The largest ε that it still pays for; None where there is none.

    Example:
        >>> from noisycount.ledger.budget import PureBudget
        >>> dataset, quota = PureBudget(Fraction(2)), PureBudget(Fraction(1, 5))
        >>> Remains(dataset, Fraction(1), quota, Fraction(1, 10)).object["budget"]
        '0.2'
    """

    dataset_budget: Budget
    of_dataset: Fraction
    quota: Budget | None = None
    of_quota: Fraction | None = None

    @property
    def remaining(self) -> Fraction:
        """The largest ε at which one more question may be asked."""
        return self.of_dataset if self.of_quota is None else min(self.of_dataset, self.of_quota)

    @property
    def budget(self) -> Budget:
        """The budget of which that is left."""
        if self.quota is None or self.of_quota is None or self.of_dataset <= self.of_quota:
            return self.dataset_budget
        return self.quota

    @property
    def is_a_sum(self) -> bool:
        """Whether prices in ε add up in either budget."""
        return self.dataset_budget.is_a_sum and (self.quota is None or self.quota.is_a_sum)

    @property
    def object(self) -> dict[str, Any]:
        """All of it as JSON; sums are exact texts."""
        return {
            "remaining": exact_text(self.remaining),
            "budget": self.budget.written,
            "dataset_remaining": exact_text(self.of_dataset),
            "dataset_budget": self.dataset_budget.written,
            "quota_remaining": None if self.of_quota is None else exact_text(self.of_quota),
            "quota": None if self.quota is None else self.quota.written,
        }


def affordable(budget: Budget, spent: Loss, epsilon: Fraction) -> int:
    """How many answers at an ε a budget pays for, on top of what was spent."""

    def is_refused(answers: int) -> bool:
        more = Loss(answers * epsilon, answers * epsilon**2 / 2)
        return not budget.admits(spent + more)

    return first_true(lambda answers: is_refused(answers + 1), 0, _MOST)


def left_words(budget: Budget, spent: Loss) -> str:
    """What is left of a budget: the largest price of one answer, and how many cheap ones it pays.

    Example:
        >>> from noisycount.ledger.budget import ConcentratedBudget, PureBudget
        >>> left_words(PureBudget(Fraction(2)), Loss.of(Fraction("1.55")))
        'ε = 0.45 for one answer, or 45 answers at ε = 0.01'
        >>> left_words(ConcentratedBudget(Fraction("0.1")), Loss())
        'ε = 0.447 for one answer, or 2,000 answers at ε = 0.01'
    """
    largest = budget.left(spent)
    if not largest:
        return "nothing"
    one, cheap = f"ε = {rounded_down(largest)} for one answer", _cheap(largest)
    if cheap < _CHEAP:
        return one
    return f"{one}, or {affordable(budget, spent, cheap):,} answers at ε = {exact_text(cheap)}"


def next_words(largest: Fraction) -> str:
    """What the next answer may cost; of prices that do not add up nothing else is left over."""
    return f"the next may cost up to {approximately(largest)}"


def _cheap(largest: Fraction) -> Fraction:
    """A price of one digit, from a hundredth to a tenth of the largest."""
    power = Fraction(10)
    while power * 10 <= largest:
        power *= 10
    while power > largest:
        power /= 10
    return power / 10


@frozen(repr=False)
class Release(Shown):
    """A published answer; it goes wherever an answer and its mechanism go.

    Args:
        answer: The noisy count, in units; it may be negative or exceed the number of units.
        epsilon: What the answer cost once.
        charged: What this call charged for it; 0 for an answer that was paid for before.
        remaining: The largest ε at which this analyst may ask one more question of the data set.
        dataset: Whose records were counted; a file without a name is told by that of its file.
        where: The canonical text of the predicate's normal form.
        mechanism: The law of the answer given the count.
        key: Under which key the ledger keeps the answer.
        unit: The column whose distinct values were counted; None: records.
        confidence: The probability with which `error` is stated.
        unreadable_as_missing: The columns of the question whose cells, where they could not be
            read, count as missing, as the owner accepted.
        remains: What is left of the data set's budget and the analyst's own; None: unknown.

    Example:
        >>> import tempfile
        >>> import noisycount as nc
        >>> import polars as pl
        >>> survey = pl.DataFrame({"age": [71] * 102 + [29] * 498})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with nc.open_desk(survey, unit="row", ledger=f"{folder}/ledger.db") as desk:
        ...         answer = desk.release("age >= 65", within="20%", guess=100)
        >>> answer  # doctest: +ELLIPSIS
        Release(answer=..., error=20, epsilon=0.15, remaining=1.85, where='age >= 65')
        >>> told = nc.posterior(answer, nc.BetaBinomial.from_rate(600, 0.17, 0.02))
        >>> low, high = told.interval(0.95)
        >>> low <= told.median <= high
        True
    """

    answer: int
    epsilon: Fraction
    charged: Fraction
    remaining: Fraction
    dataset: str
    where: str
    mechanism: DiscreteLaplace
    key: str
    unit: str | None = None
    confidence: float = 0.95
    unreadable_as_missing: tuple[str, ...] = ()
    remains: Remains | None = field(default=None, compare=False, repr=False)

    @property
    def error(self) -> int:
        """The count lies within ±error of the answer with the confidence, in units."""
        return error_within(self.mechanism, self.confidence)

    @property
    def scale(self) -> Fraction:
        """The scale of the noise, in units."""
        return self.mechanism.scale

    @property
    def odds(self) -> str:
        """What ε means for the person or the row that was counted, in words."""
        return odds_sentence(self.epsilon, "row" if self.unit is None else "person")

    @property
    def repeated(self) -> bool:
        """Whether the same was asked before, and paid for then."""
        return not self.charged

    def _repr_html_(self) -> str:
        """One line for a notebook."""
        charge = f"charged {exact_text(self.charged)}" if self.charged else "asked before: free"
        return (
            f"<p><b>{signed(self.answer)} {plus_minus(self.error)}</b> "
            f"({percent(self.confidence)}) for <code>{escape(self.where)}</code>; {charge}, "
            f"{approximately(self.remaining)} left; ε = {exact_text(self.epsilon)}: "
            f"{escape(self.odds)}</p>"
        )

    def _facts(self) -> dict[str, object]:
        """All of it, and what follows for a reader."""
        names = (
            *("answer", "error", "confidence", "epsilon", "odds", "charged", "remaining"),
            *("repeated", "dataset", "unit", "where", "mechanism", "key", "unreadable_as_missing"),
        )
        return {name: getattr(self, name) for name in names}

    def _key_facts(self) -> dict[str, object]:
        """The answer, its price, and what was asked."""
        names = ("answer", "error", "epsilon", "remaining", "where")
        return {name: getattr(self, name) for name in names}
