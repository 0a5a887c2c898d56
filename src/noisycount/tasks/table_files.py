"""The files of a table query: files of keys and conditions to read, files of rows and a chart to write.

`with_files` adds the keys and conditions to a query; `write_files` writes the answer.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from noisycount.config.config import DatasetConfig
from noisycount.display.columns import Cells, free_name
from noisycount.display.output import check_regular, checked_writing, json_text, status
from noisycount.errors import ConfigError, NoisyCountError, install_hint
from noisycount.query.query import Query
from noisycount.query.typed import MAX_CELLS, ColumnGrouping, TypedKey, TypedKeys
from noisycount.release.results import Release
from noisycount.release.table_release import TableRelease
from noisycount.tasks.answer import Answer
from noisycount.tasks.answer_display import SUM_NAMES, sums_so_far
from noisycount.tasks.answer_json import answer_json, flat_levels
from noisycount.validation import exact_text


def check_files(output: Path | None, plot: Path | None) -> None:
    """Raise NoisyCountError if an output file exists or cannot be written, before privacy budget is charged.

    If the rows are for an .arrow file, also raise if the package pyarrow is missing.
    """
    if output is not None and output.exists():
        raise NoisyCountError(f"--output {str(output)!r} exists already: name another file")
    for file in filter(None, (output, plot)):
        check_regular(file)
        if not os.access(file.parent, os.W_OK):
            raise NoisyCountError(f"{str(file)!r} cannot be written: check its folder")
    if output is not None and output.suffix.lower() == ".arrow":
        _import_pyarrow()


def with_files(query: Query, questions: Path | None, keys_from: Path | None, dataset: DatasetConfig) -> Query:
    """Return the query with the conditions and the keys of two files.

    Args:
        query: The query.
        questions: A file of conditions, one a line; None: no file.
        keys_from: A file of keys: one row a cell, or the keys of one column; None: no file.
        dataset: The data set that the query is about.

    Raises:
        UsageError: A file of keys is given for a query without columns.
        ConfigError: The file of keys is that of the records: keys must be public.
        NoisyCountError: A file cannot be read, or the file of keys lacks the columns of --by, or lists keys that --keys
            lists too.
    """
    if keys_from is not None and query.by is None:
        raise click.UsageError("--keys-from belongs to a table: add --by COLUMNS")
    if questions is not None:
        query = replace(query, wheres=[*query.wheres, *_conditions_of_file(questions)])
    if keys_from is None:
        return query
    if dataset.shares_files_at(keys_from):
        raise ConfigError(
            "--keys-from names the records themselves, but keys must be public: list keys that "
            "everybody knows, or give --delta for hidden keys"
        )
    option_keys: Any = query.keys or {}
    file_keys: Any = _keys_of_file(keys_from, [item for item in query.by or () if type(item) is ColumnGrouping])
    if not option_keys:
        return replace(query, keys=file_keys)
    if not isinstance(file_keys, Mapping) or {*map(str.lower, file_keys)} & {*map(str.lower, option_keys)}:
        raise NoisyCountError(f"--keys-from {str(keys_from)!r} lists keys that --keys lists too: leave one out")
    return replace(query, keys={**option_keys, **file_keys})


def _keys_of_file(path: Path, items: Sequence[ColumnGrouping]) -> Mapping[str, TypedKeys] | list[TypedKeys]:
    """Return the keys in a file: the keys of one column under its name, or the keys of each cell as tuples.

    `items` are the columns of --by; each tuple has their order. Raise NoisyCountError if the file has other columns, or
    too many rows.
    """
    from noisycount.engines.duckdb.public import PublicTable  # noqa: PLC0415 - loads DuckDB

    with PublicTable.open(path) as table:
        items_by_place = {
            place: item
            for place, name in enumerate(table.columns)
            for item in items
            if name in {item.column, item.text}
        }
        if len(set(items_by_place.values())) != len(items_by_place) or len(items_by_place) not in {1, len(items)}:
            names = ", ".join(item.column for item in items)
            alternative = "" if len(items) == 1 else ", or one of them"
            raise NoisyCountError(
                f"--keys-from {str(path)!r} has the columns {', '.join(table.columns)}: it must"
                f" have those of --by, {names}{alternative}"
            )
        if table.length > MAX_CELLS:
            raise NoisyCountError(
                f"--keys-from {str(path)!r} has {table.length:,} rows, more than {MAX_CELLS:,}: list fewer keys"
            )
        rows = table.texts()
    words = {text: TypedKey(text, is_quoted=True) for row in rows for text in row}
    places = {item: place for place, item in items_by_place.items()}
    if len(places) < len(items):
        return {item.column: [words[row[place]] for row in rows] for item, place in places.items()}
    return [tuple(words[row[places[item]]] for item in items) for row in rows]


def _conditions_of_file(path: Path) -> list[str]:
    """Return the lines of a file of conditions, without empty lines and lines that begin with "#"."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not in UTF-8"
        raise NoisyCountError(f"--questions {str(path)!r} cannot be read ({reason})") from None
    return [line.strip() for line in lines if line.strip() and not line.strip().startswith("#")]


