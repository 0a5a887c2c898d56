# ruff: noqa: S608, as all SQL here is made of names and texts that it quotes
"""Noisy measurements of a census in Parquet files: a list of answers for each query and place."""

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from noisycount.engines.duckdb.connection import (
    path_pattern,
    quoted_text,
    readable_file,
    without_engine_errors,
)
from noisycount.frozen import frozen

__all__ = ["NoisyMeasurement", "has_measurements", "measured_places", "measurements"]
_COLUMNS = {"geocode", "query_name", "value", "variance"}


@frozen
class NoisyMeasurement:
    """The answers to one query about one place.

    Attributes:
        query: Its name, such as "votingage * hispanic".
        values: A noisy count for each of its cells, shape (cells,).
        variance: Of the noise of each.
    """

    query: str
    values: NDArray[np.int64]
    variance: float


def has_measurements(path: Path) -> bool:
    """Whether a Parquet file has the columns of noisy measurements; none of its rows are read.

    Raises:
        SourceError: It cannot be read.
    """
    names = _asked(path, "DESCRIBE SELECT * FROM {}")
    return {str(name) for name, *_ in names} >= _COLUMNS


def measured_places(path: Path, most: int) -> list[str]:
    """The codes of the first places, in order.

    Args:
        path: The file.
        most: How many at most.

    Raises:
        SourceError: It cannot be read.
    """
    query = f"SELECT DISTINCT geocode FROM {{}} ORDER BY geocode LIMIT {int(most)}"
    return [str(place) for (place,) in _asked(path, query)]


def measurements(path: Path, geocode: str) -> list[NoisyMeasurement]:
    """All that was measured of one place; only its rows are read.

    Args:
        path: A Parquet file with the columns `geocode`, `query_name`, `value` (a list of whole
            numbers) and `variance`.
        geocode: The code of the place.

    Raises:
        SourceError: It cannot be read.
    """
    rows = _asked(
        path,
        "SELECT query_name, CAST(value AS BIGINT[]), CAST(variance AS DOUBLE) FROM {} "
        f"WHERE CAST(geocode AS VARCHAR) = {quoted_text(geocode)}",
    )
    return [
        NoisyMeasurement(str(query), np.array(values or [], dtype=np.int64), float(variance))
        for query, values, variance in rows
    ]


def _asked(path: Path, query: str) -> list[tuple[Any, ...]]:
    """The rows of a query about a file."""
    place = quoted_text(path_pattern(readable_file(path)))
    relation = f"read_parquet({place}, hive_partitioning=false)"

    def fetched() -> list[tuple[Any, ...]]:
        with duckdb.connect(":memory:") as connection:
            return connection.execute(query.format(relation)).fetchall()

    return without_engine_errors(
        fetched,
        f"{str(path)!r} cannot be read as noisy measurements: check that it is a Parquet file "
        "with geocode, query_name, value (a list of whole numbers) and variance",
    )
