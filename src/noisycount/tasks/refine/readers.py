"""Readers of published tables: files of `noisycount count --by`, files of other publishers, and answers of a ledger.

`opened_table` chooses the reader by the ending and the columns of the file. Reading a stored answer costs no privacy
budget, and it needs no access to the records.
"""

import json
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import field
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from noisycount.config.config import Config
from noisycount.display.texts import redacted_name
from noisycount.engines.duckdb.public import PublicTable, has_measurements
from noisycount.errors import NoisyCountError, SourceError
from noisycount.frozen import frozen
from noisycount.ledger.entries import Entry, TableAnswer, asks_for_table
from noisycount.model.laws.gamma import Reals
from noisycount.model.noises.additive import AdditiveNoise
from noisycount.model.noises.combined_gaussian import CombinedGaussian
from noisycount.model.noises.gaussian import Gaussian
from noisycount.query.close_names import close_names
from noisycount.readers.values import noise_of
from noisycount.release.stored_question import StoredQuestion
from noisycount.release.table_release import TableRelease
from noisycount.tasks.ledger import entry_under_key
from noisycount.tasks.refine import published as tables
from noisycount.tasks.refine.estimate import hint_at_continuous_noise
from noisycount.tasks.refine.published import PublishedTable, written_columns
from noisycount.tasks.refine.publishers import census_table, is_wikimedia, wikimedia_table

Places: TypeAlias = NDArray[np.int64]


def _stored_entry(key: str, source: str | None, configuration: Config) -> Entry:
    """Return the ledger entry under a key, or under the only key that begins with it.

    Raise NoisyCountError if the entry is about another data set than `source`.
    """
    entry = entry_under_key(key, configuration, "--key")
    if source is not None and configuration.dataset(source).account != entry.request.dataset:
        raise NoisyCountError(
            f"--key {key!r}: that is an answer about {redacted_name(entry.request.dataset)}: leave {source!r} out"
        )
    return entry


def stored_count(key: str, source: str | None, configuration: Config) -> tuple[int, Fraction]:
    """Return the count under a key of the ledger, and the total price in ε of the answer and those it tops up."""
    entry = _stored_entry(key, source, configuration)
    if asks_for_table(entry):
        raise NoisyCountError(
            f"--key {key!r} is a table, which is refined without --size, --rate and --strata: leave them out"
        )
    answer, epsilon = entry.answer, entry.loss.epsilon
    if not isinstance(answer, int) or epsilon is None:
        raise NoisyCountError(f"--key {key!r}: there is no answer yet: ask the same question again")
    return answer, epsilon


def table_of_entry(entry: Entry, key: str) -> PublishedTable:
    """Return the table of a ledger entry. Raise NoisyCountError if it is a count, or has no answer."""
    if not asks_for_table(entry):
        raise NoisyCountError(f"--key {key!r}: that is one count: add --size N, and --rate P if it is known")
    if not isinstance(entry.answer, TableAnswer):
        raise NoisyCountError(f"--key {key!r}: there is no answer yet: ask the same question again")
    question = StoredQuestion(entry)
    words = question.words  # raises LedgerError if no noisycount wrote the question
    if question.release is None:
        raise NoisyCountError(f"--key {key!r}: the ledger has it in a form that no version of noisycount wrote")
    return _table_of_release(question.release, words)


def _table_of_release(release: TableRelease, words: str) -> PublishedTable:
    """Return the rows and the levels of a stored table."""
    names, is_hidden = release.labels.names, release.plan.threshold is not None
    keys = [keys for level in release.levels for keys in release.labels.node_labels(level)]
    grouped = tables.grouped_by_name(keys, release.level_names, names, is_hidden=is_hidden)
    answers = np.concatenate(release.answers)
    table = PublishedTable(
        subject=f"{words} in {release.dataset}",
        names=names,
        keys=grouped.keys,
        answers=np.concatenate(release.means),
        levels=grouped.with_noises([level.mechanism for level in release.plan.levels], words),
        below=np.full(answers.size, np.nan),
        columns=written_columns(names, keys, release.level_names, answers.tolist()),
        is_selected=is_hidden,
        unit="records" if release.unit is None else "persons",
    )
    return table if release.is_additive else table.without_sums()


_COLUMNS = ("level", "answer", "error", "error_of_all", "mechanism", "scale")
_HIDDEN, _SHARED = "threshold", "groups_per_unit"


