# ruff: noqa: S608, as all SQL here is made of names and texts that it quotes
"""Facts for a check beyond the cells: texts of columns and their spellings, and metadata of Parquet files.

Only the owner may see them. `with_value_facts` and `ParquetMetadata.add_to` add them to a check.
"""

import json
from base64 import b64decode
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from io import BytesIO
from typing import Self

from noisycount.engines.check import FEW, Check, ColumnCheck
from noisycount.engines.duckdb.connection import Connection, quoted_name, quoted_text
from noisycount.engines.guesses import with_resemblances
from noisycount.engines.persons import names_persons
from noisycount.engines.spellings import spellings_of
from noisycount.frozen import frozen
from noisycount.query.schema import Kind

_MOST_COLUMNS = 200  # columns: looking at more of them would take longer than reading them
_SEVERAL = 1000  # texts: columns with more, such as names and free texts, are not searched for spellings
_SAMPLE = 1000  # rows whose texts are examined
_MOST = 0.8  # share of these rows whose texts must look like measurements
_MEASURED = r"[<>=~\x{2264}\x{2265}+-]* ?[0-9]{1,6}([.,:/][0-9]{1,6}){0,2} ?[%\x{b0}\x{b5}a-zA-Z/]{0,8}"
_SLACK = 2  # factor for the first, estimated number of texts


def with_value_facts(connection: Connection, check: Check, unit: str | None) -> Check:
    """Return a check with facts about the texts in the view `records`. Only the owner may see them."""
    if len(check.columns) > _MOST_COLUMNS:
        return check
    columns = (column if column.name == unit else _with_text_facts(connection, column) for column in check.columns)
    texts = "SELECT {0} FROM records WHERE {0} IS NOT NULL LIMIT {1}"

    def some_texts(name: str, number: int) -> list[str]:
        return [text for (text,) in connection.execute(texts.format(quoted_name(name), number)).fetchall()]

    return with_resemblances(replace(check, columns=tuple(columns)), unit, some_texts)


def _with_text_facts(connection: Connection, column: ColumnCheck) -> ColumnCheck:
    """Return the check of a column with facts about its texts.

    The facts are: the number of ids if the column may name persons, the number of different texts, the frequency of
    each if there are few, and spellings.
    """
    name = quoted_name(column.name)
    if column.kind is not None and names_persons(column.name):
        ((ids,),) = connection.execute(f"SELECT count(DISTINCT {name}) FROM records").fetchall()
        column = replace(column, ids=ids)
    if column.kind is not Kind.TEXT:
        return column
    test = f"avg(regexp_full_match(trim({name}), {quoted_text(_MEASURED)})::INT)"
    some = f"SELECT {name} FROM records WHERE {name} IS NOT NULL LIMIT {_SAMPLE}"
    ((share,),) = connection.execute(f"SELECT {test} FROM ({some})").fetchall()
    column = replace(column, is_measured=(share or 0) >= _MOST)
    ((distinct,),) = connection.execute(f"SELECT approx_count_distinct({name}) FROM records").fetchall()
    if distinct > _SLACK * _SEVERAL:
        return replace(column, distinct=distinct)
    query = f"SELECT {name}, count(*) FROM records WHERE {name} IS NOT NULL GROUP BY 1 ORDER BY 1"
    values = connection.execute(query).fetchall()
    return replace(
        column,
        distinct=len(values),
        values=tuple(values) if len(values) <= FEW else (),
        spellings=spellings_of(value for value, _ in values),
    )


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
    files = ", ".join(map(quoted_text, patterns))
    query = f"SELECT count(DISTINCT file_name) FROM parquet_kv_metadata([{files}]) WHERE key = 'pandas'::BLOB"
    return bool(connection.execute(query).fetchall()[0][0] == len(patterns))


def _renamed_columns(connection: Connection, pattern: str) -> dict[str, str]:
    """Return the name in the file of each column for which DuckDB uses another name, by that other name.

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
    """Return the key of `findings.LOSSES` of each column of periods or durations, which files store as numbers."""
    files = ", ".join(map(quoted_text, patterns))
    query = f"SELECT DISTINCT key, value FROM parquet_kv_metadata([{files}])"
    losses: dict[str, str] = {}
    for key, value in connection.execute(query).fetchall():
        # Metadata may be other than pandas or Arrow writes them; nanoarrow raises RuntimeError.
        with suppress(ValueError, KeyError, TypeError, RuntimeError):
            if key == b"pandas":
                losses |= _pandas_numbers(value)
            elif key == b"ARROW:schema":
                losses |= dict.fromkeys(_arrow_durations(value), "stored durations")
    return losses


def _pandas_numbers(value: bytes) -> dict[str, str]:
    """Return the key of `findings.LOSSES` of each column of periods or durations in the metadata of pandas."""
    types = {column["field_name"]: str(column["numpy_type"]) for column in json.loads(value)["columns"]}
    keys = {name: _PANDAS_NUMBERS.get(type_.partition("[")[0]) for name, type_ in types.items()}
    return {name: key for name, key in keys.items() if key is not None}


def _arrow_durations(value: bytes) -> list[str]:
    """Return the names of the columns of durations in the schema that Arrow writes into a Parquet file, in base64."""
    from nanoarrow import c_array_stream  # noqa: PLC0415 - for such files only, and slow to import
    from nanoarrow.ipc import InputStream  # noqa: PLC0415 - as above

    stream = InputStream.from_readable(BytesIO(b64decode(value)))
    columns = c_array_stream(stream).get_schema().children
    return [column.name for column in columns if column.format.startswith(_ARROW_DURATION)]


_ARROW_DURATION = "tD"  # with the unit behind it, as Arrow's C interface writes types
