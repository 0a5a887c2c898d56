"""What is written down of data sets, once, so that no later record changes what it means, and which one records are."""

import codecs
import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from noisycount.display.texts import redacted_name
from noisycount.engines.formats import ColumnFormat, FileFormat
from noisycount.engines.views.claim import UnitClaim
from noisycount.errors import ConfigError, LedgerError
from noisycount.frozen import frozen
from noisycount.ledger.entries import Entry, asked_part
from noisycount.query.schema import Kind, Schema, Stated

if TYPE_CHECKING:
    from noisycount.ledger.ledger import Ledger

ROW = "row"  # what is said in place of a column where every row is a unit of its own


@frozen(slots=False)
class DatasetRecord:
    """What is written down of a data set.

    Example:
        >>> written = DatasetRecord(None, {"age": ColumnFormat(Kind.INTEGER)}, "00")
        >>> DatasetRecord.read(written.text) == written
        True
    """

    unit: str | None  # the column that names the person; None: every row is one unit
    columns: Mapping[str, ColumnFormat]  # what the cells of each column that questions can use stand for
    content: str  # the SHA-256 of the records, in hexadecimal digits
    # what the engine calls the values of each column that no question can use
    others: Mapping[str, str] = field(default_factory=dict)
    table: str | None = None  # which table of a file with several
    form: FileFormat | None = None  # how the texts of a file are found in it; None where it states its types
    earlier: tuple[str, ...] = ()  # what its content was before, the oldest first
    edition: str | None = None  # what the owner of records on a server calls them as they are now
    earlier_tables: tuple[str, ...] = ()  # the tables that it named before
    # of a table of a server: what identifies it by whatever address, then the tables whose records it shares or shared
    relations: tuple[str, ...] = ()
    # the correction of how its files are read since older releases; None: they are read as ever
    correction: str | None = None
    # the form that its version leaves out, as an older release wrote it down; None: its version covers every form
    legacy_form: FileFormat | None = None

    @classmethod
    def read(cls, text: str) -> Self:
        """What a text says, as `text` gives it."""
        try:
            said: dict[str, Any] = json.loads(text)
            columns = {name: ColumnFormat.of_parts(parts) for name, parts in said["columns"].items()}
            form = _form(said["form"])
            read = {
                "columns": columns,
                "form": form,
                "earlier": tuple(said.get("earlier", ())),
                "earlier_tables": tuple(said.get("earlier_tables", ())),
                "relations": tuple(said.get("relations", ())),
                "legacy_form": _form(said["legacy_form"]) if "legacy_form" in said else form,
            }
            return cls(**{**said, **read})
        except (ValueError, TypeError, KeyError, AttributeError):
            raise LedgerError("the ledger describes a data set in a form of a later version: install that") from None

    @cached_property
    def text(self) -> str:
        """All of it, as a JSON object; a form that is the legacy one is told as it ever was."""
        legacy = None if self.legacy_form is None else self.legacy_form.parts
        return json.dumps(
            {
                "unit": self.unit,
                "columns": {name: form.parts for name, form in self.columns.items()},
                "content": self.content,
                "others": dict(self.others),
                "table": self.table,
                "form": None if self.form is None else self.form.parts,
                "earlier": list(self.earlier),
                **({} if self.edition is None else {"edition": self.edition}),
                **({"earlier_tables": list(self.earlier_tables)} if self.earlier_tables else {}),
                **({"relations": list(self.relations)} if self.relations else {}),
                **({} if self.correction is None else {"correction": self.correction}),
                **({} if self.legacy_form == self.form else {"legacy_form": legacy}),
            }
        )

    def after(self, former: Self | None) -> Self:
        """Return this record with all contents, tables and relations that the data set ever had."""
        if former is None:
            return self
        contents = dict.fromkeys((*former.earlier, former.content))
        contents.pop(self.content, None)
        return replace(
            self,
            earlier=tuple(contents),
            earlier_tables=tuple(table for table in former.tables if table != self.table),
            relations=tuple(dict.fromkeys((*self.relations, *former.relations))),
            legacy_form=former.legacy_form,
        )

    @property
    def tables(self) -> tuple[str, ...]:
        """Names of the tables of its file that it ever named, the oldest first."""
        return self.earlier_tables if self.table is None else (*self.earlier_tables, self.table)

    def has_had(self, digest: str) -> bool:
        """Return True if this was the content of the data set once, or is."""
        return digest in {self.content, *self.earlier}

    @cached_property
    def version(self) -> str:
        """A text that changes with the records, with how they are read and what cells stand for.

        Older releases left the form of the file out, and so does this where that is still theirs:
        what their ledgers hold stays free.
        """
        read = {
            name: {part: value for part, value in parts.items() if part != "unreadable"}
            for name, parts in sorted(self._readings.items())
        }
        edition = [] if self.edition is None else [self.edition]
        form, legacy = _form_parts(self.form), _form_parts(self.legacy_form)
        found = [] if form == legacy else [form]
        return f"sha256:{_digest([self._corrected_content, self.table, read, *edition, *found])}"

    @property
    def reading(self) -> str:
        """What tells a copy of these records, read so, from every other copy."""
        form = None if self.form is None else self.form.parts
        return _digest([self._corrected_content, self.unit, self.table, form, self._readings])

    @property
    def _corrected_content(self) -> str:
        """The content, with the correction of its reading if there is one: answers about the older one do not fit."""
        if self.correction is None:
            return self.content
        return hashlib.sha256(f"{self.correction} {self.content}".encode("ascii")).hexdigest()

    @property
    def unit_form(self) -> ColumnFormat | None:
        """The form by which the texts of the unit are read; None if they stand for themselves."""
        form = None if self.unit is None else self.columns.get(self.unit)
        if form is None or (form == ColumnFormat(form.kind) and (self.form is None or form.kind is Kind.TEXT)):
            return None
        return form

    @property
    def _readings(self) -> dict[str, dict[str, Any]]:
        """The parts of the form of each column, with marks where older releases read the same parts in another way.

        They ignored what was stated of the unit, took only the blanks of ASCII off a text, and read months in English
        alone: other dates were missing if the owner accepted that.
        """
        parts = {name: form.parts for name, form in self.columns.items()}
        parts |= {
            name: {**parts[name], "words": "in ten languages"}
            for name, form in self.columns.items()
            if form.accepts_unreadable and re.search("%[aAbBpz]", form.date_format or "")
        }
        parts |= {name: {**each, "trim": "white space"} for name, each in parts.items() if "trim" in each}
        if self.unit is not None and self.unit_form is not None:
            parts[self.unit] = {**parts[self.unit], "names": "a unit"}
        return parts

    @cached_property
    def accepted(self) -> frozenset[str]:
        """The columns whose cells that do not fit count as missing, as their owner said."""
        return frozenset(n for n, form in self.columns.items() if form.accepts_unreadable)

    def schema(self, columns: Sequence[str] | None) -> Schema:
        """What questions may use."""
        kinds = {name: form.kind for name, form in self.columns.items()}
        if self.unit is not None:
            kinds.setdefault(self.unit, Kind.TEXT)
        commas = frozenset(name for name, form in self.columns.items() if form.decimal == ",")
        return Schema(kinds, self.others, commas=commas).for_questions(self.unit, columns)


