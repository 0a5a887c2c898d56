"""How records on a server come under their description: asked for now, or at their first count."""

from dataclasses import dataclass, replace

from noisycount.errors import ConfigError
from noisycount.release.register.certificates import Certificates
from noisycount.release.register.described_source import DescribedSource
from noisycount.release.register.register import Statement
from noisycount.release.register.served_table import ServedTable
from noisycount.release.register.written import ROW, Written
from noisycount.release.sources.interface import CheckedSource
from noisycount.release.sources.opening import served

__all__ = ["ServedHolding"]


@dataclass(frozen=True, slots=True)
class ServedHolding:
    """Records on a server.

    Attributes:
        table: Where they are, and how they are counted.
        stated: What their owner says of them.
        former: What was written down of them before.
        kept: The certificates of engines.
    """

    table: ServedTable
    stated: Statement
    former: Written | None
    kept: Certificates

    def source(self, unit: str | None, known: Written | None) -> DescribedSource:
        """The records under their description.

        Args:
            unit: The column that names the person; None: every row is one unit.
            known: What is written down of them; None: the server is asked now.

        Raises:
            SourceError: The server does not answer, or they have no such column.
            ConfigError: They have a column that is called as the unit of rows is.
        """
        if known is not None:
            written = replace(known, content=self.table.digest, edition=self.table.edition)
            return self._described(written.after(self.former), None)
        source = self._opened(unit)
        try:
            return self._described(self._written(unit, source).after(self.former), source)
        except BaseException:
            source.close()
            raise

    def _described(self, written: Written, source: CheckedSource | None) -> DescribedSource:
        return DescribedSource(
            shown=repr(str(self.table)),
            written=written,
            schema=written.schema(self.stated.columns),
            require_same=lambda: None,  # it changes all the time: an edition is what its owner says
            opening=lambda: self._opened(written.unit),
            opened=source,
        )

    def _opened(self, unit: str | None) -> CheckedSource:
        """The records, as their server has them."""
        return served(
            self.table.place,
            unit=unit,
            columns=self.stated.columns,
            seconds=self.table.seconds,
            uses_indexes=self.table.uses_indexes,
            certificates=self.kept.all(),
        )

    def _written(self, unit: str | None, source: CheckedSource) -> Written:
        """The description of records of which the server just told."""
        whole = source.schema.entire
        if self.stated.unit == ROW and ROW in whole:
            raise ConfigError(
                f"{str(self.table)!r} has a column {ROW!r}, which as a unit means every row: "
                "count a view of it in which that has another name"
            )
        return Written(
            unit=unit,
            columns=source.forms,
            content=self.table.digest,
            others=whole.others,
            edition=self.table.edition,
        )
