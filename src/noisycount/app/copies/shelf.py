"""The copies that lie beside a ledger, and whose they are."""

from dataclasses import dataclass
from pathlib import Path

from noisycount.app.config.config import Config
from noisycount.app.count.opening import register_of
from noisycount.app.ledger.access import existing_ledger
from noisycount.release.register.copies import Copies, Copy, discard

__all__ = ["Shelf"]


@dataclass(frozen=True, slots=True)
class Shelf:
    """Copies in one folder.

    Attributes:
        folder: Beside the ledger; None: none is kept.
        copies: Those that were asked for.
    """

    folder: Path | None
    copies: tuple[Copy, ...]

    @classmethod
    def of(cls, source: str | None, configuration: Config) -> "Shelf":
        """The copies of a data set; of all where none is named.

        Raises:
            ConfigError: There is no such data set.
            LedgerError: The ledger cannot be read.
            SourceError: The folder cannot be read.
        """
        chosen = None if source is None else configuration.dataset(source).account
        folder = configuration.data_folder
        if folder is None:
            return cls(None, ())
        with existing_ledger(configuration) as ledger:
            written = register_of(ledger, configuration).written
        names = dict.fromkeys([*written, *(chosen,) * (chosen is not None)])
        copies = Copies(folder).all(filter(None, names))
        return cls(folder, tuple(c for c in copies if chosen is None or c.dataset == chosen))

    def clear(self) -> int:
        """Remove the copies; give how many there were.

        Raises:
            SourceError: One cannot be removed.
        """
        return discard(self.copies)
