"""Records held in plain Python: the reference for every other engine."""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from functools import lru_cache
from hashlib import sha256
from math import isnan
from operator import eq, ge, gt, le, lt, ne
from typing import Any

from noisycount.errors import SourceError
from noisycount.release.question.operands import Column, Literal, Operator
from noisycount.release.question.schema import Kind, Schema
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
from noisycount.release.sources.check import Check, ColumnCheck
from noisycount.release.sources.closing import Closing
from noisycount.release.sources.interface import require_known_columns

__all__ = ["MemorySource", "Record"]

Record = Mapping[str, object]

INTEGERS = range(-(2**63), 2**64)  # the widest columns of files: BIGINT and UBIGINT
_TYPES: dict[Kind, tuple[type, ...]] = {
    Kind.INTEGER: (int,),
    Kind.REAL: (float, int),
    Kind.TEXT: (str,),
    Kind.BOOLEAN: (bool,),
    Kind.DATE: (date,),
    Kind.TIMESTAMP: (datetime,),
}
_COMPARISONS: dict[Operator, Callable[[Any, Any], bool]] = {
    Operator.EQUAL: eq,
    Operator.NOT_EQUAL: ne,
    Operator.LESS: lt,
    Operator.AT_MOST: le,
    Operator.MORE: gt,
    Operator.AT_LEAST: ge,
}


class MemorySource(Closing):
    """Records that are in memory already, counted one by one.

    Args:
        records: one mapping of column names to values each; None, or no entry, is a missing value.
        schema: the kind of every column; other entries of the records are left out.
        unit: the column that names the person, or None where every record is one unit.
        columns: the columns that questions may use, or None for all but the unit.

    Raises:
        SourceError: a value is not of its column's kind, a name is unknown, or a record has no
            unit.

    Example:
        >>> from noisycount.release.question.parser import parse
        >>> records = [{"age": 31}, {"age": 29}, {"age": None}]
        >>> with MemorySource(records, {"age": Kind.INTEGER}) as source:
        ...     source.count([parse("age >= 30", source.schema)])
        [1]
    """

    __slots__ = ("_records", "schema", "unit", "version")

    def __init__(
        self,
        records: Sequence[Record],
        schema: Mapping[str, Kind],
        unit: str | None = None,
        columns: Sequence[str] | None = None,
    ) -> None:
        for name, kind in schema.items():
            if not isinstance(kind, Kind):
                raise SourceError(f"schema must give a Kind for {name!r}, got {kind!r}")
        self.schema = Schema(schema).for_questions(unit, columns)
        self.unit = unit
        self._records: list[dict[str, object]] | None = [
            {name: _value(record, number, name, kind) for name, kind in schema.items()}
            for number, record in enumerate(records)
        ]
        if unit is not None and any(record[unit] is None for record in self._records):
            raise SourceError(
                f"unit column {unit!r} has missing values, and a record without a person cannot be "
                "counted for anybody: fill them in or remove those records"
            )
        self.version = sha256(repr(self._records).encode(errors="surrogatepass")).hexdigest()

    @property
    def former_versions(self) -> tuple[str, ...]:
        """None: its version never had another form."""
        return ()

    @property
    def accepted(self) -> frozenset[str]:
        """None: every value is of its column's kind."""
        return frozenset()

    def prepare(self) -> None:
        """Nothing: the records were checked as they were taken in."""

    def check(self) -> Check:
        """What is in the records; see ``Source.check``."""
        records = self._open_records()
        columns = [
            ColumnCheck(name, kind, kind.value, None, sum(each[name] is None for each in records))
            for name, kind in self.schema.items()
        ]
        return Check(len(records), tuple(columns))

    def require_unchanged(self) -> None:
        """The refusal of records that are closed; they cannot change."""
        self._open_records()

    def count(self, predicates: Sequence[Predicate]) -> list[int]:
        """The true count for each predicate; see ``Source.count``."""
        records = self._open_records()
        require_known_columns(predicates, self.schema)
        units: list[set[object]] = [set() for _ in predicates]
        for number, record in enumerate(records):
            unit = number if self.unit is None else _ordered(record[self.unit])
            for matching, predicate in zip(units, predicates, strict=True):
                if _truth(predicate, record):
                    matching.add(unit)
        return [len(matching) for matching in units]

    def close(self) -> None:
        """The end of their use; they are forgotten."""
        self._records = None

    def _open_records(self) -> list[dict[str, object]]:
        if self._records is None:
            raise SourceError("the records are closed: open the source again")
        return self._records


def _value(record: Record, number: int, name: str, kind: Kind) -> object:
    value = record.get(name)
    fits = value is None or type(value) in _TYPES[kind]
    if fits and isinstance(value, int):
        fits = value in INTEGERS
    if fits and isinstance(value, datetime):
        fits = value.tzinfo is None
    if not fits:
        raise SourceError(
            f"records[{number}][{name!r}] is not {kind.value}: give {kind.example}, or None"
        )
    return float(value) if kind is Kind.REAL and isinstance(value, int) else value


def _truth(predicate: Predicate, record: Record) -> bool | None:
    """Whether the record matches, in three-valued logic: None is unknown."""
    match predicate:
        case Constant(value):
            return value
        case Not(operand):
            truth = _truth(operand, record)
            return None if truth is None else not truth
        case And(operands):
            return _strongest([_truth(part, record) for part in operands], decisive=False)
        case Or(operands):
            return _strongest([_truth(part, record) for part in operands], decisive=True)
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
    return _COMPARISONS[operator](_ordered(left), _ordered(right))


def _ordered(value: object) -> object:
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
