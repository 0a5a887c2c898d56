"""Typed trees of predicates, with their texts in the predicate language.

Each class checks itself when it is built, so that every engine can count every tree that exists.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import date, datetime
from enum import Enum
from functools import lru_cache
from operator import eq, ge, gt, le, lt, ne
from reprlib import repr as shortened
from typing import Any, TypeAlias

from noisycount.display.texts import replace_unprintable
from noisycount.errors import PredicateError
from noisycount.frozen import frozen
from noisycount.query.readings import FUNCTIONS
from noisycount.query.schema import Date, Kind, schema_of

# Words of the language. As names of columns they need quotes.
KEYWORDS = frozenset(["and", "or", "not", "in", "between", "like", "is", "null", "true", "false"])

SIMPLE_NAME = re.compile(r"[^\W\d]\w*")


class Operator(Enum):
    """A comparison operator, by its symbol in SQL."""

    EQUAL = "="
    NOT_EQUAL = "<>"
    LESS = "<"
    AT_MOST = "<="
    MORE = ">"
    AT_LEAST = ">="

    @property
    def mirrored(self) -> "Operator":
        """The operator with its two sides exchanged."""
        return Operator(_MIRRORED.get(self.value, self.value))

    @property
    def negated(self) -> "Operator":
        """The operator that is true exactly where this one is false."""
        return Operator(_NEGATED[self.value])


_FUNCTION_NAMES = {kind: name for name, kind in FUNCTIONS.items()}
_MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
_NEGATED = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", "<=": ">", ">": "<="}

# Function of Python that applies each operator to two values.
TESTS: Mapping[Operator, Callable[[Any, Any], Any]] = dict(zip(Operator, (eq, ne, lt, le, gt, ge), strict=True))


@frozen
class Column:
    """A column that a query may use, and the kind of its values.

    A parsed column is a column of texts under a function of the language, such as `number(code)` or `date(visit)`. Its
    value is missing if the text is not a number or a day.
    """

    name: str  # name of the column
    kind: Kind  # kind of the values, for a parsed column the kind that the function returns
    is_parsed: bool = False  # True if the column holds texts that a function of the language parses
    # Table whose rows have the values, if the data set has several and the name is `TABLE.COLUMN`. A public look-up has
    # the table that it explains. None: the only table
    table: str | None = None

    def __str__(self) -> str:
        if self.is_parsed:
            return f"{_FUNCTION_NAMES[self.kind]}({shortened(self.name)}) ({self.kind.value})"
        return f"column {shortened(self.name)} ({self.kind.value})"

    @property
    def stored(self) -> "Column":
        """The column of the records; for a parsed column, the column of its texts."""
        return replace(self, kind=Kind.TEXT, is_parsed=False) if self.is_parsed else self

    @property
    def text(self) -> str:
        """The column as a query writes it: `age`, `visits."ward no"` or `number(code)`."""
        name = quoted_name(self.name) if self.table is None else qualified_name(self.name)
        return f"{_FUNCTION_NAMES[self.kind]}({name})" if self.is_parsed else name

    @property
    def negated_text(self) -> str:
        """The negation of a boolean column, as a query writes it."""
        return f"not {self.text}"

    @property
    def origin(self) -> "Column":
        """The column of the records from which the values come."""
        return self

    @property
    def source_name(self) -> str:
        """The name of the column of the records whose values these are; empty if values are computed, as by a sum."""
        return self.name

    @property
    def stored_columns(self) -> Iterator["Column"]:
        """The columns of the records that are read for a value."""
        yield self


def column_of(schema: Mapping[str, Kind], name: str) -> Column:
    """Return the column with a name from a schema."""
    tables = schema_of(schema).tables
    return Column(name, schema[name], table=tables[name.partition(".")[0]].rows if tables else None)


@frozen
class Literal:
    """A literal in a query: a 64-bit integer, a finite real, a text without NUL, a boolean, a day or a time."""

    kind: Kind
    value: int | float | str | date | datetime

    def __post_init__(self) -> None:
        if fault := self.kind.fault(self.value):
            raise PredicateError(f"where has {self}: {fault}")

    def __str__(self) -> str:
        return f"the {self.kind.value} {shortened(self.value)}"

    def as_kind(self, kind: Kind) -> "Literal":
        """Return the literal converted to the kind of the other side of a comparison; unchanged if this is impossible.

        A text beside a date or a timestamp is read as ISO 8601, and an integer beside a real becomes a real. A day
        beside a timestamp stays a day, which represents all of its moments.

        Raises:
            PredicateError: The other side is a date or a timestamp, and the text states none.
        """
        value = self.value
        if self.kind is Kind.INTEGER and kind is Kind.REAL:
            return Literal(Kind.REAL, float(value))  # type: ignore[arg-type]  # an int, by its kind
        if not isinstance(value, str) or kind.quoted is None:
            return self
        remedy = f"write {kind.example}"
        try:
            if kind.quoted.fullmatch(value):
                written = Kind.DATE if Date.quoted.fullmatch(value) else kind
                return Literal(written, written.parse_quoted(value))
        except ValueError:
            remedy = f"there is no such {kind.noun}, {remedy}"
        if kind.is_moment and (short := _SHORT_DATE.match(value)):
            year, month, day = short.groups()
            remedy = f"give month and day two digits each, '{year}-{month:0>2}-{day:0>2}'"
        raise PredicateError(f"where compares a {kind.value} with the text {shortened(value)}: {remedy}")


_SHORT_DATE = re.compile(r"([0-9]{4})-(?=[0-9]-|[0-9]{2}-[0-9](?![0-9]))([0-9]{1,2})-([0-9]{1,2})")
_LONGEST_PART = 60  # characters of a part of a query that an error repeats
_NUMERAL = re.compile(r"-?[0-9]{1,18}(\.[0-9]{1,18})?")


@frozen
class Constant:
    """A predicate that is true of every record, or of none."""

    value: bool


@frozen
class Flag:
    """A boolean column, which is itself a predicate."""

    column: Column

    def __post_init__(self) -> None:
        if self.column.kind is not Kind.BOOLEAN:
            raise PredicateError(
                f"where has {self.column} where a predicate belongs: compare it with {self.column.kind.example}"
            )


@frozen
class Comparison:
    """A comparison of a column with a literal or with another column of the same kind.

    Numbers of different kinds compare as 64-bit floating-point numbers. NaN equals itself and is greater than every
    other number. Texts compare by their code points.
    """

    left: Column
    operator: Operator
    right: Column | Literal

    def __post_init__(self) -> None:
        is_order = self.operator not in (Operator.EQUAL, Operator.NOT_EQUAL)
        _require_comparable(self.left, self.right, is_order=is_order)
        if self.left.kind is Kind.BOOLEAN and is_order:
            raise PredicateError(f"where orders {self.left} by {self.operator.value}: use = or <> with true or false")


@frozen
class Range:
    """A range test: a column between two literals, both ends included."""

    column: Column
    low: Literal
    high: Literal

    def __post_init__(self) -> None:
        _require_not_boolean(self.column, "between")
        _require_comparable(self.column, self.low, is_order=True)
        _require_comparable(self.column, self.high, is_order=True)
        _require_one_kind((self.low, self.high))


@frozen
class Membership:
    """A list test: a column equal to one of several literals of one kind."""

    column: Column
    choices: tuple[Literal, ...]

    def __post_init__(self) -> None:
        _require_not_boolean(self.column, "in")
        if not self.choices:
            raise PredicateError(
                f"where has an empty list after in for {self.column}: write {self.column.kind.example}"
            )
        for choice in self.choices:
            _require_comparable(self.column, choice)
        _require_one_kind(self.choices)


@frozen
class Pattern:
    """A pattern test: `%` matches any text, `_` any one character, and neither can be escaped."""

    column: Column
    pattern: str

    def __post_init__(self) -> None:
        if self.column.kind is not Kind.TEXT:
            raise PredicateError(
                f"where uses like on {self.column}: use like on text, "
                f"and compare this column with {self.column.kind.example}"
            )
        Literal(Kind.TEXT, self.pattern)


@lru_cache(maxsize=256)  # more than a query has patterns; each record tests them
def like_expression(pattern: str) -> re.Pattern[str]:
    """Return the regular expression of a like pattern. It cannot backtrack into an earlier part of the pattern."""
    first, *rest = (
        "".join("." if character == "_" else re.escape(character) for character in part) for part in pattern.split("%")
    )
    middle = "".join(f"(?>.*?{part})" for part in rest[:-1])
    return re.compile(first + middle + "".join(f".*{part}" for part in rest[-1:]), re.DOTALL)


@frozen
class Missing:
    """A test that is true if a column has no value."""

    column: Column


@frozen
class Not:
    """A negation: true if its operand is false, unknown if its operand is unknown."""

    operand: "Predicate"


@frozen
class _Connection:
    """Operands that are joined by a connective: two or more, none of which has the same connective."""

    operands: tuple["Predicate", ...]

    def __post_init__(self) -> None:
        if len(self.operands) < 2 or any(type(part) is type(self) for part in self.operands):  # noqa: PLR2004, the arity of a connective
            raise PredicateError(
                f"where joins {len(self.operands)} predicates in one {type(self).__name__}: "
                f"give two or more, none of them an {type(self).__name__}"
            )


@frozen
class And(_Connection):
    """A conjunction of two or more operands, none of which is an `And`."""


@frozen
class Or(_Connection):
    """A disjunction of two or more operands, none of which is an `Or`."""


Predicate: TypeAlias = Constant | Flag | Comparison | Range | Membership | Pattern | Missing | Not | And | Or


def tests(predicate: Predicate) -> Iterator[Predicate]:
    """Yield the comparisons and other tests that a predicate joins by and, or and not."""
    match predicate:
        case Not(operand):
            yield from tests(operand)
        case And(operands) | Or(operands):
            for operand in operands:
                yield from tests(operand)
        case _:
            yield predicate


def operands(predicate: Predicate) -> Iterator[Column]:
    """Yield the columns and the values of a person that a predicate compares, in order and with repetitions."""
    for test in tests(predicate):
        match test:
            case Constant():
                continue
            case Comparison(left, _, right):
                yield left
                if isinstance(right, Column):
                    yield right
            case _:
                yield test.column  # type: ignore[union-attr]  # of every other test


def columns(predicate: Predicate) -> Iterator[Column]:
    """Yield the columns of the records that a predicate reads, in order and with repetitions."""
    for operand in operands(predicate):
        yield from operand.stored_columns


def with_operands(predicate: Predicate, changed: Callable[[Column], Column]) -> Predicate:
    """Return a predicate in which `changed` was applied to each compared column and value."""
    match predicate:
        case Constant():
            return predicate
        case Not(operand):
            return Not(with_operands(operand, changed))
        case And(operands_) | Or(operands_):
            return type(predicate)(tuple(with_operands(each, changed) for each in operands_))
        case Comparison(left, operator, right):
            return Comparison(changed(left), operator, changed(right) if isinstance(right, Column) else right)
        case _:
            return replace(predicate, column=changed(predicate.column))


def joined(connective: type[And] | type[Or], predicates: Iterable[Predicate]) -> Predicate:
    """Join predicates by a connective. Operands that are joined by the same connective replace their node."""
    parts = [part for each in predicates for part in (each.operands if isinstance(each, connective) else (each,))]
    return connective(tuple(parts)) if len(parts) > 1 else parts[0]


def _require_comparable(column: Column, other: Column | Literal, *, is_order: bool = False) -> None:
    """Raise PredicateError if a column cannot be compared with a value or with another column."""
    numbers = column.kind.is_number and other.kind.is_number
    if not numbers and column.kind is not other.kind:
        raise PredicateError(f"where compares {column} with {other}: {_kind_advice(column, other, is_order=is_order)}")


def _kind_advice(column: Column, other: Column | Literal, *, is_order: bool) -> str:
    """Return advice on a comparison of a column with something of another kind."""
    if isinstance(other, Literal) and column.kind is Kind.TEXT and other.kind.is_number:
        text = "" if is_order else f"'{other.value}' for the text itself, or "
        number = f"number({replace_unprintable(column.text)}) for the numbers that its texts spell"
        return f"write {text}{number}; its owner can state a kind for the column in noisycount.toml"
    numeral = str(other.value).strip() if isinstance(other, Literal) else ""
    if column.kind.is_number and _NUMERAL.fullmatch(numeral):
        return f"write {numeral} without quotes"
    return f"compare it with {column.kind.example}"


def _require_one_kind(literals: tuple[Literal, ...]) -> None:
    if len({literal.kind for literal in literals}) > 1:
        raise PredicateError("where lists integers beside reals: write them all as reals")


def _require_not_boolean(column: Column, keyword: str) -> None:
    if column.kind is Kind.BOOLEAN:
        raise PredicateError(f"where uses {keyword} on {column}: use = or <> with true or false")


def canonical_text(predicate: Predicate) -> str:
    """Return the predicate in its own language: one text for each tree, and parsing the text returns the same tree."""
    match predicate:
        case Constant(value):
            return str(value).lower()
        case Comparison(left, operator, right):
            return f"{left.text} {operator.value} {value_text(right)}"
        case And(operands) | Or(operands):
            return connective(predicate).join(_text_in_parentheses(part, Or) for part in operands)
        case Not(Constant() | Comparison() | And() | Or() | Not() as operand):
            return f"not {_text_in_parentheses(operand, And, Or)}"
        case Not(test):
            return _canonical_test(test, "not ")
    return _canonical_test(predicate, "")


def connective(node: And | Or) -> str:
    """Return the word that joins the operands of a node, with blanks around it."""
    return " and " if isinstance(node, And) else " or "


def _canonical_test(test: Predicate, negation: str) -> str:
    match test:
        case Flag(column):
            return column.negated_text if negation else column.text
        case Range(column, low, high):
            return f"{column.text} {negation}between {value_text(low)} and {value_text(high)}"
        case Membership(column, choices):
            return f"{column.text} {negation}in ({', '.join(map(value_text, choices))})"
        case Pattern(column, pattern):
            return f"{column.text} {negation}like {quoted_text(pattern)}"
    return f"{test.column.text} is {negation}null"  # type: ignore[union-attr]  # a test of missing values


def _text_in_parentheses(predicate: Predicate, *weaker: type) -> str:
    text = canonical_text(predicate)
    return f"({text})" if isinstance(predicate, weaker) else text


def quoted_name(name: str) -> str:
    """Return a name as a query writes it, in double quotes if it needs them."""
    if SIMPLE_NAME.fullmatch(name) and name.lower() not in KEYWORDS:
        return name
    escaped = name.replace('"', '""')
    return f'"{escaped}"'


def qualified_name(name: str) -> str:
    """Return the name of a column of one of several tables as a query writes it.

    Example:
        >>> qualified_name("visits.ward"), qualified_name("visits.ward no")
        ('visits.ward', 'visits."ward no"')
    """
    table, _, column = name.partition(".")
    return f"{quoted_name(table)}.{quoted_name(column)}"


def typed_name(schema: Mapping[str, Kind], name: str) -> str:
    """Return the name of a column as a query writes it, for one line of an error."""
    return replace_unprintable(qualified_name(name) if schema_of(schema).tables else quoted_name(name))


def quoted_text(text: str) -> str:
    """Return a text as a query writes it, in single quotes."""
    escaped = text.replace("'", "''")
    return f"'{escaped}'"


def value_text(operand: Column | Literal) -> str:
    """Return a column or a literal as a query writes it."""
    if isinstance(operand, Column):
        return operand.text
    match operand.value:
        case bool(value):
            return str(value).lower()
        case int(value) | float(value):
            return repr(value)
        case datetime() as value:
            return f"'{value.isoformat(sep=' ')}'"
        case value:
            return quoted_text(str(value))


def short_text(text: str) -> str:
    """Return a part of a query for one line of an error, cut if it is long."""
    return replace_unprintable(text if len(text) <= _LONGEST_PART else f"{text[:_LONGEST_PART]}…")
