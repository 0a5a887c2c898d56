"""Records whose engine states a type for each column, so that there is little to write down."""

from noisycount.release.question.schema import Schema
from noisycount.release.sources.check import ColumnCheck
from noisycount.release.sources.closing import Closing
from noisycount.release.sources.forms import ColumnForm

__all__ = ["TypedSource"]


class TypedSource(Closing):
    """Records that hold values, and no texts that stand for values; see ``CheckedSource``."""

    __slots__ = ()

    schema: Schema

    @property
    def former_versions(self) -> tuple[str, ...]:
        """None: no older ledger knows such records by another text."""
        return ()

    @property
    def accepted(self) -> frozenset[str]:
        """None: every value fits the type of its column."""
        return frozenset()

    @property
    def forms(self) -> dict[str, ColumnForm]:
        """The kind of each column."""
        return {name: ColumnForm(kind) for name, kind in self.schema.entire.items()}

    @property
    def form(self) -> None:
        """None: there is no file of texts."""
        return

    def used(self) -> tuple[ColumnCheck, ...]:
        """None: no column is one of texts."""
        return ()
