"""The rows of a refined table in a file: CSV, TSV, Parquet, JSON; all of it or nothing."""

from pathlib import Path

from noisycount.app.refine.tables.added import added_columns, added_names
from noisycount.app.refine.tables.asked import AskedTable
from noisycount.app.refine.tables.opening import OpenedTable
from noisycount.app.refine.tables.refined import RefinedTable
from noisycount.app.refine.tables.wire import refined_object
from noisycount.app.terminal.files import check_regular, draft
from noisycount.app.terminal.printing import json_text
from noisycount.errors import NoisyCountError, SourceError
from noisycount.release.sources.duckdb.public_columns import PublicColumns
from noisycount.release.sources.duckdb.public_table import table_format
from noisycount.shown.columns import Cells, free_name

__all__ = ["check_addition", "check_files", "check_out", "save_refined"]

_JSON = ".json"


def check_files(asked: AskedTable) -> None:
    """The refusal of files that could not be written, before anything is read.

    Raises:
        NoisyCountError: A file is there already, is the one that is read, or has another ending.
    """
    if asked.plot is not None:
        _check_apart(asked.plot, asked.file)
    if asked.out is not None:
        is_rows = asked.out.suffix.lower() != _JSON
        check_out(asked.out, asked.file, is_replacing=asked.is_replacing, is_rows=is_rows)


def check_out(out: Path, read: Path | None, *, is_replacing: bool, is_rows: bool = True) -> None:
    """The refusal of a file for rows that could not be written, or should not be.

    Args:
        out: What `--out` names.
        read: The file that is read, if it is one.
        is_replacing: Whether a file that is there already may be replaced.
        is_rows: Whether its ending must name a format of rows.

    Raises:
        NoisyCountError: It is there already, is the one that is read, or has another ending.
    """
    _check_apart(out, read)
    if out.exists() and not is_replacing:
        raise NoisyCountError(
            f"--out {str(out)!r} exists already: name another file, or add --overwrite"
        )
    if not is_rows:
        return
    try:
        table_format(out)
    except SourceError as error:
        raise NoisyCountError(str(error)) from None


def _check_apart(file: Path, read: Path | None) -> None:
    """The refusal of the file that is read as one that is written."""
    check_regular(file)
    if read is not None and file.exists() and file.samefile(read):
        raise NoisyCountError(f"{str(file)!r} is the file that is read: write to another one")


def check_addition(asked: AskedTable, opened: OpenedTable) -> None:
    """The refusal of names that the file has already, before the work.

    Raises:
        NoisyCountError: A column is there already.
    """
    if opened.rows is not None and asked.out is not None and asked.out.suffix.lower() != _JSON:
        names = added_names(has_shares=asked.has_shares, has_ranks=asked.has_ranks)
        opened.rows.check_addition(asked.out, names)


def save_refined(asked: AskedTable, opened: OpenedTable, refined: RefinedTable, out: Path) -> None:
    """The file of a refined table, of the kind that its ending names.

    Args:
        asked: What is known of the table.
        opened: Where its other columns are.
        refined: Its estimates.
        out: The file; an older one is replaced when all is written.

    Raises:
        NoisyCountError: It cannot be written.
    """
    added = added_columns(refined.estimates)
    if out.suffix.lower() == _JSON:
        text = json_text(refined_object(refined, asked.total), indent=2)
        with draft(out) as part:
            part.write_text(f"{text}\n", encoding="utf-8")
    elif opened.rows is not None:
        values = {name: column.values for name, column in added.items()}
        opened.rows.save(out, values, {name: column.missing for name, column in added.items()})
    else:
        columns: dict[str, Cells] = dict(opened.published.columns)
        for name, column in added.items():
            columns[free_name(name, columns)] = column.cells
        PublicColumns(columns).save(out)
