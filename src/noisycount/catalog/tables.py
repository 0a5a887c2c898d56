"""Data sets of several tables of the same persons: described, opened and counted together.

`TableGroupSource` describes each table as `sources` does, and `engines.tables`
joins the open ones.
"""

import json
from collections.abc import Collection
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Self

from noisycount.catalog.catalog import DatasetRecord
from noisycount.catalog.sources import FileSource, LazySource
from noisycount.catalog.table_group import GroupTable, TableGroup
from noisycount.engines.interface import CheckedSource
from noisycount.engines.opening import join_tables
from noisycount.engines.table_checks import TablesCheck, check_tables
from noisycount.engines.table_facts import joined_schema
from noisycount.engines.tables import TablesSource
from noisycount.errors import ConfigError, SourceError
from noisycount.query.public_values import with_public_values


@dataclass(slots=True)
class TableGroupSource(LazySource):
    """Several tables of the same persons."""

    group: TableGroup
    sources: dict[str, LazySource] = field(default_factory=dict)  # source of each table, by its name
    known: dict[str, DatasetRecord | None] = field(default_factory=dict)  # stored description of each table

    def describe(self, unit: str | None, known: DatasetRecord | None) -> Self:  # noqa: ARG002 - each table has its own
        """Set the description and the schema of all tables, and return the source."""
        if unit is None:
            raise ConfigError(
                f"{self.shown} has several tables, which a unit joins: name the column of persons as unit"
            )
        schemas = {}
        for table in self.group.tables:
            source = self._described_source(table)
            schemas[table.name] = with_public_values(
                source.record.schema(table.settings.columns), table.settings.values
            )
        records = {name: source.record for name, source in self.sources.items()}
        self.schema = joined_schema(self.group.facts, schemas, unit)
        self._require_one_kind(records)
        self._require_public(records)
        self.record = self._joined_record(unit, records).with_history(self.former)
        return self

    def _described_source(self, table: GroupTable) -> LazySource:
        """Return the source of a table with its description. A refusal names the table."""
        try:
            source = self.sources[table.name].describe(table.facts.unit, self.known[table.name])
        except SourceError as error:
            if type(error) is not SourceError:
                raise
            refusal = f"table {table.name!r}: {error}"
        else:
            source.close_opened()
            return source
        raise SourceError(refusal)

    def _joined_record(self, unit: str, records: dict[str, DatasetRecord]) -> DatasetRecord:
        """Return the description of all tables together."""
        facts = [[table.name, records[table.name].version, repr(table.facts)] for table in self.group.tables]
        content = sha256(json.dumps([facts, self.group.persons]).encode(errors="surrogatepass")).hexdigest()
        columns = {
            f"{name}.{column}": form for name, record in records.items() for column, form in record.columns.items()
        }
        others = {
            f"{name}.{column}": type_ for name, record in records.items() for column, type_ in record.others.items()
        }
        private = {table.name for table in self.group.private_tables}
        former = {} if self.former is None else self.former.parts
        dropped = [part for name, part in former.items() if name not in private]
        editions = [f"{name} {record.edition}" for name, record in records.items() if record.edition is not None]
        return DatasetRecord(
            unit=unit,
            columns=columns,
            content=content,
            others=others,
            earlier=tuple(dict.fromkeys(digest for part in dropped for digest in (*part.earlier, part.content))),
            relations=tuple(dict.fromkeys(relation for part in dropped for relation in part.relations)),
            edition=", ".join(editions) if editions and self.has_exact_version else None,
            parts={name: record for name, record in records.items() if name in private},
            lookups={name: record for name, record in records.items() if name not in private},
        )

    def _require_public(self, records: dict[str, DatasetRecord]) -> None:
        """Raise ConfigError if a public look-up has the records of a table of persons."""
        private = [table.name for table in self.group.private_tables]
        for name, record in ((name, record) for name, record in records.items() if name not in private):
            for other in private:
                is_same = records[other].has_had_content(record.content) and records[other].table == record.table
                if is_same or not {*record.relations}.isdisjoint(records[other].relations):
                    raise ConfigError(
                        f"{self.shown}: look-up {name!r} has records of {other!r}, which are private, and so is a copy "
                        "of them: leave the look-up out"
                    )

    def _require_one_kind(self, records: dict[str, DatasetRecord]) -> None:
        """Raise ConfigError if units or linked columns of two tables are of two kinds, which never are equal."""
        units = [(table.name, table.facts.unit) for table in self.group.tables if table.facts.unit is not None]
        pairs = [(units[0], unit) for unit in units[1:]]
        for facts in self.group.facts:
            pairs += [((link.table, link.column), (facts.name, link.key)) for link in facts.links]
        kinds = {place: records[place[0]].kind_of(place[1]) for pair in pairs for place in pair}
        for (table, column), kind in kinds.items():
            if kind is None:
                raise ConfigError(f"{self.shown}: table {table!r} has no column {column!r}, which a link names")
            if column in records[table].others and (table, column) not in units:
                raise ConfigError(
                    f"{self.shown}: {table}.{column} is of type {kind}, by which tables cannot be linked: store it as "
                    "a text, or as an integer of 64 bits"
                )
        for one, other in pairs:
            if kinds[one] != kinds[other]:
                names = [f"{'.'.join(column)} is {kinds[column]}" for column in (one, other)]
                raise ConfigError(
                    f"{self.shown}: {' and '.join(names)}, so no two of their values are equal: state one kind for "
                    "both under kinds of their tables, or store them alike"
                )

    @property
    def has_exact_version(self) -> bool:
        """True if the version of every table names exactly its records."""
        return all(source.has_exact_version for source in self.sources.values())

    @property
    def stated_edition(self) -> str | None:
        """Editions of all tables on servers; None if no table is on a server, or one has no edition.

        See ``Source.stated_edition``.
        """
        return self.record.edition

    def prepare(self, columns: Collection[str] | None = None) -> None:
        """Open the tables, and raise an error for unreadable or unexpected values. Damaged copies are made again."""
        files = [source for source in self.sources.values() if isinstance(source, FileSource)]
        try:
            LazySource.prepare(self, columns)
        except SourceError:
            if not sum(source.discard_copy() for source in files):  # all of them
                raise
            with self.lock:
                self.close_opened()
            LazySource.prepare(self, columns)
        for source in files:
            source.store_proofs()

    def _open(self) -> CheckedSource:
        return join_tables(
            self.group.server,
            self.group.facts,
            openers={name: source.open_within for name, source in self.sources.items()},
            schema=self.schema,
            unit=self.unit,
            persons=self.group.persons,
        )

    def require_described(self, source: CheckedSource) -> None:
        """Raise SourceError if a table is not as described, or has unreadable values."""
        if not isinstance(source, TablesSource):
            raise TypeError(f"{self.shown} needs several open tables, got a {type(source).__name__}")
        for name, opened in source.sources.items():
            self.sources[name].require_described(opened)

    def check_tables(self) -> TablesCheck:
        """Count the persons of each table, and the rows with broken links. The result is for the owner only."""
        self.prepare()
        source = self._compared_source()
        if not isinstance(source, TablesSource):
            raise TypeError(f"{self.shown} needs several open tables, got a {type(source).__name__}")
        return check_tables(self.group.facts, self.group.persons, source.counting)

    def _require_same(self) -> None:
        for source in self.sources.values():
            source.require_unchanged()

    def open_within(self, session: Any) -> CheckedSource:  # noqa: ANN401, ARG002 - of an engine
        """Raise SourceError, as a group of tables cannot be a part of another group."""
        raise SourceError(f"{self.shown} has several tables already")

    def close(self) -> None:
        """Close all tables."""
        LazySource.close(self)
        for source in self.sources.values():
            source.close()
