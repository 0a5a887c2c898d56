"""The units of records, and the groups that each is left in, as SQL."""
# ruff: noqa: S608, as all SQL here is made of our own names and of names that are quoted

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from noisycount.release.question.schema import Kind, Schema
from noisycount.release.sources.duckdb.quoting import quoted_name
from noisycount.release.sources.truncation import OTHER, salt_text

__all__ = ["Person", "group_text", "kept_sql", "other_text"]


@dataclass(frozen=True, slots=True)
class Person:
    """The column that names persons.

    Attributes:
        name: The column.
        kind: The kind of its values, where a question could use them; else None.
    """

    name: str
    kind: Kind | None

    @classmethod
    def of(cls, unit: str | None, schema: Schema) -> Self | None:
        """The persons of records with that unit; None where every record is one."""
        return None if unit is None else cls(unit, schema.entire.kinds.get(unit))

    @property
    def sql(self) -> str:
        """The person of a record."""
        return quoted_name(self.name)


def unit_text(unit: str, kind: Kind | None) -> str:
    """The text of a unit, as `truncation.unit_text` has it; of other kinds a text of their own."""
    text = f"TRY_CAST({unit} AS VARCHAR)"
    if kind is Kind.TIMESTAMP:
        text = f"TRY_CAST(epoch_us(TRY_CAST({unit} AS TIMESTAMP)) AS VARCHAR)"
    if kind is Kind.REAL:
        real = f"TRY_CAST({unit} AS DOUBLE)"
        text = f"CASE WHEN isnan({real}) THEN 'nan' ELSE printf('%.17g', {real} + 0.0) END"
    return f"coalesce({text}, '')"


def group_text(keys: Sequence[str], salt: str) -> str:
    """The hash of a group of some keys, as `truncation` has it."""
    texts = [f"CAST({key} AS VARCHAR)" for key in keys]
    parts = [f"coalesce(length({text}) || ':' || {text}, '-')" for text in texts]
    return f"md5('{salt_text(salt)}' || {' || '.join(parts)})"


def other_text(salt: str) -> str:
    """The hash of the group of all that is not listed."""
    return f"md5('{salt_text(salt)}{OTHER}')"


def kept_sql(pairs: str, kind: Kind | None, most: int) -> str:
    """Those pairs of units and groups that are left, of which each unit has at most so many.

    Args:
        pairs: A query with the unit as ``u``, the hash of the group as ``tag``, whether the pair
            counts as ``m``, and what else is wanted.
        kind: Of the units.
        most: How many.
    """
    place = f"md5_number(tag || {unit_text('u', kind)})"
    order = f"row_number() OVER (PARTITION BY u ORDER BY NOT m, {place})"
    return f"SELECT *, m AND {order} <= {most} AS kept FROM ({pairs})"
