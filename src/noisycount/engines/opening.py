"""The one place that opens engines: which one reads a source, imported only when it does."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from noisycount.engines.check import Check
from noisycount.engines.conformance.bench import Bench
from noisycount.engines.conformance.certificate import Certificate, require_certified
from noisycount.engines.forms import ColumnForm, FileForm, by_ending
from noisycount.engines.interface import CheckedSource
from noisycount.engines.places import LakePlace, ServerPlace, is_several
from noisycount.errors import SourceError, extra_words
from noisycount.query.schema import Kind, Schema

if TYPE_CHECKING:
    from noisycount.engines.duckdb.source import DuckDBSource
    from noisycount.engines.spark.source import SparkSource
    from noisycount.engines.sql.source import SqlSource

__all__ = ["ENGINES", "bench_of", "checked", "found", "of_copy", "opened_frame", "served"]


def found(  # noqa: PLR0913 - one argument a property of the records
    place: Path | str,
    *,
    unit: str | None = None,
    columns: Sequence[str] | None = None,
    table: str | None = None,
    kinds: Mapping[str, ColumnForm] | None = None,
    form: FileForm = FileForm(),  # noqa: B008 - frozen
    copy: Path | None = None,
) -> CheckedSource:
    """The records at a place, whether or not their cells fit, by the engine that reads them.

    Args:
        place: a CSV, TSV, JSON, Excel, Parquet or DuckDB file, as its ending tells, taken
            literally; or a folder or a pattern of Parquet files.
        unit: the column that names the person, or None where every record is one unit.
        columns: the columns that questions may use, or None for all but the unit.
        table: which table of a DuckDB file; not needed if it has only one.
        kinds: what the texts of columns stand for; those left out stand for what they most likely
            do.
        form: how the texts of a file are found in it.
        copy: where a file of texts leaves a copy of what they stand for.

    Raises:
        SourceError: no engine reads such a file, or the engine refuses it.
    """
    return _engine(Path(place)).found(
        place, unit=unit, columns=columns, table=table, kinds=kinds, form=form, copy=copy
    )


def of_copy(
    copy: Path,
    forms: Mapping[str, ColumnForm],
    *,
    unit: str | None = None,
    columns: Sequence[str] | None = None,
) -> CheckedSource:
    """The records of a copy that ``found`` made.

    Args:
        copy: the file.
        forms: what the texts of each column stood for.
        unit: as ``found`` takes it, like the rest.
        columns: what questions may use.

    Raises:
        SourceError: the file is damaged, or a copy of something else.
    """
    return _engine(copy).of_copy(copy, forms, unit=unit, columns=columns)


def opened_frame(
    frame: object,
    *,
    unit: str | None = None,
    columns: Sequence[str] | None = None,
    seconds: float | None = None,
) -> CheckedSource:
    """The records of a table in memory, as they are now.

    Args:
        frame: a table of pandas, Polars, Arrow or DuckDB, or another with `__arrow_c_stream__`.
        unit: as ``found`` takes it, like the rest.
        columns: the columns that questions may use, or None for all but the unit.
        seconds: after which a count is given up; None: never.

    Raises:
        SourceError: it is no such table, or is refused.
    """
    from noisycount.engines.duckdb.frames import FrameSource  # noqa: PLC0415 - on first use

    return FrameSource.open(frame, unit=unit, columns=columns, seconds=seconds)


def served(  # noqa: PLR0913 - one argument a property of the records
    place: ServerPlace | LakePlace,
    *,
    unit: str | None = None,
    columns: Sequence[str] | None = None,
    seconds: float | None = None,
    uses_indexes: bool = False,
    certificates: Collection[Certificate] = (),
) -> CheckedSource:
    """The records of a table of a server or a cluster, by an engine that was tested.

    Args:
        place: the server, and which table of it; or files on an object store.
        unit: as ``found`` takes it, like the columns.
        columns: the columns that questions may use, or None for all but the unit.
        seconds: after which a count is given up; None: when the server gives it up.
        uses_indexes: whether only records that match are read, which is faster, and whose time
            tells how many they are.
        certificates: those that the owner has, for engines that no test of ours is made with.

    Raises:
        SourceError: the server cannot be reached, its driver is not installed, it was never
            tested, or the table cannot be counted.
    """
    if isinstance(place, LakePlace):
        return _duckdb().of_lake(place, unit=unit, columns=columns, seconds=seconds)
    from noisycount.engines.conformance.suite import suite_hash  # noqa: PLC0415 - on first use

    source = _server_engine(place).open(
        place, unit=unit, columns=columns, seconds=seconds, uses_indexes=uses_indexes
    )
    try:
        require_certified(place.shown, source.identity, suite_hash(), certificates)
    except SourceError:
        source.close()
        raise
    return source


def checked(  # noqa: PLR0913 - one argument a property of the records
    place: Path | str,
    *,
    unit: str | None = None,
    columns: Sequence[str] | None = None,
    table: str | None = None,
    kinds: Mapping[str, Kind | ColumnForm] | None = None,
    form: FileForm = FileForm(),  # noqa: B008 - frozen
) -> Check:
    """What is in the records at a place, for their owner, whether or not their cells fit.

    Args:
        place: as ``found`` takes it, like the rest.
        unit: the column that names the person.
        columns: the columns that questions may use; what is in the others is told too.
        table: which table of a DuckDB file.
        kinds: what is stated of the columns.
        form: what is stated of the file.

    Raises:
        SourceError: no engine reads such a file, the engine refuses it, or a column is unknown.
    """
    check = _engine(Path(place)).checked(place, unit=unit, table=table, kinds=kinds, form=form)
    names = {column.name: column.type for column in check.columns}
    Schema({}, names).for_questions(unit, columns)
    return check


def bench_of(place: ServerPlace | None) -> Bench:
    """What tests an engine, on tables of made-up records.

    Args:
        place: A table of the server or cluster, which is not touched; None: the engine of files.

    Raises:
        SourceError: The server cannot be reached, or its driver is not installed.
    """
    if place is None:
        from noisycount.engines.duckdb.bench import DuckDBBench  # noqa: PLC0415 - on first use

        return DuckDBBench()
    if place.is_cluster:
        from noisycount.engines.spark.bench import SparkBench  # noqa: PLC0415 - on first use

        return SparkBench(place.url)
    from noisycount.engines.sql.bench import SqlBench  # noqa: PLC0415 - on first use

    return SqlBench(place.url)


def _engine(place: Path) -> "type[DuckDBSource]":
    return ENGINES[".parquet"]() if is_several(place) else by_ending(place, ENGINES)()


def _server_engine(place: ServerPlace) -> "type[SqlSource | SparkSource]":
    """The engine of a server; its driver is imported when it is opened."""
    if place.is_cluster:
        return _spark(place)
    from noisycount.engines.sql.source import SqlSource  # noqa: PLC0415 - on first use

    return SqlSource


def _spark(place: ServerPlace) -> "type[SparkSource]":
    try:
        from noisycount.engines.spark.source import SparkSource  # noqa: PLC0415 - on first use
    except ImportError:
        raise SourceError(
            f"{place.shown!r} is counted by Spark, of which a part is missing: "
            f"{extra_words('spark')}"
        ) from None
    return SparkSource


def _duckdb() -> "type[DuckDBSource]":
    from noisycount.engines.duckdb.source import DuckDBSource  # noqa: PLC0415 - on first use

    return DuckDBSource


# The engine of each ending of a file.
ENGINES = dict.fromkeys(
    [
        *(".csv", ".tsv", ".csv.gz", ".tsv.gz"),
        *(".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz"),
        ".xlsx",
        *(".parquet", ".pq"),
        *(".duckdb", ".db", ".ddb"),
    ],
    _duckdb,
)
