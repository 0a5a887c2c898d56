"""A budget as an owner writes it: in ε, in ρ, or in (ε, δ), of which a part is for hidden keys."""

from collections.abc import Callable
from fractions import Fraction
from typing import TypeVar

from noisycount.app.config.toml_table import TomlTable
from noisycount.errors import ConfigError
from noisycount.release.budget.approximate import ApproximateBudget
from noisycount.release.budget.budgets import Budget, ConcentratedBudget, PureBudget
from noisycount.release.budget.exact import exact_delta, exact_epsilon

__all__ = ["budget_in"]

_PAIR, _KEYS, _RHO = {"epsilon", "delta"}, {"for_keys"}, {"rho"}
Value = TypeVar("Value")


def budget_in(table: TomlTable) -> Budget | None:
    """The budget of a table; None where it is left out.

    Raises:
        ConfigError: It is inexact, out of range, or of another form.
    """
    value = table.values.get("budget")
    if value is None:
        return None
    if not isinstance(value, dict):
        return PureBudget(_exact(table, "budget", lambda text: exact_epsilon(text, "budget")))
    parts = table.table("budget")
    parts.require_known(_PAIR | _KEYS | _RHO)
    if set(value) == _RHO:
        return ConcentratedBudget(_exact(parts, "rho", lambda text: exact_epsilon(text, "rho")))
    if set(value) - _KEYS != _PAIR:
        raise table.refusal(
            "budget", 'must be "2", or { epsilon = "2", delta = "1e-6" }, or { rho = "0.1" }'
        )
    epsilon, delta = _exact(parts, "epsilon", exact_epsilon), _exact(parts, "delta", exact_delta)
    for_keys = _exact(parts, "for_keys", _for_keys) if "for_keys" in value else Fraction(0)
    try:
        return ApproximateBudget(epsilon, delta, for_keys)
    except ValueError as error:
        raise ConfigError(f"{parts.path}: [{parts.name}] {error}") from None


def _for_keys(text: str) -> Fraction:
    return exact_delta(text, "for_keys")


def _exact(table: TomlTable, key: str, exact: Callable[[str], Value]) -> Value:
    """The exact number under a key; a TOML float is refused, as 0.3 would not be three tenths."""
    value = table.values[key]
    if isinstance(value, float):
        raise table.refusal(key, f'is not exact: write it in quotes, {key} = "{value}"')
    try:
        return exact(value)
    except ValueError as error:
        raise ConfigError(f"{table.path}: [{table.name}] {error}") from None
