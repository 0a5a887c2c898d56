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
from noisycount.display.output import check_regular, json_text, status, writing
from noisycount.errors import ConfigError, NoisyCountError, install_hint
from noisycount.frozen import frozen
from noisycount.query.query import Query
from noisycount.query.typed import MAX_CELLS, ColumnGrouping, TypedKey, TypedKeys
from noisycount.release.results import Release
from noisycount.release.table_release import TableRelease
from noisycount.tasks.answer import Answer
from noisycount.tasks.answer_display import SUM_NAMES, sums_so_far
from noisycount.tasks.answer_json import answer_json, flat_levels
from noisycount.validation import exact_text


@frozen
class TableFiles:
    """The files of a table that a command names, by its options."""

    keys_from: Path | None = None  # to read: keys, one row a cell, or the keys of one column
    questions: Path | None = None  # to read: more conditions, one a line
    plot: Path | None = None  # to write: a chart
    output: Path | None = None  # to write: the rows


def check_files(files: TableFiles) -> None:
    """Raise NoisyCountError if an output file exists or cannot be written, before privacy budget is charged.

    If the rows are for an .arrow file, also raise if the package pyarrow is missing.
    """
    if files.output is not None and files.output.exists():
        raise NoisyCountError(f"--output {str(files.output)!r} exists already: name another file")
    for file in filter(None, (files.output, files.plot)):
        check_regular(file)
        if not os.access(file.parent, os.W_OK):
            raise NoisyCountError(f"{str(file)!r} cannot be written: check its folder")
    if files.output is not None and files.output.suffix.lower() == ".arrow":
        _arrow()


def with_files(query: Query, files: TableFiles, dataset: DatasetConfig) -> Query:
    """Return the query with the keys and the conditions of its files.

    Raise UsageError if an option of a table is given for a query that is none. Raise ConfigError if the file of keys is
    that of the records: keys must be public. Raise NoisyCountError if a file cannot be read, if the file of keys lacks
    the columns of --by, or if it lists keys that --keys lists too.
    """
    if files.keys_from is not None and query.by is None:
        raise click.UsageError("--keys-from belongs to a table: add --by COLUMNS")
    for option, path in {"--plot": files.plot, "--output": files.output}.items():
        if path is not None and not query.is_table:
            raise click.UsageError(f"{option} belongs to a table: add --by COLUMNS, or --where again")
    if files.questions is not None:
        query = replace(query, wheres=[*query.wheres, *_questions(files.questions)])
    if files.keys_from is None:
        return query
    if dataset.shares_files_at(files.keys_from):
        raise ConfigError(
            "--keys-from names the records themselves: keys must come from what everybody knows; "
            "where nobody knows them, give --delta in their place"
        )
    option_keys: Any = query.keys or {}
    file_keys: Any = _keys_of_file(files.keys_from, [item for item in query.by or () if type(item) is ColumnGrouping])
    if not option_keys:
        return replace(query, keys=file_keys)
    if not isinstance(file_keys, Mapping) or {*map(str.lower, file_keys)} & {*map(str.lower, option_keys)}:
        raise NoisyCountError(f"--keys-from {str(files.keys_from)!r} lists keys that --keys lists too: leave one out")
    return replace(query, keys={**option_keys, **file_keys})


