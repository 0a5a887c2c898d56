"""A budget in (ε, δ), which pays for many cheap answers, Gaussian noise and hidden keys.

A budget from the parts that an owner writes: in ρ, or in (ε, δ), some of it for hidden keys.

Which data sets an outsider must not tell apart, and what several counts at once cost then.
"""

from collections.abc import Mapping
from enum import Enum
from fractions import Fraction

from noisycount.display.numbers import exact_text
from noisycount.frozen import frozen
from noisycount.ledger.budget import Budget, ConcentratedBudget, Loss, budget_of, price_within
from noisycount.ledger.exact import exact_delta, exact_epsilon, largest_epsilon
from noisycount.model.concentrated import l1_sensitivity, rho_within
from noisycount.validation import Exactly

__all__ = [
    "PARTS",
    "ApproximateBudget",
    "NeighbourRelation",
    "Written",
    "budget_from",
    "histogram_charge",
    "neighbours_of_size",
]


@frozen
class ApproximateBudget(Budget):
    """A budget in (ε, δ): the ε add up to at most ε, or the ρ to what implies it.

    A part d of δ may be set aside for hidden keys. Answers keep to the budget if their δ add up to
    at most d, and their ε to at most ε or their ρ to at most the largest that implies (ε, δ − d).

    All answers together are then (ε, δ)-differentially private, also where questions and prices
    depend on answers. For at each step what an answer does with the probability of its δ can be
    set apart, on either of two neighbouring data sets, and on all paths these add up to at most d.
    What is left obeys the Rényi bounds: outcomes whose ε add up to at most ε have no larger loss,
    and those with a larger one are outcomes of a filter of ρ, which count for at most δ − d. The
    part d is one for all paths and stated beforehand: were each answer free to use of δ what others
    left, rare paths could use all of it for their ρ and the usual ones for their keys, twice δ.

    Args:
        epsilon: From 1e-9 to 1e6; whatever `exact_epsilon` takes is kept as a rational.
        delta: From 1e-18 to below 1; whatever `exact_delta` takes is kept as a rational.
        for_keys: The part of δ that hidden keys may use, from 0 to all of it. Where it is all, no
            sum of ρ implies the budget, and the ε have to add up to at most ε.

    Raises:
        ValueError: One of them is out of range or inexact.

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

    epsilon: Fraction
    delta: Fraction
    for_keys: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", exact_epsilon(self.epsilon, "budget"))
        object.__setattr__(self, "delta", exact_delta(self.delta))
        object.__setattr__(self, "for_keys", exact_delta(self.for_keys, "for_keys", smallest=0))
        if self.for_keys > self.delta:
            raise ValueError(
                f"for_keys must be at most delta, {exact_text(self.delta)}, of which it is a part,"
                f" got {exact_text(self.for_keys)}"
            )

    @property
    def text(self) -> str:
        """The budget in a few words."""
        told = f"ε = {exact_text(self.epsilon)} at δ = {float(self.delta):.6g}"
        return f"{told}, {float(self.for_keys):.6g} of it for keys" if self.for_keys else told

    @property
    def written(self) -> dict[str, str]:
        """The exact texts of ε and δ, and of the part for hidden keys if there is one."""
        parts = {"epsilon": self.epsilon, "delta": self.delta}
        if self.for_keys:
            parts["for_keys"] = self.for_keys
        return {name: exact_text(value) for name, value in parts.items()}

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
        return (total.epsilon is not None and total.epsilon <= self.epsilon) or (
            total.rho <= self.rho
        )

    def obstacle(self, price: Loss, whose: str) -> str | None:
        """Why such an answer can never be paid for, and what can be done; None where it can."""
        if price.delta and not self.for_keys:
            return (
                f"the budget {self.text} of {whose} sets no part of δ aside for hidden keys:"
                " give it for_keys, or list the keys"
            )
        if price.epsilon is None and not self.rho:
            return (
                f"the budget {self.text} of {whose} leaves no δ for Gaussian noise:"
                " give it a smaller for_keys"
            )
        return None

    def left(self, spent: Loss) -> Fraction:
        """The largest ε at which one more answer may be asked; 0 where none may."""
        if spent.delta > self.for_keys:
            return Fraction(0)
        concentrated = price_within(self.rho - spent.rho)
        if spent.epsilon is None:
            return concentrated
        return max(largest_epsilon(self.epsilon - spent.epsilon), concentrated)


PARTS = ("epsilon", "delta", "for_keys", "rho")


Written = Exactly | Budget | Mapping[str, Exactly]


_FORM = '"2", or { epsilon = "2", delta = "1e-6" }, or { rho = "0.1" }'


def budget_from(value: Written) -> Budget:
    """The budget that somebody wrote.

    Args:
        value: An exact ε, or parts by their names: rho; or epsilon and delta, of which for_keys is
            the part that hidden keys may use: from "0" to all of it, and half if left out.

    Raises:
        ValueError: A part is unknown, missing, inexact or out of range.

    Example:
        >>> budget_from({"epsilon": "2", "delta": "1e-6"}).text
        'ε = 2 at δ = 1e-06, 5e-07 of it for keys'
    """
    if not isinstance(value, Mapping):
        return budget_of(value)
    if set(value) == {"rho"}:
        return ConcentratedBudget(exact_epsilon(value["rho"], "rho"))
    if set(value) - {"for_keys"} != {"epsilon", "delta"}:
        raise ValueError(f"budget must be {_FORM}, got parts {', '.join(map(repr, value))}")
    epsilon, delta = exact_epsilon(value["epsilon"]), exact_delta(value["delta"])
    for_keys = value.get("for_keys", delta / 2)
    return ApproximateBudget(epsilon, delta, exact_delta(for_keys, "for_keys", smallest=0))


class NeighbourRelation(Enum):
    """How two data sets differ that an outsider must not tell apart, by how many units change.

    A unit is a record, or a person with all records.
    """

    ADD_REMOVE = 1
    REPLACEMENT = 2


def neighbours_of_size(size: int | None) -> NeighbourRelation:
    """The neighbours of a data set: where its size is public, one unit replaces another.

    Args:
        size: The public number of units, or None where nobody shall know it.

    Example:
        >>> neighbours_of_size(None).name, neighbours_of_size(5912).name
        ('ADD_REMOVE', 'REPLACEMENT')
    """
    return NeighbourRelation.ADD_REMOVE if size is None else NeighbourRelation.REPLACEMENT


def histogram_charge(
    epsilon: Fraction, groups: int, neighbours: NeighbourRelation, groups_of_a_unit: int = 1
) -> Fraction:
    """What the counts of several groups cost together, each with the noise of one count.

    With g groups, of which one unit can be in m at most, the counts move by min(g, m) in all when
    a unit comes or goes, and by min(g, 2m) when one replaces another; each count by 1 at most. The
    charge is that many times ε: ε and 2ε for disjoint groups.

    Args:
        epsilon: The price of one count with that noise, in units of privacy loss.
        groups: How many groups there are, at least 1.
        neighbours: What an outsider must not tell apart.
        groups_of_a_unit: In how many groups one unit can be, at least 1. A person whose records
            fall in several groups is in all of them: disjoint groups of records are not disjoint
            groups of persons.

    Raises:
        ValueError: `epsilon` is out of range, or a number of groups is below 1.

    Example:
        >>> [str(histogram_charge(Fraction(1, 3), 5, kind)) for kind in NeighbourRelation]
        ['1/3', '2/3']
    """
    price = exact_epsilon(epsilon)
    for name, value in (("groups", groups), ("groups_of_a_unit", groups_of_a_unit)):
        if value < 1:
            raise ValueError(f"{name} must be at least 1, got {value}")
    replaced = neighbours is NeighbourRelation.REPLACEMENT
    return price * l1_sensitivity(groups, groups_of_a_unit, replaced=replaced)
