"""Top-ups of a ledger that may rest on answers about other records, and the loss that is proved for them.

A development version topped up answers about tables of servers, files on object stores and Spark tables without an
edition, and about files that were known by their size and time. The page "Accuracy first" has the proof of the bound.
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

from noisycount.catalog.catalog import DatasetRecord
from noisycount.config.config import Config
from noisycount.display.numbers import number_of
from noisycount.engines.places import ServedTable, is_lake, is_server
from noisycount.frozen import frozen
from noisycount.ledger.chain import DESCRIPTION
from noisycount.ledger.entries import Entry
from noisycount.ledger.series import EDITION, has_exact_version, standing_of
from noisycount.ledger.storage import Row
from noisycount.ledger.verification import entries_of
from noisycount.tasks.opening import existing_ledger
from noisycount.validation import exact_text


@frozen
class UnprovenTopUp:
    """A stored answer that tops up one which may be about other records."""

    entry: Entry
    bases: tuple[Entry, ...]  # the answers on which it rests, the next one first; at least one

    @property
    def is_gaussian(self) -> bool:
        """True if its draw is independent: then its loss is the one that was charged, and its answer may mix counts."""
        return standing_of(self.entry.request).is_gaussian

    @property
    def excess(self) -> Fraction:
        """Largest ε that it can lose beyond its charge: ε₁ + ε₂ is proved where ε₂ - ε₁ was charged."""
        return Fraction(0) if self.is_gaussian else 2 * (self.bases[0].loss.epsilon or Fraction(0))

    @property
    def proved(self) -> Fraction | None:
        """Smallest ε that is proved for it with all answers on which it rests: 2(ε₁ + … + ε_{n-1}) + ε_n."""
        if self.is_gaussian or self.entry.loss.epsilon is None:
            return None
        return self.entry.loss.epsilon + 2 * sum(base.loss.epsilon or Fraction(0) for base in self.bases)

    @property
    def words(self) -> str:
        """The top-up in one line."""
        loss = f"key {self.entry.key}: {self.entry.loss.text} in all was charged"
        if self.proved is None:
            return f"{loss}, and is what its draws lose; the answer may be the mean of two different counts"
        return f"{loss}, and only ε = {exact_text(self.proved)} is proved; its ± may be wrong"

    @property
    def json(self) -> dict[str, Any]:
        """The top-up as JSON; ε is null under Gaussian noise, whose charge is proved."""
        proved = None if self.proved is None else exact_text(self.proved)
        return {"key": self.entry.key, "dataset": self.entry.request.dataset, "proved_epsilon": proved}


def unproven_top_ups(rows: Sequence[Row], configuration: Config) -> list[UnprovenTopUp]:
    """Return the top-ups of verified rows that may rest on answers about other records, oldest first.

    A question states its edition since top-ups need one. An older question does not say whether it is about a server:
    the configuration, the name of the data set or its description does. All other data sets are taken for files.
    """
    entries = {entry.key: entry for entry in entries_of(rows)}
    descriptions = [(row["dataset"], DatasetRecord.read(row["question"])) for row in rows if row["kind"] == DESCRIPTION]
    server_names = {name for name, record in descriptions if record.relations}
    server_names |= {each.account for each in configuration.datasets.values() if isinstance(each.source, ServedTable)}
    editions = {(name, record.version) for name, record in descriptions if record.edition is not None}
    top_ups = []
    for entry in entries.values():
        bases = tuple(entries[key] for key in entry.replaces if entries[key].answer is not None)
        if bases and entry.answer is not None and not _is_exact(entry, server_names, editions):
            top_ups.append(UnprovenTopUp(entry, bases))
    return top_ups


def _is_exact(entry: Entry, server_names: Iterable[str], editions: Iterable[tuple[str, str]]) -> bool:
    """Return True if the version of an entry says which records were counted."""
    question, name = entry.request.asked, entry.request.dataset
    if not has_exact_version(question):
        return False
    is_of_server = name in server_names or is_server(name) or is_lake(name)
    return not is_of_server or EDITION in question or (name, question["version"]) in editions


def unproven_in(configuration: Config, number: int) -> list[UnprovenTopUp]:
    """Return the unproven top-ups among the first rows of the ledger of a configuration, which were verified."""
    with existing_ledger(configuration, anchored=False) as ledger:
        return [] if ledger is None else unproven_top_ups(ledger.rows()[:number], configuration)


def unproven_words(top_ups: Sequence[UnprovenTopUp]) -> list[str]:
    """Return a line for each unproven top-up, below one that says what they are."""
    if not top_ups:
        return []
    number = number_of("top-up", len(top_ups))
    head = (
        f"{number} may rest on answers about other records, as nothing said that the records had stayed the same: "
        "their loss can exceed the charge"
    )
    return [head, *(top_up.words for top_up in top_ups)]
