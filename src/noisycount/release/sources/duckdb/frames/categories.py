"""Columns of categories: what is asked of texts is decided once a category, not once a record."""
# ruff: noqa: S608, as all SQL here is made of rendered trees and of names that it quotes

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from noisycount.release.question.operands import Column
from noisycount.release.question.schema import Kind
from noisycount.release.question.tree import (
    And,
    Comparison,
    Flag,
    Missing,
    Not,
    Or,
    Predicate,
    columns,
)
from noisycount.release.sources.duckdb.paths import Connection
from noisycount.release.sources.duckdb.quoting import quoted_name
from noisycount.release.sources.duckdb.sql import duckdb_sql

__all__ = ["Categories", "Decisions", "categories_of", "compared_columns", "with_numbers"]

_MOST = 62  # as many as a BIGINT has bits, but for its sign


@dataclass(frozen=True, slots=True)
class Categories:
    """A column of numbers, each of which stands for a text.

    Attributes:
        texts: What the numbers stand for.
        numbers: The column, in the library that it is of.
    """

    texts: tuple[str, ...]
    numbers: Any


def categories_of(table: Any) -> dict[str, Categories]:  # noqa: ANN401 - of Polars or Arrow
    """The columns of a table that are stored as numbers of few texts."""
    found = _of_polars if hasattr(table, "to_arrow") else _of_arrow
    return {
        name: categories
        for name, categories in found(table)
        if 0 < len(categories.texts) <= _MOST and None not in categories.texts
    }


def _of_polars(frame: Any) -> Iterator[tuple[str, Categories]]:  # noqa: ANN401
    """The categories of a frame of Polars: fixed ones, or all that were met in this process."""
    for name, type_ in frame.schema.items():
        if str(type_).startswith(("Categorical", "Enum")):
            texts: Any = getattr(type_, "categories", None)
            if hasattr(texts, "to_series"):
                texts = texts.to_series()
            if texts is not None:
                few = tuple(texts[: _MOST + 1])
                yield name, Categories(few, frame[name].to_physical())


def _of_arrow(table: Any) -> Iterator[tuple[str, Categories]]:  # noqa: ANN401
    """The dictionaries of a table of Arrow that are the same in all of its parts."""
    for name, type_ in zip(table.schema.names, table.schema.types, strict=True):
        if not str(type_).startswith("dictionary<values=") or "string" not in str(type_):
            continue
        parts = table[name].chunks
        if parts and all(part.dictionary.equals(parts[0].dictionary) for part in parts):
            numbers = [part.indices for part in parts]
            yield name, Categories(tuple(parts[0].dictionary[: _MOST + 1].to_pylist()), numbers)


def with_numbers(table: Any, place: int, name: str, categories: Categories) -> Any:  # noqa: ANN401
    """The table with the numbers of categories in the place of a column."""
    numbers = categories.numbers
    if hasattr(table, "to_arrow"):
        return table.with_columns(numbers)
    return table.set_column(place, name, numbers)


def compared_columns(predicate: Predicate) -> set[str]:
    """The columns that are compared with another one somewhere."""
    match predicate:
        case Comparison(_, _, Column()):
            return {column.name for column in columns(predicate)}
        case Not(operand):
            return compared_columns(operand)
        case And(operands) | Or(operands):
            return set().union(*map(compared_columns, operands))
        case _:
            return set()


@dataclass(frozen=True, slots=True)
class Decisions:
    """What is asked of categories, decided for each of them.

    A bit for each category takes the same time whichever of them satisfy a test: how long a count
    takes does not tell whether anybody has a category.

    Attributes:
        texts: What the numbers of each column stand for.
        connection: Decides which texts satisfy a test, as it would for records.
        stem: The beginning of names that no column has.
        tests: The SQL of each test of the numbers of a column, by name.
    """

    texts: Mapping[str, Sequence[str]]
    connection: Connection
    stem: str
    tests: dict[str, str] = field(default_factory=dict)

    def of(self, predicate: Predicate) -> Predicate:
        """The same predicate, with a flag for each test of categories.

        Args:
            predicate: It compares no such column with another.
        """
        match predicate:
            case Not(operand):
                return Not(self.of(operand))
            case And(operands) | Or(operands):
                return type(predicate)(tuple(map(self.of, operands)))
        column = next(columns(predicate), None)
        if column is None or column.name not in self.texts or isinstance(predicate, Missing):
            return predicate
        name = f"{self.stem}{len(self.tests)}"
        self.tests[name] = (
            f"(({self._bits(predicate, column.name)}::BIGINT >> {quoted_name(column.name)}::BIGINT)"
            f" & 1) = 1 AS {quoted_name(name)}"
        )
        return Flag(Column(name, Kind.BOOLEAN))

    def _bits(self, test: Predicate, name: str) -> int:
        """A number with a bit for each category that satisfies a test."""
        shown = f'unnest(?::VARCHAR[]) COLLATE "binary" AS {quoted_name(name)}'
        rows = self.connection.execute(
            f"SELECT number FROM (SELECT unnest(?::BIGINT[]) AS number, {shown}) "
            f"WHERE {duckdb_sql(test)}",
            [[*range(len(self.texts[name]))], [*self.texts[name]]],
        ).fetchall()
        return sum(1 << number for (number,) in rows)
