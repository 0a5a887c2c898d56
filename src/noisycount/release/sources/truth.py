"""Whether a record matches a predicate: the definition that every engine is compared with."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from math import isnan
from operator import eq, ge, gt, le, lt, ne
from typing import Any

from noisycount.release.question.operands import Column, Literal, Operator
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

__all__ = ["Record", "ordered", "truth"]

Record = Mapping[str, object]

_COMPARISONS: dict[Operator, Callable[[Any, Any], bool]] = {
    Operator.EQUAL: eq,
    Operator.NOT_EQUAL: ne,
    Operator.LESS: lt,
    Operator.AT_MOST: le,
    Operator.MORE: gt,
    Operator.AT_LEAST: ge,
}


def truth(predicate: Predicate, record: Record) -> bool | None:
    """Whether the record matches, in three-valued logic: None is unknown."""
    match predicate:
        case Constant(value):
            return value
        case Not(operand):
            found = truth(operand, record)
            return None if found is None else not found
        case And(operands):
            return _strongest([truth(part, record) for part in operands], decisive=False)
        case Or(operands):
            return _strongest([truth(part, record) for part in operands], decisive=True)
        case Missing(column):
            return record[column.name] is None
        case _:
            return _tested(predicate, record)


def _strongest(truths: Sequence[bool | None], *, decisive: bool) -> bool | None:
    if decisive in truths:
        return decisive
    return None if None in truths else not decisive


def _tested(test: Flag | Comparison | Range | Membership | Pattern, record: Record) -> bool | None:
    column = test.left if isinstance(test, Comparison) else test.column
    value: Any = record[column.name]
    if value is None:
        return None
    match test:
        case Flag():
            return bool(value)
        case Comparison(_, operator, right):
            return _compared(value, operator, _seen(right, record))
        case Range(_, low, high):
            at_least = _compared(value, Operator.AT_LEAST, low.value)
            return at_least and _compared(value, Operator.AT_MOST, high.value)
        case Membership(_, choices):
            return any(_compared(value, Operator.EQUAL, choice.value) for choice in choices)
        case Pattern(_, pattern):
            return _pattern(pattern).fullmatch(value) is not None


def _seen(operand: Column | Literal, record: Record) -> object:
    return operand.value if isinstance(operand, Literal) else record[operand.name]


def _compared(left: object, operator: Operator, right: object) -> bool | None:
    if right is None:
        return None
    if isinstance(left, float) or isinstance(right, float):
        left, right = float(left), float(right)  # type: ignore[arg-type]  # numbers, by their kinds
    return _COMPARISONS[operator](ordered(left), ordered(right))


def ordered(value: object) -> object:
    """The value in the order of DuckDB, where NaN equals itself and follows every number."""
    if not isinstance(value, float):
        return value
    return (True, 0.0) if isnan(value) else (False, value)


@lru_cache(maxsize=256)  # more than the patterns of one question, which every record tries
def _pattern(pattern: str) -> re.Pattern[str]:
    """The regular expression of a like pattern, which never tries a part twice."""
    first, *rest = (
        "".join("." if character == "_" else re.escape(character) for character in part)
        for part in pattern.split("%")
    )
    middle = "".join(f"(?>.*?{part})" for part in rest[:-1])
    return re.compile(first + middle + "".join(f".*{part}" for part in rest[-1:]), re.DOTALL)
