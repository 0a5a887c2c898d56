"""Literals as an analyst writes them, as values of the kind of the column beside them."""

import re
from collections.abc import Sequence
from datetime import date, datetime
from reprlib import repr as shortened

from noisycount.errors import PredicateError
from noisycount.release.question.operands import Column, Literal
from noisycount.release.question.schema import Kind

__all__ = ["beside", "fitted", "of_one_kind", "real", "signed_number"]

_SHORT_DATE = re.compile(r"([0-9]{4})-(?=[0-9]-|[0-9]{2}-[0-9](?![0-9]))([0-9]{1,2})-([0-9]{1,2})")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIMESTAMP = re.compile(
    _DATE.pattern + r"(?:[ T][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.(?:[0-9]{3}|[0-9]{6}))?)?)?"
)


def signed_number(numeral: str, *, negative: bool) -> Literal:
    """The number that a numeral stands for: an integer, or a real if it has a point or exponent.

    Raises:
        PredicateError: the integer exceeds signed 64 bits, or the real is not finite.

    Example:
        >>> signed_number("25e-1", negative=True).value
        -2.5
    """
    sign = "-" if negative else ""
    if numeral.isdecimal():
        return Literal(Kind.INTEGER, int(sign + numeral))
    return Literal(Kind.REAL, float(sign + numeral))


def beside(column: Column, literals: Sequence[Literal]) -> tuple[Literal, ...]:
    """The literals that a column is compared with, of a kind that compares with its own.

    Raises:
        PredicateError: a text beside a date or a timestamp is none.

    Example:
        >>> [literal.value for literal in beside(Column("age", Kind.REAL),
        ...                                      [signed_number("65", negative=False)])]
        [65.0]
    """
    return of_one_kind([fitted(literal, column.kind) for literal in literals])


def fitted(literal: Literal, kind: Kind) -> Literal:
    """The literal as a value of the kind of the column beside it, where it has such a value.

    A text beside a date or a timestamp is read as ISO 8601; an integer beside a real becomes one.
    Any other literal stays as it is: the tree refuses what cannot be compared.

    Raises:
        PredicateError: a text beside a date or a timestamp is none.

    Example:
        >>> fitted(Literal(Kind.TEXT, "2026-01-31"), Kind.DATE).value
        datetime.date(2026, 1, 31)
    """
    if literal.kind is Kind.INTEGER and kind is Kind.REAL:
        return real(literal)
    if not isinstance(literal.value, str) or kind not in (Kind.DATE, Kind.TIMESTAMP):
        return literal
    form, reader = (
        (_DATE, date.fromisoformat) if kind is Kind.DATE else (_TIMESTAMP, datetime.fromisoformat)
    )
    remedy = f"write {kind.example}"
    try:
        if form.fullmatch(literal.value):
            return Literal(kind, reader(literal.value))
    except ValueError:
        what = "day" if kind is Kind.DATE else "day or time"
        remedy = f"there is no such {what}, {remedy}"
    if short := _SHORT_DATE.match(literal.value):
        year, month, day = short.groups()
        remedy = f"give month and day two digits each, '{year}-{month:0>2}-{day:0>2}'"
    raise PredicateError(
        f"where compares a {kind.value} with the text {shortened(literal.value)}: {remedy}"
    )


def real(literal: Literal) -> Literal:
    """An integer literal as the nearest real; any other literal as it is.

    Example:
        >>> real(Literal(Kind.INTEGER, 3)).value
        3.0
    """
    if literal.kind is not Kind.INTEGER:
        return literal
    return Literal(Kind.REAL, float(literal.value))  # type: ignore[arg-type]  # an int, by its kind


def of_one_kind(literals: list[Literal]) -> tuple[Literal, ...]:
    """The literals, all as reals if one of them is a real.

    Example:
        >>> [choice.value for choice in of_one_kind([signed_number("1", negative=False),
        ...                                          signed_number("2.5", negative=False)])]
        [1.0, 2.5]
    """
    if any(literal.kind is Kind.REAL for literal in literals):
        return tuple(real(literal) for literal in literals)
    return tuple(literals)