@frozen
class StatedNoise:
    """The noise that a file states in each row."""

    table: PublicTable
    # name and scale of each row's noise, as written
    texts: list[tuple[str | None, ...]] = field(repr=False)
    is_hidden: bool  # True if only answers above a threshold were published
    is_sum: bool  # True if the counts of coarser levels are sums of cells

    @classmethod
    def from_table(cls, table: PublicTable) -> "StatedNoise | None":
        """Return the noise that a file states, or None if it states none."""
        if not set(_COLUMNS) <= set(table.columns):
            return None
        is_hidden = _HIDDEN in table.columns
        is_sum = not is_hidden and _SHARED not in table.columns
        return cls(table, table.texts(["mechanism", "scale"]), is_hidden, is_sum)

    @property
    def is_combined(self) -> bool:
        """True if the answers are means of several draws of noise, which the file has in the column `mean`.

        Raises NoisyCountError if that column is missing.
        """
        if all(name != CombinedGaussian.name for name, _ in self.texts):
            return False
        if _MEAN not in self.table.columns[self.table.columns.index("level") :]:
            raise NoisyCountError(
                f"{str(self.table.path)!r} has no column {_MEAN!r}, to which its noise belongs: add the column"
            )
        return True

    def noises(self, grouped: tables.GroupedRows) -> list[AdditiveNoise]:
        """Return the noise of each level."""
        return [self._noise(name, rows) for name, rows, _ in grouped.levels]

    def _noise(self, level: str, rows: tables.Rows) -> AdditiveNoise:
        """Return the noise of the rows of a level. Raise NoisyCountError if they have several."""
        row_of_noise = {self.texts[row]: row for row in reversed(rows.tolist())}
        if len(row_of_noise) > 1:
            raise NoisyCountError(
                f"{level} has {len(row_of_noise)} noises in {str(self.table.path)!r}: leave --by out, as "
                "the file states its keys itself"
            )
        ((name, scale), row) = next(iter(row_of_noise.items()))
        try:
            return _noise_of_text(name or "", scale or "")
        except (ValueError, ZeroDivisionError):
            raise self.table.refusal(
                "scale", int(row), "the scale of the noise that its column 'mechanism' names"
            ) from None


def _read_json_table(query: tables.RefineQuery, path: Path) -> tables.PublishedTable:
    """Read a file that `noisycount count --by --output FILE.json` wrote."""
    _check_no_other_noise(query, _ANSWER)
    members = _json_object(path)
    try:
        return _table_of_json(members, path)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise SourceError(
            f"{str(path)!r} is no table of noisycount: give what `count --by --output` wrote, or a CSV or Parquet file"
        ) from None


