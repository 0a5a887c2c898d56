"""What is assumed of each row of a table: one population for all, or one for those alike."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from noisycount.app.refine.answer_table import AnswerTable, RowLaws
from noisycount.app.refine.assumption import Assumed, Rate
from noisycount.app.refine.groups_file import RATES, check_rows
from noisycount.model.laws.expansion import Reals
from noisycount.model.populations.population import Population
from noisycount.model.validation import LARGEST_WHOLE
from noisycount.release.sources.duckdb.public_table import PublicTable

__all__ = ["row_groups"]

_NO_COLUMN = -1.0  # no rate


def row_groups(
    laws: RowLaws, table: PublicTable, asked: AnswerTable, given: NDArray[np.bool_]
) -> Iterator[tuple[Population, NDArray[np.bool_]]]:
    """Each population, and which rows with an answer it is about.

    Args:
        laws: What is known of all rows.
        table: The rows.
        asked: Which columns hold sizes and rates.
        given: Which rows have an answer, shape (rows,).

    Raises:
        NoisyCountError: There is no such column, or a cell is no size or no rate.
    """
    if laws.whole is not None:
        yield laws.whole, given
        return
    sizes = _sizes(table, asked.size, laws.size, given)
    rates = _rates(table, asked.rate, given)
    for size, rate in np.unique(np.stack([sizes[given], rates[given]]), axis=1).T.tolist():
        known = laws.rate if rate == _NO_COLUMN else Rate(rate)
        assumed = Assumed.of_size(int(size))
        if known is not None:
            assumed = Assumed.of_rate(int(size), known)
        yield assumed.population, given & (sizes == size) & (rates == rate)


def _sizes(
    table: PublicTable, column: str | None, size: int | None, given: NDArray[np.bool_]
) -> Reals:
    """The size of each row."""
    if column is None:
        return np.full(given.shape, float(size or 0))
    sizes = table.numbers(column)
    fine = (sizes >= 1) & (sizes == np.floor(sizes)) & (sizes <= LARGEST_WHOLE)
    check_rows(table, column, fine | ~given, "a whole number of records from 1 to 2**53")
    return sizes


def _rates(table: PublicTable, column: str | None, given: NDArray[np.bool_]) -> Reals:
    """The rate of each row, if it is a column."""
    if column is None:
        return np.full(given.shape, _NO_COLUMN)
    rates = table.numbers(column, has_shares=True)
    check_rows(table, column, (rates >= 0) & (rates <= 1) | ~given, RATES)
    return rates
