"""The open records of every data set, which are opened again when they changed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING

from noisycount.config.config import Config, DatasetConfig
from noisycount.ledger.ledger import Ledger

if TYPE_CHECKING:
    from noisycount.release.records import Records

__all__ = ["OpenSources"]


@dataclass(slots=True, eq=False)
class OpenSources:
    """Records that are opened at their first use and stay open.

    Attributes:
        configuration: Where they are.
        ledger: What is written down of them.
    """

    configuration: Config
    ledger: Ledger
    _opened: dict[str, "Records"] = field(default_factory=dict)
    _locks: Mapping[str, Lock] = field(init=False)

    def __post_init__(self) -> None:
        self._locks = {name: Lock() for name in self.configuration.datasets}

    def records(self, dataset: DatasetConfig) -> "Records":
        """The open records of a data set, as they are now.

        Records that were opened before and have changed are left to those who still use them.

        Raises:
            NoisyCountError: They cannot be opened.
        """
        opened = self._opened.get(dataset.name)
        if opened is not None and opened.is_current(self.ledger):
            return opened  # nobody waits for another's look into the ledger
        with self._locks[dataset.name]:
            opened = self._opened.get(dataset.name)
            if opened is None or not opened.is_current(self.ledger):
                opened = self._opened[dataset.name] = self._current(dataset)
            return opened

    def close(self) -> None:
        """The end of the use of all records."""
        for name in list(self._opened):
            self._opened.pop(name).close()

    def _current(self, dataset: DatasetConfig) -> "Records":
        """The records, opened under what is written down of them now."""
        from noisycount.tasks import opening  # noqa: PLC0415 - loads the question language

        records = opening.records_of(dataset, opening.register_of(self.ledger, self.configuration))
        if records.is_written_down:
            return records
        records.write_down(self.ledger)
        return opening.records_of(dataset, opening.register_of(self.ledger, self.configuration))
