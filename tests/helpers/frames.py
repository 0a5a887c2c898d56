"""Records as frames of pandas, Polars and Arrow. A package is loaded when a test asks for its frame."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from noisycount.query.schema import Kind

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

__all__ = ["FRAMES", "arrow_table", "pandas_frame", "polars_frame"]
Record = Mapping[str, object]

ARROW_TYPES = {
    Kind.INTEGER: "int64",
    Kind.REAL: "float64",
    Kind.TEXT: "string",
    Kind.BOOLEAN: "bool",
    Kind.DATE: "date32",
    Kind.TIMESTAMP: "timestamp[us]",
}
PANDAS_TYPES = {
    Kind.INTEGER: "Int64",
    Kind.REAL: "float64",
    Kind.TEXT: "str",
    Kind.BOOLEAN: "boolean",
    Kind.DATE: "date32[day][pyarrow]",
    Kind.TIMESTAMP: "datetime64[us]",
}


def arrow_table(records: Sequence[Record], schema: Mapping[str, Kind]) -> "pa.Table":
    """Return records as a table of Arrow."""
    import pyarrow as pa

    return pa.table(
        {name: pa.array([record.get(name) for record in records], ARROW_TYPES[kind]) for name, kind in schema.items()}
    )


def polars_frame(records: Sequence[Record], schema: Mapping[str, Kind]) -> "pl.DataFrame":
    """Return records as a frame of Polars."""
    import polars as pl

    return pl.DataFrame(arrow_table(records, schema))


def pandas_frame(records: Sequence[Record], schema: Mapping[str, Kind]) -> "pd.DataFrame":
    """Return records as a frame of pandas, in which NaN is a missing value."""
    import pandas as pd

    return pd.DataFrame(
        {
            name: pd.Series([record.get(name) for record in records], dtype=PANDAS_TYPES[kind])
            for name, kind in schema.items()
        }
    )


FRAMES: dict[str, Callable[..., object]] = {"arrow": arrow_table, "pandas": pandas_frame, "polars": polars_frame}
