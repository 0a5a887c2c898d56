"""Records in tables on servers and object stores: described, and opened on demand."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from noisycount.catalog.catalog import DatasetRecord
from noisycount.catalog.folder import EngineCertificates
from noisycount.catalog.sources import LazySource
from noisycount.engines.formats import ColumnFormat
from noisycount.engines.interface import CheckedSource
from noisycount.engines.opening import open_served_table
from noisycount.engines.places import ServedTable


@dataclass(slots=True)
class ServerSource(LazySource):
    """Records in a table on a server."""

    table: ServedTable  # address of the table, and settings for counting
    certificates: EngineCertificates  # certificates of engines
    relations: tuple[str, ...]  # identity of the table, then the tables with which it shares records

    @property
    def stated_edition(self) -> str | None:
        """Owner's name for the present state of the records; see ``Source.stated_edition``."""
        return self.table.edition

    @property
    def has_exact_version(self) -> bool:
        """True if the owner promises by an edition that the records stay the same."""
        return self.stated_edition is not None

    def describe(self, unit: str | None, known: DatasetRecord | None) -> Self:
        """Set the description and the schema, and return the source.

        Without a stored description, the server is queried now.
        """
        if known is not None:
            record = replace(known, **self._facts)
            return self._set_record(record.with_history(self.former))
        source = self._open_served(unit, self.settings.kinds)
        try:
            remedy = "count a view of it in which that has another name"
            record = self._make_record(unit, source, remedy, **self._facts)
            return self._set_record(record.with_history(self.former), source)
        except BaseException:
            source.close()
            raise

    @property
    def _facts(self) -> dict[str, Any]:
        """Fields of the description that depend on the table."""
        return {"content": self.table.digest, "edition": self.table.edition, "relations": self.relations}

    def _require_same(self) -> None:
        """Do nothing: a table on a server may change at any time, and its edition is the owner's statement."""

    def open_within(self, session: Any) -> CheckedSource:  # noqa: ANN401 - of an engine
        """Open the table in a connection that several tables share; None: one of its own."""
        nan_missing = {name: form for name, form in self.record.columns.items() if form.nan}
        return self._open_served(self.record.unit, nan_missing, session)

    def _open_served(
        self,
        unit: str | None,
        kinds: Mapping[str, ColumnFormat] | None,
        session: Any = None,  # noqa: ANN401 - of an engine
    ) -> CheckedSource:
        """Return the open table.

        Args:
            unit: The column of the privacy unit.
            kinds: The columns in which NaN is a missing value.
            session: The connection that several tables share; None: one of its own.
        """
        return open_served_table(
            self.table.place,
            unit=unit,
            columns=self.settings.columns,
            seconds=self.table.seconds,
            uses_indexes=self.table.uses_indexes,
            certificates=self.certificates.all(),
            claim=self._claim(unit),
            kinds=kinds,
            session=session,
        )
