"""The reading of a published table: of `noisycount count --by`, of anybody, of a ledger."""

import json
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from noisycount.config.config import Config
from noisycount.display.texts import redacted_name
from noisycount.engines.duckdb.public import PublicTable, has_measurements
from noisycount.errors import NoisyCountError, SourceError
from noisycount.frozen import frozen
from noisycount.model.laws.gamma import Reals
from noisycount.model.noises.additive import AdditiveNoise
from noisycount.model.noises.combined_gaussian import CombinedGaussian
from noisycount.model.noises.gaussian import Gaussian
from noisycount.query.schema import close_names
from noisycount.readers.values import noise_of
from noisycount.tasks.refine import published as tables
from noisycount.tasks.refine.estimate import continuous_words
from noisycount.tasks.refine.publishers import census_table, is_wikimedia, wikimedia_table
from noisycount.tasks.refine.stored import stored_table

_COLUMNS = ("level", "answer", "error", "error_of_all", "mechanism", "scale")
_HIDDEN, _SHARED = "threshold", "groups_per_unit"


@frozen
class OwnNoise:
    """The noise that stands beside each answer."""

    table: PublicTable  # the file
    # the name and the scale of each row's noise, as they are written
    texts: list[tuple[str | None, ...]] = field(repr=False)
    is_hidden: bool  # whether only answers from a threshold on were published
    is_sum: bool  # whether the counts of coarser levels are sums of cells

    @classmethod
    def of(cls, table: PublicTable) -> "OwnNoise | None":
        """That of a file; None where it does not say it."""
        if not set(_COLUMNS) <= set(table.columns):
            return None
        is_hidden = _HIDDEN in table.columns
        is_sum = not is_hidden and _SHARED not in table.columns
        return cls(table, table.texts(["mechanism", "scale"]), is_hidden, is_sum)

    @property
    def is_combined(self) -> bool:
        """Whether the answers stand for means of several draws, which the file tells too."""
        if all(name != CombinedGaussian.name for name, _ in self.texts):
            return False
        if _MEAN not in self.table.columns[self.table.columns.index("level") :]:
            raise NoisyCountError(
                f"{str(self.table.path)!r} has no column {_MEAN!r}, which its noise is about: mend it"
            )
        return True

    def noises(self, grouped: tables.GroupedRows) -> list[AdditiveNoise]:
        """The noise of each level."""
        return [self._noise(name, rows) for name, rows, _ in grouped.levels]

    def _noise(self, level: str, rows: tables.Rows) -> AdditiveNoise:
        """The one noise of the rows of a level."""
        found = {self.texts[row]: row for row in reversed(rows.tolist())}
        if len(found) > 1:
            raise NoisyCountError(
                f"{level} has {len(found)} noises in {str(self.table.path)!r}: leave --by out, as "
                "the file says its keys itself"
            )
        ((name, scale), row) = next(iter(found.items()))
        try:
            return _told_noise(name or "", scale or "")
        except (ValueError, ZeroDivisionError):
            raise self.table.refusal(
                "scale", int(row), "the scale of the noise that its column 'mechanism' names"
            ) from None


