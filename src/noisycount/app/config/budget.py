"""A budget as an owner writes it in a configuration."""

from noisycount.app.config.toml_table import TomlTable
from noisycount.errors import ConfigError
from noisycount.release.budget.budgets import Budget
from noisycount.release.budget.parts import PARTS, budget_from

__all__ = ["budget_in"]


def budget_in(table: TomlTable) -> Budget | None:
    """The budget of a table; None where it is left out.

    Raises:
        ConfigError: It is inexact, out of range, or of another form.
    """
    value = table.values.get("budget")
    if value is None:
        return None
    parts = table
    if isinstance(value, dict):
        parts = table.table("budget")
        parts.require_known(PARTS)
    for key in parts.values if parts is not table else ["budget"]:
        _require_exact(parts, key)
    try:
        return budget_from(value)
    except ValueError as error:
        raise ConfigError(f"{parts.path}: [{parts.name}] {error}") from None


def _require_exact(table: TomlTable, key: str) -> None:
    """The refusal of a TOML float, as 0.3 would not be three tenths."""
    value = table.values[key]
    if isinstance(value, float):
        raise table.refusal(key, f'is not exact: write it in quotes, {key} = "{value}"')
