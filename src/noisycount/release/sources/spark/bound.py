"""Tables of Arrow as frames of Spark: what is bound so is never a part of a text."""

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql.pandas.types import from_arrow_schema

from noisycount.release.sources.spark.api import Api, Frame

__all__ = ["bound_frame"]


def bound_frame(table: pa.Table, api: Api) -> Frame:
    """The rows of a table, of which Connect wants the types to be said where it has none."""
    made: Frame
    if table.num_rows:
        made = api.session.createDataFrame(table)
    else:
        made = api.session.createDataFrame([], from_arrow_schema(table.schema))
    return made
