"""Privacy loss of answers, and privacy budgets in ε, in ρ and in (ε, δ).

`Loss` adds up the loss of answers exactly. Each `Budget` admits a loss or not, and returns the largest ε that remains.
"""

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
    """Neighbour relation of data sets that an adversary must not distinguish. The value is the number of changed units.

    A privacy unit is a record, or a person with all records.
    """

    ADD_REMOVE = 1
    REPLACEMENT = 2

    @classmethod
    def of_size(cls, size: int | None) -> Self:
        """Return the relation of a data set: replacement if its number of units is public, else adding or removing one.

        Example:
            >>> NeighbourRelation.of_size(None).name, NeighbourRelation.of_size(5912).name
            ('ADD_REMOVE', 'REPLACEMENT')
        """
        return cls.ADD_REMOVE if size is None else cls.REPLACEMENT


_NONE = Fraction(0)


@frozen
class Loss(Shown):
    """Privacy loss of one or more answers, as exact sums of ε, of ρ and of δ.

    An ε-differentially private answer is also ε²/2-zCDP. An answer with Gaussian noise is ρ-zCDP and has no ε. Hidden
    keys fail with probability δ, so that a table with hidden keys is only δ-approximately ε-DP or ρ-zCDP. Each of the
    three sums bounds the loss of all answers, also if each question and each price depends on the answers before.

    Source:
        M. Bun and T. Steinke, Concentrated Differential Privacy (2016), Proposition 1.4, Lemma 1.7
        and Section 8; for prices that depend on answers R. Rogers, A. Roth, J. Ullman and
        S. Vadhan, Privacy Odometers and Filters (2016), and J. Whitehouse, A. Ramdas, R. Rogers
        and Z. S. Wu, Fully-Adaptive Composition in Differential Privacy (2023).

    Numerical error:
        None: all are rationals.

    Example:
        >>> Loss.from_epsilon(Fraction(1, 3)) + Loss.from_epsilon(Fraction(1))
        Loss(epsilon=Fraction(4, 3), rho=Fraction(5, 9), delta=Fraction(0, 1))
        >>> (Loss.from_epsilon(Fraction(1)) + Loss.concentrated(Fraction(1, 10))).text
        'ρ = 0.6'
    """

    epsilon: Fraction | None = _NONE  # sum of the ε; None: an answer had no ε
    rho: Fraction = _NONE  # sum of the ρ; an answer with an ε counts as ε²/2
    delta: Fraction = _NONE  # sum of the δ

    def __post_init__(self) -> None:
        if self.epsilon is not None:
            object.__setattr__(self, "epsilon", validation.exact_rational(self.epsilon, "epsilon"))
        object.__setattr__(self, "rho", validation.exact_rational(self.rho, "rho"))
        object.__setattr__(self, "delta", validation.exact_rational(self.delta, "delta"))

    @classmethod
    def from_epsilon(cls, epsilon: Fraction, delta: Fraction = _NONE) -> Self:
        """Return the loss of one (ε, δ)-differentially private answer: ε, ρ = ε²/2 and δ."""
        exact = validation.exact_rational(epsilon, "epsilon")
        return cls._of_exact(exact, exact * exact / 2, validation.exact_rational(delta, "delta"))

    @classmethod
    def concentrated(cls, rho: Fraction, delta: Fraction = _NONE) -> Self:
        """Return the loss of one answer that is δ-approximately ρ-zCDP and has no ε."""
        return cls._of_exact(None, validation.exact_rational(rho, "rho"), validation.exact_rational(delta, "delta"))

    @classmethod
    def read(cls, epsilon: str | None, rho: str, delta: str | None = None) -> Self:
        """Read a loss from the exact texts of its sums, which `exact_text` wrote. A missing δ is 0."""
        return cls._of_exact(
            validation.optional_value(epsilon), validation.exact_value(rho), validation.optional_value(delta) or _NONE
        )

    @property
    def text(self) -> str:
        """Loss as a short text: in ε if it has an ε, else in ρ, with δ unless it is 0."""
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

    def after_refund(self, epsilon: Fraction) -> Self:
        """Return the loss after a refund in ε, the part of a reserve that was not used. ρ and δ stay."""
        return self._of_exact(None if self.epsilon is None else self.epsilon - epsilon, self.rho, self.delta)

    def includes(self, part: "Loss") -> bool:
        """Return True if another loss can be a part of this sum: no sum of it is larger."""
        if self.epsilon is not None and (part.epsilon is None or part.epsilon > self.epsilon):
            return False
        return part.rho <= self.rho and (not part.delta or part.delta <= self.delta)

    @classmethod
    def _of_exact(cls, epsilon: Fraction | None, rho: Fraction, delta: Fraction) -> Self:
        """Return the loss with given sums, without checking them. They must be rationals of Python integers already."""
        loss = object.__new__(cls)
        object.__setattr__(loss, "epsilon", epsilon)
        object.__setattr__(loss, "rho", rho)
        object.__setattr__(loss, "delta", delta)
        return loss


