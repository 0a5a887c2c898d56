"""How records come under their description: read now, or later, from their file or from a copy.

How records on a server come under their description: asked for now, or at their first count.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from noisycount.catalog.certificates import Certificates
from noisycount.catalog.contents import Content, Copies
from noisycount.catalog.record import ROW, Written, make_private
from noisycount.catalog.register import Statement
from noisycount.catalog.sources import DescribedSource
from noisycount.engines.interface import CheckedSource
from noisycount.engines.opening import files, served
from noisycount.engines.places import ServedTable, files_of
from noisycount.errors import ConfigError, SourceError
from noisycount.frozen import frozen

__all__ = ["Holding", "ServedHolding"]


@frozen
class Holding:
    """Records at a place, whose content is known.

    Attributes:
        shown: What messages call them.
        place: Where they are.
        name: What the ledger calls them.
        stated: What their owner says of them.
        content: What they hold.
        former: What was written down of them before.
        folder: Beside the ledger, for a copy of texts; None: none is made.
    """

    shown: str
    place: Path
    name: str
    stated: Statement
    content: Content
    former: Written | None
    folder: Path | None

    def source(self, unit: str | None, known: Written | None) -> DescribedSource:
        """The records under their description.

        Args:
            unit: The column that names the person; None: every row is one unit.
            known: What is written down and stated of them; None: they are read now.
        """
        if known is not None:
            written = replace(known, content=self.content.digest)
            return self._described(written.after(self.former), None)
        with self._read(unit) as source:
            written = self._written(unit, source).after(self.former)
            if self.stated.renews:  # answers that an older release may have confused end here
                written = replace(written, legacy_form=None)
            self._keep(written)
            return self._described(written, source)

    def _described(self, written: Written, source: CheckedSource | None) -> DescribedSource:
        return DescribedSource(
            shown=self.shown,
            written=written,
            schema=written.schema(self.stated.columns),
            require_same=self._require_same,
            opening=lambda: self._opened(written),
            former_versions=self.content.former_versions if written.form is None else (),
            opened=source,
        )

    def _written(self, unit: str | None, source: CheckedSource) -> Written:
        """The description of records that were just read."""
        if self.stated.unit == ROW and ROW in source.schema.entire:
            raise ConfigError(
                f"{self.shown} has a column {ROW!r}, which as a unit means every row: rename it"
            )
        return Written(
            unit=unit,
            columns=source.forms,
            content=self.content.digest,
            others=source.schema.entire.others,
            table=self.stated.table,
            form=source.form,
        )

    def _opened(self, written: Written) -> CheckedSource:
        """The records, from the copy of their texts where there is one."""
        if written.form is None:
            return files().found(
                self.place,
                unit=written.unit,
                columns=self.stated.columns,
                table=written.table,
                kinds=self.stated.kinds,
                form=self.stated.form,
            )
        copy = None if self._copies is None else self._copies.place(self.name, written.reading)
        if copy is not None and copy.is_file():
            try:
                return files().of_copy(
                    copy, written.columns, unit=written.unit, columns=self.stated.columns
                )
            except SourceError:
                copy.unlink(missing_ok=True)  # it is damaged, and made again
        with self._read(written.unit, written) as source:
            self._keep(written)
            return source

    @contextmanager
    def _read(self, unit: str | None, written: Written | None = None) -> Iterator[CheckedSource]:
        """The records, which are closed, and their draft removed, where they cannot be used."""
        draft = self._draft()
        source = None
        try:
            source = self._found(unit, written, draft)
            self._require_same()
            yield source
        except BaseException:
            if source is not None:
                source.close()
            if draft is not None:
                draft.unlink(missing_ok=True)
            raise

    def _found(
        self, unit: str | None, written: Written | None, draft: Path | None
    ) -> CheckedSource:
        """The records, read from where they are; a copy of their texts is left as a draft."""
        return files().found(
            self.place,
            unit=unit,
            columns=self.stated.columns,
            table=self.stated.table,
            kinds=self.stated.kinds if written is None else written.columns,
            form=self.stated.form if written is None or written.form is None else written.form,
            copy=draft,
        )

    def _draft(self) -> Path | None:
        """Where a copy is written before it is known what it is of; None: nowhere."""
        if self._copies is None:
            return None
        try:
            make_private(self._copies.folder)
        except OSError:
            return None
        return self._copies.draft(self.name)

    def _keep(self, written: Written) -> None:
        """The copy that was just made takes its place, and all older ones go."""
        if self._copies is None:
            return
        draft = self._copies.draft(self.name)
        if draft.is_file():
            place = self._copies.place(self.name, written.reading)
            draft.replace(place)
            self._copies.remove(self.name, but=place)

    def _require_same(self) -> None:
        """The refusal of records of which a file is another, or that have one more or less."""
        if files_of(self.place) != self.content.files:
            raise SourceError(f"{self.shown} changed while it was open: open it again")
        self.content.require_same()

    @property
    def _copies(self) -> Copies | None:
        """The copies beside the ledger; None where none are kept."""
        return None if self.folder is None else Copies(self.folder)


@frozen
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
