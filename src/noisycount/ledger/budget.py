"""What answers have cost together, and how much they may: budgets in ε, in ρ and in (ε, δ)."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from enum import Enum
from fractions import Fraction
from math import isqrt
from typing import Self

from noisycount import validation
from noisycount.display.values import Shown
from noisycount.frozen import frozen
from noisycount.model.concentrated import rho_within


class NeighbourRelation(Enum):
    """How two data sets differ that an outsider must not tell apart, by how many units change.

    A unit is a record, or a person with all records.
    """

    ADD_REMOVE = 1
    REPLACEMENT = 2

    @classmethod
    def of_size(cls, size: int | None) -> Self:
        """Those of a data set: where its number of units is public, one unit replaces another.

        Example:
            >>> NeighbourRelation.of_size(None).name, NeighbourRelation.of_size(5912).name
            ('ADD_REMOVE', 'REPLACEMENT')
        """
        return cls.ADD_REMOVE if size is None else cls.REPLACEMENT


_NONE = Fraction(0)


@frozen
class Loss(Shown):
    """The privacy loss of all answers so far, added up exactly in three ways.

    An answer that is ε-differentially private is also ε²/2-zCDP; one with Gaussian noise is ρ-zCDP and has no ε. Hidden
    keys fail with a probability of δ, and are so δ-approximately one or the other. All three add up over answers, also
    where each question and each price depends on the answers before.

    Source:
        M. Bun and T. Steinke, Concentrated Differential Privacy (2016), Proposition 1.4, Lemma 1.7
        and Section 8; for prices that depend on answers R. Rogers, A. Roth, J. Ullman and
        S. Vadhan, Privacy Odometers and Filters (2016), and J. Whitehouse, A. Ramdas, R. Rogers
        and Z. S. Wu, Fully-Adaptive Composition in Differential Privacy (2023).

    Numerical error:
        None: all are rationals.

    Example:
        >>> Loss.of(Fraction(1, 3)) + Loss.of(Fraction(1))
        Loss(epsilon=Fraction(4, 3), rho=Fraction(5, 9), delta=Fraction(0, 1))
        >>> (Loss.of(Fraction(1)) + Loss.concentrated(Fraction(1, 10))).text
        'ρ = 0.6'
    """

    epsilon: Fraction | None = _NONE  # the sum of the ε; None: an answer had no ε
    rho: Fraction = _NONE  # the sum of the ρ, each ε²/2 where there is an ε
    delta: Fraction = _NONE  # the sum of the δ

    def __post_init__(self) -> None:
        if self.epsilon is not None:
            object.__setattr__(self, "epsilon", validation.exact_rational(self.epsilon, "epsilon"))
        object.__setattr__(self, "rho", validation.exact_rational(self.rho, "rho"))
        object.__setattr__(self, "delta", validation.exact_rational(self.delta, "delta"))

    @classmethod
    def of(cls, epsilon: Fraction, delta: Fraction = _NONE) -> Self:
        """The loss of one answer that is (ε, δ)-differentially private."""
        exact = validation.exact_rational(epsilon, "epsilon")
        return cls._of_exact(exact, exact * exact / 2, validation.exact_rational(delta, "delta"))

    @classmethod
    def concentrated(cls, rho: Fraction, delta: Fraction = _NONE) -> Self:
        """The loss of one answer that is δ-approximately ρ-zCDP, and has no ε."""
        return cls._of_exact(None, validation.exact_rational(rho, "rho"), validation.exact_rational(delta, "delta"))

    @classmethod
    def read(cls, epsilon: str | None, rho: str, delta: str | None = None) -> Self:
        """The loss whose sums `exact_text` wrote."""
        return cls._of_exact(
            validation.optional_value(epsilon), validation.exact_value(rho), validation.optional_value(delta) or _NONE
        )

    @property
    def text(self) -> str:
        """The loss in a few words, in ε where it has one."""
        sums = f"ρ = {validation.exact_text(self.rho)}"
        if self.epsilon is not None:
            sums = f"ε = {validation.exact_text(self.epsilon)}"
        return f"{sums} at δ = {float(self.delta):.6g}" if self.delta else sums

    def __bool__(self) -> bool:
        return self.epsilon is None or any((self.epsilon, self.rho, self.delta))

    def __add__(self, other: Self) -> Self:
        has_epsilon = self.epsilon is not None and other.epsilon is not None
        return self._of_exact(
            self.epsilon + other.epsilon if has_epsilon else None,  # type: ignore[operator]  # both
            self.rho + other.rho,
            self.delta + other.delta if other.delta else self.delta,
        )

    def less(self, epsilon: Fraction) -> Self:
        """The loss without a part of its ε that was reserved and not used."""
        return self._of_exact(None if self.epsilon is None else self.epsilon - epsilon, self.rho, self.delta)

    def includes(self, part: "Loss") -> bool:
        """Whether another loss can be a part of this one."""
        if self.epsilon is not None and (part.epsilon is None or part.epsilon > self.epsilon):
            return False
        return part.rho <= self.rho and (not part.delta or part.delta <= self.delta)

    @classmethod
    def _of_exact(cls, epsilon: Fraction | None, rho: Fraction, delta: Fraction) -> Self:
        """The loss of sums that are known to be rationals of Python's own integers."""
        loss = object.__new__(cls)
        object.__setattr__(loss, "epsilon", epsilon)
        object.__setattr__(loss, "rho", rho)
        object.__setattr__(loss, "delta", delta)
        return loss