def amount_of(charge: Loss) -> Fraction:
    """Return the charged amount of a loss in the currency of a budget (`Budget.charge`): its ε, or its ρ without ε."""
    return charge.rho if charge.epsilon is None else charge.epsilon


def amount_text(charge: Loss) -> str:
    """Return the charged amount of a loss as text: a number if it is an ε alone, otherwise numbers with symbols."""
    return charge.text if charge.epsilon is None or charge.delta else validation.exact_text(charge.epsilon)


_PLACES = 10**9  # computed prices are multiples of the smallest price, 1e-9


class Budget(Shown, ABC):
    """Upper limit of the privacy loss of all answers together, in one of several currencies."""

    __slots__ = ()

    @property
    @abstractmethod
    def text(self) -> str:
        """Budget as a short text."""

    @property
    @abstractmethod
    def written(self) -> str | dict[str, str]:
        """Budget in exact texts, as an owner writes it in the configuration."""

    @property
    @abstractmethod
    def whole(self) -> Loss:
        """Privacy loss once the whole budget is spent."""

    @property
    def is_a_sum(self) -> bool:
        """True if the budget is a sum of ε, so that the remaining budget is the budget minus the spent ε."""
        return False

    @property
    def rho_delta(self) -> Fraction | None:
        """δ at which a sum of ρ is stated as an ε; None if the budget names no such δ."""
        return None

    @abstractmethod
    def admits(self, total: Loss) -> bool:
        """Return True if a total loss is within the budget."""

    def charge(self, loss: Loss) -> Loss:
        """Return the charge for an answer of some loss in the currency of this budget."""
        return loss

    @abstractmethod
    def obstacle(self, price: Loss, whose: str) -> str | None:
        """Return the reason why this kind of budget never pays for a loss, with the remedy; None if it may pay.

        `whose` names the owner of the budget in the text.
        """
        return None

    @abstractmethod
    def left(self, spent: Loss) -> Fraction:
        """Return the remaining budget: the largest ε of one more answer after a spent loss; 0 if none is affordable."""


@frozen
class PureBudget(Budget):
    """Budget in ε: the prices of all answers may add up to at most ε.

    Numerical error:
        `admits` is exact. `left` is exact if its value can be written as a price; else it is rounded down to a
        multiple of 1e-18.

    Example:
        >>> PureBudget(Fraction(2)).left(Loss.from_epsilon(Fraction(1, 2)))
        Fraction(3, 2)
    """

    epsilon: Fraction  # from 1e-9 to 1e6; a value that `exact_epsilon` accepts, kept as a rational

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", validation.exact_epsilon(self.epsilon, "budget"))

    @property
    def text(self) -> str:
        """Exact ε as text."""
        return validation.exact_text(self.epsilon)

    @property
    def written(self) -> str:
        """Exact ε as text."""
        return validation.exact_text(self.epsilon)

    @property
    def whole(self) -> Loss:
        """Privacy loss of the whole ε of this budget."""
        return Loss.from_epsilon(self.epsilon)

    @property
    def is_a_sum(self) -> bool:
        """True: the remaining budget is the budget minus the spent ε."""
        return True

    def admits(self, total: Loss) -> bool:
        """Return True if a total loss has an ε within the budget, and no δ."""
        return total.epsilon is not None and total.epsilon <= self.epsilon and not total.delta

    def obstacle(self, price: Loss, whose: str) -> str | None:
        """Return the reason why a budget in ε never pays for Gaussian noise or hidden keys; None for other prices."""
        if price.epsilon is None:
            return (
                "a budget in ε alone pays for no Gaussian noise: give"
                f" {whose} a budget with a rho, or with epsilon and delta"
            )
        return hidden_keys_obstacle("ε alone", whose) if price.delta else None

    def left(self, spent: Loss) -> Fraction:
        """Return the largest ε of one more answer: the budget minus the spent ε; 0 if none is affordable."""
        if spent.epsilon is None or spent.delta:
            return Fraction(0)
        return validation.largest_epsilon(self.epsilon - spent.epsilon)


