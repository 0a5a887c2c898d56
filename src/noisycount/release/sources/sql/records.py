"""The keys, the unit and the match of each record: what all statements of tables begin with."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    FromClause,
    Integer,
    Select,
    Subquery,
    case,
    cast,
    literal_column,
    null,
    or_,
    select,
)

from noisycount.release.question.grouping import OUTSIDE, Edges, Part, Plain
from noisycount.release.question.schema import Kind
from noisycount.release.question.tree import Predicate
from noisycount.release.sources.edges import edges_of
from noisycount.release.sources.expressions.keys import key_expression
from noisycount.release.sources.sql.algebra import SqlAlgebra
from noisycount.release.sources.sql.dialect import Dialect, Expression
from noisycount.release.sources.sql.summands import NOTHING, ONE, condition, one_or_nothing
from noisycount.release.sources.sql.units import Person

__all__ = ["Records", "has_outside", "is_inside"]

_MOST_CASES = 64


@dataclass(frozen=True, slots=True)
class Records:
    """The records of a table.

    Attributes:
        table: Which it is.
        algebra: Of its columns.
        person: Who a record is of; None: each is a unit.
        uses_indexes: Whether only records that match are read, which is faster and tells.
    """

    table: FromClause
    algebra: SqlAlgebra
    person: Person | None
    uses_indexes: bool

    @property
    def dialect(self) -> Dialect:
        """What the server says in its own way."""
        return self.algebra.dialect

    def keyed(self, parts: Sequence[Part], where: Predicate | None) -> Subquery:
        """All records: keys as `k0`, `k1` and so on, their unit as `u`, 1 where they match as `m`.

        No record is left out, so that the time of a statement does not tell how many match.
        """
        shown: list[Any] = [self._key(part).label(f"k{n}") for n, part in enumerate(parts)]
        every = literal_column("1", Integer)
        matches = every if where is None else one_or_nothing(where, self.algebra)
        shown.append(matches.label("m"))
        if self.person is not None:
            shown.append(self.person.value.label("u"))
        wanted = [] if where is None else [where]
        return self.read(select(*shown), wanted).subquery("records")

    def read(self, columns: Select[Any], predicates: Sequence[Predicate]) -> Select[Any]:
        """Columns of all records, or of those that match one of some, where the owner chose so.

        Records of nobody are read all the same: they are refused whichever records match.
        """
        whole = columns.select_from(self.table)
        if not self.uses_indexes or not predicates:
            return whole
        wanted = [condition(each, self.algebra) for each in predicates]
        if self.person is not None and not self.person.is_required:
            wanted.append(self.person.value.is_(None))
        return whole.where(or_(*wanted))

    def _key(self, part: Part) -> Expression:
        """The key of a record in a part; among many edges as the server finds it, if it does."""
        if isinstance(part, Edges) and len(part.edges) > _MOST_CASES:
            value = self.algebra.column(part.column, part.column.kind)
            number = self.algebra.dialect.range_number(value, edges_of(part))
            if number is not None:
                below = literal_column(str(OUTSIDE), BigInteger)
                return case((number == NOTHING, below), else_=number - ONE)
        key = key_expression(part, self.algebra)
        is_whole = isinstance(part, Plain) and part.column.kind is Kind.INTEGER
        return cast(key, BigInteger) if is_whole else key


def has_outside(part: Part) -> bool:
    """Whether some of its keys are those of no group."""
    return not isinstance(part, Plain) or part.column.kind is Kind.DATE


def is_inside(parts: Sequence[Part], keys: Sequence[ColumnElement[Any]]) -> Sequence[Expression]:
    """The conditions that keys are those of groups."""
    outside = literal_column(str(OUTSIDE), BigInteger)
    return [
        or_(key.is_(null()), key != outside)
        for part, key in zip(parts, keys, strict=True)
        if has_outside(part)
    ]
