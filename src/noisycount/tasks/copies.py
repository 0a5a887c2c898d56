"""The copies that lie beside a ledger, and whose they are; in words and as JSON."""

from pathlib import Path
from typing import Any

from noisycount.catalog.folder import Copies, Copy, discard
from noisycount.config.config import Config
from noisycount.display.numbers import in_bytes, signed
from noisycount.display.output import Table, seen_from_here
from noisycount.frozen import frozen
from noisycount.tasks.opening import catalog_of, existing_ledger

_SHOWN = 12  # characters of a name that tell files apart


@frozen
class CopyFolder:
    """Copies in one folder."""

    folder: Path | None
    copies: tuple[Copy, ...]

    @classmethod
    def of(cls, source: str | None, configuration: Config) -> "CopyFolder":
        """The copies of a data set; of all where none is named."""
        chosen = None if source is None else configuration.dataset(source).account
        folder = configuration.data_folder
        if folder is None:
            return cls(None, ())
        with existing_ledger(configuration) as ledger:
            written = catalog_of(ledger, configuration).written
        names = dict.fromkeys([*written, *(chosen,) * (chosen is not None)])
        copies = Copies(folder).all(filter(None, names))
        return cls(folder, tuple(c for c in copies if chosen is None or c.dataset == chosen))

    def clear(self) -> int:
        """Remove the copies; give how many there were."""
        return discard(self.copies)

    @property
    def table(self) -> Table:
        """One line a copy."""
        rows = [
            (
                "unknown" if copy.dataset is None else seen_from_here(copy.dataset),
                in_bytes(copy.size),
                f"{copy.made:%Y-%m-%d %H:%M}",
                f"{copy.path.name[:_SHOWN]}…{copy.path.suffix}",
            )
            for copy in self.copies
        ]
        return ("data set", "size", "made (UTC)", "file"), rows

    def words(self, removed: int | None) -> str:
        """What there is, or what was removed."""
        if removed is not None:
            size = in_bytes(sum(copy.size for copy in self.copies))
            return f"removed {_number(removed)}, {size}; the next question makes what it needs again"
        if not self.copies or self.folder is None:
            return "no copies; the first question about a file of texts makes one"
        return (
            f"{_number(len(self.copies))} in {seen_from_here(self.folder)}, for the owner's eyes "
            "alone; --remove removes them"
        )

    def to_dict(self, removed: int | None) -> dict[str, Any]:
        """The copies, with their sizes in bytes; those that were there where they were removed."""
        copies = [
            {"dataset": each.dataset, "file": str(each.path), "size": each.size, "made": each.made.isoformat()}
            for each in self.copies
        ]
        return {"folder": None if self.folder is None else str(self.folder), "removed": removed, "copies": copies}


def _number(copies: int) -> str:
    return f"{signed(copies)} {'copy' if copies == 1 else 'copies'}"
