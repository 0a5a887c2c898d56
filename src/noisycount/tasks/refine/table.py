"""Command line task of refining a published table.

It reads and refines the table, prints it as text or JSON, and writes it to a file.
"""

import math
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from noisycount.analysis.tables.model_checks import Sensitivity
from noisycount.config.config import Config
from noisycount.display import output
from noisycount.display.columns import Cells, free_name
from noisycount.display.numbers import percent, signed, to_one_place
from noisycount.display.values import to_json_types
from noisycount.engines.duckdb.public import Column, PublicColumns, PublicTable, table_format
from noisycount.errors import NoisyCountError, SourceError
from noisycount.model.noises.additive import AdditiveNoise
from noisycount.tasks.refine.published import PublishedTable, RefineQuery
from noisycount.tasks.refine.readers import opened_table
from noisycount.tasks.refine.refined import Estimates, RefinedTable, refined_table

_MOST_CELLS = 5000  # A sensitivity solves the table twice more, which takes too long for a larger table.


def _small_table_sensitivity(refined: RefinedTable) -> Sensitivity | None:
    """Return the changes under half and under twice the concentration of the prior.

    Return None if the prior has no concentration, if each row was refined by itself, or if the table has more than
    5,000 cells.
    """
    posterior = refined.posterior
    if posterior is None or len(posterior) > _MOST_CELLS:
        return None
    sensitivity = posterior.sensitivity
    return sensitivity if sensitivity.moves else None


_UNKNOWN = "-"
Texts = list[str]


def _estimate_rows(refined: RefinedTable, rows: Sequence[int]) -> tuple[Texts, list[Texts]]:
    """Return the column names and the texts of some rows, with keys, answer, mean, median and interval.

    `rows` are the indices of the rows in the table.
    """
    table, estimates = refined.published, refined.estimates
    ends = _interval_texts(*(_column_texts(estimates[name], rows, signed) for name in ("low", "high")))
    has_estimate = ~np.ma.getmaskarray(estimates["mean"])[list(rows)]
    columns = {
        "answer": [_answer_text(table, row) for row in rows],
        "mean": _column_texts(estimates["mean"], rows, lambda mean: signed(mean, 1)),
        "median": _column_texts(estimates["median"], rows, signed),
        percent(refined.level): [
            end if is_known else _UNKNOWN for end, is_known in zip(ends, has_estimate, strict=True)
        ],
    }
    return _rows_with_keys(table, rows, columns)


def _spread_rows(refined: RefinedTable, rows: Sequence[int]) -> tuple[Texts, list[Texts]]:
    """Return the column names and the texts of some rows, with the requested shares and ranks."""
    estimates = refined.estimates
    columns: dict[str, Texts] = {}
    if "share" in estimates:
        columns["share, %"] = _spread_texts(estimates, "share", rows, lambda share: f"{100 * share:.1f}")
    if "rank" in estimates:
        columns["rank"] = _spread_texts(estimates, "rank", rows, signed)
    return _rows_with_keys(refined.published, rows, columns)


def _rows_with_keys(table: PublishedTable, rows: Sequence[int], columns: dict[str, Texts]) -> tuple[Texts, list[Texts]]:
    """Return the column names and the texts of some rows: their keys, then the columns of numbers."""
    numbers = zip(*map(output.align_right, columns.values()), strict=True)
    table_rows = [[*table.keys[row], *row_numbers] for row, row_numbers in zip(rows, numbers, strict=True)]
    return [*table.names, *columns], table_rows


def _answer_text(table: PublishedTable, row: int) -> str:
    """Return the text of an answer, or "below" and the threshold of a suppressed one."""
    if not np.isnan(table.answers[row]):
        return to_one_place(table.answers[row])
    threshold = table.below[row]
    return _UNKNOWN if np.isnan(threshold) else f"below {to_one_place(threshold)}"


def _column_texts(
    column: np.ma.MaskedArray[Any, Any], rows: Sequence[int], format_value: Callable[[float], str]
) -> Texts:
    """Return the texts of some rows of a column; a masked value becomes "-"."""
    return [_UNKNOWN if value is None else format_value(value) for value in column[list(rows)].tolist()]


