"""In which of its groups each person is left, by the hashes of `truncation`."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Select,
    and_,
    case,
    cast,
    func,
    literal,
    literal_column,
    select,
)

from noisycount.release.question.grouping import Part, Plain
from noisycount.release.question.schema import Kind
from noisycount.release.sources.sql.dialect import Dialect, Expression
from noisycount.release.sources.sql.summands import ONE, is_true
from noisycount.release.sources.truncation import salt_text

__all__ = ["Person", "group_hash", "kept"]

_PAIRS_OF_DIGITS = range(31, 0, -2)  # of a hash: the places of its bytes, from the last on
_NO_DIGITS = 100_000_000  # above every day as a number of eight digits


@dataclass(frozen=True, slots=True)
class Person:
    """The column that names persons.

    Attributes:
        value: Who a record is of.
        kind: Of the values; None: they are kept as something that has one text.
        dialect: What the server says in its own way.
        is_required: Whether the server keeps values from missing.
    """

    value: Expression
    kind: Kind | None
    dialect: Dialect
    is_required: bool = False

    def text(self, unit: Expression) -> Expression:
        """The text of a unit, as `truncation.unit_text` has it; of none an empty one."""
        text: Expression
        if self.kind is Kind.BOOLEAN:
            condition = unit if self.dialect.has_booleans else unit == ONE
            text = case((condition, self._word("true")), else_=self._word("false"))
        else:
            text = self.dialect.text(unit)
        return case((unit.is_(None), self._word("")), else_=text)

    def _word(self, word: str) -> Expression:
        return literal(word, self.dialect.text_type)


def group_hash(
    parts: Sequence[Part], keys: Sequence[ColumnElement[Any]], salt: str, dialect: Dialect
) -> Expression:
    """The hash of a group of some keys, as `truncation.group_text` has it."""

    def told(part: Part, key: Expression) -> Expression:
        text = _key_text(part, key, dialect)
        size = dialect.text(dialect.length(text))
        is_missing, nothing = key.is_(None), literal("-", dialect.text_type)
        return case((is_missing, nothing), else_=size + literal(":", dialect.text_type) + text)

    texts = [told(part, key) for part, key in zip(parts, keys, strict=True)]
    return dialect.md5(reduce(add, texts, literal(salt_text(salt), dialect.text_type)))


def kept(pairs: Select[Any], person: Person, most: int) -> Select[Any]:
    """Pairs of units and groups, with 1 as `kept` where a unit is left in its group.

    Args:
        pairs: With the unit as `u`, the hash of the group as `tag`, 1 as `m` where the pair
            counts, and what else is wanted.
        person: Whose they are.
        most: In how many groups a unit is left.
    """
    dialect = person.dialect
    tagged = pairs.subquery("tagged")
    hashed = dialect.md5(tagged.c.tag + person.text(tagged.c.u)).label("hash")
    places = dialect.evaluated_once(select(tagged, hashed)).subquery("places")
    digits = [dialect.part_of(places.c.hash, n, 2) for n in _PAIRS_OF_DIGITS]
    order = func.row_number().over(
        partition_by=places.c.u,
        order_by=[places.c.m.desc(), dialect.text(reduce(add, digits))],
    )
    numbered = select(places, order.label("number")).subquery("numbered")
    is_kept = and_(numbered.c.m == ONE, numbered.c.number <= literal_column(str(most)))
    return select(numbered, is_true(is_kept).label("kept"))


def _key_text(part: Part, key: Expression, dialect: Dialect) -> Expression:
    """The text of a key, from what stands for it."""
    kind = part.column.kind if isinstance(part, Plain) else None
    if kind is Kind.BOOLEAN:
        words = (literal(word, dialect.text_type) for word in ("true", "false"))
        return case((key == ONE, next(words)), else_=next(words))
    if kind is not Kind.DATE:
        return dialect.text(key)
    digits = dialect.text(cast(key + literal_column(str(_NO_DIGITS)), BigInteger))
    year, month, day = (dialect.part_of(digits, *place) for place in ((2, 4), (6, 2), (8, 2)))
    dash = literal("-", dialect.text_type)
    return year + dash + month + dash + day
