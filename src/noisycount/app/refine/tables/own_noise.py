"""What a file of `noisycount count --by --output` says of the noise of its rows."""

from dataclasses import dataclass, field

from noisycount.app.refine.tables.grouped import GroupedRows
from noisycount.app.refine.tables.noises import noise_named
from noisycount.app.refine.tables.published import Rows
from noisycount.errors import NoisyCountError
from noisycount.model.noises.additive import AdditiveNoise
from noisycount.release.sources.duckdb.public_table import PublicTable

__all__ = ["OwnNoise"]

_COLUMNS = ("level", "answer", "error", "error_of_all", "mechanism", "scale")
_HIDDEN, _SHARED = "threshold", "groups_per_unit"


@dataclass(frozen=True, slots=True)
class OwnNoise:
    """The noise that stands beside each answer.

    Attributes:
        table: The file.
        texts: The name and the scale of each row's noise, as they are written.
        is_hidden: Whether only answers from a threshold on were published.
        is_sum: Whether the counts of coarser levels are sums of cells.
    """

    table: PublicTable
    texts: list[tuple[str | None, ...]] = field(repr=False)
    is_hidden: bool
    is_sum: bool

    @classmethod
    def of(cls, table: PublicTable) -> "OwnNoise | None":
        """That of a file; None where it does not say it."""
        if not set(_COLUMNS) <= set(table.columns):
            return None
        is_hidden = _HIDDEN in table.columns
        is_sum = not is_hidden and _SHARED not in table.columns
        return cls(table, table.texts(["mechanism", "scale"]), is_hidden, is_sum)

    def noises(self, grouped: GroupedRows) -> list[AdditiveNoise]:
        """The noise of each level.

        Raises:
            NoisyCountError: It cannot be read, or a level has several.
        """
        return [self._noise(name, rows) for name, rows, _ in grouped.levels]

    def _noise(self, level: str, rows: Rows) -> AdditiveNoise:
        """The one noise of the rows of a level."""
        found = {self.texts[row]: row for row in reversed(rows.tolist())}
        if len(found) > 1:
            raise NoisyCountError(
                f"{level} has {len(found)} noises in {str(self.table.path)!r}: leave --by out, as "
                "the file says its keys itself"
            )
        ((name, scale), row) = next(iter(found.items()))
        try:
            return noise_named(name or "", scale or "")
        except (ValueError, ZeroDivisionError):
            raise self.table.refusal(
                "scale", int(row), "the scale of the noise that its column 'mechanism' names"
            ) from None
