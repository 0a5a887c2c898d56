"""Predicates written at random from the whole grammar, and dirty records to ask them of."""

import math
import random
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, timedelta

from noisycount.query.readings import FUNCTIONS
from noisycount.query.schema import KINDS, Kind

__all__ = ["DIRTY", "dirty_records", "predicate_text"]

DIRTY = {
    "age": Kind.INTEGER,
    "not": Kind.INTEGER,
    "bmi": Kind.REAL,
    'it"s': Kind.REAL,
    "health": Kind.TEXT,
    "Größe, 'ü' 👍": Kind.TEXT,
    "smoker": Kind.BOOLEAN,
    "in": Kind.BOOLEAN,
    "born": Kind.DATE,
    "1; -- x": Kind.DATE,
    "seen": Kind.TIMESTAMP,
    "from": Kind.TIMESTAMP,
}
INTEGERS = [0, 1, -1, 7, 42, 255, 2**31, 2**53, 2**53 + 1, 2**63 - 1, -(2**63), -(2**53) - 1]
REALS = [0.0, -0.0, 1.0, -1.5, 0.1, 7.0, 2.0**53, 2.0**63, 5e-324, 1.7e308, -1e-9, 1 / 3]
SPECIAL_REALS = [math.nan, math.inf, -math.inf]
PARTS = ["a", "A", "ß", "%", "_", "'", '"', "\\", "é", "e\u0301", "👍", "\n", ";", " ", "--", "0"]
TEXTS = [
    *("", " ", "poor", "Poor", "poor ", "it's", '"', "'", "''", "\\", "%", "_", "100%", "null"),
    *(
        "NaN",
        "true",
        "2020-01-31",
        "2020-02-29T10:00",
        "9",
        "10",
        " 7.0 ",
        "日本",
        "\u202egnp",
        "\ufeff",
        "\u0131",
        "İ",
        "ﬀ",
        "\t\r\n",
    ),
    *("'; DROP TABLE records; --", "' OR '1'='1", "a" * 200, "\u0001", "z\U0010ffff"),
]
DATES = [date.min, date(1900, 3, 1), date(1970, 1, 1), date(2020, 2, 29), date(2020, 3, 1), date.max]
NOON = datetime(2020, 1, 31, 12)  # noqa: DTZ001, columns have no zone
MICROSECOND = timedelta(microseconds=1)
TIMES = [
    *(NOON, NOON + MICROSECOND, NOON - MICROSECOND, NOON + timedelta(hours=12)),
    *(datetime(1, 1, 1), datetime(1970, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999)),  # noqa: DTZ001
]
FLAGS = [True, False]
VALUES: Mapping[Kind, Sequence[object]] = {
    Kind.INTEGER: INTEGERS,
    Kind.REAL: REALS,
    Kind.TEXT: TEXTS,
    Kind.BOOLEAN: FLAGS,
    Kind.DATE: DATES,
    Kind.TIMESTAMP: TIMES,
}
RANDOM_VALUES: Mapping[Kind, Callable[[random.Random], object]] = {
    Kind.INTEGER: lambda chance: chance.getrandbits(chance.randrange(1, 64)) * chance.choice((1, -1)),
    Kind.REAL: lambda chance: chance.uniform(-1, 1) * 10.0 ** chance.randrange(-300, 300),
    Kind.TEXT: lambda chance: "".join(chance.choices(PARTS, k=chance.randrange(5))),
    Kind.BOOLEAN: lambda chance: chance.choice(FLAGS),
    Kind.DATE: lambda chance: date.fromordinal(chance.randrange(1, date.max.toordinal() + 1)),
    Kind.TIMESTAMP: lambda chance: (
        datetime(1, 1, 1) + timedelta(seconds=chance.uniform(0, 3.1e11))  # noqa: DTZ001
    ),
}
MISSING = 0.15
ODD = 0.02
BLANKS = [" ", " ", " ", "  ", "\n", "\t", "\u00a0"]
OPERATORS = ["=", "<>", "!=", "<", "<=", ">", ">="]
EQUALITIES = ["=", "<>", "!="]
NAMES_WITHOUT_QUOTES = ("age", "bmi", "health", "smoker", "born", "seen", "from")


def dirty_records(size: int, chance: random.Random) -> list[dict[str, object]]:
    """Records with extreme, odd and missing values in every column."""
    return [
        {name: _cell(kind, chance) for name, kind in DIRTY.items() if chance.random() > MISSING} for _ in range(size)
    ]


def predicate_text(schema: Mapping[str, Kind], chance: random.Random, depth: int = 3, odd: float = ODD) -> str:
    """A predicate in the language, or with that probability a part that makes it none."""
    if depth and chance.random() < 0.4:
        inner = [predicate_text(schema, chance, depth - 1, odd) for _ in range(chance.choice((2, 2, 3)))]
        word = _word(chance.choice(["and", "or"]), chance)
        joined = f"{_blank(chance)}{word}{_blank(chance)}".join(inner)
        return f"({joined})" if chance.random() < 0.6 else joined
    if depth and chance.random() < 0.15:
        inner_text = predicate_text(schema, chance, depth - 1, odd)
        return f"{_word('not', chance)} {_in_parentheses(inner_text, chance, 0.7)}"
    if chance.random() < 0.03:
        return _word(chance.choice(["true", "false"]), chance)
    return _test(schema, chance, odd)


