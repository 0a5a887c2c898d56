"""The rows of a table in a file: CSV, Parquet, JSON, Arrow."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from noisycount.app.table.asked import Asked
from noisycount.app.table.question import Table
from noisycount.app.table.wire import table_object
from noisycount.app.terminal.files import check_regular, writing
from noisycount.app.terminal.printing import json_text
from noisycount.errors import NoisyCountError, extra_words
from noisycount.release.budget.exact import exact_text
from noisycount.release.sources.duckdb.public_columns import PublicColumns
from noisycount.release.tables.release import TableRelease
from noisycount.shown.columns import Cells, free_name

__all__ = ["check_files", "save_rows"]


def check_files(asked: Asked) -> None:
    """The refusal of files that could not be written, before anything is charged.

    Raises:
        NoisyCountError: A file of rows is there already, a folder is missing or closed, or what
            writes it is not installed.
    """
    if asked.output is not None and asked.output.exists():
        raise NoisyCountError(f"--output {str(asked.output)!r} exists already: name another file")
    for file in filter(None, (asked.output, asked.plot)):
        check_regular(file)
        if not os.access(file.parent, os.W_OK):
            raise NoisyCountError(f"{str(file)!r} cannot be written: check its folder")
    if asked.output is not None and asked.output.suffix.lower() == ".arrow":
        _arrow()


def save_rows(table: Table, out: Path) -> None:
    """The file of a table, of the kind that its ending names.

    Args:
        table: The table.
        out: The file.

    Raises:
        NoisyCountError: It cannot be written.
    """
    ending = out.suffix.lower()
    if ending == ".json":
        with writing(out):
            out.write_text(f"{json_text(table_object(table), indent=2)}\n", encoding="utf-8")
    elif ending == ".arrow":
        with writing(out):
            _save_arrow(out, _columns(table.release))
    else:
        PublicColumns(_columns(table.release)).save(out)


def _columns(release: TableRelease) -> dict[str, Cells]:
    """The columns of a table: the noise of each row, and the best estimates from all levels.

    With what it takes to refine them: the threshold of hidden keys, and in how many groups a unit
    counts where sums are no sums of cells.
    """
    columns: dict[str, Cells] = dict(release.columns)
    plan, rows = release.plan, len(release)
    names = [level.mechanism.name for level in plan.levels]
    scales = [exact_text(level.mechanism.exact_scale) for level in plan.levels]
    columns[free_name("mechanism", columns)] = _each(names, release)
    columns[free_name("scale", columns)] = _each(scales, release)
    if plan.threshold is not None:
        columns[free_name("threshold", columns)] = [plan.threshold] * rows
    elif not release.is_additive:
        columns[free_name("groups_per_unit", columns)] = [plan.groups] * rows
    if (estimates := release.combined) is not None:
        columns[free_name("combined", columns)] = [
            one for level in estimates for one in level.tolist()
        ]
    if estimates is not None and (deviations := release.standard_errors) is not None:
        columns[free_name("combined_standard_error", columns)] = [
            one for level in deviations for one in level.tolist()
        ]
    if (cumulative := release.cumulative) is not None:
        sums = cumulative.tolist()
        columns[free_name("sum_so_far", columns)] = [*sums, *([None] * (len(release) - len(sums)))]
    return columns


def _each(texts: Sequence[str], release: TableRelease) -> list[str]:
    """A text of each level, row by row."""
    return [text for text, level in zip(texts, release.answers, strict=True) for _ in level]


def _save_arrow(out: Path, columns: dict[str, Cells]) -> None:
    pyarrow = _arrow()
    rows = pyarrow.table(PublicColumns(columns))
    with pyarrow.OSFile(str(out), "wb") as file, pyarrow.ipc.new_file(file, rows.schema) as writer:
        writer.write_table(rows)


def _arrow() -> Any:  # noqa: ANN401 - a package
    """The package that writes Arrow files.

    Raises:
        NoisyCountError: The extra `frames` is not installed.
    """
    try:
        import pyarrow as pa  # type: ignore[import-untyped]  # noqa: PLC0415 - only for such files
    except ImportError:
        raise NoisyCountError(
            f"files that end in .arrow need the package pyarrow: {extra_words('frames')}; "
            ".parquet needs none"
        ) from None
    return pa
