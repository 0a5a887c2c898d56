"""Records in plain Python, counted one by one: the reference for every other engine. `truth` has its semantics."""

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import islice
from typing import Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from noisycount.engines.check import Check, ColumnCheck
from noisycount.engines.interface import CheckedSource, missing_units_error
from noisycount.engines.truth import Record, kept_groups, sort_key, truth, unit_text, with_person_values
from noisycount.errors import SourceError
from noisycount.frozen import frozen
from noisycount.query.grouping import OUTSIDE, CellQuestion, EachValue, GroupBy, Key, KeyCounts, KeyQuestion
from noisycount.query.person_values import value_of, values_in
from noisycount.query.predicate import Column, Predicate
from noisycount.query.schema import Kind, Schema

_BATCH = 100_000  # groups


@frozen
class Unit:
    """The unit of a record."""

    name: Hashable  # differs between units
    text: str  # the text that is hashed

    @classmethod
    def from_record(cls, number: int, record: Record, column: str | None) -> Self:
        """Return the unit that a column names; without a column, each record is a unit."""
        if column is None:
            return cls(number, "")
        value = record[column]
        return cls(sort_key(value), unit_text(value))


Keys: TypeAlias = tuple[Key, ...]


def cell_counts(records: Sequence[Record], column: str | None, question: CellQuestion) -> list[NDArray[np.int64]]:
    """Return the true counts of a table, for a column that names the unit; see `Source.count_cells`."""
    cells: dict[Keys | None, int] = {question.keys.key(cell): cell for cell in range(len(question.keys))}
    if question.has_other:
        cells[None] = len(cells)
    groups_of: dict[Unit, set[Keys | None]] = defaultdict(set)
    for unit, keys in _unit_groups(records, column, question.keys.parts, question.where):
        group = keys if keys in cells else None
        if group in cells:
            groups_of[unit].add(group)
    units: list[list[set[Hashable]]] = [[set() for _ in range(level.size)] for level in question.levels]
    for unit, groups in groups_of.items():
        for group in kept_groups(groups, unit.text, question.max_groups, question.salt):
            for level, nodes in zip(question.levels, units, strict=True):
                if (node := level.of_cell[cells[group]]) >= 0:
                    nodes[node].add(unit.name)
    return [np.array([len(node) for node in nodes], np.int64) for nodes in units]


def key_counts(records: Sequence[Record], column: str | None, question: KeyQuestion) -> Iterator[KeyCounts]:
    """Yield the groups that have units, and their counts; see `Source.count_keys`."""
    groups_of: dict[Unit, set[Keys]] = defaultdict(set)
    for unit, keys in _unit_groups(records, column, question.parts, question.where):
        if not any(map(_is_outside, question.parts, keys)):
            groups_of[unit].add(keys)
    units: Mapping[Keys, set[Hashable]] = defaultdict(set)
    for unit, groups in groups_of.items():
        for group in kept_groups(groups, unit.text, question.max_groups, question.salt):
            units[group].add(unit.name)
    remaining = iter(units.items())
    while batch := list(islice(remaining, _BATCH)):
        counts = np.array([len(members) for _, members in batch], np.int64)
        yield KeyCounts([keys for keys, _ in batch], counts)


def _is_outside(part: GroupBy, key: Key) -> bool:
    """Return True if a key belongs to no group. As a value of `EachValue`, the same number is a group."""
    return key == OUTSIDE and not isinstance(part, EachValue)


def _unit_groups(
    records: Sequence[Record], column: str | None, parts: Sequence[GroupBy], where: Predicate | None
) -> Iterator[tuple[Unit, Keys]]:
    """Yield the unit of each matching record, and the keys of its group."""
    for number, record in enumerate(
        records_with_person_values(records, column, [part.column for part in parts], [where])
    ):
        if where is None or truth(where, record):
            yield (
                Unit.from_record(number, record, column),
                tuple(part.key(record[part.column.name]) for part in parts),
            )


def records_with_person_values(
    records: Sequence[Record], unit: str | None, columns: Sequence[Column], predicates: Sequence[Predicate | None]
) -> Sequence[Record]:
    """Return the records, each with the values of its person that columns and predicates read."""
    if unit is None or not (any(map(value_of, columns)) or any(values_in(predicates))):
        return records
    rows: dict[Hashable, list[Record]] = defaultdict(list)
    for record in records:
        rows[Unit.from_record(0, record, unit).name].append(record)
    return [each for of_person in rows.values() for each in with_person_values(of_person, columns, predicates)]


class MemorySource(CheckedSource):
    """A source of records in memory, counted one by one.

    Args:
        records: A mapping of column names to values for each record. None, or no entry, is a missing value.
        schema: The kind of every column. Other entries of the records are ignored.
        unit: The column that names the person; None: every record is a unit.
        columns: The columns that questions may use; None: all but the unit.

    Example:
        >>> from noisycount.query.language import parse
        >>> records = [{"age": 31}, {"age": 29}, {"age": None}]
        >>> with MemorySource(records, {"age": Kind.INTEGER}) as source:
        ...     source.count([parse("age >= 30", source.schema)])
        [1]
    """

    __slots__ = ("_records", "schema", "unit", "version")

    unit: str | None
    version: str

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
            {name: _operand_value(record, number, name, kind) for name, kind in schema.items()}
            for number, record in enumerate(records)
        ]
        if unit is not None and any(record[unit] is None for record in self._records):
            raise missing_units_error(unit)
        self.version = sha256(repr(self._records).encode(errors="surrogatepass")).hexdigest()

    @property
    def has_exact_version(self) -> bool:
        """True: the version is a digest of a copy of the records."""
        return True

    def prepare(self, columns: Collection[str] | None = None) -> None:
        """Do nothing: the records were checked when the source was made."""

    def check(self, unit: str | None = None) -> Check:
        """Return facts about the records; see `Source.check`."""
        records = self._open_records()
        columns = [
            ColumnCheck(name, kind, kind.value, None, sum(record[name] is None for record in records))
            for name, kind in self.schema.items()
        ]
        column = unit or self.unit
        units = None if column is None else len({record[column] for record in records} - {None})
        return Check(len(records), tuple(columns), units=units)

    def require_unchanged(self) -> None:
        """Raise SourceError if the source is closed. The records cannot change."""
        self._open_records()

    def _count_checked(self, predicates: Sequence[Predicate]) -> list[int]:
        units: list[set[Hashable]] = [set() for _ in predicates]
        records = records_with_person_values(self._open_records(), self.unit, (), predicates)
        for number, record in enumerate(records):
            unit = Unit.from_record(number, record, self.unit).name
            for matching, predicate in zip(units, predicates, strict=True):
                if truth(predicate, record):
                    matching.add(unit)
        return [len(matching) for matching in units]

    def _count_checked_cells(self, question: CellQuestion) -> list[NDArray[np.int64]]:
        return cell_counts(self._open_records(), self.unit, question)

    def _count_checked_keys(self, question: KeyQuestion) -> Iterator[KeyCounts]:
        return key_counts(self._open_records(), self.unit, question)

    def close(self) -> None:
        """Close the source, and release the records."""
        self._records = None

    def _open_records(self) -> list[dict[str, object]]:
        if self._records is None:
            raise SourceError("the records are closed: open the source again")
        return self._records


def _operand_value(record: Record, number: int, name: str, kind: Kind) -> object:
    value = record.get(name)
    if value is not None and not kind.holds(value):
        raise SourceError(f"records[{number}][{name!r}] is not {kind.value}: give {kind.example}, or None")
    return float(value) if kind is Kind.REAL and isinstance(value, int) else value
