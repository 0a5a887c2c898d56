"""What somebody asks of a table, as it was typed: before any file is opened."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

from noisycount.app.table.keys import Listed

__all__ = ["GAUSSIAN", "LAPLACE", "Asked", "Item"]

LAPLACE, GAUSSIAN = "laplace", "gaussian"


@dataclass(frozen=True, slots=True)
class Item:
    """One of the things that a table is grouped by.

    Attributes:
        column: The name of the column.
        grouping: Edges such as `0,18,65`, or `month`, `quarter`, `year`; empty: each value.
    """

    column: str
    grouping: str = ""

    @property
    def text(self) -> str:
        """The item as one types it."""
        return f"{self.column}:{self.grouping}" if self.grouping else self.column


@dataclass(frozen=True, slots=True)
class Asked:
    """The groups, the questions, the noise and the files of a table.

    Attributes:
        by: What the table is grouped by; empty: it is of several questions.
        keys: The keys of columns.
        keys_from: A file of keys.
        other: Whether all other keys together are a row.
        wheres: The questions that were typed; with groups at most one.
        questions: A file of more of them.
        noise: The kind of noise; None: that of the price.
        rho: The price of Gaussian noise.
        delta: The chance to show a hidden key, or that of Gaussian noise.
        margins: The sums that are measured beside the cells.
        groups_per_unit: In how many groups a unit counts at most.
        cumulative: Whether ranges are measured too.
        plot: A file for a picture.
        output: A file for the rows.
    """

    by: Sequence[Item] = ()
    keys: Mapping[str, Listed] = field(default_factory=dict)
    keys_from: Path | None = None
    other: bool = False
    wheres: Sequence[str] = ()
    questions: Path | None = None
    noise: str | None = None
    rho: Fraction | None = None
    delta: Fraction | None = None
    margins: Sequence[str] = ()
    groups_per_unit: int | None = None
    cumulative: bool = False
    plot: Path | None = None
    output: Path | None = None

    @property
    def is_table(self) -> bool:
        """Whether it is more than one count."""
        return bool(self.by or self.questions or len(self.wheres) > 1)

    @property
    def is_gaussian(self) -> bool:
        """Whether the noise is Gaussian: by its name, or by its price."""
        return self.noise == GAUSSIAN or (self.noise is None and self.rho is not None)

    @property
    def has_hidden_keys(self) -> bool:
        """Whether only the records know the keys of a column."""
        is_listed = self.keys or self.keys_from or all(item.grouping for item in self.by)
        return self.delta is not None and not is_listed

    @property
    def may_hide_keys(self) -> bool:
        """Whether no key is listed, and nothing is asked for that needs listed ones."""
        needs = self.other or self.cumulative or self.is_gaussian or {*self.margins} - {"total"}
        return self.delta is None and not (self.keys or self.keys_from or needs)

    @property
    def where(self) -> str | None:
        """The one question that all groups share."""
        return self.wheres[0] if self.wheres else None
