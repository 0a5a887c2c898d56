"""A published table on the command line: read, refined, told as lines or JSON, and written."""

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
from noisycount.display.values import plain
from noisycount.engines.duckdb.public import Column, PublicColumns, PublicTable, table_format
from noisycount.errors import NoisyCountError, SourceError
from noisycount.model.noises.additive import AdditiveNoise
from noisycount.tasks.refine.published import PublishedTable, RefineQuery
from noisycount.tasks.refine.readers import opened_table
from noisycount.tasks.refine.refined import Estimates, RefinedTable, refined_table

_MOST_CELLS = 5000  # of a larger table it takes too long to solve it twice more


def _told_sensitivity(refined: RefinedTable) -> Sensitivity | None:
    """What half and twice the concentration change; None where there is none, or it takes long."""
    told = refined.told
    if told is None or len(told) > _MOST_CELLS:
        return None
    found = told.sensitivity
    return found if found.moves else None


_UNKNOWN = "-"
Texts = list[str]


def _shown_rows(refined: RefinedTable, places: Sequence[int]) -> tuple[Texts, list[Texts]]:
    """The names of columns, and the cells of some rows."""
    table, told = refined.published, refined.estimates
    ends = _ranges(*(_texts(told[name], places, signed) for name in ("low", "high")))
    known = ~np.ma.getmaskarray(told["mean"])[list(places)]
    columns = {
        "answer": [_answer(table, place) for place in places],
        "mean": _texts(told["mean"], places, lambda mean: signed(mean, 1)),
        "median": _texts(told["median"], places, signed),
        percent(refined.level): [end if is_known else _UNKNOWN for end, is_known in zip(ends, known, strict=True)],
    }
    return _beside_keys(table, places, columns)


def _shown_spreads(refined: RefinedTable, places: Sequence[int]) -> tuple[Texts, list[Texts]]:
    """The names of columns, and the shares and ranks of some cells, as far as they were asked for."""
    told = refined.estimates
    columns: dict[str, Texts] = {}
    if "share" in told:
        columns["share, %"] = _spread(told, "share", places, lambda share: f"{100 * share:.1f}")
    if "rank" in told:
        columns["rank"] = _spread(told, "rank", places, signed)
    return _beside_keys(refined.published, places, columns)


def _beside_keys(table: PublishedTable, places: Sequence[int], columns: dict[str, Texts]) -> tuple[Texts, list[Texts]]:
    """Columns of numbers to the right of the keys of their rows."""
    numbers = zip(*map(output.padded, columns.values()), strict=True)
    rows = [[*table.keys[at], *own] for at, own in zip(places, numbers, strict=True)]
    return [*table.names, *columns], rows


def _answer(table: PublishedTable, place: int) -> str:
    """An answer, or what it is below."""
    if not np.isnan(table.answers[place]):
        return to_one_place(table.answers[place])
    limit = table.below[place]
    return _UNKNOWN if np.isnan(limit) else f"below {to_one_place(limit)}"


def _texts(column: np.ma.MaskedArray[Any, Any], places: Sequence[int], shown: Callable[[float], str]) -> Texts:
    """The numbers of some rows of a column, as far as they are known."""
    return [_UNKNOWN if value is None else shown(value) for value in column[list(places)].tolist()]


def _spread(told: Estimates, name: str, places: Sequence[int], shown: Callable[[float], str]) -> Texts:
    """An estimate of each cell with its interval."""
    middle, low, high = (output.padded(_texts(told[name + end], places, shown)) for end in ("", "_low", "_high"))
    return [f"{one} ({end.strip()})" for one, end in zip(middle, _ranges(low, high), strict=True)]


def _ranges(lows: Texts, highs: Texts) -> Texts:
    """Intervals whose "to" are below each other."""
    widest = max(map(len, highs), default=0)
    return [f"{low} to {high.ljust(widest)}" for low, high in zip(lows, highs, strict=True)]


_LEVELS = 4  # more are told by their number


def _print_refined(refined: RefinedTable, total: int | None, out: Path | None, plot: Path | None) -> None:
    """A refined table on standard output."""
    table = refined.published
    output.print_facts(
        [
            ("table", table.subject),
            ("noise", _noise(table)),
            *([("total", f"{signed(total)}, which is public")] if total is not None else []),
            *(("note", note) for note in table.notes),
        ]
    )
    places = output.shown_places(len(table.answers))
    output.print_rows(*_shown_rows(refined, places), len(table.answers))
    if refined.draws:  # below, as both have no room beside each other
        cells = table.cells.rows.tolist()
        told = [cells[place] for place in output.shown_places(len(cells))]
        output.print_rows(*_shown_spreads(refined, told), len(cells))
    output.print_facts([*_facts(refined, len(places), out), *output.file_facts(out, plot)])