def amount_of(charge: Loss) -> Fraction:
    """Return what was charged for a count, as `Budget.charge` gives it: its ε, or its ρ if it has no ε."""
    return charge.rho if charge.epsilon is None else charge.epsilon


def amount_text(charge: Loss) -> str:
    """Return what was charged for a count, in words: an ε alone as a number, all else with its name."""
    return charge.text if charge.epsilon is None or charge.delta else validation.exact_text(charge.epsilon)


_PLACES = 10**9  # prices that are found, not typed, are multiples of the smallest, 1e-9


class Budget(Shown, ABC):
    """The most that answers may cost together, in one of several currencies."""

    __slots__ = ()

    @property
    @abstractmethod
    def text(self) -> str:
        """The budget in a few words."""

    @property
    @abstractmethod
    def written(self) -> str | dict[str, str]:
        """The budget as an owner writes it, in exact texts."""

    @property
    @abstractmethod
    def whole(self) -> Loss:
        """What is lost where all of it is spent."""

    @property
    def is_a_sum(self) -> bool:
        """Whether it is a sum of ε, of which what was spent leaves the rest."""
        return False

    @property
    def rho_delta(self) -> Fraction | None:
        """The δ at which ρ is told in ε; None: the budget names none."""
        return None

    @abstractmethod
    def admits(self, total: Loss) -> bool:
        """Whether answers of this loss together keep to the budget."""

    def charge(self, loss: Loss) -> Loss:
        """Return a loss in the currency of this budget: what the ledger takes of it for an answer of this loss."""
        return loss

    @abstractmethod
    def obstacle(self, price: Loss, whose: str) -> str | None:
        """Why such an answer can never be paid for, and what can be done; None where it can."""
        return None

    @abstractmethod
    def left(self, spent: Loss) -> Fraction:
        """The largest ε at which one more answer may be asked; 0 where none may."""


@frozen
class PureBudget(Budget):
    """A budget in ε: the sum of the prices may reach it.

    Numerical error:
        `admits` is exact; `left` is too where a price may be so written, else it is rounded down
        to a multiple of 1e-18.

    Example:
        >>> PureBudget(Fraction(2)).left(Loss.of(Fraction(1, 2)))
        Fraction(3, 2)
    """

    epsilon: Fraction  # from 1e-9 to 1e6; whatever `exact_epsilon` takes is kept as a rational

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", validation.exact_epsilon(self.epsilon, "budget"))

    @property
    def text(self) -> str:
        """The budget in a few words."""
        return validation.exact_text(self.epsilon)

    @property
    def written(self) -> str:
        """The exact text of ε."""
        return validation.exact_text(self.epsilon)

    @property
    def whole(self) -> Loss:
        """Its ε."""
        return Loss.of(self.epsilon)

    @property
    def is_a_sum(self) -> bool:
        """Always: prices are subtracted from it."""
        return True

    def admits(self, total: Loss) -> bool:
        """Whether answers of this loss together keep to the budget."""
        return total.epsilon is not None and total.epsilon <= self.epsilon and not total.delta

    def obstacle(self, price: Loss, whose: str) -> str | None:
        """Why such an answer can never be paid for, and what can be done; None where it can."""
        if price.epsilon is None:
            return (
                "a budget in ε alone pays for no Gaussian noise: give"
                f" {whose} a budget with a rho, or with epsilon and delta"
            )
        return no_hidden_keys("ε alone", whose) if price.delta else None

    def left(self, spent: Loss) -> Fraction:
        """The largest ε at which one more answer may be asked; 0 where none may."""
        if spent.epsilon is None or spent.delta:
            return Fraction(0)
        return validation.largest_epsilon(self.epsilon - spent.epsilon)


