from collections.abc import Callable, Mapping, Sequence

import pandas as pd
import polars as pl
import pyarrow as pa

from noisycount.query.schema import Kind

__all__ = ["FRAMES", "arrow_table", "pandas_frame", "polars_frame"]
Record = Mapping[str, object]

ARROW_TYPES = {
    Kind.INTEGER: pa.int64(),
    Kind.REAL: pa.float64(),
    Kind.TEXT: pa.string(),
    Kind.BOOLEAN: pa.bool_(),
    Kind.DATE: pa.date32(),
    Kind.TIMESTAMP: pa.timestamp("us"),
}
PANDAS_TYPES = {
    Kind.INTEGER: "Int64",
    Kind.REAL: "float64",
    Kind.TEXT: "str",
    Kind.BOOLEAN: "boolean",
    Kind.DATE: "date32[day][pyarrow]",
    Kind.TIMESTAMP: "datetime64[us]",
}


def arrow_table(records: Sequence[Record], schema: Mapping[str, Kind]) -> pa.Table:
    """Records as a table of Arrow."""
    return pa.table(
        {name: pa.array([record.get(name) for record in records], ARROW_TYPES[kind]) for name, kind in schema.items()}
    )


def polars_frame(records: Sequence[Record], schema: Mapping[str, Kind]) -> pl.DataFrame:
    """Records as a frame of Polars."""
    return pl.DataFrame(arrow_table(records, schema))


def pandas_frame(records: Sequence[Record], schema: Mapping[str, Kind]) -> pd.DataFrame:
    """Records as a frame of pandas, in which NaN is a missing value."""
    return pd.DataFrame(
        {
            name: pd.Series([record.get(name) for record in records], dtype=PANDAS_TYPES[kind])
            for name, kind in schema.items()
        }
    )


FRAMES: dict[str, Callable[..., object]] = {"arrow": arrow_table, "pandas": pandas_frame, "polars": polars_frame}