@frozen
class ConcentratedBudget(Budget):
    """Budget in ρ of zero-concentrated differential privacy: the ρ of all answers may add up to at most ρ.

    An answer in ε counts as ρ = ε²/2. So a budget in ρ pays for many cheap answers that a budget in ε could not pay
    for: a hundred answers at ε = 0.1 have ρ = 0.5 together.

    Numerical error:
        `admits` is exact. `left` is rounded down to a multiple of 1e-9.

    Example:
        >>> ConcentratedBudget(Fraction(1, 2)).left(Loss(Fraction(6), Fraction(3, 8)))
        Fraction(1, 2)
    """

    rho: Fraction  # from 1e-9 to 1e6; a value that `exact_epsilon` accepts, kept as a rational

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", validation.exact_epsilon(self.rho, "rho"))

    @property
    def text(self) -> str:
        """Exact ρ as text, with its symbol."""
        return f"ρ = {validation.exact_text(self.rho)}"

    @property
    def written(self) -> dict[str, str]:
        """Exact ρ as text, under its name."""
        return {"rho": validation.exact_text(self.rho)}

    @property
    def whole(self) -> Loss:
        """Privacy loss of the whole ρ of this budget; it has no ε."""
        return Loss.concentrated(self.rho)

    def admits(self, total: Loss) -> bool:
        """Return True if a total loss has a ρ within the budget, and no δ."""
        return total.rho <= self.rho and not total.delta

    def charge(self, loss: Loss) -> Loss:
        """Return the charge for an answer of some loss: its ρ and its δ, without its ε."""
        return Loss.concentrated(loss.rho, loss.delta) if loss else loss

    def obstacle(self, price: Loss, whose: str) -> str | None:
        """Return the reason why a budget in ρ never pays for hidden keys; None for other prices."""
        return hidden_keys_obstacle("ρ", whose) if price.delta else None

    def left(self, spent: Loss) -> Fraction:
        """Return the largest ε of one more answer: ε²/2 is at most the remaining ρ; 0 if none is affordable."""
        return Fraction(0) if spent.delta else largest_epsilon_within(self.rho - spent.rho)


def budget_of(value: validation.RationalLike | Budget) -> Budget:
    """Return a budget unchanged; turn an exact number or its text into a budget in ε.

    Example:
        >>> budget_of(Fraction(2))
        PureBudget(epsilon=Fraction(2, 1))
    """
    return value if isinstance(value, Budget) else PureBudget(validation.exact_epsilon(value, "budget"))


def hidden_keys_obstacle(currency: str, whose: str) -> str:
    """Return the error text for hidden keys under a budget without δ, with the remedy."""
    return (
        f"a budget in {currency} pays for no hidden keys, which fail with a probability: give"
        f" {whose} a budget with epsilon, delta and for_keys, or list the keys"
    )


def largest_epsilon_within(rho: Fraction) -> Fraction:
    """Return the largest multiple ε of 1e-9 with ε²/2 ≤ ρ; 0 if ρ is negative."""
    return Fraction(isqrt(max(0, int(2 * rho * _PLACES**2))), _PLACES)


