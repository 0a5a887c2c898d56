"""A budget from the parts that an owner writes: in ρ, or in (ε, δ), some of it for hidden keys."""

from collections.abc import Mapping

from noisycount.model.written import Exactly
from noisycount.release.budget.approximate import ApproximateBudget
from noisycount.release.budget.budgets import Budget, ConcentratedBudget, budget_of
from noisycount.release.budget.exact import exact_delta, exact_epsilon

__all__ = ["PARTS", "Written", "budget_from"]

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
