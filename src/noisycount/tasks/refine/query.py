"""What somebody wants to know of a published table, as it was typed: before any file is opened."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path

from noisycount.frozen import frozen
from noisycount.model.noises.additive import AdditiveNoise


@frozen
class RefineQuery:
    """Where a published table is, what is known of it, and what is to be told.

    Attributes:
        file: The file of the table.
        key: Or its key in the ledger,
        source: and the data set that it is of.
        by: The key columns of a file, from coarse to fine.
        column: Its column of answers.
        noises: The noise of its answers: one for all, or one a level, the cells first.
        total: The public number of records in all; None: not known.
        below: What the answer of each row without one is below; None: nothing is known of it.
        below_column: Or the column that says so.
        geocode: Which place of a file of the census.
        query: Which of its queries.
        day: The day of a file of Wikimedia, or the name of an era.
        tiers: The tier of its countries by their codes, where it is not "lower".
        concentration: That of each cell before the answers; None: learned from them.
        is_learned: Whether somebody asked for a prior that is learned.
        level: The probability of each interval.
        has_shares: Whether shares of the total are told,
        has_ranks: and ranks.
        out: A file for the rows,
        plot: and one for a picture.
        is_replacing: Whether a file that is there already may be replaced.
    """

    file: Path | None = None
    key: str | None = None
    source: str | None = None
    by: Sequence[str] = ()
    column: str | None = None
    noises: Sequence[AdditiveNoise] = ()
    total: int | None = None
    below: float | None = None
    below_column: str | None = None
    geocode: str | None = None
    query: str | None = None
    day: str | None = None
    tiers: Mapping[str, str] = field(default_factory=dict)
    concentration: float | None = None
    is_learned: bool = False
    level: float = 0.95
    has_shares: bool = False
    has_ranks: bool = False
    out: Path | None = None
    plot: Path | None = None
    is_replacing: bool = False

    @property
    def place(self) -> str:
        """What the table was asked by, for a refusal."""
        return f"--key {self.key!r}" if self.file is None else repr(str(self.file))
