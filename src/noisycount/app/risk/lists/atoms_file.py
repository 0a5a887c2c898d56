"""Which questions the records satisfy together, and how often: a public table."""

from pathlib import Path

import numpy as np

from noisycount.app.refine.groups_file import check_columns, check_rows
from noisycount.errors import SourceError
from noisycount.model.atoms.atoms import Atoms
from noisycount.release.sources.duckdb.public_table import PublicTable

__all__ = ["atoms_of_file"]


def atoms_of_file(path: Path, size: int, number: int) -> Atoms:
    """The atoms of a CSV or Parquet file with the columns `rate`, `1`, `2` and so on.

    Args:
        path: The file; each row is an atom: its rate, and 1 or 0 for each question.
        size: How many records there are.
        number: How many different questions there are.

    Raises:
        SourceError: The file cannot be read, has no such column, a cell is no rate or not 0 or 1,
            or the rates do not add up to 1.
    """
    columns = [str(place + 1) for place in range(number)]
    with PublicTable.open(path) as table:
        check_columns(table, ["rate", *columns])
        rates = table.numbers("rate")
        check_rows(table, "rate", (rates >= 0) & (rates <= 1), "a rate between 0 and 1")
        signs = [table.numbers(column) for column in columns]
        for column, sign in zip(columns, signs, strict=True):
            check_rows(table, column, (sign == 0) | (sign == 1), "1 or 0")
    questions = [np.flatnonzero(sign).tolist() for sign in signs]
    try:
        return Atoms(size, rates, questions)
    except ValueError as error:
        raise SourceError(f"{str(path)!r}: {error}") from None
