"""Keys as one types them, and the values of a column that they stand for."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import islice
from typing import TypeAlias

from noisycount.errors import PredicateError
from noisycount.release.question.grouping import Edges, Part
from noisycount.release.question.keys import MOST_CELLS
from noisycount.release.question.schema import Kind

__all__ = ["Listed", "Value", "Word", "values_of", "values_of_part"]

Value: TypeAlias = int | str | bool | None
"""A key as a desk takes it."""

_WHOLE = re.compile(r"[+-]?[0-9]{1,19}")
_RANGE = re.compile(r"(.+?)\.\.(.+)")
_PERIODS = (
    (re.compile(r"([0-9]{4})-?Q([1-4])"), 4, "{0:04d}-Q{1}"),
    (re.compile(r"([0-9]{4})-(0[1-9]|1[0-2])"), 12, "{0:04d}-{1:02d}"),
)
_TRUTHS = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class Word:
    """A key as it was typed.

    Attributes:
        text: What it says; None: the missing value.
        is_quoted: Whether it stands for itself, whatever it looks like.
    """

    text: str | None
    is_quoted: bool = False


Listed: TypeAlias = Sequence[Word]
"""The keys of one column."""


def values_of(column: str, kind: Kind, words: Listed) -> list[Value]:
    """The values of a column that words stand for, ranges written out.

    Args:
        column: The name of the column.
        kind: What it holds.
        words: The keys.

    Raises:
        PredicateError: A word stands for no value of that kind, or there are too many.

    Example:
        >>> values_of("year", Kind.INTEGER, [Word("1..3"), Word(None)])
        [1, 2, 3, None]
    """
    values: list[Value] = []
    for word in words:
        values.extend(islice(_values(column, kind, word), MOST_CELLS + 1 - len(values)))
        if len(values) > MOST_CELLS:
            raise PredicateError(f"keys of {column} are more than {MOST_CELLS:,}: list fewer")
    return values


def values_of_part(part: Part, words: Listed) -> list[Value]:
    """The values that words stand for as keys of what a table is grouped by.

    Raises:
        PredicateError: As for `values_of`.
    """
    kind = Kind.TEXT if isinstance(part, Edges) else part.column.kind  # ranges go by their words
    return values_of(part.column.name, kind, words)


def _values(column: str, kind: Kind, word: Word) -> Iterator[Value]:
    if word.text is None:
        yield None
        return
    ends = _RANGE.fullmatch(word.text)
    if ends is None or word.is_quoted or kind in {Kind.TEXT, Kind.BOOLEAN}:
        yield _value(kind, word.text)
        return
    low, high = ends.groups()
    steps = _between(low, high)
    if steps is None:
        raise PredicateError(
            f"keys of {column} have {word.text!r}: a range is of whole numbers, days, months, "
            "quarters or years, and rises: 1..5, 2026-01..2026-12"
        )
    yield from steps


def _value(kind: Kind, text: str) -> Value:
    """One value; what does not fit stays text, which the table refuses in its own words."""
    if kind.is_number and _WHOLE.fullmatch(text):
        return int(text)
    if kind is Kind.BOOLEAN:
        return _TRUTHS.get(text.lower(), text)
    return text


def _between(low: str, high: str) -> Iterator[Value] | None:
    """All values from one to another; None where they are of different kinds or do not rise."""
    if _WHOLE.fullmatch(low) and _WHOLE.fullmatch(high):
        return _rising(int(low), int(high))
    for pattern, periods, shape in _PERIODS:
        ends = [pattern.fullmatch(end) for end in (low, high)]
        if all(ends):
            first, last = (int(end[1]) * periods + int(end[2]) - 1 for end in ends if end)
            steps = _rising(first, last)
            return steps and (shape.format(step // periods, step % periods + 1) for step in steps)
    try:
        first_day, last_day = date.fromisoformat(low), date.fromisoformat(high)
    except ValueError:
        return None
    days = _rising(0, (last_day - first_day).days)
    return days and ((first_day + timedelta(day)).isoformat() for day in days)


def _rising(first: int, last: int) -> Iterator[int] | None:
    return iter(range(first, last + 1)) if first <= last else None
