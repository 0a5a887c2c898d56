# ruff: noqa: S608, as all SQL here is made of names and texts that it quotes
"""Metadata of Parquet files: the names that DuckDB changes, and the types of pandas that the file stores as numbers."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from typing import Self

from noisycount.engines.check import Check
from noisycount.engines.duckdb.connection import Connection, quoted_text
from noisycount.frozen import frozen

# For each type of pandas that a file stores as whole numbers: the key of `findings.LOSSES`.
_PANDAS_NUMBERS = {"period": "periods", "timedelta64": "stored durations"}


@frozen
class ParquetMetadata:
    """Facts about Parquet files that a check shows to the owner."""

    # name in the file of each column that DuckDB calls otherwise, by its name here
    renamed: Mapping[str, str] = field(default_factory=dict)
    # key of `findings.LOSSES` of each column whose values the file stores as whole numbers
    stored_as_numbers: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, connection: Connection, patterns: Sequence[str]) -> Self:
        """Read the metadata of files."""
        renamed: dict[str, str] = {}
        for pattern in patterns:
            renamed |= _renamed_columns(connection, pattern)
        return cls(renamed, _stored_as_numbers(connection, patterns))

    def add_to(self, check: Check) -> Check:
        """Return a check with these facts."""
        keys = self.stored_as_numbers
        columns = (
            replace(column, losses={keys[column.name]: check.rows - column.missing}) if column.name in keys else column
            for column in check.columns
        )
        return replace(check, columns=tuple(columns), renamed=self.renamed)


def are_of_pandas(connection: Connection, patterns: Sequence[str]) -> bool:
    """Return True if each file has the metadata that pandas writes."""
    listed = ", ".join(map(quoted_text, patterns))
    query = f"SELECT count(DISTINCT file_name) FROM parquet_kv_metadata([{listed}]) WHERE key = 'pandas'::BLOB"
    return bool(connection.execute(query).fetchall()[0][0] == len(patterns))


def _renamed_columns(connection: Connection, pattern: str) -> dict[str, str]:
    """Return the name in a file of each column that DuckDB calls otherwise, by its name here.

    DuckDB compares names without regard to case: it calls the second of `a` and `A` `A_1`.
    """
    query = f"SELECT name, num_children FROM parquet_schema({quoted_text(pattern)})"
    stored: list[str] = []
    parts = 0  # parts of the column before, which follow it in the list
    for name, children in connection.execute(query).fetchall()[1:]:  # the first line is that of the whole record
        if parts:
            parts -= 1
        else:
            stored.append(name)
        parts += children or 0
    names = connection.sql(f"SELECT * FROM read_parquet({quoted_text(pattern)}, hive_partitioning=false)").columns
    return {name: original for name, original in zip(names, stored, strict=True) if name != original}


def _stored_as_numbers(connection: Connection, patterns: Sequence[str]) -> dict[str, str]:
    """Return the key of `findings.LOSSES` of each column of periods or durations, which pandas stores as numbers."""
    listed = ", ".join(map(quoted_text, patterns))
    query = f"SELECT DISTINCT value FROM parquet_kv_metadata([{listed}]) WHERE key = 'pandas'::BLOB"
    found: dict[str, str] = {}
    for (value,) in connection.execute(query).fetchall():
        with suppress(ValueError, KeyError, TypeError):  # of metadata that is not as pandas writes it
            for column in json.loads(value)["columns"]:
                key = _PANDAS_NUMBERS.get(str(column["numpy_type"]).partition("[")[0])
                if key is not None:
                    found[column["field_name"]] = key
    return found
