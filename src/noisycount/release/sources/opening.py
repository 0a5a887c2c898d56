"""The one place that opens engines: which one reads a source, imported only when it does."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from noisycount.release.question.schema import Kind, Schema
from noisycount.release.sources.check import Check
from noisycount.release.sources.endings import by_ending
from noisycount.release.sources.forms import ColumnForm, FileForm
from noisycount.release.sources.interface import Source

__all__ = ["ENGINES", "checked", "opened"]


def opened(  # noqa: PLR0913 - one argument a property of the records
    place: Path | str,
    *,
    unit: str | None = None,
    columns: Sequence[str] | None = None,
    table: str | None = None,
    kinds: Mapping[str, Kind | ColumnForm] | None = None,
    form: FileForm = FileForm(),  # noqa: B008 - frozen
    seconds: float | None = None,
    copy: Path | None = None,
) -> Source:
    """The records at a place, opened by the engine that reads them.

    Args:
        place: a CSV, TSV, Parquet or DuckDB file, as its ending tells, taken literally.
        unit: the column that names the person, or None where every record is one unit.
        columns: the columns that questions may use, or None for all but the unit.
        table: which table of a DuckDB file; not needed if it has only one.
        kinds: what the texts of a CSV file's columns stand for; None: what they most likely do.
        form: how the texts of a CSV file are found in it.
        seconds: after which a count is given up; None: never.
        copy: where a file of texts leaves a copy of what they stand for.

    Raises:
        SourceError: no engine reads such a file, or the engine refuses it.
    """
    engine = by_ending(Path(place), ENGINES)()
    return engine(
        place,
        unit=unit,
        columns=columns,
        table=table,
        kinds=kinds,
        form=form,
        seconds=seconds,
        copy=copy,
    )


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
        place: as ``opened`` takes it, like the rest.
        unit: the column that names the person.
        columns: the columns that questions may use; what is in the others is told too.
        table: which table of a DuckDB file.
        kinds: what is stated of the columns.
        form: what is stated of the file.

    Raises:
        SourceError: no engine reads such a file, the engine refuses it, or a column is unknown.
    """
    by_ending(Path(place), ENGINES)
    from noisycount.release.sources.duckdb.source import DuckDBSource  # noqa: PLC0415 - on first use

    check = DuckDBSource.checked(place, unit=unit, table=table, kinds=kinds, form=form)
    names = {column.name: column.type for column in check.columns}
    Schema({}, names).for_questions(unit, columns)
    return check


def _duckdb() -> Callable[..., Source]:
    from noisycount.release.sources.duckdb.source import DuckDBSource  # noqa: PLC0415 - on first use

    return DuckDBSource.open


ENGINES = dict.fromkeys(
    [
        *(".csv", ".tsv", ".csv.gz", ".tsv.gz"),
        *(".parquet", ".pq"),
        *(".duckdb", ".db", ".ddb"),
    ],
    _duckdb,
)
"""The engine of each ending of a file."""
