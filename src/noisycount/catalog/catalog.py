"""Which data set records belong to, and what is written down of it or will be."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, fields, replace
from pathlib import Path
from typing import Self

from noisycount.catalog.record import ROW, DatasetRecord
from noisycount.display.texts import told_name
from noisycount.engines.forms import ColumnForm, FileForm
from noisycount.errors import ConfigError
from noisycount.frozen import frozen
from noisycount.ledger.entries import Entry, asked_part
from noisycount.ledger.ledger import Ledger


@frozen
class DatasetSettings:
    """What an owner says of records on opening them."""

    name: str  # what the ledger calls them
    is_path: bool = False  # whether the name is only where they lie, and they may be known by another
    # the column that names the person, `row` where every row is a unit of its own; None: as it was said before
    unit: str | None = None
    columns: Sequence[str] | None = None  # what questions may use; None: all but the unit
    table: str | None = None  # which table of a file with several
    # what cells of columns stand for; of the others what is written down of them
    kinds: Mapping[str, ColumnForm] | None = None
    form: FileForm = FileForm()  # how texts are found in a file
    renews: bool = False  # whether what was written down of the columns is to be forgotten


def _nothing(_: str) -> Sequence[Entry]:
    return ()


@frozen
class Catalog:
    """What a ledger has written down of every data set."""

    written: Mapping[str, DatasetRecord] = field(default_factory=dict)  # by the name of the data set
    # gives what a data set was asked, for those of which nothing is written down yet
    entries: Callable[[str], Sequence[Entry]] = _nothing
    folder: Path | None = None  # beside the ledger, for copies; None: nothing is kept

    @classmethod
    def of(cls, ledger: Ledger | None, folder: Path | None = None) -> Self:
        """The catalog of a ledger; an empty one where there is none yet."""
        if ledger is None:
            return cls(folder=folder)
        written = {name: DatasetRecord.read(text) for name, text in ledger.descriptions().items()}
        return cls(written, ledger.entries, folder)

    def name_of(self, stated: DatasetSettings, digest: str) -> str:
        """The name of the data set that records belong to."""
        same = [name for name, it in self.written.items() if it.held(digest, stated.table)]
        if not same or stated.name in same:
            return stated.name
        if stated.is_path and stated.name not in self.written:
            return same[0]
        raise ConfigError(
            f"the records of {stated.name!r} are those of {same[0]!r} in this ledger, and a second "
            f"name would be a second budget: name them {same[0]!r}, in noisycount.toml by "
            f"account = {json.dumps(same[0])}"
        )

    def knows(self, name: str) -> bool:
        """Whether the unit of a data set was ever said."""
        return name in self.written or bool(self.entries(name))

    def unit(self, name: str, said: str | None) -> str | None:
        """The unit of a data set, which never changes; None: every row is one."""
        unit = None if said == ROW else said
        entries = () if name in self.written else self.entries(name)
        if name in self.written:
            known = self.written[name].unit
        elif entries:
            known = asked_part(entries[-1], "unit")
        elif said is not None:
            return unit
        else:
            raise ConfigError(
                "say once whose rows these are: --unit COLUMN (in Python unit=) names the column "
                "that tells persons apart, --unit row says that every row is another person"
            )
        if said is not None and unit != known:
            counted = "rows" if known is None else f"distinct {known!r}"
            raise ConfigError(
                f"unit {said!r}: data set {told_name(name)!r} counts {counted} ever since its "
                "first answer, as rows and persons never share a budget: leave the unit out"
            )
        return known

    def known(self, name: str, stated: DatasetSettings) -> DatasetRecord | None:
        """What is written down of a data set, with what its owner says now; None: too little."""
        former = self.written.get(name)
        if former is None or stated.renews or former.table != stated.table:
            return None
        columns = {**former.columns, **(stated.kinds or {})}
        chosen = {*(stated.columns or ())} - {former.unit}
        if not chosen <= columns.keys() | former.others.keys():
            return None
        form = None if former.form is None else _completed(stated.form, former.form)
        return replace(former, columns=columns, form=form)


def _completed(stated: FileForm, former: FileForm) -> FileForm:
    """A form of which everything is said that was said before."""
    said = {one.name: getattr(stated, one.name) for one in fields(stated)}
    return replace(former, **{name: value for name, value in said.items() if value is not None})
