"""Predicates for each trap that is known: every one of them was met in some engine."""

from collections.abc import Iterator, Mapping
from itertools import pairwise, product

from noisycount.release.question.operands import Column, Literal, Operator
from noisycount.release.question.parser import parse
from noisycount.release.question.schema import Kind
from noisycount.release.question.tree import (
    And,
    Comparison,
    Constant,
    Flag,
    Membership,
    Missing,
    Not,
    Or,
    Pattern,
    Predicate,
    Range,
)
from noisycount.release.sources.conformance.random_predicates import LITERALS

__all__ = ["fixed_predicates"]

_PATTERNS = (
    *(
        "%",
        "",
        "_",
        "__",
        "____",
        "%%",
        "_%",
        "%_",
        "%a%",
        "a%",
        "%a",
        "A%",
        "a",
        "A",
        "a_b",
        "a%b",
    ),
    *("%\\%", "%\\\\%", "\\%", "\\_", "\\\\", "%\\_%", "100\\%", "100%", "%!%%", "!%", "^%", "[%"),
    *("[ab]", "[^a]", "%[%", "%]%", "%.%", "a.b", "%*%", "a?b", "(a)", "^a$", "a|b", "%{}%", "$1"),
    *("é", "e_", "É", "%é%", "_\u0301", "👍", "__👍", "👍_", "a_b", "_\u200d%", "\U00010400"),
    *("two_lines", "two__lines", "%\n", "\n%", "%\r", "a\n", "a_", " %", "% ", "a ", "%  ", "\t"),
    *("'", "%'%", "''", '"', "%''%", ":a", "%(a)s", "%s", "?", "@a", "--", ";%", "NULL", "n%l"),
)
_TEXTS = (
    *(
        "integer_a = 9007199254740992.0",
        "integer_a = 9007199254740993",
        "real_a = 9007199254740993",
    ),
    *("integer_a < 9007199254740993.0", "real_a < 9007199254740993", "integer_a >= 9.3e18"),
    *("integer_a in (9007199254740992.0, 0.5)", "integer_a in (9007199254740993, 0)"),
    *("integer_a between -9.3e18 and 9.3e18", "integer_a <> 9007199254740992.0"),
    *(
        "integer_a between 9007199254740992 and 9007199254740993",
        "integer_a = 9223372036854775807.0",
    ),
    *("integer_a between 31 and 30", "real_a between 1.0 and 0.5", "text_a between 'b' and 'a'"),
    *("real_a = 0.3", "real_a = 0.30000000000000004", "real_a = -0.0", "real_a < 0", "real_a >= 0"),
    *(
        "real_a = real_a",
        "real_a <> real_a",
        "real_a > 1.7976931348623157e308",
        "not real_a < 1e308",
    ),
    *("real_a < -1.7976931348623157e308", "not real_a <= 1e308 and not real_a > 1e308"),
    *("text_a between 'A' and 'a'", "text_a between 'a' and 'é'", "text_a > 'Z' and text_a < 'a'"),
    *(
        "text_a in ('a', 'A')",
        "text_a in ('é')",
        "text_a in ('e\u0301')",
        "text_a not in ('a', '')",
    ),
    *(
        "date_a between '2020-01-31' and '2020-02-01'",
        "date_a < '1970-01-01'",
        "date_a < '1582-10-15'",
    ),
    *("timestamp_a > '2020-01-31T12:00:00'", "timestamp_a > '2020-01-31 12:00:00.000001'"),
    *("timestamp_a between '2020-01-31' and '2020-02-01'", "timestamp_a < '1970-01-01'"),
    *(
        "timestamp_a between '2026-03-29 02:00' and '2026-03-29 03:00'",
        "timestamp_a <> '2026-10-25'",
    ),
    *("timestamp_a = '2026-03-29 02:30'", "timestamp_a = '2026-10-25 02:30'"),
)


def fixed_predicates(schema: Mapping[str, Kind]) -> Iterator[Predicate]:
    """Predicates about the columns of mixed records."""
    yield from (parse(text, schema) for text in _TEXTS)
    for name, kind in schema.items():
        column = Column(name, kind)
        yield from (Missing(column), Not(Missing(column)))
        yield from _with_values(column)
        yield from _with_columns(column, schema)
    yield from _patterns(schema)
    yield from _three_valued(schema)


def _operators(column: Column) -> tuple[Operator, ...]:
    is_boolean = column.kind is Kind.BOOLEAN
    return (Operator.EQUAL, Operator.NOT_EQUAL) if is_boolean else tuple(Operator)


def _with_values(column: Column) -> Iterator[Predicate]:
    """A column compared with every value of its kind, in every way."""
    literals = [Literal(column.kind, value) for value in LITERALS[column.kind]]
    for literal, operator in product(literals, _operators(column)):
        yield Comparison(column, operator, literal)
    if column.kind is Kind.BOOLEAN:
        yield from (Flag(column), Not(Flag(column)))
        return
    yield Membership(column, tuple(literals))
    yield Not(Membership(column, tuple(literals)))
    for low, high in pairwise(literals):
        yield Range(column, low, high)
        yield Not(Range(column, low, high))
        yield Membership(column, (low, high))
        yield Not(Membership(column, (low, high)))


def _with_columns(column: Column, schema: Mapping[str, Kind]) -> Iterator[Predicate]:
    """A column compared with every other, and with itself."""
    for name, kind in schema.items():
        if kind is column.kind or (kind.is_number and column.kind.is_number):
            for operator in _operators(column):
                yield Comparison(column, operator, Column(name, kind))


def _patterns(schema: Mapping[str, Kind]) -> Iterator[Predicate]:
    """Texts like every pattern, and not like it."""
    texts = [Column(name, kind) for name, kind in schema.items() if kind is Kind.TEXT]
    for column, pattern in product(texts, _PATTERNS):
        yield from (Pattern(column, pattern), Not(Pattern(column, pattern)))


def _three_valued(schema: Mapping[str, Kind]) -> Iterator[Predicate]:
    """Truths that may be unknown in every connective, and negated."""
    flags = [Column(name, kind) for name, kind in schema.items() if kind is Kind.BOOLEAN]
    numbers = [Column(name, kind) for name, kind in schema.items() if kind is Kind.INTEGER]
    truths: list[Predicate] = [
        *map(Flag, flags),
        *(Not(Flag(flag)) for flag in flags),
        *(Comparison(each, Operator.MORE, Literal(Kind.INTEGER, 0)) for each in numbers),
        *(Membership(each, (Literal(Kind.INTEGER, 0),)) for each in numbers),
        *(Missing(each) for each in (*flags, *numbers)),
        Constant(value=True),
        Constant(value=False),
    ]
    for one, other in product(truths, truths):
        for connective in (And, Or):
            joined = connective((one, other))
            yield from (joined, Not(joined), Not(Not(joined)))