@frozen
class ConcentratedBudget(Budget):
    """A budget in ρ of zero-concentrated differential privacy: the sum of the ρ may reach it.

    An answer in ε has ρ = ε²/2, so that many cheap answers fit that do not fit a budget in ε: a
    hundred at ε = 0.1 have ρ = 0.5.

    Numerical error:
        `admits` is exact; `left` is rounded down to a multiple of 1e-9.

    Example:
        >>> ConcentratedBudget(Fraction(1, 2)).left(Loss(Fraction(6), Fraction(3, 8)))
        Fraction(1, 2)
    """

    rho: Fraction  # from 1e-9 to 1e6; whatever `exact_epsilon` takes is kept as a rational

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", validation.exact_epsilon(self.rho, "rho"))

    @property
    def text(self) -> str:
        """The budget in a few words."""
        return f"ρ = {validation.exact_text(self.rho)}"

    @property
    def written(self) -> dict[str, str]:
        """The exact text of ρ."""
        return {"rho": validation.exact_text(self.rho)}

    @property
    def whole(self) -> Loss:
        """Its ρ."""
        return Loss.concentrated(self.rho)

    def admits(self, total: Loss) -> bool:
        """Whether answers of this loss together keep to the budget."""
        return total.rho <= self.rho and not total.delta

    def charge(self, loss: Loss) -> Loss:
        """Return the ρ of a loss, with its δ, and without its ε."""
        return Loss.concentrated(loss.rho, loss.delta) if loss else loss

    def obstacle(self, price: Loss, whose: str) -> str | None:
        """Why such an answer can never be paid for, and what can be done; None where it can."""
        return no_hidden_keys("ρ", whose) if price.delta else None

    def left(self, spent: Loss) -> Fraction:
        """The largest ε at which one more answer may be asked; 0 where none may."""
        return Fraction(0) if spent.delta else price_within(self.rho - spent.rho)


def budget_of(value: validation.RationalLike | Budget) -> Budget:
    """A budget; an exact number or its text is one in ε.

    Example:
        >>> budget_of(Fraction(2))
        PureBudget(epsilon=Fraction(2, 1))
    """
    return value if isinstance(value, Budget) else PureBudget(validation.exact_epsilon(value, "budget"))


def no_hidden_keys(currency: str, whose: str) -> str:
    """The refusal of hidden keys by a budget that has no δ."""
    return (
        f"a budget in {currency} pays for no hidden keys, which fail with a probability: give"
        f" {whose} a budget with epsilon, delta and for_keys, or list the keys"
    )


def price_within(rho: Fraction) -> Fraction:
    """The largest multiple of 1e-9 whose half square is at most ρ; 0 below 0."""
    return Fraction(isqrt(max(0, int(2 * rho * _PLACES**2))), _PLACES)


