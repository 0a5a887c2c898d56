"""A published table on the command line: read, refined, told as lines or JSON, and written."""

import math
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from noisycount.config.config import Config
from noisycount.display.columns import Cells, free_name
from noisycount.display.output import check_regular, draft, json_text, print_json, progress, status
from noisycount.display.values import plain
from noisycount.engines.duckdb.public import Column, PublicColumns, table_format
from noisycount.errors import NoisyCountError, SourceError
from noisycount.tasks.refine.display import print_refined, prior_json, told_sensitivity
from noisycount.tasks.refine.query import RefineQuery
from noisycount.tasks.refine.readers import OpenedTable, opened_table
from noisycount.tasks.refine.refined import RefinedTable, refined_table


def added_names(*, has_shares: bool, has_ranks: bool) -> list[str]:
    """The names of the columns that are added."""
    names = ["mean", "median", "low", "high"]
    for name, is_there in (("share", has_shares), ("rank", has_ranks)):
        names += [name, f"{name}_low", f"{name}_high"] * is_there
    return names


def refined_json(refined: RefinedTable, total: int | None) -> dict[str, Any]:
    """A refined table; a number that is not known is null."""
    table = refined.published
    levels = [""] * len(table.answers)
    for level in table.levels:
        for row in level.rows.tolist():
            levels[row] = level.name
    added = {name: column.tolist() for name, column in refined.estimates.items()}
    rows = [
        {
            "level": levels[row],
            "keys": dict(zip(table.names, table.keys[row], strict=True)),
            "answer": _number(table.answers[row]),
            "below": _number(table.below[row]),
            **{name: cells[row] for name, cells in added.items()},
        }
        for row in range(len(levels))
    ]
    return {
        "rows": rows,
        "table": table.subject,
        "by": list(table.names),
        "levels": [
            {"level": level.name, "counts": len(level.rows), "mechanism": plain(level.mechanism)}
            for level in table.levels
        ],
        "level": refined.level,
        "total": total,
        "prior": prior_json(refined),
        "sensitivity": plain(told_sensitivity(refined)),
        "warning": None if refined.told is None else refined.told.warning,
        "evidence": None if refined.told is None else plain(refined.told.evidence),
        "draws": refined.draws,
        "unused": [] if refined.nested is None else list(refined.nested.left_out),
        "notes": list(table.notes),
    }


def _number(value: float) -> int | float | None:
    """A number, whole where it is whole; None of nan."""
    if math.isnan(value):
        return None
    return int(value) if value == int(value) else float(value)


_JSON = ".json"


def check_files(asked: RefineQuery) -> None:
    """The refusal of files that could not be written, before anything is read."""
    if asked.plot is not None:
        _check_apart(asked.plot, asked.file)
    if asked.out is not None:
        is_rows = asked.out.suffix.lower() != _JSON
        check_out(asked.out, asked.file, is_replacing=asked.is_replacing, is_rows=is_rows)


def check_out(out: Path, read: Path | None, *, is_replacing: bool, is_rows: bool = True) -> None:
    """The refusal of a file for rows that could not be written, or should not be."""
    _check_apart(out, read)
    if out.exists() and not is_replacing:
        raise NoisyCountError(f"--out {str(out)!r} exists already: name another file, or add --overwrite")
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


def check_addition(asked: RefineQuery, opened: OpenedTable) -> None:
    """The refusal of names that the file has already, before the work."""
    if opened.rows is not None and asked.out is not None and asked.out.suffix.lower() != _JSON:
        names = added_names(has_shares=asked.has_shares, has_ranks=asked.has_ranks)
        opened.rows.check_addition(asked.out, names)


def save_refined(asked: RefineQuery, opened: OpenedTable, refined: RefinedTable, out: Path) -> None:
    """The file of a refined table, of the kind that its ending names."""
    added = refined.estimates
    if out.suffix.lower() == _JSON:
        text = json_text(refined_json(refined, asked.total), indent=2)
        with draft(out) as part:
            part.write_text(f"{text}\n", encoding="utf-8")
    elif opened.rows is not None:
        values: dict[str, Column] = {name: column.data for name, column in added.items()}
        opened.rows.save(out, values, {name: np.ma.getmaskarray(column) for name, column in added.items()})
    else:
        columns: dict[str, Cells] = dict(opened.published.columns)
        for name, column in added.items():
            columns[free_name(name, columns)] = column.tolist()
        PublicColumns(columns).save(out)


def ask_table(asked: RefineQuery, configuration: Config, *, as_json: bool) -> None:
    """A refined table, told on standard output and written where that was asked for."""
    check_files(asked)
    with ExitStack() as opened:
        with status("reading"):
            found = opened_table(asked, configuration, opened)
            check_addition(asked, found)
        with progress("refining") as done:
            refined = refined_table(asked, found.published, done)
        if asked.out is not None:
            with status("writing"):
                save_refined(asked, found, refined, asked.out)
    if asked.plot is not None:
        from noisycount.tasks.refine.pictures import save_refined_table_plot as save_plot  # noqa: PLC0415  (loads Altair)

        with status("drawing"):
            save_plot(refined, asked.plot)
    if as_json:
        print_json(refined_json(refined, asked.total))
    else:
        print_refined(refined, asked.total, asked.out, asked.plot)
