"""The columns that a refined table has beside those of the published one."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from noisycount.app.refine.tables.estimates import Estimates
from noisycount.release.sources.duckdb.public_table import Column
from noisycount.shown.columns import Cells

__all__ = ["AddedColumn", "added_columns", "added_names"]


@dataclass(frozen=True, slots=True)
class AddedColumn:
    """One number of each row, where it is known.

    Attributes:
        values: Shape (rows,).
        missing: Where it is not known, shape (rows,).
    """

    values: Column = field(repr=False)
    missing: NDArray[np.bool_] = field(repr=False)

    @property
    def cells(self) -> Cells:
        """The numbers, None where they are not known."""
        pairs = zip(self.values.tolist(), self.missing.tolist(), strict=True)
        return [None if missing else value for value, missing in pairs]


def added_names(*, has_shares: bool, has_ranks: bool) -> list[str]:
    """The names of the columns that are added.

    Args:
        has_shares: Whether shares are.
        has_ranks: Whether ranks are.
    """
    names = ["mean", "median", "low", "high"]
    for name, is_there in (("share", has_shares), ("rank", has_ranks)):
        names += [name, f"{name}_low", f"{name}_high"] * is_there
    return names


def added_columns(told: Estimates) -> dict[str, AddedColumn]:
    """The columns by their names.

    Args:
        told: What is known of the rows.
    """
    unknown = ~told.is_told
    columns = {
        name: AddedColumn(getattr(told, name), unknown)
        for name in ("mean", "median", "low", "high")
    }
    for name, spread in (("share", told.shares), ("rank", told.ranks)):
        if spread is not None:
            outside = np.isnan(spread.middle) if name == "share" else spread.middle == 0
            columns[name] = AddedColumn(spread.middle, outside)
            columns[f"{name}_low"] = AddedColumn(spread.low, outside)
            columns[f"{name}_high"] = AddedColumn(spread.high, outside)
    return columns