def _form(parts: Mapping[str, Any] | None) -> FileFormat | None:
    """The form of a file that parts describe, if any do."""
    return None if parts is None else FileFormat.of_parts(parts)


def _form_parts(form: FileFormat | None) -> dict[str, Any] | None:
    """What a form says, an encoding by one of its names."""
    if form is None:
        return None
    encoding = None if form.encoding is None else codecs.lookup(form.encoding).name
    return {**form.parts, "encoding": encoding}


def _digest(said: object) -> str:
    """The SHA-256 of a value of JSON, in hexadecimal digits."""
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode("ascii")).hexdigest()


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
    kinds: Mapping[str, ColumnFormat] | None = None
    form: FileFormat = FileFormat()  # how texts are found in a file
    values: Mapping[str, Stated] = field(default_factory=dict)  # what columns can have, as everybody may know
    claim: UnitClaim = UnitClaim()  # about the rows of a view; its unit is the one that is known when it is opened
    renews: bool = False  # whether what was written down of the columns is to be forgotten


def _nothing(_: str) -> Sequence[Entry]:
    return ()


def _never(_: str, __: str) -> bool:
    return False


@frozen
class Catalog:
    """What a ledger has written down of every data set."""

    written: Mapping[str, DatasetRecord] = field(default_factory=dict)  # by the name of the data set
    # gives what a data set was asked, for those of which nothing is written down yet
    entries: Callable[[str], Sequence[Entry]] = _nothing
    folder: Path | None = None  # beside the ledger, for copies; None: nothing is kept

    @classmethod
    def of(cls, ledger: "Ledger | None", folder: Path | None = None) -> Self:
        """The catalog of a ledger; an empty one where there is none yet."""
        if ledger is None:
            return cls(folder=folder)
        written = {name: DatasetRecord.read(text) for name, text in ledger.descriptions().items()}
        return cls(written, ledger.entries, folder)

    def name_of(
        self,
        stated: DatasetSettings,
        digest: str,
        relations: Sequence[str] = (),
        shares: Callable[[str, str], bool] = _never,
    ) -> str:
        """Return the name of the data set that records belong to.

        `digest`: of their content, or of the address of their table. `relations`: see `DatasetRecord`. `shares`: judges
        whether two tables of a file of this content have records in common.

        Raises:
            ConfigError: The records, or some of them, belong to a data set of another name.
        """

        def is_same(record: DatasetRecord) -> bool:
            is_one_table = record.table is None or stated.table is None or stated.table in record.tables
            is_one_relation = bool(relations) and record.relations[:1] == tuple(relations[:1])
            return is_one_relation or (record.has_had(digest) and is_one_table)

        def is_overlapping(record: DatasetRecord) -> bool:
            if not record.has_had(digest) or record.table is None or stated.table is None:
                return not {*record.relations}.isdisjoint(relations)
            return any(shares(table, stated.table) for table in record.tables)

        same = [name for name, record in self.written.items() if is_same(record)]
        is_unnamed = stated.is_path and stated.name not in self.written
        name = same[0] if same and is_unnamed else stated.name
        own = self.written.get(name)

        def has_shared(record: DatasetRecord) -> bool:
            """Return True if these had common records when they were described: old releases did not compare them."""
            if own is None:
                return False
            if relations and not own.relations:  # which old releases did not write down
                return True
            is_as_described = own.has_had(digest) and record.has_had(digest) and stated.table in {None, own.table}
            return is_as_described or not {*record.relations}.isdisjoint(own.relations)

        others = [
            other
            for other, record in self.written.items()
            if other != name and not has_shared(record) and (is_same(record) or is_overlapping(record))
        ]
        if not others:
            return name
        shared = "are those" if others[0] in same else "are partly those"
        shown = " and ".join(map(repr, others))
        reason = f"the records of {stated.name!r} {shared} of {shown} in this ledger"
        if len(others) > 1 or not (own is None or same):
            raise ConfigError(
                f"{reason}, and a question would be charged to one of their budgets only: count each by its own name, "
                "or copy these records to a place of their own"
            )
        raise ConfigError(
            f"{reason}, and a second name would be a second budget: name them {others[0]!r}, in noisycount.toml by "
            f"account = {json.dumps(others[0])}"
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
                f"unit {said!r}: data set {redacted_name(name)!r} counts {counted} ever since its "
                "first answer, as rows and persons never share a budget: leave the unit out"
            )
        return known

    def known(self, name: str, stated: DatasetSettings) -> DatasetRecord | None:
        """What is written down of a data set, with what its owner says now; None: too little, or of another reading.

        Another form of the file may give it other columns; once an answer is stored, only its owner renews them.
        """
        former = self.written.get(name)
        if former is None or stated.renews or former.table != stated.table:
            return None
        columns = {**former.columns, **(stated.kinds or {})}
        chosen = {*(stated.columns or ())} - {former.unit}
        if not chosen <= columns.keys() | former.others.keys():
            return None
        form = None if former.form is None else _completed(stated.form, former.form)
        if form != former.form and not self.entries(name):
            return None
        return replace(former, columns=columns, form=form)


def _completed(stated: FileFormat, former: FileFormat) -> FileFormat:
    """A form of which everything is said that was said before."""
    said = {one.name: getattr(stated, one.name) for one in fields(stated)}
    return replace(former, **{name: value for name, value in said.items() if value is not None})
