"""Groups with rates of their own, from a public table."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from noisycount.engines.duckdb.public import PublicTable
from noisycount.errors import NoisyCountError, SourceError
from noisycount.model.populations.strata import Strata
from noisycount.query.schema import close_names
from noisycount.readers.assumption import Assumed

RATES = "a rate between 0 and 1, such as 0.02 or 2%"  # what a cell of rates must be
_MOST = 10**9  # the law of more records of several rates takes minutes and gigabytes


def assumed_of_file(path: Path, size: int | None) -> Assumed:
    """The groups of a CSV or Parquet file with the columns `size` and `rate`."""
    with PublicTable.open(path) as table:
        check_columns(table, ["size", "rate"])
        sizes, rates = table.numbers("size"), table.numbers("rate", has_shares=True)
        whole = (sizes >= 0) & (sizes == np.floor(sizes)) & (sizes <= _MOST)
        check_rows(table, "size", whole, f"a whole number from 0 to {_MOST:,}")
        check_rows(table, "rate", (rates >= 0) & (rates <= 1), RATES)
    total = int(sizes.sum())
    if not 0 < total <= _MOST:
        raise SourceError(f"the sizes in {str(path)!r} must add up to 1 to {_MOST:,} records, got {total:,}")
    if size is not None and size != total:
        raise NoisyCountError(
            f"--size {size} is not the {total} that the sizes in {str(path)!r} add up to: "
            "leave it out, or mend the file"
        )
    return Assumed(Strata(sizes, rates), None)


def check_columns(table: PublicTable, names: Iterable[str]) -> None:
    """The refusal of a file without a column that nobody typed, as every such file has it."""
    for name in names:
        if name not in table.columns:
            raise SourceError(
                f"{str(table.path)!r} has no column {name!r}, only "
                f"{close_names(name, table.columns)}: rename the one that holds it"
            )


def check_rows(table: PublicTable, column: str, fine: NDArray[np.bool_], meant: str) -> None:
    """The refusal of the first row that is not fine."""
    if not fine.all():
        raise table.refusal(column, int(np.argmin(fine)), meant)