def _cell(kind: Kind, chance: random.Random) -> object:
    if kind is Kind.REAL and chance.random() < 0.25:
        return chance.choice(SPECIAL_REALS)
    return _value(kind, chance)


def _value(kind: Kind, chance: random.Random) -> object:
    if chance.random() < 0.75:
        return chance.choice(VALUES[kind])
    return RANDOM_VALUES[kind](chance)


def _test(schema: Mapping[str, Kind], chance: random.Random, odd: float) -> str:
    """A test of one column, or of two."""
    name = chance.choice([*schema])
    kind = schema[name] if chance.random() > odd else chance.choice([*KINDS.values()])
    column = _in_parentheses(_name(name, chance), chance)
    if kind is Kind.TEXT and schema[name] is kind and chance.random() < 0.3:
        function, kind = chance.choice([*FUNCTIONS.items()])
        column = f"{_word(function, chance)}{chance.choice(['', ' '])}({column})"
    forms: list[Callable[[], str]] = [lambda: _comparison(schema, column, kind, chance)] * 4
    forms.append(lambda: f"{column} {_word('is', chance)} {_negation(chance)}null")
    if kind is Kind.BOOLEAN:
        forms.append(lambda: column)
    else:
        forms += [lambda: _range(column, kind, chance), lambda: _list(column, kind, chance)]
    if kind is Kind.TEXT:
        forms += [lambda: f"{column} {_negation(chance)}like {_literal(kind, chance)}"] * 3
    return chance.choice(forms)()


def _comparison(schema: Mapping[str, Kind], column: str, kind: Kind, chance: random.Random) -> str:
    operator = chance.choice(EQUALITIES if kind is Kind.BOOLEAN else OPERATORS)
    partners = [name for name, other in schema.items() if _comparable(other, kind)]
    other = _name(chance.choice(partners), chance) if partners and chance.random() < 0.25 else _literal(kind, chance)
    left, right = chance.sample([column, _in_parentheses(other, chance)], 2)
    gap = chance.choice(["", *BLANKS])
    return f"{left}{gap}{operator}{gap}{right}"


def _comparable(kind: Kind, other: Kind) -> bool:
    return kind is other or (kind.is_number and other.is_number)


def _range(column: str, kind: Kind, chance: random.Random) -> str:
    low, high = _literals(kind, 2, chance)
    return f"{column} {_negation(chance)}{_word('between', chance)} {low} and {high}"


def _list(column: str, kind: Kind, chance: random.Random) -> str:
    choices = ",".join(_literals(kind, chance.randrange(1, 12), chance))
    return f"{column} {_negation(chance)}{_word('in', chance)} ({choices})"


def _literals(kind: Kind, number: int, chance: random.Random) -> list[str]:
    """Return several literals that may stand beside each other: with a real, all are numbers that a real keeps."""
    if not kind.is_number:
        return [_literal(kind, chance) for _ in range(number)]
    is_real = kind is Kind.REAL or chance.random() < 0.4
    kinds = [kind, kind, Kind.INTEGER, Kind.REAL] if is_real else [Kind.INTEGER]
    return [_number(chance.choice(kinds), chance, is_real=is_real) for _ in range(number)]


def _literal(kind: Kind, chance: random.Random) -> str:
    if kind.is_number:
        return _literals(kind, 1, chance)[0]
    value = _value(kind, chance)
    if kind is Kind.BOOLEAN:
        return _word(str(value).lower(), chance)
    if isinstance(value, datetime):
        precision = chance.choice(["auto", "microseconds", "milliseconds", "seconds", "minutes"])
        return f"'{value.isoformat(chance.choice(' T'), precision)}'"
    return "'" + str(value).replace("'", "''") + "'"


def _number(kind: Kind, chance: random.Random, *, is_real: bool) -> str:
    value = _value(kind, chance)
    if is_real and isinstance(value, int):
        value = min(int(float(value)), 2**63 - 1024)  # others are refused beside reals
    text = repr(value)
    if is_real and isinstance(value, int) and chance.random() < 0.2:
        tens = [f"{value // 10}e1"] if abs(value) <= 2**53 else []
        text = chance.choice([f"{value}.", f"{value}e0", f"{value}.0E+00", *tens])
    if text.startswith("-") and chance.random() < 0.3:
        return f"- {text[1:]}"
    return f"00{text}" if not text.startswith("-") and chance.random() < 0.1 else text


def _name(name: str, chance: random.Random) -> str:
    if name in NAMES_WITHOUT_QUOTES and chance.random() < 0.8:
        return _word(name, chance)
    quoted = name.replace('"', '""')
    return f'"{quoted}"'


def _word(word: str, chance: random.Random) -> str:
    return chance.choice([word, word, word.upper(), word.title()])


def _negation(chance: random.Random) -> str:
    return _word("not", chance) + " " if chance.random() < 0.3 else ""


def _blank(chance: random.Random) -> str:
    return chance.choice(BLANKS)


def _in_parentheses(text: str, chance: random.Random, often: float = 0.1) -> str:
    return f"({text})" if chance.random() < often else text
