"""The values that a question itself names: all that made-up records are made of."""

from collections.abc import Iterator, Mapping
from datetime import date

from noisycount.release.question.grouping import Edges, Key, Part, Period
from noisycount.release.question.keys import KeySet
from noisycount.release.question.operands import Column, Literal
from noisycount.release.question.tree import (
    And,
    Comparison,
    Membership,
    Not,
    Or,
    Pattern,
    Predicate,
    Range,
)

__all__ = ["Examples", "examples_of_keys", "examples_of_where"]

Examples = Mapping[str, list[object]]
"""For the name of a column values of its kind."""


def examples_of_where(predicate: Predicate) -> Iterator[tuple[Column, object]]:
    """The literals that a predicate compares its columns with.

    Example:
        >>> from noisycount.release.question.parser import parse
        >>> from noisycount.release.question.schema import Kind
        >>> asked = parse("age between 30 and 40 or not age = 7", {"age": Kind.INTEGER})
        >>> [value for _, value in examples_of_where(asked)]
        [30, 40, 7]
    """
    match predicate:
        case And(operands) | Or(operands):
            for operand in operands:
                yield from examples_of_where(operand)
        case Not(operand):
            yield from examples_of_where(operand)
        case Comparison(left, _, Literal() as right):
            yield left, right.value
        case Range(column, low, high):
            yield from ((column, low.value), (column, high.value))
        case Membership(column, choices):
            yield from ((column, choice.value) for choice in choices)
        case Pattern(column, pattern):
            yield column, pattern.replace("%", "").replace("_", "a")


def examples_of_keys(
    parts: tuple[Part, ...], keys: KeySet | None
) -> Iterator[tuple[Column, object]]:
    """The keys of a table as values of their columns.

    Args:
        parts: What it is grouped by.
        keys: Its cells; None: nobody listed them.
    """
    for place, part in enumerate(parts):
        if isinstance(part, Edges):
            yield from ((part.column, edge) for edge in part.edges)
        elif keys is not None:
            yield from ((part.column, _value(part, key)) for key in keys.values[place])


def _value(part: Part, key: Key) -> object:
    """A value in the group of a key."""
    if isinstance(part, Period) and isinstance(key, int):
        year, place = divmod(key, part.span.value)
        return date(min(max(year, 1), 9999), 1 + place * 12 // part.span.value, 1)
    return key