def _json_object(path: Path) -> dict[str, Any]:
    """Return the object of a JSON file, or an empty one if the file holds other JSON.

    Raise SourceError if the file cannot be read, or is no JSON.
    """
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SourceError(f"{str(path)!r} cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError):
        raise SourceError(f"{str(path)!r} is no JSON: check that it is whole") from None
    return value if isinstance(value, dict) else {}


def _table_of_json(members: dict[str, Any], path: Path) -> tables.PublishedTable:
    """Return the published table whose rows, levels and noises are members of a JSON object."""
    names, rows = tuple(members["by"]), members["rows"]
    keys = [tuple(row["keys"][name] for name in names) for row in rows]
    levels = [row["level"] for row in rows]
    is_hidden = members["threshold"] is not None
    grouped = tables.grouped_by_name(keys, levels, names, is_hidden=is_hidden)
    scales = {level["level"]: level["scale"] for level in members["levels"]}
    noises = [_noise_of_text(members["mechanism"], scales[name]) for name, _, _ in grouped.levels]
    is_sum = not is_hidden and members["groups_per_unit"] == 1
    answers = [int(row["answer"]) for row in rows]
    is_combined = members["mechanism"] == CombinedGaussian.name
    table = tables.PublishedTable(
        subject=f"{members['where'] or 'all records'} in {members['dataset']}: {redacted_name(path)}",
        names=names,
        keys=grouped.keys,
        answers=np.array([row[_MEAN] for row in rows] if is_combined else answers, dtype=np.float64),
        levels=grouped.with_noises(noises, str(path)),
        below=np.full(len(rows), np.nan),
        columns=tables.written_columns(names, keys, levels, answers),
        is_selected=is_hidden,
        unit="records" if members.get("unit") is None else "persons",
    )
    return table if is_sum else table.without_sums()


def _noise_of_text(name: str, scale: str) -> AdditiveNoise:
    """Return the noise with a name and a scale. Several combined Gaussian draws have the noise of their mean."""
    return Gaussian(float(scale)) if name == CombinedGaussian.name else noise_of(name, Fraction(scale))


_ANSWER, _MEAN = "answer", "mean"
_OWN_COLUMNS = ("level", "answer", "error", "error_of_all")


def _read_rows_table(query: tables.RefineQuery, table: PublicTable) -> tables.PublishedTable:
    """Return the published table of a file of rows."""
    names, column = _key_columns(query, table.columns)
    keys = table.texts(names)
    has_level_names, noise_of_members = not query.by, StatedNoise.from_table(table)
    is_hidden = noise_of_members is not None and noise_of_members.is_hidden
    grouped = _group_rows(table, keys, names, has_level_names=has_level_names, is_hidden=is_hidden)
    if noise_of_members is not None:
        _check_no_other_noise(query, column)
    answers = table.numbers(_MEAN if noise_of_members is not None and noise_of_members.is_combined else column)
    noises = query.noises if noise_of_members is None else noise_of_members.noises(grouped)
    levels = grouped.with_noises(noises, query.place)
    for level, noise in zip(levels, noises, strict=True):
        _check_whole(table, column, answers, level, noise)
    published = tables.PublishedTable(
        subject=redacted_name(table.path),
        names=tuple(names),
        keys=grouped.keys,
        answers=answers,
        levels=levels,
        below=_thresholds_of_missing(query, table, answers),
        columns={},
        is_hierarchy=not has_level_names,
        is_selected=is_hidden,
    )
    return published if noise_of_members is None or noise_of_members.is_sum else published.without_sums()


def _check_no_other_noise(query: tables.RefineQuery, column: str) -> None:
    """Raise NoisyCountError if the query states another noise or column than the file."""
    if query.noises:
        raise NoisyCountError(f"{query.place} states its noise itself: leave --epsilon, --noise and --scale out")
    if column != _ANSWER:
        raise NoisyCountError(
            f"--column {column!r}: the noise in {query.place} is that of its column 'answer': leave --column out"
        )


def _check_whole(
    table: PublicTable, column: str, answers: Reals, level: tables.PublishedLevel, noise: AdditiveNoise
) -> None:
    """Raise an error with the row if an answer under discrete noise is no whole number."""
    fractions = level.rows[answers[level.rows] % 1 > 0]
    if noise.is_discrete and fractions.size:
        raise table.refusal(
            column,
            int(fractions[0]),
            f"a whole number, as its noise is {noise.name}",
            f"correct it{hint_at_continuous_noise(noise)}",
        )


def _key_columns(query: tables.RefineQuery, columns: Sequence[str]) -> tuple[list[str], str]:
    """Return the names of the key columns and of the column of answers."""
    if query.by:
        for name in query.by:
            if name not in columns:
                raise NoisyCountError(f"{query.place} has no column {name!r}: use {close_names(name, columns)}")
        return list(query.by), query.column or _ANSWER
    if all(name in columns for name in _OWN_COLUMNS) and columns.index("level"):
        return list(columns[: columns.index("level")]), _ANSWER
    raise NoisyCountError(
        f"{query.place} does not state which columns are keys: give --by, such as --by county,town, "
        "and --column, its column of answers"
    )


def _group_rows(
    table: PublicTable,
    keys: Sequence[tuple[str | None, ...]],
    names: Sequence[str],
    *,
    has_level_names: bool,
    is_hidden: bool,
) -> tables.GroupedRows:
    """Return the rows, grouped by level: by the column `level` if `has_level_names`, else by their empty keys."""
    if not keys:
        raise SourceError(f"{str(table.path)!r} has no row: there is nothing to refine")
    if has_level_names:
        levels = [level or "" for (level,) in table.texts(["level"])]
        return tables.grouped_by_name(keys, levels, names, is_hidden=is_hidden)
    return tables.grouped_by_empty(keys, names, is_hidden=is_hidden)


def _thresholds_of_missing(query: tables.RefineQuery, table: PublicTable, answers: Reals) -> Reals:
    """Return the threshold of each missing answer, shape (rows,); nan if none is known, or if there is an answer."""
    if query.below_column is not None:
        thresholds = table.numbers(query.below_column)
    else:
        thresholds = np.full(answers.shape, np.nan if query.below is None else query.below)
    return np.where(np.isnan(answers), thresholds, np.nan)


_PARQUET = (".parquet", ".pq")


def opened_table(
    query: tables.RefineQuery, configuration: Config, stack: ExitStack
) -> tuple[tables.PublishedTable, PublicTable | None]:
    """Return the published table of a query, and the open file if the output keeps its other columns, else None.

    The file is closed with `stack`.
    """
    if query.file is None:
        if query.noises:
            raise NoisyCountError(
                f"{query.place}: the ledger knows the noise: leave --epsilon, --noise and --scale out"
            )
        return table_of_entry(_stored_entry(query.key or "", query.source, configuration), query.key or ""), None
    if not query.file.is_file():
        raise SourceError(f"there is no file {str(query.file)!r}: check the name")
    ending = query.file.suffix.lower()
    if ending == ".json":
        return _read_json_table(query, query.file), None
    if ending in _PARQUET and not query.by and has_measurements(query.file):
        return census_table(query, query.file), None
    if not query.by and is_wikimedia(query.file):
        return wikimedia_table(query, query.file), None
    rows = stack.enter_context(PublicTable.open(query.file))
    return _read_rows_table(query, rows), rows
