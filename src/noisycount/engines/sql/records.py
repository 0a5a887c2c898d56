"""In which of its groups each person is left, by the hashes of `truncation`.

The keys, the unit and the match of each record: what all statements of tables begin with.

How many records or persons match each of many predicates.
"""

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import add
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    FromClause,
    Integer,
    Select,
    Subquery,
    and_,
    case,
    cast,
    func,
    literal,
    literal_column,
    null,
    or_,
    select,
)

from noisycount.engines.expressions import edges_of, key_expression
from noisycount.engines.sql.algebra import (
    NOTHING,
    ONE,
    SqlAlgebra,
    condition,
    distinct_elsewhere,
    distinct_where,
    is_true,
    number_of,
    number_where,
    one_or_nothing,
)
from noisycount.engines.sql.dialect import Dialect, Expression
from noisycount.engines.truth import salt_text
from noisycount.errors import SourceError
from noisycount.frozen import frozen
from noisycount.query.grouping import OUTSIDE, Edges, Part, Plain
from noisycount.query.predicate import Predicate
from noisycount.query.schema import Kind

__all__ = [
    "Person",
    "Records",
    "count_statement",
    "group_hash",
    "is_inside",
    "kept",
    "require_somebody",
]


_PAIRS_OF_DIGITS = range(31, 0, -2)  # of a hash: the places of its bytes, from the last on


_NO_DIGITS = 100_000_000  # above every day as a number of eight digits


@frozen
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


_MOST_CASES = 64


@frozen
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


def count_statement(predicates: Sequence[Predicate], records: Records) -> Select[Any]:
    """One scan of all records, so that its time does not tell how many match.

    The first columns are the counts; the last tells whether a record is of nobody.
    """
    if records.person is None:
        return _records_matching(predicates, records)
    if len(predicates) == 1:
        return _persons_matching(predicates[0], records, records.person)
    return _persons_of_many(predicates, records, records.person)


def _records_matching(predicates: Sequence[Predicate], records: Records) -> Select[Any]:
    counts = [number_where(condition(each, records.algebra)) for each in predicates]
    return records.read(select(*counts, NOTHING), predicates)


def _persons_matching(predicate: Predicate, records: Records, person: Person) -> Select[Any]:
    """The persons of records that match, and those of the others, so that all are compared."""
    matches, unit = condition(predicate, records.algebra), person.value
    columns: list[Expression] = [
        distinct_where(matches, unit),
        distinct_elsewhere(matches, unit),
        number_where(unit.is_(None)),
    ]
    return records.read(select(*columns), [predicate])


def _persons_of_many(
    predicates: Sequence[Predicate], records: Records, person: Person
) -> Select[Any]:
    """The persons of records that match each of some, who are grouped once for all."""
    summands = [one_or_nothing(each, records.algebra) for each in predicates]
    matches = [func.max(each).label(f"m{n}") for n, each in enumerate(summands)]
    found = records.read(select(person.value.label("u"), *matches), predicates)
    units = found.group_by(person.value).subquery("units")
    counts = [number_of(units.c[f"m{n}"]) for n in range(len(summands))]
    return select(*counts, number_where(units.c.u.is_(None)))


def require_somebody(of_nobody: Iterable[Any]) -> None:
    """The refusal of counts in which there are records of nobody.

    Args:
        of_nobody: What rows say of that.

    Raises:
        SourceError: There are such; at the opening there were none.
    """
    if any(of_nobody):
        raise SourceError(
            "records of no unit are there since the opening, and cannot be counted for anybody: "
            "fill the units in, or remove those records"
        )
