"""What somebody wants to know of a published table, as it was typed: before any file is opened."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path

from noisycount.frozen import frozen
from noisycount.model.noises.additive import AdditiveNoise


@frozen
class RefineQuery:
    """Where a published table is, what is known of it, and what is to be told."""

    file: Path | None = None  # the file of the table
    key: str | None = None  # or its key in the ledger,
    source: str | None = None  # and the data set that it is of
    by: Sequence[str] = ()  # the key columns of a file, from coarse to fine
    column: str | None = None  # its column of answers
    noises: Sequence[AdditiveNoise] = ()  # the noise of its answers: one for all, or one a level, the cells first
    total: int | None = None  # the public number of records in all; None: not known
    below: float | None = None  # what the answer of each row without one is below; None: nothing is known of it
    below_column: str | None = None  # or the column that says so
    geocode: str | None = None  # which place of a file of the census
    query: str | None = None  # which of its queries
    day: str | None = None  # the day of a file of Wikimedia, or the name of an era
    # the tier of its countries by their codes, where it is not "lower"
    tiers: Mapping[str, str] = field(default_factory=dict)
    concentration: float | None = None  # that of each cell before the answers; None: learned from them
    is_learned: bool = False  # whether somebody asked for a prior that is learned
    level: float = 0.95  # the probability of each interval
    has_shares: bool = False  # whether shares of the total are told,
    has_ranks: bool = False  # and ranks
    out: Path | None = None  # a file for the rows,
    plot: Path | None = None  # and one for a picture
    is_replacing: bool = False  # whether a file that is there already may be replaced

    @property
    def place(self) -> str:
        """What the table was asked by, for a refusal."""
        return f"--key {self.key!r}" if self.file is None else repr(str(self.file))