def _noise(table: PublishedTable) -> str:
    """The noise of each level, or how many there are."""
    words: dict[str, list[str]] = {}
    for level in table.levels:
        words.setdefault(_noise_words(level.mechanism), []).append(level.name)
    if len(words) == 1:
        return next(iter(words))
    if len(words) > _LEVELS:
        return f"of {len(words)} scales; of cells {_noise_words(table.cells.mechanism)}"
    return "; ".join(f"{noise} for {', '.join(names)}" for noise, names in words.items())


def _noise_words(mechanism: object) -> str:
    """A noise by its name and its scale."""
    if isinstance(mechanism, AdditiveNoise):
        return f"{mechanism.name}, scale {float(mechanism.scale):,.4g}"
    return repr(mechanism)


def _facts(refined: RefinedTable, shown: int, out: Path | None) -> output.Facts:
    """What is to be known of all rows."""
    moved, rows = _told_sensitivity(refined), len(refined.published.answers)
    facts = [(percent(refined.level), "the count lies in that interval with this probability")]
    facts.append(("prior", refined.prior_words))
    if moved is not None:
        facts.append(("", moved.words))
    if refined.nested is not None and refined.nested.left_out:
        names = ", ".join(refined.nested.left_out)
        facts.append(("unused", f"{names}: a tree has no place for sums that cross the others"))
    if refined.draws:
        facts.append(("draws", f"shares and ranks are from {refined.draws:,} exact draws of the whole table"))
    if rows > shown:
        more = "" if out is not None else ": --out FILE writes all"
        facts.append(("rows", f"{rows:,}, of which {rows - shown:,} are not shown{more}"))
    if refined.told is not None and (odd := refined.told.warning) is not None:
        facts.append(("warning", odd))
    return facts


def _refined_json(refined: RefinedTable, total: int | None) -> dict[str, Any]:
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
        "prior": None if refined.told is None else refined.told.prior.to_dict(),
        "sensitivity": plain(_told_sensitivity(refined)),
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
    output.check_regular(file)
    if read is not None and file.exists() and file.samefile(read):
        raise NoisyCountError(f"{str(file)!r} is the file that is read: write to another one")


def check_addition(asked: RefineQuery, rows: PublicTable | None) -> None:
    """The refusal of names that the file has already, before the work."""
    if rows is not None and asked.out is not None and asked.out.suffix.lower() != _JSON:
        names = ["mean", "median", "low", "high"]
        for name, is_there in (("share", asked.has_shares), ("rank", asked.has_ranks)):
            names += [name, f"{name}_low", f"{name}_high"] * is_there
        rows.check_addition(asked.out, names)


def save_refined(asked: RefineQuery, rows: PublicTable | None, refined: RefinedTable, out: Path) -> None:
    """The file of a refined table, of the kind that its ending names."""
    added = refined.estimates
    if out.suffix.lower() == _JSON:
        text = output.json_text(_refined_json(refined, asked.total), indent=2)
        with output.draft(out) as part:
            part.write_text(f"{text}\n", encoding="utf-8")
    elif rows is not None:
        values: dict[str, Column] = {name: column.data for name, column in added.items()}
        rows.save(out, values, {name: np.ma.getmaskarray(column) for name, column in added.items()})
    else:
        columns: dict[str, Cells] = dict(refined.published.columns)
        for name, column in added.items():
            columns[free_name(name, columns)] = column.tolist()
        PublicColumns(columns).save(out)


def ask_table(asked: RefineQuery, configuration: Config, *, as_json: bool) -> None:
    """A refined table, told on standard output and written where that was asked for."""
    check_files(asked)
    with ExitStack() as opened:
        with output.status("reading"):
            published, rows = opened_table(asked, configuration, opened)
            check_addition(asked, rows)
        with output.progress("refining") as done:
            refined = refined_table(asked, published, done)
        if asked.out is not None:
            with output.status("writing"):
                save_refined(asked, rows, refined, asked.out)
    if asked.plot is not None:
        from noisycount.tasks.refine.pictures import save_refined_table_plot as save_plot  # noqa: PLC0415  (loads Altair)

        with output.status("drawing"):
            save_plot(refined, asked.plot)
    if as_json:
        output.print_json(_refined_json(refined, asked.total))
    else:
        _print_refined(refined, asked.total, asked.out, asked.plot)
