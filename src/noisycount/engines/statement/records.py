"""What all statements read: records with their keys, and the groups that a unit is left in."""

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from operator import add
from typing import Any

from sqlalchemy import BigInteger, FromClause, Select, Subquery, and_, case, cast, func, or_, select

from noisycount.engines.statement.dialect import NOTHING, ONE, Dialect, Expression, whole
from noisycount.engines.statement.expressions import Expressions, is_wide
from noisycount.engines.truth import salt_text
from noisycount.errors import SourceError
from noisycount.frozen import frozen
from noisycount.query.grouping import Part, Plain
from noisycount.query.predicate import Column, Predicate
from noisycount.query.schema import Kind

_NO_DIGITS = 100_000_000  # above every day as a number of eight digits


@frozen
class Person:
    """The column that names persons."""

    value: Expression  # who a record is of
    kind: Kind | None  # of the values; None: they are kept as something that has one text
    is_required: bool = False  # whether the engine keeps values from missing


@frozen
class StatementRecords:
    """The records of a table."""

    table: FromClause  # which it is
    of_column: Callable[[Column], Expression]  # the values of a column, as those of its kind
    person: Person | None  # who a record is of; None: each is a unit
    dialect: Dialect  # what the engine says in its own way
    uses_indexes: bool = False  # whether only records that match are read, which is faster and tells

    @property
    def expressions(self) -> Expressions:
        """Predicates and keys over the columns."""
        return Expressions(self.dialect, self.of_column)

    def condition(self, predicate: Predicate) -> Expression:
        """Whether a record matches."""
        return self.expressions.condition(predicate)

    def keyed(self, parts: Sequence[Part], where: Predicate | None) -> Subquery:
        """All records: keys as `k0`, `k1` and so on, their unit as `u`, whether they match as `m`.

        No record is left out, so that the time of a statement does not tell how many match. Where all match, there is
        no `m`.
        """
        expressions, names = self.expressions, key_names(parts)
        shown: list[Any] = [expressions.key(part).label(name) for part, name in zip(parts, names, strict=True)]
        if where is not None:
            shown.append(self.dialect.flag(self.condition(where)).label("m"))
        if self.person is not None:
            shown.append(self.person.value.label("u"))
        wide = {name: part for part, name in zip(parts, names, strict=True) if is_wide(part)}
        rows = self.read(select(*shown), [] if where is None else [where])
        return self.dialect.with_ranges(rows, wide).subquery("records")  # type: ignore[arg-type]  # edges

    def read(self, columns: Select[Any], predicates: Sequence[Predicate]) -> Select[Any]:
        """Columns of all records, or of those that match one of some, where the owner chose so.

        Records of nobody are read all the same: they are refused whichever records match.
        """
        entire = columns.select_from(self.table)
        if not self.uses_indexes or not predicates:
            return entire
        wanted = [self.condition(each) for each in predicates]
        if self.person is not None and not self.person.is_required:
            wanted.append(self.person.value.is_(None))
        return entire.where(or_(*wanted))

    def is_nobody(self, unit: Expression) -> Expression:
        """1 where a group of records has one of nobody, by the unit of each; else 0."""
        if self.person is None or self.person.is_required:
            return NOTHING
        return func.max(case((unit.is_(None), ONE), else_=NOTHING))


def key_names(parts: Sequence[Part]) -> list[str]:
    """What statements call the keys."""
    return [f"k{number}" for number in range(len(parts))]


def group_hash(parts: Sequence[Part], keys: Sequence[Expression], salt: str, dialect: Dialect) -> Expression:
    """The hash of a group of some keys, as `truth.group_text` has it."""

    def told(part: Part, key: Expression) -> Expression:
        text = _key_text(part, key, dialect)
        size = dialect.text(dialect.length(text))
        missing = (key.is_(None), dialect.text_literal("-"))
        return case(missing, else_=size + dialect.text_literal(":") + text)

    texts = [told(part, key) for part, key in zip(parts, keys, strict=True)]
    return dialect.md5(reduce(add, texts, dialect.text_literal(salt_text(salt))))


def _key_text(part: Part, key: Expression, dialect: Dialect) -> Expression:
    """The text of a key, from what stands for it."""
    kind = part.column.kind if isinstance(part, Plain) else None
    if kind is Kind.BOOLEAN:
        condition = key if dialect.has_booleans else key == ONE
        words = dialect.text_literal("true"), dialect.text_literal("false")
        return case((condition, words[0]), else_=words[1])
    if kind is not Kind.DATE or dialect.keeps_keys:
        return dialect.text(key)
    digits = dialect.text(cast(key + whole(_NO_DIGITS), BigInteger))
    year, month, day = (dialect.part_of(digits, *place) for place in ((2, 4), (6, 2), (8, 2)))
    dash = dialect.text_literal("-")
    return year + dash + month + dash + day


def kept(pairs: Select[Any], records: StatementRecords, most: int) -> Select[Any]:
    """Pairs of units and groups, with the flag `kept` where a unit is left in its group.

    `pairs`: with the unit as `u`, the hash of the group as `tag`, the flag `m` where the pair counts, and what else is
    wanted.
    """
    dialect = records.dialect
    kind = None if records.person is None else records.person.kind
    tagged = pairs.subquery("tagged")
    hashed = dialect.hashed(tagged.c.tag + dialect.unit_text(tagged.c.u, kind)).label("hash")
    places = dialect.evaluated_once(select(tagged, hashed)).subquery("places")
    order = func.row_number().over(
        partition_by=places.c.u, order_by=[places.c.m.desc(), dialect.in_order(places.c.hash)]
    )
    numbered = select(places, order.label("number")).subquery("numbered")
    is_kept = and_(dialect.is_set(numbered.c.m), numbered.c.number <= whole(most))
    return select(numbered, dialect.flag(is_kept).label("kept"))


def require_somebody(of_nobody: Iterable[Any]) -> None:
    """The refusal of counts in which there are records of nobody; at the opening were none."""
    if any(of_nobody):
        raise SourceError(
            "records of no unit are there since the opening, and cannot be counted for anybody: "
            "fill the units in, or remove those records"
        )