def _own_json(asked: tables.RefineQuery, path: Path) -> tables.PublishedTable:
    """The table of a file that `noisycount count --by --output FILE.json` wrote."""
    _check_own(asked, _ANSWER)
    told = _object(path)
    try:
        return _table(told, path)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise SourceError(
            f"{str(path)!r} is no table of noisycount: give what `count --by --output` wrote, or a CSV or Parquet file"
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


def _table(told: dict[str, Any], path: Path) -> tables.PublishedTable:
    """The rows and levels of an object."""
    names, rows = tuple(told["by"]), told["rows"]
    keys = [tuple(row["keys"][name] for name in names) for row in rows]
    levels = [row["level"] for row in rows]
    is_hidden = told["threshold"] is not None
    grouped = tables.grouped_by_name(keys, levels, names, is_hidden=is_hidden)
    scales = {level["level"]: level["scale"] for level in told["levels"]}
    noises = [_told_noise(told["mechanism"], scales[name]) for name, _, _ in grouped.levels]
    is_sum = not is_hidden and told["groups_per_unit"] == 1
    answers = [int(row["answer"]) for row in rows]
    is_combined = told["mechanism"] == CombinedGaussian.name
    table = tables.PublishedTable(
        subject=f"{told['where'] or 'all records'} in {told['dataset']}: {redacted_name(path)}",
        names=names,
        keys=grouped.keys,
        answers=np.array([row[_MEAN] for row in rows] if is_combined else answers, dtype=np.float64),
        levels=grouped.with_noises(noises, str(path)),
        below=np.full(len(rows), np.nan),
        columns=tables.written_columns(names, keys, levels, answers),
        is_selected=is_hidden,
        unit="records" if told.get("unit") is None else "persons",
    )
    return table if is_sum else table.without_sums()


def _told_noise(name: str, scale: str) -> AdditiveNoise:
    """The noise of a name and a scale; of several draws together that of their mean."""
    return Gaussian(float(scale)) if name == CombinedGaussian.name else noise_of(name, Fraction(scale))


_ANSWER, _MEAN = "answer", "mean"
_OWN = ("level", "answer", "error", "error_of_all")


def _rows_table(asked: tables.RefineQuery, table: PublicTable) -> tables.PublishedTable:
    """The rows of a file as a table."""
    names, column = _columns_rows_file(asked, table.columns)
    keys = table.texts(names)
    is_own, own = not asked.by, OwnNoise.of(table)
    is_hidden = own is not None and own.is_hidden
    grouped = _grouped(table, keys, names, is_own=is_own, is_hidden=is_hidden)
    if own is not None:
        _check_own(asked, column)
    answers = table.numbers(_MEAN if own is not None and own.is_combined else column)
    noises = asked.noises if own is None else own.noises(grouped)
    levels = grouped.with_noises(noises, asked.place)
    for level, noise in zip(levels, noises, strict=True):
        _check_whole(table, column, answers, level, noise)
    published = tables.PublishedTable(
        subject=redacted_name(table.path),
        names=tuple(names),
        keys=grouped.keys,
        answers=answers,
        levels=levels,
        below=_below(asked, table, answers),
        columns={},
        is_hierarchy=not is_own,
        is_selected=is_hidden,
    )
    return published if own is None or own.is_sum else published.without_sums()


def _check_own(asked: tables.RefineQuery, column: str) -> None:
    """The refusal of another noise, or another column, than the file tells of."""
    if asked.noises:
        raise NoisyCountError(f"{asked.place} says its noise itself: leave --epsilon, --noise and --scale out")
    if column != _ANSWER:
        raise NoisyCountError(
            f"--column {column!r}: the noise in {asked.place} is that of its column 'answer': leave --column out"
        )


def _check_whole(
    table: PublicTable, column: str, answers: Reals, level: tables.PublishedLevel, noise: AdditiveNoise
) -> None:
    """The refusal of a fraction under noise of whole numbers, with its row."""
    broken = level.rows[answers[level.rows] % 1 > 0]
    if noise.is_discrete and broken.size:
        raise table.refusal(
            column, int(broken[0]), f"a whole number, as its noise is {noise.name}", f"mend it{continuous_words(noise)}"
        )


def _columns_rows_file(asked: tables.RefineQuery, columns: Sequence[str]) -> tuple[list[str], str]:
    """The key columns, and the column of answers."""
    if asked.by:
        for name in asked.by:
            if name not in columns:
                raise NoisyCountError(f"{asked.place} has no column {name!r}: use {close_names(name, columns)}")
        return list(asked.by), asked.column or _ANSWER
    if all(name in columns for name in _OWN) and columns.index("level"):
        return list(columns[: columns.index("level")]), _ANSWER
    raise NoisyCountError(
        f"{asked.place} does not say which columns are keys: give --by, such as --by county,town, "
        "and --column, its column of answers"
    )


def _grouped(
    table: PublicTable, keys: Sequence[tuple[str | None, ...]], names: Sequence[str], *, is_own: bool, is_hidden: bool
) -> tables.GroupedRows:
    """The rows by their levels."""
    if not keys:
        raise SourceError(f"{str(table.path)!r} has no row: there is nothing to refine")
    if is_own:
        levels = [level or "" for (level,) in table.texts(["level"])]
        return tables.grouped_by_name(keys, levels, names, is_hidden=is_hidden)
    return tables.grouped_by_empty(keys, names, is_hidden=is_hidden)


def _below(asked: tables.RefineQuery, table: PublicTable, answers: Reals) -> Reals:
    """What the answers that are missing are below; nan where nothing is known."""
    if asked.below_column is not None:
        given = table.numbers(asked.below_column)
    else:
        given = np.full(answers.shape, np.nan if asked.below is None else asked.below)
    return np.where(np.isnan(answers), given, np.nan)


_PARQUET = (".parquet", ".pq")


def opened_table(
    asked: tables.RefineQuery, configuration: Config, opened: ExitStack
) -> tuple[tables.PublishedTable, PublicTable | None]:
    """The table that was asked for, and its file, where that has other columns to be kept."""
    if asked.file is None:
        if asked.noises:
            raise NoisyCountError(
                f"{asked.place}: the ledger knows the noise: leave --epsilon, --noise and --scale out"
            )
        return stored_table(asked.key or "", asked.source, configuration), None
    if not asked.file.is_file():
        raise SourceError(f"there is no file {str(asked.file)!r}: check the name")
    ending = asked.file.suffix.lower()
    if ending == ".json":
        return _own_json(asked, asked.file), None
    if ending in _PARQUET and not asked.by and has_measurements(asked.file):
        return census_table(asked, asked.file), None
    if not asked.by and is_wikimedia(asked.file):
        return wikimedia_table(asked, asked.file), None
    rows = opened.enter_context(PublicTable.open(asked.file))
    return _rows_table(asked, rows), rows
