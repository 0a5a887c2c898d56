"""Counting by an engine: `Counting` runs the statements of `counts` on the open records of a source.

An engine states how it opens records (`Counting.open`), which errors it hides (`Counting.guard`), and how it runs a
statement (`Reading`).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from typing import Any, TypeAlias, TypeVar

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from noisycount.engines import counts as statements
from noisycount.engines.check import Check, typed_check
from noisycount.engines.expressions import Person, StatementRecords, require_units
from noisycount.engines.formats import ColumnFormat
from noisycount.engines.guesses import with_resemblances
from noisycount.engines.interface import CheckedSource, columns_of
from noisycount.engines.persons import persons_of
from noisycount.frozen import frozen
from noisycount.query.grouping import CellQuestion, GroupBy, KeyCounts, KeyQuestion
from noisycount.query.predicate import Column, Predicate
from noisycount.query.schema import Kind, Schema

Result = TypeVar("Result")


@frozen
class Part:
    """The records of one of several tables."""

    records: StatementRecords
    columns: Mapping[str, Kind]  # kind of each column that questions or links read


StatementWriter: TypeAlias = Callable[[Mapping[str, Part]], sa.Select[*tuple[Any, ...]]]
"""A function that writes a statement about several open tables."""


class Reading(ABC):
    """Records that an engine has opened for some statements."""

    __slots__ = ()
    records: StatementRecords
    parts: Mapping[str, Part]  # records of each of several tables, by its name; empty for a single table

    @abstractmethod
    def rows(self, statement: Any) -> Sequence[Sequence[Any]]:  # noqa: ANN401 - as the engine writes statements
        """Return all rows of a statement's result."""

    @abstractmethod
    def batches(self, statement: Any) -> Iterator[Sequence[Sequence[Any]]]:  # noqa: ANN401 - as above
        """Yield the rows of a statement's result, at most `KEYS_AT_ONCE` at once."""

    def columns(self, statement: Any) -> Sequence[NDArray[Any]]:  # noqa: ANN401 - as above
        """Return the first three columns of a statement's result."""
        rows = np.array([row[:3] for row in self.rows(statement)], np.object_).reshape(-1, 3)
        return list(rows.T)

    def count_statement(self, predicates: Sequence[Predicate]) -> Any:  # noqa: ANN401 - as above
        """Return the statement that counts the matches of predicates."""
        return statements.count_statement(predicates, self.records)

    def keys_statement(self, question: KeyQuestion) -> Any:  # noqa: ANN401 - as above
        """Return the statement that counts the groups of a table with hidden keys."""
        return statements.keys_statement(question, self.records)

    def person(self, schema: Schema, unit: str | None) -> Person | None:
        """Return the `Person` of the records, by the source's unit or else by a given column; None without both."""
        if self.records.person is not None or unit is None or unit not in schema:
            return self.records.person
        return Person(self.records.value(Column(unit, schema[unit])), schema[unit])

    def check(self, schema: Schema, unit: str | None, **facts: Any) -> Check:  # noqa: ANN401 - those of `typed_check`
        """Return facts about records that state the types of their columns, and about their persons."""
        columns = [Column(name, kind) for name, kind in schema.items()]
        person = self.person(schema, unit)
        rows, *counts, units = self.rows(statements.values_statement(columns, person, self.records))[0]
        check = typed_check(schema, rows, counts, None if person is None else units, **facts)
        if person is None:
            return check
        with_gaps = [column for column, cells in zip(columns, counts, strict=False) if cells < rows]
        return replace(check, persons=persons_of(with_gaps, person, self.records, self.rows))

    def with_resemblances(self, check: Check, unit: str | None) -> Check:
        """Return a check with the kinds that texts of its columns resemble."""

        def some_texts(name: str, number: int) -> list[str]:
            return [text for (text,) in self.rows(statements.texts_statement(self.records, name, number))]

        return with_resemblances(check, unit, some_texts)


