"""Engines to be tested that need no server."""

from collections.abc import Mapping, Sequence

from noisycount.engines.conformance.certificate import Identity
from noisycount.engines.memory import MemorySource
from noisycount.engines.truth import Record
from noisycount.query.schema import Kind

__all__ = ["MemoryUnderTest"]


class MemoryUnderTest:
    """Plain Python, or a wrong engine made of it."""

    def __init__(self, engine: type[MemorySource] = MemorySource) -> None:
        self.engine = engine
        self.identity = Identity("python", "3", "code points")

    def source(self, records: Sequence[Record], schema: Mapping[str, Kind], unit: str | None = None) -> MemorySource:
        """The records, each one a mapping."""
        return self.engine(records, schema, unit)
