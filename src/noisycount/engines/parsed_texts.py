"""Numbers and days that texts state, as expressions of portable SQL that never fail: see `query.readings`.

An engine casts only texts that every engine reads in the same way; other texts are missing values.
"""

from collections.abc import Iterable
from itertools import product
from math import ceil, log2

import sqlalchemy as sa

from noisycount.engines.dialect import Dialect, Expression
from noisycount.query.readings import BLANKS, MOST_CLOCK_DIGITS, MOST_DIGITS
from noisycount.query.schema import Kind

# What is left of a text once each digit is a 0, each sign a +, and each run of digits one digit.
_NUMBERS = tuple(map("".join, product(("", "+"), ("0", "0.", "0.0", ".0"), ("", "e0", "e+0"))))
_CLOCKS = ("0:0", "0:0:0", "0:0:0.0")
_ZONES = ("", *map("".join, product(("", " "), ("Z", "+0", "-0", "+0:0", "-0:0"))))
_DAYS = ("0-0-0", *map("".join, product(("0-0-0",), " T", _CLOCKS, _ZONES)))
_LONG_EXPONENT = "%e%000"
_NO_DAYS = ("02-30", "02-31", "04-31", "06-31", "09-31", "11-31")
_LEAP = tuple(f"{number:02}" for number in range(4, 100, 4))  # years, and centuries


def parsed_value(text: Expression, kind: Kind, dialect: Dialect) -> Expression:
    """Return the number or the day that a text states; missing if it states none."""
    text = dialect.trimmed(dialect.translated(text, BLANKS, " " * len(BLANKS)))
    if kind is Kind.DATE:
        day = dialect.part_of(text, 1, len("2026-01-31"))
        return dialect.day(sa.case((_is_day(text, dialect), day)))
    return dialect.double(sa.case((_is_number(text, dialect), text)))


def _is_number(text: Expression, dialect: Dialect) -> Expression:
    shape = dialect.translated(text, "123456789-E", "000000000+e")
    is_short = sa.not_(dialect.is_like(shape, _LONG_EXPONENT))
    return sa.and_(_without_runs(shape, MOST_DIGITS, dialect).in_(_constant_texts(_NUMBERS, dialect)), is_short)


def _is_day(text: Expression, dialect: Dialect) -> Expression:
    """Return the condition that a text is a day of the calendar, with or without a time of day."""
    shape = dialect.translated(text, "123456789", "000000000")
    start = dialect.part_of(shape, 1, len("2026-01-31 "))
    century, year, month, day = (dialect.part_of(text, *place) for place in ((1, 2), (3, 2), (6, 2), (9, 2)))
    month_and_day = dialect.part_of(text, 6, 5)

    def within(part: Expression, *ends: str) -> Expression:
        low, high = _constant_texts(ends, dialect)
        return sa.and_(part >= low, part <= high)

    def is_one_of(part: Expression, *texts: str) -> Expression:
        return part.in_(_constant_texts(texts, dialect))

    is_leap = sa.or_(is_one_of(year, *_LEAP), sa.and_(is_one_of(year, "00"), is_one_of(century, *_LEAP)))
    return sa.and_(
        is_one_of(start, "0000-00-00", "0000-00-00 ", "0000-00-00T"),
        is_one_of(_without_runs(shape, MOST_CLOCK_DIGITS, dialect), *_DAYS),
        within(dialect.part_of(text, 1, 4), "0001", "9999"),
        within(month, "01", "12"),
        within(day, "01", "31"),
        sa.not_(is_one_of(month_and_day, *_NO_DAYS)),
        sa.or_(sa.not_(is_one_of(month_and_day, "02-29")), is_leap),
    )


def _without_runs(shape: Expression, longest: int, dialect: Dialect) -> Expression:
    """Return a shape in which each run of at most `longest` zeros is one 0. A longer run becomes several zeros."""
    pair, one = _constant_texts(("00", "0"), dialect)
    for _ in range(ceil(log2(longest))):
        shape = sa.func.replace(shape, pair, one, type_=dialect.text_type)
    return shape


def _constant_texts(texts: Iterable[str], dialect: Dialect) -> list[Expression]:
    """Return constant texts as parts of the statement's text, not as bound values."""
    return [sa.literal_column(f"'{text}'", dialect.text_type) for text in texts]