def _keys_of_file(path: Path, items: Sequence[ColumnGrouping]) -> Mapping[str, TypedKeys] | list[TypedKeys]:
    """Return the keys of a file: those of one column by its name, or those of each cell as tuples.

    `items` are the columns of --by; each tuple has their order. Raise NoisyCountError if the file has other columns, or
    too many rows.
    """
    from noisycount.engines.duckdb.public import PublicTable  # noqa: PLC0415 - loads DuckDB

    with PublicTable.open(path) as table:
        named = {
            place: item
            for place, name in enumerate(table.columns)
            for item in items
            if name in {item.column, item.text}
        }
        if len(set(named.values())) != len(named) or len(named) not in {1, len(items)}:
            names = ", ".join(item.column for item in items)
            one = "" if len(items) == 1 else ", or one of them"
            raise NoisyCountError(
                f"--keys-from {str(path)!r} has the columns {', '.join(table.columns)}: it must"
                f" have those of --by, {names}{one}"
            )
        if table.length > MAX_CELLS:
            raise NoisyCountError(
                f"--keys-from {str(path)!r} has {table.length:,} rows, more than {MAX_CELLS:,}: list fewer keys"
            )
        rows = table.texts()
    words = {text: TypedKey(text, is_quoted=True) for row in rows for text in row}
    places = {item: place for place, item in named.items()}
    if len(places) < len(items):
        return {item.column: [words[row[place]] for row in rows] for item, place in places.items()}
    return [tuple(words[row[places[item]]] for item in items) for row in rows]


def _questions(path: Path) -> list[str]:
    """Return the lines of a file of conditions, without empty lines and lines that begin with "#"."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not in UTF-8"
        raise NoisyCountError(f"--questions {str(path)!r} cannot be read ({reason})") from None
    return [line.strip() for line in lines if line.strip() and not line.strip().startswith("#")]


def write_files(answer: Answer, files: TableFiles) -> Iterator[Path]:
    """Write the requested files of a table, and yield each after it is written."""
    if isinstance(answer.release, Release):
        return
    if files.output is not None:
        with status("writing"):
            save_rows(answer, answer.release, files.output)
        yield files.output
    if files.plot is not None:
        from noisycount.charts.picture_svg import save_picture  # noqa: PLC0415  (for pictures alone)
        from noisycount.charts.table import TableBars, table_picture  # noqa: PLC0415  (the same)

        with status("drawing"):
            picture = table_picture(TableBars.from_table(answer.release))
            with writing(files.plot):
                save_picture(picture, files.plot)
        yield files.plot


def save_rows(answer: Answer, release: TableRelease, out: Path) -> None:
    """Write the rows of a table to a file, in the format of its ending."""
    from noisycount.engines.duckdb.public import PublicColumns  # noqa: PLC0415 - loads DuckDB

    if out.suffix.lower() == ".json":
        with writing(out):
            out.write_text(f"{json_text(answer_json(answer), indent=2)}\n", encoding="utf-8")
        return
    columns = PublicColumns(_columns(release))
    if out.suffix.lower() != ".arrow":
        columns.save(out)
        return
    pyarrow = _arrow()
    with writing(out):
        rows = pyarrow.table(columns)
        with pyarrow.OSFile(str(out), "wb") as file, pyarrow.ipc.new_file(file, rows.schema) as writer:
            writer.write_table(rows)


def _columns(release: TableRelease) -> dict[str, Cells]:
    """Return the columns of a table: keys, answers, noise of each row, best estimates and cumulative sums.

    The best estimates combine all levels. The column `threshold`, for hidden keys, or `groups_per_unit`, for margins
    that are not sums of cells, states what a refinement of the table needs.
    """
    columns: dict[str, Cells] = dict(release.columns)
    plan, rows = release.plan, len(release)
    names = [level.mechanism.name for level in plan.levels]
    scales = [exact_text(level.mechanism.exact_scale) for level in plan.levels]
    columns[free_name("mechanism", columns)] = _by_row(names, release)
    columns[free_name("scale", columns)] = _by_row(scales, release)
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


def _by_row(texts: Sequence[str], release: TableRelease) -> list[str]:
    return [text for text, level in zip(texts, release.answers, strict=True) for _ in level]


def _arrow() -> Any:  # noqa: ANN401 - a package
    try:
        import pyarrow as pa  # type: ignore[import-untyped]  # noqa: PLC0415 - only for such files
    except ImportError:
        raise NoisyCountError(
            f"files that end in .arrow need the package pyarrow: {install_hint('frames')}; .parquet needs none"
        ) from None
    return pa
