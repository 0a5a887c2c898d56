"""What an engine gives to be tested: tables of its own, made of records that are stated."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from noisycount.engines.check import Identity
from noisycount.engines.interface import Source
from noisycount.engines.truth import Record
from noisycount.query.schema import Kind


class Bench(Protocol):
    """An engine that makes temporary tables, and counts them as it counts its owner's."""

    @property
    def identity(self) -> Identity:
        """Which engine it is."""
        ...

    def source(
        self, records: Sequence[Record], schema: Mapping[str, Kind], unit: str | None = None
    ) -> AbstractContextManager[Source]:
        """The records in a table of its own, which is gone afterwards."""
        ...
