"""A table in the JSON of `noisycount count --by`, which tells its noise."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from noisycount.app.refine.tables.asked import AskedTable
from noisycount.app.refine.tables.grouped import grouped_by_name
from noisycount.app.refine.tables.noises import noise_named
from noisycount.app.refine.tables.published import PublishedTable
from noisycount.app.refine.tables.stored.table import NO_SUMS
from noisycount.errors import NoisyCountError, SourceError
from noisycount.shown.columns import Cells, free_name
from noisycount.shown.told import told_name

__all__ = ["own_json"]


def own_json(asked: AskedTable, path: Path) -> PublishedTable:
    """The table of a file that `noisycount count --by --output FILE.json` wrote.

    Args:
        asked: What is known of it; its noise is in the file.
        path: The file.

    Raises:
        SourceError: It cannot be read, or is something else.
        NoisyCountError: A noise was typed.
    """
    if asked.noises:
        raise NoisyCountError(
            f"{asked.place} says its noise itself: leave --epsilon, --noise and --scale out"
        )
    told = _object(path)
    try:
        return _table(told, path)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise SourceError(
            f"{str(path)!r} is no table of noisycount: give what `count --by --output` wrote, or a "
            "CSV or Parquet file"
        ) from None


def _object(path: Path) -> dict[str, Any]:
    """The one object of a file of JSON."""
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SourceError(f"{str(path)!r} cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError):
        raise SourceError(f"{str(path)!r} is no JSON: check that it is whole") from None
    return told if isinstance(told, dict) else {}


def _table(told: dict[str, Any], path: Path) -> PublishedTable:
    """The rows and levels of an object."""
    names, rows = tuple(told["by"]), told["rows"]
    keys = [tuple(row["keys"][name] for name in names) for row in rows]
    levels = [row["level"] for row in rows]
    is_hidden = told["threshold"] is not None
    grouped = grouped_by_name(keys, levels, names, is_hidden=is_hidden)
    scales = {level["level"]: level["scale"] for level in told["levels"]}
    noises = [noise_named(told["mechanism"], scales[name]) for name, _, _ in grouped.levels]
    is_sum = not is_hidden and told["groups_per_unit"] == 1
    answers = [int(row["answer"]) for row in rows]
    published = grouped.with_noises(noises, str(path))
    return PublishedTable(
        subject=f"{told['where'] or 'all records'} in {told['dataset']}: {told_name(path)}",
        names=names,
        keys=grouped.keys,
        answers=np.array(answers, dtype=np.float64),
        levels=published if is_sum else published[:1],
        below=np.full(len(rows), np.nan),
        columns=_columns(names, keys, levels, answers),
        is_selected=is_hidden,
        notes=() if is_sum or len(published) == 1 else (NO_SUMS,),
        unit="records" if told.get("unit") is None else "persons",
    )


def _columns(
    names: tuple[str, ...], keys: list[tuple[Any, ...]], levels: list[str], answers: list[int]
) -> dict[str, Cells]:
    """The rows as `count --by` writes them to other files."""
    columns: dict[str, Cells] = {name: [row[at] for row in keys] for at, name in enumerate(names)}
    columns[free_name("level", columns)] = levels
    columns[free_name("answer", columns)] = answers
    return columns