def write_files(answer: Answer, output: Path | None, plot: Path | None) -> Iterator[Path]:
    """Write the rows and the chart of a table to the files that are given, and yield each after it is written."""
    if isinstance(answer.release, Release):
        return
    if output is not None:
        with status("writing"):
            save_rows(answer, answer.release, output)
        yield output
    if plot is not None:
        from noisycount.charts.picture_svg import save_picture  # noqa: PLC0415  (for pictures alone)
        from noisycount.charts.table import TableBars, table_picture  # noqa: PLC0415  (the same)

        with status("drawing"):
            picture = table_picture(TableBars.from_table(answer.release))
            with checked_writing(plot):
                save_picture(picture, plot)
        yield plot


def save_rows(answer: Answer, release: TableRelease, out: Path) -> None:
    """Write the rows of a table to a file, in the format of its ending."""
    from noisycount.engines.duckdb.public import PublicColumns  # noqa: PLC0415 - loads DuckDB

    if out.suffix.lower() == ".json":
        with checked_writing(out):
            out.write_text(f"{json_text(answer_json(answer), indent=2)}\n", encoding="utf-8")
        return
    columns = PublicColumns(_columns_to_save(release))
    if out.suffix.lower() != ".arrow":
        columns.save(out)
        return
    pyarrow = _import_pyarrow()
    with checked_writing(out):
        rows = pyarrow.table(columns)
        with pyarrow.OSFile(str(out), "wb") as file, pyarrow.ipc.new_file(file, rows.schema) as writer:
            writer.write_table(rows)


def _columns_to_save(release: TableRelease) -> dict[str, Cells]:
    """Return the columns of a table: keys, answers, noise of each row, best estimates and cumulative sums.

    The best estimates combine all levels. The column `threshold`, for hidden keys, or `groups_per_unit`, for margins
    that are not sums of cells, states what a refinement of the table needs.
    """
    columns: dict[str, Cells] = dict(release.columns)
    plan, rows = release.plan, len(release)
    names = [level.mechanism.name for level in plan.levels]
    scales = [exact_text(level.mechanism.exact_scale) for level in plan.levels]
    columns[free_name("mechanism", columns)] = _repeat_for_rows(names, release)
    columns[free_name("scale", columns)] = _repeat_for_rows(scales, release)
    if release.parts:
        columns[free_name("mean", columns)] = flat_levels(release.means)
    if plan.threshold is not None:
        columns[free_name("threshold", columns)] = [plan.threshold] * rows
    elif not release.is_additive:
        columns[free_name("groups_per_unit", columns)] = [plan.groups] * rows
    if (estimates := release.combined) is not None:
        columns[free_name("combined", columns)] = flat_levels(estimates)
    if estimates is not None and (deviations := release.standard_errors) is not None:
        columns[free_name("combined_standard_error", columns)] = flat_levels(deviations)
    for name, sums in zip(SUM_NAMES, zip(*sums_so_far(release), strict=True), strict=False):
        columns[free_name(name, columns)] = [*sums, *([None] * (len(release) - len(sums)))]
    return columns


def _repeat_for_rows(texts: Sequence[str], release: TableRelease) -> list[str]:
    return [text for text, level in zip(texts, release.answers, strict=True) for _ in level]


def _import_pyarrow() -> Any:  # noqa: ANN401 - a package
    try:
        import pyarrow as pa  # type: ignore[import-untyped]  # noqa: PLC0415 - only for such files
    except ImportError:
        raise NoisyCountError(
            f"files that end in .arrow need the package pyarrow: {install_hint('frames')}; .parquet needs none"
        ) from None
    return pa