@frozen
class ApproximateBudget(Budget):
    """Budget in (ε, δ): the ε of all answers add up to at most ε, or their ρ add up to at most a ρ that implies (ε, δ).

    A part d of δ (`for_keys`) may be set aside for hidden keys. Answers are within the budget if their δ add up to at
    most d, and either their ε add up to at most ε, or their ρ to at most the largest ρ that implies (ε, δ − d).

    All answers together are then (ε, δ)-differentially private, even if questions and prices depend on earlier answers.
    Proof: at each step, the event of probability δ in which an answer fails can be set apart, on each of two
    neighbouring data sets. Along every path these probabilities add up to at most d. The remaining outcomes obey the
    Rényi bounds. If their ε add up to at most ε, their loss is at most ε. If their loss is larger, they are outcomes of
    a ρ filter, and their probability counts for at most δ − d. The part d is fixed in advance for all paths. If each
    answer could use any unused part of δ, rare paths could use all of δ for their ρ and the usual paths all of it for
    their keys: 2δ together.

    Source:
        R. Rogers, A. Roth, J. Ullman and S. Vadhan, Privacy Odometers and Filters (2016), for ε;
        J. Whitehouse, A. Ramdas, R. Rogers and Z. S. Wu, Fully-Adaptive Composition in Differential
        Privacy (2023), whose filter is for approximate zCDP; `rho_within` for what a ρ implies.

    Numerical error:
        The largest ρ is rounded down to six digits. Sums are exact.

    Example:
        >>> budget = ApproximateBudget(Fraction(2), Fraction(1, 10**6))
        >>> budget.admits(Loss(Fraction(8), Fraction(8, 200))), budget.admits(Loss.from_epsilon(Fraction(2)))
        (True, True)
    """

    epsilon: Fraction  # from 1e-9 to 1e6; a value that `exact_epsilon` accepts, kept as a rational
    delta: Fraction  # from 1e-18 to below 1; a value that `exact_delta` accepts, kept as a rational
    # part of δ that hidden keys may use, from 0 to δ. If it is δ, no sum of ρ implies the budget, and the ε must add up
    # to at most ε
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
        """Budget as a short text: ε, δ, and the part of δ for hidden keys if there is one."""
        words = f"ε = {validation.exact_text(self.epsilon)} at δ = {float(self.delta):.6g}"
        return f"{words}, {float(self.for_keys):.6g} of it for keys" if self.for_keys else words

    @property
    def written(self) -> dict[str, str]:
        """Exact texts of ε and δ, and of the part of δ for hidden keys if there is one."""
        parts = {"epsilon": self.epsilon, "delta": self.delta}
        if self.for_keys:
            parts["for_keys"] = self.for_keys
        return {name: validation.exact_text(value) for name, value in parts.items()}

    @property
    def whole(self) -> Loss:
        """Privacy loss of the ε and the δ of this budget."""
        return Loss.from_epsilon(self.epsilon, self.delta)

    @property
    def rho_delta(self) -> Fraction | None:
        """Part of δ that is not for hidden keys, at which a sum of ρ implies ε; None if that part is 0."""
        return self.delta - self.for_keys or None

    @property
    def rho(self) -> Fraction:
        """Largest ρ that implies (ε, δ − d), where d is the part of δ for hidden keys; 0 if d is all of δ."""
        delta = self.rho_delta
        return Fraction(0) if delta is None else rho_within(self.epsilon, delta)

    def admits(self, total: Loss) -> bool:
        """Return True if the δ of a total loss is at most `for_keys`, and its ε or its ρ is within the budget."""
        if total.delta > self.for_keys:
            return False
        return (total.epsilon is not None and total.epsilon <= self.epsilon) or (total.rho <= self.rho)

    def obstacle(self, price: Loss, whose: str) -> str | None:
        """Return why this budget has no δ for hidden keys or Gaussian noise; None if it can pay for the answer."""
        if price.delta and not self.for_keys:
            return (
                f"the budget {self.text} of {whose} sets no part of δ aside for hidden keys:"
                " give it for_keys, or list the keys"
            )
        if price.epsilon is None and not self.rho:
            return f"the budget {self.text} of {whose} leaves no δ for Gaussian noise: give it a smaller for_keys"
        return None

    def left(self, spent: Loss) -> Fraction:
        """Return the largest ε of one more answer, by the sum of ε or by that of ρ; 0 if none is affordable."""
        if spent.delta > self.for_keys:
            return Fraction(0)
        concentrated = largest_epsilon_within(self.rho - spent.rho)
        if spent.epsilon is None:
            return concentrated
        return max(validation.largest_epsilon(self.epsilon - spent.epsilon), concentrated)


PARTS = ("epsilon", "delta", "for_keys", "rho")
Written = validation.RationalLike | Budget | Mapping[str, validation.RationalLike]
_FORM = '"2", or { epsilon = "2", delta = "1e-6" }, or { rho = "0.1" }'


def budget_from(value: Written) -> Budget:
    """Return the budget that an owner wrote: a number, a budget, or a mapping of its parts by name.

    Raise ValueError if the parts do not make a budget. If `for_keys` is not given, it is half of δ.

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
