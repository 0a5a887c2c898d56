"""What a ledger holds: requests, and the debits that they became."""

import hashlib
import json
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from noisycount.release.budget.budgets import Budget, budget_of
from noisycount.release.budget.exact import exact_epsilon, exact_share, exact_text, optional_text
from noisycount.release.budget.loss import Loss
from noisycount.release.ledger.arguments import check_purpose, check_text
from noisycount.release.ledger.table_answer import TableAnswer
from noisycount.shown.value import Shown

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["ANALYST", "Analyst", "Entry", "Repeat", "Request"]

ANALYST = "analyst"
"""Who asks where nobody is named."""

_PRICES = 1024  # that are remembered
_LONGEST_QUESTION = 10_000_000  # characters: those of a table name up to a million keys


@dataclass(frozen=True, slots=True)
class Request(Shown):
    """One question to one data set at one price, which is in ε or in ρ.

    Args:
        dataset: Whose budget pays.
        question: Everything that decides what is counted and what noise is added, as text.
        epsilon: The price, in units of privacy loss; whatever `exact_epsilon` takes is kept as a
            rational. None: the price is in ρ.
        rho: The price of Gaussian noise, in the range of `exact_epsilon`; None: it is in ε.
        delta: The probability with which the answer may cost more; whatever `exact_share` takes,
            or 0.

    Raises:
        ValueError: A text is empty, too long or not printable, a price is out of range, or there
            is not exactly one of `epsilon` and `rho`.

    Example:
        >>> Request("survey", "age > 40", Fraction(1, 10)).digest[:8]
        'a2fff9aa'
        >>> Request("survey", "by town", None, rho=Fraction(1, 10)).price
        Loss(epsilon=None, rho=Fraction(1, 10), delta=Fraction(0, 1))
    """

    dataset: str
    question: str
    epsilon: Fraction | None
    rho: Fraction | None = None
    delta: Fraction = Fraction(0)
    _digest: str = field(default="", init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_text("dataset", self.dataset)
        check_text("question", self.question, _LONGEST_QUESTION)
        if (self.epsilon is None) == (self.rho is None):
            raise ValueError("a price must be in epsilon or in rho, and not in both: give one")
        for name in ("epsilon", "rho"):
            if (value := getattr(self, name)) is not None:
                object.__setattr__(self, name, exact_epsilon(value, name))
        if self.delta != 0:
            object.__setattr__(self, "delta", exact_share(self.delta, "delta"))

    def forms(self, formers: "Sequence[Request]") -> "Sequence[Request]":
        """All forms in which a ledger may hold it; of several that were made the first counts.

        Args:
            formers: Its other forms; it is before them, if it has no place among them.
        """
        return formers if self in formers else (self, *formers)

    @property
    def price(self) -> Loss:
        """What the answer costs."""
        return _price(self.epsilon, self.rho, self.delta)

    @property
    def currency(self) -> dict[str, Fraction]:
        """The sum that is charged, under the name of what it is in."""
        sums = {"epsilon": self.epsilon, "rho": self.rho}
        return {name: value for name, value in sums.items() if value is not None}

    @property
    def digest(self) -> str:
        """The SHA-256 of an encoding that no other request shares, in hexadecimal digits."""
        if not self._digest:
            parts = [self.dataset, self.question, optional_text(self.epsilon)]
            if self.rho is not None or self.delta:
                parts += [optional_text(self.rho), exact_text(self.delta)]
            digest = hashlib.sha256(json.dumps(parts).encode("ascii")).hexdigest()
            object.__setattr__(self, "_digest", digest)
        return self._digest


@lru_cache(maxsize=_PRICES)
def _price(epsilon: Fraction | None, rho: Fraction | None, delta: Fraction) -> Loss:
    """What an answer costs: most requests of a ledger have one of a few prices."""
    if epsilon is not None:
        return Loss.of(epsilon, delta)
    return Loss.concentrated(rho, delta)  # type: ignore[arg-type]  # there is one of both


@dataclass(frozen=True, slots=True)
class Analyst(Shown):
    """Who asks, and what their questions may cost together, whatever data sets they are about.

    Args:
        name: What the ledger calls the analyst; at most 200 printable characters.
        budget: A number is kept as a budget in ε; None: only the data sets' budgets bind.
        sees_all: Whether they may know what others asked, as the owner of a service may.

    Raises:
        ValueError: The name is not printable, or the budget is out of range.

    Example:
        >>> Analyst("alice", budget_of("0.5")).budget
        PureBudget(epsilon=Fraction(1, 2))
    """

    name: str = ANALYST
    budget: Budget | None = None
    sees_all: bool = False

    def __post_init__(self) -> None:
        check_text("analyst", self.name)
        if self.budget is not None:
            object.__setattr__(self, "budget", budget_of(self.budget))

    def may_see(self, entry: "Entry") -> bool:
        """Whether they may know of an entry: they asked for it, as the first or later."""
        return self.sees_all or self.name in entry.askers


@dataclass(frozen=True, slots=True)
class Repeat(Shown):
    """That somebody else asked for what was debited, which is free.

    Args:
        analyst: Who.
        made: When first, in UTC.
        purpose: What the answer is for, in their words; None: nobody said so.

    Raises:
        ValueError: The name is not printable, the purpose is blank, or `made` is not in UTC.
    """

    analyst: str
    made: datetime
    purpose: str | None = None

    def __post_init__(self) -> None:
        check_text("analyst", self.analyst)
        check_purpose(self.purpose)
        if self.made.utcoffset() != timedelta(0):
            raise ValueError(f"made must be in UTC, got {self.made.isoformat()}")


@dataclass(frozen=True, slots=True, repr=False)
class Entry(Shown):
    """One debit, and its answer once there is one.

    Args:
        key: What its first request was called; at most 200 printable characters.
        request: What was asked, and at what price.
        spent: What the data set has paid in all, this debit included.
        made: When, in UTC.
        answer: The noisy count in units, or the counts of a table; None while none was stored.
        analyst: Who asked.
        analyst_spent: What the analyst's questions have cost in all, this debit included.
        purpose: What the answer is for, in the asker's words; at most 200 printable characters.
            None: nobody said so.
        repeats: Who else asked for it later.

    Raises:
        ValueError: A name is not printable, the purpose is blank, `made` is not in UTC, or a total
            is too little.
    """

    key: str
    request: Request
    spent: Loss
    made: datetime
    answer: int | TableAnswer | None
    analyst: str
    analyst_spent: Loss
    purpose: str | None = None
    repeats: tuple[Repeat, ...] = ()

    def __post_init__(self) -> None:
        check_text("key", self.key)
        check_text("analyst", self.analyst)
        check_purpose(self.purpose)
        price = self.request.price
        for name, total in (("spent", self.spent), ("analyst_spent", self.analyst_spent)):
            if not total.includes(price):
                raise ValueError(f"{name} must include the price, got {total.text}")
        if self.made.utcoffset() != timedelta(0):
            raise ValueError(f"made must be in UTC, got {self.made.isoformat()}")

    @property
    def askers(self) -> tuple[str, ...]:
        """Who asked for it; the first of them paid."""
        return self.analyst, *(repeat.analyst for repeat in self.repeats)

    @property
    def purposes(self) -> tuple[str | None, ...]:
        """What the answer is for, in the words of each of them."""
        return self.purpose, *(repeat.purpose for repeat in self.repeats)

    def _key_facts(self) -> dict[str, object]:
        """What was asked of whom, its price and its answer."""
        asked = {"dataset": self.request.dataset, **self.request.currency}
        told = {} if self.purpose is None else {"purpose": self.purpose}
        return {"key": self.key, **asked, "answer": self.answer, "analyst": self.analyst, **told}