class Counting(ABC):
    """The counting of some records by an engine; the functions are those of `Source`."""

    __slots__ = ()

    @abstractmethod
    def open(self) -> AbstractContextManager[Reading]:
        """Return a context in which the records are open for statements. It is entered and left by `guard`."""

    @abstractmethod
    def guard(self, work: Callable[[], Result]) -> Result:
        """Run some work and return its result. An error of the engine becomes a SourceError that quotes no cell."""

    def run(self, work: Callable[[Reading], Result]) -> Result:
        """Open the records, and return the result of some work on them."""
        opened = self.open()

        def run_on_records() -> Result:
            with opened as reading:
                return work(reading)

        return self.guard(run_on_records)

    def count(self, predicates: Sequence[Predicate]) -> list[int]:
        """Return the true count for each predicate; see `Source.count`."""

        def count(reading: Reading) -> list[int]:
            (row,) = reading.rows(reading.count_statement(predicates))
            require_units(row[-1:])
            return list(map(int, row[: len(predicates)]))

        return self.run(count)

    def count_cells(self, question: CellQuestion) -> list[NDArray[np.int64]]:
        """Return the true counts of a table; see `Source.count_cells`."""

        def count(reading: Reading) -> list[NDArray[np.int64]]:
            columns = reading.columns(statements.cells_statement(question, reading.records))
            return statements.cell_counts(question, reading.records, columns)

        return self.run(count)

    def count_keys(self, question: KeyQuestion) -> Iterator[KeyCounts]:
        """Yield the groups that have units, and their counts; see `Source.count_keys`."""
        opened, stack = self.open(), ExitStack()

        def start() -> tuple[Reading, Iterator[Sequence[Sequence[Any]]]]:
            reading = stack.enter_context(opened)
            return reading, reading.batches(reading.keys_statement(question))

        try:
            reading, batches = self.guard(start)
            while rows := self.guard(lambda: next(batches, ())):
                yield statements.key_counts(question, reading.records.dialect, rows)
        finally:
            self.guard(stack.close)

    def read_row(self, write_statement: StatementWriter) -> Sequence[int]:
        """Return the only row of a statement about several tables."""
        return self.run(lambda reading: reading.rows(write_statement(reading.parts))[0])


class EngineSource(CheckedSource):
    """A source whose records an engine counts."""

    __slots__ = ()

    @property
    def type_facts(self) -> Mapping[str, Mapping[str, str]]:
        """The `types` and `reasons` of the columns, as `typed_check` takes them; by default there are none."""
        return {}

    def check(self, unit: str | None = None) -> Check:
        """Return facts about the records, whose columns have types; see `Source.check`."""
        forms = {name: ColumnFormat(Kind.REAL, nan="missing") for name in self.nan_missing}

        def check_records(reading: Reading) -> Check:
            check = reading.check(self.schema, unit, forms=forms, **self.type_facts)
            return reading.with_resemblances(check, unit or self.unit)

        return self._counting(()).run(check_records)

    @abstractmethod
    def _counting(self, columns: Collection[str]) -> Counting:
        """Prepare a question about some columns, and return the counting that answers it."""

    def _require_same(self, columns: Collection[str]) -> None:  # noqa: ARG002 - frames look at the columns
        """Raise SourceError if records that were counted have changed meanwhile."""
        self.require_unchanged()

    def _restrict_condition(self, parts: Sequence[GroupBy], where: Predicate | None) -> Predicate | None:  # noqa: ARG002
        """Return the condition that is counted in place of a question's condition; by default the same condition."""
        return where

    def _count_checked(self, predicates: Sequence[Predicate]) -> list[int]:
        columns = columns_of((), predicates)
        counted = [self._restrict_condition((), predicate) or predicate for predicate in predicates]
        counts = self._counting(columns).count(counted)
        self._require_same(columns)
        return counts

    def _count_checked_cells(self, question: CellQuestion) -> list[NDArray[np.int64]]:
        columns = columns_of(question.keys.parts, [question.where])
        where = self._restrict_condition(question.keys.parts, question.where)
        counts = self._counting(columns).count_cells(replace(question, where=where))
        self._require_same(columns)
        return counts

    def _count_checked_keys(self, question: KeyQuestion) -> Iterator[KeyCounts]:
        columns = columns_of(question.parts, [question.where])
        where = self._restrict_condition(question.parts, question.where)
        yield from self._counting(columns).count_keys(replace(question, where=where))
        self._require_same(columns)