def _spread_texts(estimates: Estimates, name: str, rows: Sequence[int], format_value: Callable[[float], str]) -> Texts:
    """Return an estimate with its interval as a text such as "0.5 (0.4 to 0.6)" for each of some rows."""
    middles, low, high = (
        output.align_right(_column_texts(estimates[name + suffix], rows, format_value))
        for suffix in ("", "_low", "_high")
    )
    return [
        f"{middle} ({interval.strip()})" for middle, interval in zip(middles, _interval_texts(low, high), strict=True)
    ]


def _interval_texts(lows: Texts, highs: Texts) -> Texts:
    """Return texts such as "1 to 20" of intervals, padded so that every "to" is in the same column."""
    widest = max(map(len, highs), default=0)
    return [f"{low} to {high.ljust(widest)}" for low, high in zip(lows, highs, strict=True)]


_LEVELS = 4  # If a table has more noises than these, only their number and the noise of the cells are printed.


def _print_refined(refined: RefinedTable, total: int | None, out: Path | None, plot: Path | None) -> None:
    """Print a refined table on standard output."""
    table = refined.published
    output.print_facts(
        [
            ("table", table.subject),
            ("noise", _noise_text(table)),
            *([("total", f"{signed(total)}, which is public")] if total is not None else []),
            *(("note", note) for note in table.notes),
        ]
    )
    rows = output.row_indices_to_show(len(table.answers))
    output.print_rows(*_estimate_rows(refined, rows), len(table.answers))
    if refined.draws:  # in a second table, as one line has no room for all columns
        cells = table.cells.rows.tolist()
        cell_rows = [cells[index] for index in output.row_indices_to_show(len(cells))]
        output.print_rows(*_spread_rows(refined, cell_rows), len(cells))
    output.print_facts([*_fact_lines(refined, len(rows), out), *output.file_facts(out, plot)])


def _noise_text(table: PublishedTable) -> str:
    """Return the noise of each level as text. If there are more than four, only their number and that of the cells."""
    words: dict[str, list[str]] = {}
    for level in table.levels:
        words.setdefault(_noise_words(level.mechanism), []).append(level.name)
    if len(words) == 1:
        return next(iter(words))
    if len(words) > _LEVELS:
        return f"of {len(words)} scales; of cells {_noise_words(table.cells.mechanism)}"
    return "; ".join(f"{noise} for {', '.join(names)}" for noise, names in words.items())


def _noise_words(mechanism: object) -> str:
    """Return the name of a noise and its scale as a text."""
    if isinstance(mechanism, AdditiveNoise):
        return f"{mechanism.name}, scale {float(mechanism.scale):,.4g}"
    return repr(mechanism)


def _fact_lines(refined: RefinedTable, number_shown: int, out: Path | None) -> output.Facts:
    """Return the facts below the rows: interval, prior, unused levels, draws, hidden rows and warnings.

    `number_shown` is the number of printed rows.
    """
    sensitivity, rows = _small_table_sensitivity(refined), len(refined.published.answers)
    facts = [(percent(refined.level), "the count lies in that interval with this probability")]
    facts.append(("prior", refined.prior_words))
    if sensitivity is not None:
        facts.append(("", sensitivity.words))
    if refined.nested is not None and refined.nested.left_out:
        names = ", ".join(refined.nested.left_out)
        facts.append(("unused", f"{names}: a tree has no place for sums that cross the others"))
    if refined.draws:
        facts.append(("draws", f"shares and ranks are from {refined.draws:,} exact draws of the whole table"))
    if rows > number_shown:
        more = "" if out is not None else ": --out FILE writes all"
        facts.append(("rows", f"{rows:,}, of which {rows - number_shown:,} are not shown{more}"))
    if refined.posterior is not None and (warning := refined.posterior.warning) is not None:
        facts.append(("warning", warning))
    return facts


def _refined_json(refined: RefinedTable, total: int | None) -> dict[str, Any]:
    """Return a refined table as JSON; an unknown number is null."""
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
            "answer": _json_number(table.answers[row]),
            "below": _json_number(table.below[row]),
            **{name: cells[row] for name, cells in added.items()},
        }
        for row in range(len(levels))
    ]
    return {
        "rows": rows,
        "table": table.subject,
        "by": list(table.names),
        "levels": [
            {"level": level.name, "counts": len(level.rows), "mechanism": to_json_types(level.mechanism)}
            for level in table.levels
        ],
        "level": refined.level,
        "total": total,
        "prior": None if refined.posterior is None else refined.posterior.prior.to_dict(),
        "sensitivity": to_json_types(_small_table_sensitivity(refined)),
        "warning": None if refined.posterior is None else refined.posterior.warning,
        "evidence": None if refined.posterior is None else to_json_types(refined.posterior.evidence),
        "draws": refined.draws,
        "unused": [] if refined.nested is None else list(refined.nested.left_out),
        "notes": list(table.notes),
    }


