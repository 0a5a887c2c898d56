"""The rows of a table in a file: CSV, Parquet, JSON, Arrow.

A table on the command line: asked, told, drawn and written.
"""

import os
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import click

from noisycount.config.config import Config, DatasetConfig
from noisycount.display.columns import Cells, free_name
from noisycount.display.numbers import exact_text
from noisycount.engines.duckdb.public import PublicColumns
from noisycount.errors import NoisyCountError, extra_words
from noisycount.ledger.entries import Analyst
from noisycount.release.reply_tick import ReplyTick
from noisycount.release.table_answer import TableRelease
from noisycount.tasks.table.asked import ONE_PRICE, Asked
from noisycount.tasks.table.display import print_trial, print_whole
from noisycount.tasks.table.table import Pay, Table, table_of
from noisycount.tasks.table.trial import TableTrial, table_object, table_trial_object
from noisycount.tasks.table.wish import RowGoal
from noisycount.terminal.files import check_regular, writing
from noisycount.terminal.printing import json_text, print_json
from noisycount.terminal.progress import status

__all__ = ["ask_table", "pay_of", "try_table"]


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


def pay_of(
    asked: Asked,
    epsilon: Fraction | None,
    within: float | None,
    guess: float | None,
    confidence: float,
) -> Pay:
    """The price of a table that is given, or what each of its rows needs.

    Args:
        asked: What was typed of the table, ρ too.
        epsilon: The price in ε.
        within: Or how far off a row may be, as a share of the guess,
        guess: of about how many in it.
        confidence: With which errors are stated, in (0, 1).

    Raises:
        UsageError: It is neither, or both.
    """
    if within is None and guess is None and (epsilon is not None or asked.rho is not None):
        return Pay(epsilon, None, confidence)
    if epsilon is None and within is not None and guess is not None:
        return Pay(None, RowGoal(within, guess, confidence), confidence)
    raise click.UsageError(ONE_PRICE)


def ask_table(  # noqa: PLR0913, PLR0917 - what decides a table, and how it is told
    asked: Asked,
    dataset: DatasetConfig,
    configuration: Config,
    pay: Pay,
    analyst: Analyst,
    slot: ReplyTick | None,
    *,
    purpose: str | None,
    as_json: bool,
) -> None:
    """A table, told on standard output and written where that was asked for.

    Raises:
        NoisyCountError: The question, the file, the budget or the ledger refuses it, or a file
            cannot be written.
    """
    check_files(asked)
    with status("counting"):
        table = table_of(asked, dataset, configuration, pay, analyst, slot, purpose=purpose)
    files: list[Path] = []
    try:
        files.extend(_written(asked, table))
    finally:  # what was paid for is told, whatever became of the files
        if as_json:
            print_json(table_object(table))
        else:
            print_whole(table, files)


def try_table(  # noqa: PLR0913 - what decides a table, and how it is told
    asked: Asked,
    dataset: DatasetConfig,
    configuration: Config,
    pay: Pay,
    analyst: Analyst,
    *,
    as_json: bool,
) -> None:
    """What a table would cost and give, told on standard output.

    Raises:
        NoisyCountError: The question, the file or the ledger refuses it.
    """
    trial = TableTrial.of(asked, dataset, configuration, pay, analyst)
    if as_json:
        print_json(table_trial_object(trial))
    else:
        print_trial(trial)


def _written(asked: Asked, table: Table) -> Iterator[Path]:
    """Each file that was asked for, once it is written."""
    if asked.output is not None:
        with status("writing"):
            save_rows(table, asked.output)
        yield asked.output
    if asked.plot is not None:
        from noisycount.tasks.table.pictures import save_table_plot  # noqa: PLC0415  (loads Altair)

        with status("drawing"):
            save_table_plot(table.release, asked.plot)
        yield asked.plot
