"""Counts and tables that are read from a ledger again.

Reading a stored answer costs no privacy budget, and it needs no access to the records.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from noisycount.config.config import Config
from noisycount.display.texts import redacted_name
from noisycount.errors import NoisyCountError
from noisycount.ledger.entries import Entry, TableAnswer, asks_for_table
from noisycount.model.mechanism import Mechanism
from noisycount.model.tables.levels import Level
from noisycount.release.stored_question import StoredQuestion
from noisycount.release.table_release import TableRelease
from noisycount.tasks.ledger import entry_under_key
from noisycount.tasks.refine.published import PublishedLevel, PublishedTable, written_columns

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
            f"--key {key!r}: that is a table, whose counts it knows: leave --size, --rate and --strata out"
        )
    answer, epsilon = entry.answer, entry.loss.epsilon
    if not isinstance(answer, int) or epsilon is None:
        raise NoisyCountError(f"--key {key!r}: there is no answer yet: ask the same question again")
    return answer, epsilon


def stored_table(key: str, source: str | None, configuration: Config) -> PublishedTable:
    """Return the table under a key of the ledger, or under the only key that begins with it."""
    return table_of_entry(_stored_entry(key, source, configuration), key)


def table_of_entry(entry: Entry, key: str) -> PublishedTable:
    """Return the table of a ledger entry. Raise NoisyCountError if it is a count, or has no answer."""
    if not asks_for_table(entry):
        raise NoisyCountError(f"--key {key!r}: that is one count: add --size N, and --rate P if it is known")
    if not isinstance(entry.answer, TableAnswer):
        raise NoisyCountError(f"--key {key!r}: there is no answer yet: ask the same question again")
    question = StoredQuestion(entry)
    words = question.words  # raises LedgerError if no noisycount wrote the question
    if question.release is None:
        raise NoisyCountError(f"--key {key!r}: the ledger has it in a form that no noisycount wrote")
    return _table(question.release, words)


def _table(release: TableRelease, words: str) -> PublishedTable:
    """Return the rows and the levels of a stored table."""
    counted, names, is_hidden = release.levels, release.labels.names, release.plan.threshold is not None
    answers = np.concatenate(release.answers)
    table = PublishedTable(
        subject=f"{words} in {release.dataset}",
        names=names,
        keys=[texts for level in counted for texts in release.labels.all_texts(level)],
        answers=np.concatenate(release.means),
        levels=_levels(counted, [level.mechanism for level in release.plan.levels]),
        below=np.full(answers.size, np.nan),
        columns=written_columns(
            names,
            [keys for level in counted for keys in release.labels.node_labels(level)],
            release.level_names,
            answers.tolist(),
        ),
        is_selected=is_hidden,
        unit="records" if release.unit is None else "persons",
    )
    return table if release.is_additive else table.without_sums()


def _levels(counted: Sequence[Level], noises: Sequence[Mechanism]) -> tuple[PublishedLevel, ...]:
    """Return the levels of a stored table, each with its rows and its noise."""
    starts = accumulate((level.size for level in counted), initial=0)
    return tuple(
        PublishedLevel(
            level.name,
            np.arange(start, start + level.size),
            noise,
            _kept(level),
            None if level.codes is not None else level.of_cell.astype(np.int64),
        )
        for level, noise, start in zip(counted, noises, starts, strict=False)
    )


def _kept(level: Level) -> tuple[int, ...]:
    """Return the indices of the columns by which the counts of a level differ."""
    if level.codes is None:
        return ()
    return tuple(np.flatnonzero((level.codes >= 0).any(axis=0)).tolist())
