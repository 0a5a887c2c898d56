"""A table in a CSV, TSV or Parquet file: of `noisycount count --by`, or of anybody."""

from collections.abc import Sequence

import numpy as np

from noisycount.app.refine.estimate import continuous_words
from noisycount.app.refine.tables.asked import AskedTable
from noisycount.app.refine.tables.grouped import GroupedRows, grouped_by_empty, grouped_by_name
from noisycount.app.refine.tables.own_noise import OwnNoise
from noisycount.app.refine.tables.published import PublishedLevel, PublishedTable
from noisycount.app.refine.tables.stored.table import NO_SUMS
from noisycount.errors import NoisyCountError, SourceError
from noisycount.model.laws.expansion import Reals
from noisycount.model.noises.additive import AdditiveNoise
from noisycount.release.question.schema import close_names
from noisycount.release.sources.duckdb.public_table import PublicTable
from noisycount.shown.told import told_name

__all__ = ["rows_table"]

_ANSWER = "answer"
_OWN = ("level", "answer", "error", "error_of_all")


def rows_table(asked: AskedTable, table: PublicTable) -> PublishedTable:
    """The rows of a file as a table.

    Args:
        asked: Which columns are keys and answers, and the noise.
        table: The file.

    Raises:
        NoisyCountError: A column that was typed is missing, or the noise of a level is.
        SourceError: There is no row, or a cell is no number.
    """
    names, column = _columns(asked, table.columns)
    keys = table.texts(names)
    is_own, own = not asked.by, OwnNoise.of(table)
    is_hidden = own is not None and own.is_hidden
    grouped = _grouped(table, keys, names, is_own=is_own, is_hidden=is_hidden)
    answers = table.numbers(column)
    if own is not None:
        _check_own(asked, column)
    noises = asked.noises if own is None else own.noises(grouped)
    levels = grouped.with_noises(noises, asked.place)
    for level, noise in zip(levels, noises, strict=True):
        _check_whole(table, column, answers, level, noise)
    has_sums = own is None or own.is_sum
    return PublishedTable(
        subject=told_name(table.path),
        names=tuple(names),
        keys=grouped.keys,
        answers=answers,
        levels=levels if has_sums else levels[:1],
        below=_below(asked, table, answers),
        columns={},
        is_hierarchy=not is_own,
        is_selected=is_hidden,
        notes=() if has_sums or len(levels) == 1 else (NO_SUMS,),
    )


def _check_own(asked: AskedTable, column: str) -> None:
    """The refusal of another noise, or another column, than the file tells of.

    Raises:
        NoisyCountError: A noise was typed, or a column that is no answer.
    """
    if asked.noises:
        raise NoisyCountError(
            f"{asked.place} says its noise itself: leave --epsilon, --noise and --scale out"
        )
    if column != _ANSWER:
        raise NoisyCountError(
            f"--column {column!r}: the noise in {asked.place} is that of its column 'answer': "
            "leave --column out"
        )


def _check_whole(
    table: PublicTable, column: str, answers: Reals, level: PublishedLevel, noise: AdditiveNoise
) -> None:
    """The refusal of a fraction under noise of whole numbers, with its row."""
    broken = level.rows[answers[level.rows] % 1 > 0]
    if noise.is_discrete and broken.size:
        raise table.refusal(
            column,
            int(broken[0]),
            f"a whole number, as its noise is {noise.name}",
            f"mend it{continuous_words(noise)}",
        )


def _columns(asked: AskedTable, columns: Sequence[str]) -> tuple[list[str], str]:
    """The key columns, and the column of answers."""
    if asked.by:
        for name in asked.by:
            if name not in columns:
                raise NoisyCountError(
                    f"{asked.place} has no column {name!r}: use {close_names(name, columns)}"
                )
        return list(asked.by), asked.column or _ANSWER
    if all(name in columns for name in _OWN) and columns.index("level"):
        return list(columns[: columns.index("level")]), _ANSWER
    raise NoisyCountError(
        f"{asked.place} does not say which columns are keys: give --by, such as --by county,town, "
        "and --column, its column of answers"
    )


def _grouped(
    table: PublicTable,
    keys: Sequence[tuple[str | None, ...]],
    names: Sequence[str],
    *,
    is_own: bool,
    is_hidden: bool,
) -> GroupedRows:
    """The rows by their levels."""
    if not keys:
        raise SourceError(f"{str(table.path)!r} has no row: there is nothing to refine")
    if is_own:
        levels = [level or "" for (level,) in table.texts(["level"])]
        return grouped_by_name(keys, levels, names, is_hidden=is_hidden)
    return grouped_by_empty(keys, names, is_hidden=is_hidden)


def _below(asked: AskedTable, table: PublicTable, answers: Reals) -> Reals:
    """What the answers that are missing are below; nan where nothing is known."""
    if asked.below_column is not None:
        given = table.numbers(asked.below_column)
    else:
        given = np.full(answers.shape, np.nan if asked.below is None else asked.below)
    return np.where(np.isnan(answers), given, np.nan)