@frozen
class ApproximateBudget(Budget):
    """A budget in (ε, δ): the ε add up to at most ε, or the ρ to what implies it.

    A part d of δ may be set aside for hidden keys. Answers keep to the budget if their δ add up to
    at most d, and their ε to at most ε or their ρ to at most the largest that implies (ε, δ − d).

    All answers together are then (ε, δ)-differentially private, also where questions and prices depend on answers. For
    at each step what an answer does with the probability of its δ can be set apart, on either of two neighbouring data
    sets, and on all paths these add up to at most d. What is left obeys the Rényi bounds: outcomes whose ε add up to at
    most ε have no larger loss, and those with a larger one are outcomes of a filter of ρ, which count for at most δ −
    d. The part d is one for all paths and stated beforehand: were each answer free to use of δ what others left, rare
    paths could use all of it for their ρ and the usual ones for their keys, twice δ.

    Source:
        R. Rogers, A. Roth, J. Ullman and S. Vadhan, Privacy Odometers and Filters (2016), for ε;
        J. Whitehouse, A. Ramdas, R. Rogers and Z. S. Wu, Fully-Adaptive Composition in Differential
        Privacy (2023), whose filter is for approximate zCDP; `rho_within` for what a ρ implies.

    Numerical error:
        The largest ρ is rounded down to six digits. Sums are exact.

    Example:
        >>> budget = ApproximateBudget(Fraction(2), Fraction(1, 10**6))
        >>> budget.admits(Loss(Fraction(8), Fraction(8, 200))), budget.admits(Loss.of(Fraction(2)))
        (True, True)
    """

    epsilon: Fraction  # from 1e-9 to 1e6; whatever `exact_epsilon` takes is kept as a rational
    delta: Fraction  # from 1e-18 to below 1; whatever `exact_delta` takes is kept as a rational
    # the part of δ that hidden keys may use, from 0 to all of it. Where it is all, no sum of ρ implies the
    # budget, and the ε have to add up to at most ε
    for_keys: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", validation.exact_epsilon(self.epsilon, "budget"))
        object.__setattr__(self, "delta", validation.exact_delta(self.delta))
        object.__setattr__(self, "for_keys", validation.exact_delta(self.for_keys, "for_keys", smallest=0))
        if self.for_keys > self.delta:
            raise ValueError(
                f"for_keys must be at most delta, {validation.exact_text(self.delta)}, of which it is a part,"
                f" got {validation.exact_text(self.for_keys)}"
            )

    @property
    def text(self) -> str:
        """The budget in a few words."""
        told = f"ε = {validation.exact_text(self.epsilon)} at δ = {float(self.delta):.6g}"
        return f"{told}, {float(self.for_keys):.6g} of it for keys" if self.for_keys else told

    @property
    def written(self) -> dict[str, str]:
        """The exact texts of ε and δ, and of the part for hidden keys if there is one."""
        parts = {"epsilon": self.epsilon, "delta": self.delta}
        if self.for_keys:
            parts["for_keys"] = self.for_keys
        return {name: validation.exact_text(value) for name, value in parts.items()}

    @property
    def whole(self) -> Loss:
        """Its ε and its δ."""
        return Loss.of(self.epsilon, self.delta)

    @property
    def rho_delta(self) -> Fraction | None:
        """The part of δ that is not for hidden keys, at which ρ implies ε; None: there is none."""
        return self.delta - self.for_keys or None

    @property
    def rho(self) -> Fraction:
        """The ρ that implies this budget beside hidden keys; 0 where none does."""
        rest = self.rho_delta
        return Fraction(0) if rest is None else rho_within(self.epsilon, rest)

    def admits(self, total: Loss) -> bool:
        """Whether answers of this loss together keep to the budget."""
        if total.delta > self.for_keys:
            return False
        return (total.epsilon is not None and total.epsilon <= self.epsilon) or (total.rho <= self.rho)

    def obstacle(self, price: Loss, whose: str) -> str | None:
        """Why such an answer can never be paid for, and what can be done; None where it can."""
        if price.delta and not self.for_keys:
            return (
                f"the budget {self.text} of {whose} sets no part of δ aside for hidden keys:"
                " give it for_keys, or list the keys"
            )
        if price.epsilon is None and not self.rho:
            return f"the budget {self.text} of {whose} leaves no δ for Gaussian noise: give it a smaller for_keys"
        return None

    def left(self, spent: Loss) -> Fraction:
        """The largest ε at which one more answer may be asked; 0 where none may."""
        if spent.delta > self.for_keys:
            return Fraction(0)
        concentrated = price_within(self.rho - spent.rho)
        if spent.epsilon is None:
            return concentrated
        return max(validation.largest_epsilon(self.epsilon - spent.epsilon), concentrated)


PARTS = ("epsilon", "delta", "for_keys", "rho")
Written = validation.RationalLike | Budget | Mapping[str, validation.RationalLike]
_FORM = '"2", or { epsilon = "2", delta = "1e-6" }, or { rho = "0.1" }'


def budget_from(value: Written) -> Budget:
    """The budget that somebody wrote.

    Example:
        >>> budget_from({"epsilon": "2", "delta": "1e-6"}).text
        'ε = 2 at δ = 1e-06, 5e-07 of it for keys'
    """
    if not isinstance(value, Mapping):
        return budget_of(value)
    if set(value) == {"rho"}:
        return ConcentratedBudget(validation.exact_epsilon(value["rho"], "rho"))
    if set(value) - {"for_keys"} != {"epsilon", "delta"}:
        raise ValueError(f"budget must be {_FORM}, got parts {', '.join(map(repr, value))}")
    epsilon, delta = validation.exact_epsilon(value["epsilon"]), validation.exact_delta(value["delta"])
    for_keys = value.get("for_keys", delta / 2)
    return ApproximateBudget(epsilon, delta, validation.exact_delta(for_keys, "for_keys", smallest=0))
