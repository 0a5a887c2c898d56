"""Spark as an engine under test: given records as a temporary view, for the conformance suite."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import pyarrow as pa  # type: ignore[import-untyped]

from noisycount.engines.places import ServerPlace
from noisycount.engines.spark.connection import Session
from noisycount.engines.spark.dialect import bound_frame
from noisycount.engines.spark.source import SparkSource
from noisycount.engines.truth import Record
from noisycount.query.schema import Kind

_VIEW = "noisycount_made_records"
_TYPES = {
    Kind.INTEGER: pa.int64(),
    Kind.REAL: pa.float64(),
    Kind.TEXT: pa.string(),
    Kind.BOOLEAN: pa.bool_(),
    Kind.DATE: pa.date32(),
    Kind.TIMESTAMP: pa.timestamp("us"),
}


class SparkUnderTest:
    """A cluster as an `EngineUnderTest`. The table of its URL, after the #, is not read."""

    __slots__ = ("_url", "identity")

    def __init__(self, url: str) -> None:
        self._url = url.partition("#")[0]
        with self.source([], {"a": Kind.INTEGER}) as source:
            self.identity = source.identity

    @contextmanager
    def source(
        self, records: Sequence[Record], schema: Mapping[str, Kind], unit: str | None = None
    ) -> Iterator[SparkSource]:
        """Yield the records as a view in a new session; see `EngineUnderTest.source`."""
        place = ServerPlace.read(f"{self._url}#{_VIEW}")
        session = Session.open(place.url, place.shown)
        columns = [pa.array([record.get(name) for record in records], _TYPES[kind]) for name, kind in schema.items()]
        table = pa.Table.from_arrays(columns, list(schema))

        def view() -> None:
            bound_frame(table, session.api).createTempView(_VIEW)

        try:
            session.run(view)
            yield SparkSource.open(place, unit=unit, is_made_here=True, session=session)
        finally:
            session.close()