def _json_number(value: float) -> int | float | None:
    """Return a number as an int if it is whole, else as a float; return None for nan."""
    if math.isnan(value):
        return None
    return int(value) if value == int(value) else float(value)


_JSON = ".json"


def check_files(query: RefineQuery) -> None:
    """Raise NoisyCountError if an output file of the query is not allowed. Reads no table.

    A file must be regular, and not the file of the table. The file of rows must not exist unless it may be replaced,
    and its ending must be that of a table format or .json.
    """
    if query.plot is not None:
        _check_other_file(query.plot, query.file)
    if query.out is not None:
        is_rows = query.out.suffix.lower() != _JSON
        check_out(query.out, query.file, is_replacing=query.is_replacing, is_rows=is_rows)


def check_out(out: Path, read: Path | None, *, is_replacing: bool, is_rows: bool = True) -> None:
    """Raise NoisyCountError if a file for rows must not be written, or if it exists and `is_replacing` is False.

    `read` is the file of the published table, which must not be overwritten; it is None for a table of the ledger. If
    `is_rows` is True, the ending must be that of a table format, such as CSV or Parquet.
    """
    _check_other_file(out, read)
    if out.exists() and not is_replacing:
        raise NoisyCountError(f"--out {str(out)!r} exists already: name another file, or add --overwrite")
    if not is_rows:
        return
    try:
        table_format(out)
    except SourceError as error:
        raise NoisyCountError(str(error)) from None


def _check_other_file(file: Path, read: Path | None) -> None:
    """Raise NoisyCountError if a file to write is no regular file, or is the file that is read."""
    output.check_regular(file)
    if read is not None and file.exists() and file.samefile(read):
        raise NoisyCountError(f"{str(file)!r} is the file that is read: write to another one")


def check_new_columns(query: RefineQuery, rows: PublicTable | None) -> None:
    """Raise SourceError if the estimates cannot be new columns of `rows`, for example if one has the same name."""
    if rows is not None and query.out is not None and query.out.suffix.lower() != _JSON:
        names = ["mean", "median", "low", "high"]
        for name, is_there in (("share", query.has_shares), ("rank", query.has_ranks)):
            names += [name, f"{name}_low", f"{name}_high"] * is_there
        rows.check_new_columns(query.out, names)


def save_refined(query: RefineQuery, rows: PublicTable | None, refined: RefinedTable, out: Path) -> None:
    """Write a refined table to a file, in the format of its ending."""
    estimates = refined.estimates
    if out.suffix.lower() == _JSON:
        text = output.json_text(_refined_json(refined, query.total), indent=2)
        with output.draft(out) as draft_file:
            draft_file.write_text(f"{text}\n", encoding="utf-8")
    elif rows is not None:
        values: dict[str, Column] = {name: column.data for name, column in estimates.items()}
        rows.save(out, values, {name: np.ma.getmaskarray(column) for name, column in estimates.items()})
    else:
        columns: dict[str, Cells] = dict(refined.published.columns)
        for name, column in estimates.items():
            columns[free_name(name, columns)] = column.tolist()
        PublicColumns(columns).save(out)


def refine_table(query: RefineQuery, configuration: Config, *, as_json: bool) -> None:
    """Refine a published table, print the result, and write the files of the query."""
    check_files(query)
    with ExitStack() as opened:
        with output.status("reading"):
            published, rows = opened_table(query, configuration, opened)
            check_new_columns(query, rows)
        with output.progress("refining") as done:
            refined = refined_table(query, published, done)
        if query.out is not None:
            with output.status("writing"):
                save_refined(query, rows, refined, query.out)
    if query.plot is not None:
        from noisycount.tasks.refine.pictures import save_refined_table_plot  # noqa: PLC0415  (for pictures alone)

        with output.status("drawing"):
            save_refined_table_plot(refined, query.plot)
    if as_json:
        output.print_json(_refined_json(refined, query.total))
    else:
        _print_refined(refined, query.total, query.out, query.plot)
