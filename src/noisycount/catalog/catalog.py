"""Stored descriptions of data sets: privacy unit, columns and content, fixed when a data set is first opened.

A `DatasetRecord` is the description in the ledger; `Catalog` finds the data set that given records belong to. `sources`
opens the records.
"""

import codecs
import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from noisycount.display.texts import redacted_name
from noisycount.engines.formats import RUN_OF_NUMBERS, ColumnFormat, FileFormat
from noisycount.engines.views.relations import UnitClaim
from noisycount.errors import ConfigError, LedgerError
from noisycount.frozen import frozen
from noisycount.ledger.entries import Entry, asked_part
from noisycount.query.readings import read_number
from noisycount.query.schema import Kind, Schema, Stated

if TYPE_CHECKING:
    from noisycount.ledger.ledger import Ledger

ROW = "row"  # unit setting which states that every row is a privacy unit of its own


_PARTS = ("parts", "lookups")


@frozen(slots=False)
class DatasetRecord:
    """Stored description of a data set.

    Example:
        >>> record = DatasetRecord(None, {"age": ColumnFormat(Kind.INTEGER)}, "00")
        >>> DatasetRecord.read(record.text) == record
        True
    """

    unit: str | None  # column that identifies the person; None: every row is a privacy unit
    columns: Mapping[str, ColumnFormat]  # format of each column that queries can use
    content: str  # SHA-256 of the records, in hexadecimal digits
    # type name in the engine of each column that queries cannot use
    others: Mapping[str, str] = field(default_factory=dict)
    table: str | None = None  # table of a file with several tables
    form: FileFormat | None = None  # format of a text file; None if the file states its types
    earlier: tuple[str, ...] = ()  # earlier contents, the oldest first
    edition: str | None = None  # owner's name for the present state of records on a server
    earlier_tables: tuple[str, ...] = ()  # earlier tables, the oldest first
    # For a table on a server: its identity under any address, then the tables with which it shares or shared records.
    relations: tuple[str, ...] = ()
    # Correction of the reading of its files since older releases; None if they are read as before.
    correction: str | None = None
    # Format left out of `version` because an older release described the data set; None: `version` covers any format.
    legacy_form: FileFormat | None = None
    # descriptions of several tables of persons, and of public look-ups, by name; empty for one table
    parts: Mapping[str, Self] = field(default_factory=dict)
    lookups: Mapping[str, Self] = field(default_factory=dict)

    @classmethod
    def read(cls, text: str) -> Self:
        """Return the description stored as `text`.

        Raises:
            LedgerError: A later version of noisycount wrote the description.
        """
        try:
            stored: dict[str, Any] = json.loads(text)
            columns = {name: ColumnFormat.from_parts(parts) for name, parts in stored["columns"].items()}
            form = _file_format_of_parts(stored["form"])
            parsed = {
                "columns": columns,
                "form": form,
                "earlier": tuple(stored.get("earlier", ())),
                "earlier_tables": tuple(stored.get("earlier_tables", ())),
                "relations": tuple(stored.get("relations", ())),
                "legacy_form": _file_format_of_parts(stored["legacy_form"]) if "legacy_form" in stored else form,
                **{
                    kind: {name: cls.read(json.dumps(part)) for name, part in stored.get(kind, {}).items()}
                    for kind in _PARTS
                },
            }
            return cls(**{**stored, **parsed})
        except (ValueError, TypeError, KeyError, AttributeError):
            raise LedgerError(
                "a later version of noisycount described a data set in this ledger: install that version"
            ) from None

    @cached_property
    def text(self) -> str:
        """The description as a JSON object. `legacy_form` is left out if it equals `form`, as in older releases."""
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
                **{
                    kind: {name: json.loads(part.text) for name, part in getattr(self, kind).items()}
                    for kind in _PARTS
                    if self.parts
                },
            }
        )

    def with_history(self, former: Self | None) -> Self:
        """Return this description, with the contents, tables and relations of the former one added as earlier ones."""
        if former is None:
            return self
        contents = dict.fromkeys((*self.earlier, *former.earlier, former.content))
        contents.pop(self.content, None)
        return replace(
            self,
            earlier=tuple(contents),
            earlier_tables=tuple(table for table in former.tables if table != self.table),
            relations=tuple(dict.fromkeys((*self.relations, *former.relations))),
            legacy_form=former.legacy_form,
        )

    @property
    def members(self) -> tuple[Self, ...]:
        """This description, and those of its tables of persons."""
        return (self, *self.parts.values())

    @property
    def tables(self) -> tuple[str, ...]:
        """Names of all tables of its file that the data set ever had, the oldest first."""
        return self.earlier_tables if self.table is None else (*self.earlier_tables, self.table)

    def has_had_content(self, digest: str) -> bool:
        """Return True if the digest is that of the present or of an earlier content of the data set."""
        return digest in {self.content, *self.earlier}

    @cached_property
    def version(self) -> str:
        """Text that changes with the records, with their format, or with the meaning of their cells.

        Older releases left the format of the file out. It is still left out of records that did not change since then,
        so that answers stored by older releases remain free.
        """
        formats = {
            name: {part: value for part, value in parts.items() if part != "unreadable"}
            for name, parts in sorted(self._marked_formats.items())
        }
        edition = [] if self.edition is None else [self.edition]
        form, legacy = _canonical_parts(self.form), _canonical_parts(self.legacy_form)
        file_format = [] if form == legacy else [form]
        return f"sha256:{_digest([self._content_with_correction, self.table, formats, *edition, *file_format])}"

    @property
    def reading_digest(self) -> str:
        """Digest of the content and of the settings by which its cells are read. It identifies a copy of the values."""
        form = None if self.form is None else self.form.parts
        # Older releases read dates of which a digit is missing as others; such a file is refused now, and not copied.
        is_strict = any(re.search(RUN_OF_NUMBERS, form.date_format or "") for form in self.columns.values())
        digits = ["all digits"] if is_strict else []
        return _digest([self._content_with_correction, self.unit, self.table, form, self._marked_formats, *digits])

    @property
    def _content_with_correction(self) -> str:
        """Content digest. A correction of the reading changes it, because earlier answers were about other records."""
        if self.correction is None:
            return self.content
        return hashlib.sha256(f"{self.correction} {self.content}".encode("ascii")).hexdigest()

    @property
    def unit_form(self) -> ColumnFormat | None:
        """Format of the values of the privacy unit; None if the texts themselves identify the unit."""
        form = None if self.unit is None else self.columns.get(self.unit)
        if form is None or (form == ColumnFormat(form.kind) and (self.form is None or form.kind is Kind.TEXT)):
            return None
        return form

    @property
    def _marked_formats(self) -> dict[str, dict[str, Any]]:
        """Parts of the format of each column, with marks if older releases read the same parts in another way.

        Older releases ignored the format of the unit, removed only ASCII blanks around a text and zeros of texts that
        are a number, and read fewer dates: those in other languages than English and with several blanks were missing
        values if the owner accepted unreadable values. Dates of which a digit is missing were others.
        """
        parts = {name: form.parts for name, form in self.columns.items()}
        parts |= {
            name: {**parts[name], **_date_marks(form.date_format)}
            for name, form in self.columns.items()
            if form.accepts_unreadable and form.date_format
        }
        parts |= {name: {**stated, "trim": "white space"} for name, stated in parts.items() if "trim" in stated}
        parts |= {
            name: {**stated, "drop_zeros": "of all numbers"} for name, stated in parts.items() if "drop_zeros" in stated
        }
        if self.unit is not None and self.unit_form is not None:
            parts[self.unit] = {**parts[self.unit], "names": "a unit"}
        return parts

    def kind_of(self, column: str) -> str | None:
        """Return the kind of a column, or the engine's type if queries cannot use it; None for an unknown column."""
        if column in self.columns:
            return self.columns[column].kind.value
        return self.others.get(column, Kind.TEXT.value if column == self.unit else None)

    @cached_property
    def accepted(self) -> frozenset[str]:
        """Columns whose unreadable values count as missing, by the owner's statement."""
        return frozenset(name for name, form in self.columns.items() if form.accepts_unreadable)

    def schema(self, columns: Sequence[str] | None) -> Schema:
        """Return the schema that queries may use: the given columns, or all columns except the unit."""
        kinds = {name: form.kind for name, form in self.columns.items()}
        if self.unit is not None:
            kinds.setdefault(self.unit, Kind.TEXT)
        commas = frozenset(name for name, form in self.columns.items() if form.decimal == ",")
        normalisers = {
            name: form.normal_text for name, form in self.columns.items() if form.trim or form.normalise is not None
        }
        missing = {name: frozenset(_missing_values(form)) for name, form in self.columns.items() if form.missing}
        whole = Schema(kinds, self.others, commas=commas, normalisers=normalisers, missing=missing)
        return whole.for_questions(self.unit, columns)


def _missing_values(form: ColumnFormat) -> Iterator[Any]:
    """Yield the values that the words for a missing value state if they are read as ordinary texts.

    Example:
        >>> [*_missing_values(ColumnFormat(Kind.INTEGER, missing=("NA", "-99")))]
        [-99.0]
    """
    if form.kind is Kind.TEXT:
        yield from form.missing
    elif form.kind.is_number:
        numbers = (read_number(word.replace(form.decimal, ".")) for word in form.missing)
        yield from (number for number in numbers if number is not None)
    elif form.kind.is_moment and form.date_format is None:
        values = map(form.kind.key, form.missing)
        yield from (value for value in values if form.kind.holds(value))


def _date_marks(date_format: str) -> dict[str, str]:
    """Return the marks of a date format that older releases read in another way.

    Example:
        >>> _date_marks("%d %b %Y"), _date_marks("%Y%m%d"), _date_marks("%d.%m.%Y")
        ({'words': 'in 26 languages', 'blanks': 'one or more'}, {'digits': 'all'}, {})
    """
    languages = "in 26 languages" if re.search("%[bB]", date_format) else "in ten languages"
    return {
        **({"words": languages} if re.search("%[aAbBpz]", date_format) else {}),
        **({"blanks": "one or more"} if " " in date_format else {}),
        **({"digits": "all"} if re.search(RUN_OF_NUMBERS, date_format) else {}),
    }


def _file_format_of_parts(parts: Mapping[str, Any] | None) -> FileFormat | None:
    """Return the file format with these parts; None if there are none."""
    return None if parts is None else FileFormat.from_parts(parts)


def _canonical_parts(form: FileFormat | None) -> dict[str, Any] | None:
    """Return the parts of a file format, with the canonical name of its encoding."""
    if form is None:
        return None
    encoding = None if form.encoding is None else codecs.lookup(form.encoding).name
    return {**form.parts, "encoding": encoding}


def _digest(content: object) -> str:
    """Return the SHA-256 of a JSON value, in hexadecimal digits."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode("ascii")).hexdigest()


@frozen
class DatasetSettings:
    """Settings of the owner for opening records."""

    name: str  # name of the data set in the ledger
    is_path: bool = False  # True if the name is only a path, so that the ledger may know the records by another name
    # column that identifies the person, or `row` if every row is a unit; None: as stated before
    unit: str | None = None
    columns: Sequence[str] | None = None  # columns that queries may use; None: all except the unit
    table: str | None = None  # table of a file with several tables
    # formats of columns; all other columns keep their stored format
    kinds: Mapping[str, ColumnFormat] | None = None
    form: FileFormat = FileFormat()  # format of a text file
    values: Mapping[str, Stated] = field(default_factory=dict)  # public values of columns
    claim: UnitClaim = UnitClaim()  # statement about the rows of a view; `LazySource` sets its unit on opening
    renews: bool = False  # True if the stored description of the columns is to be replaced
    is_part: bool = False  # True for one of several tables of a data set


def part_name(name: str, table: str) -> str:
    """Return the name of one table of a data set in its own catalog, and of its copy.

    Example:
        >>> part_name("clinic", "visits")
        'clinic visits'
    """
    return f"{name} {table}"


@frozen
class Catalog:
    """Descriptions of all data sets of a ledger."""

    written: Mapping[str, DatasetRecord] = field(default_factory=dict)  # description of each data set by its name
    # Function that returns the ledger entries of a data set; used for data sets without a description.
    entries: Callable[[str], Sequence[Entry]] = lambda _: ()
    folder: Path | None = None  # folder beside the ledger for copies; None: no copies

    @classmethod
    def from_ledger(cls, ledger: "Ledger | None", folder: Path | None = None) -> Self:
        """Return the catalog of a ledger; without a ledger, an empty catalog."""
        if ledger is None:
            return cls(folder=folder)
        records = {name: DatasetRecord.read(text) for name, text in ledger.descriptions().items()}
        return cls(records, ledger.entries, folder)

    def name_of(
        self,
        stated: DatasetSettings,
        digest: str,
        relations: Sequence[str] = (),
        shares: Callable[[str, str], bool] = lambda _, __: False,
    ) -> str:
        """Return the name of the data set to which records belong.

        Args:
            stated: Settings of the owner.
            digest: Digest of the content of the records, or of the address of their table.
            relations: See `DatasetRecord`.
            shares: Returns True if two tables of a file with this content have records in common.

        Raises:
            ConfigError: The records, or some of them, belong to a data set of another name.
        """

        def is_same(record: DatasetRecord) -> bool:
            is_one_table = record.table is None or stated.table is None or stated.table in record.tables
            is_one_relation = bool(relations) and record.relations[:1] == tuple(relations[:1])
            return is_one_relation or (record.has_had_content(digest) and is_one_table)

        def is_overlapping(record: DatasetRecord) -> bool:
            if not record.has_had_content(digest) or record.table is None or stated.table is None:
                return not {*record.relations}.isdisjoint(relations)
            return any(shares(table, stated.table) for table in record.tables)

        same = [name for name, record in self.written.items() if any(map(is_same, record.members))]
        is_unnamed = stated.is_path and stated.name not in self.written
        name = same[0] if same and is_unnamed else stated.name
        former = self.written.get(name)
        if former is not None and former.parts and not stated.is_part:
            raise ConfigError(
                f"data set {name!r} has several tables in this ledger, and one budget pays for all of them: ask about "
                f"{name!r}, or count a copy of these records under another name"
            )

        def has_shared(record: DatasetRecord) -> bool:
            """Return True if these files had common records when they were described (old releases did not check)."""
            if former is None or former.parts:
                return False
            if relations and not former.relations:  # older releases did not store relations
                return True
            is_as_described = (
                former.has_had_content(digest)
                and record.has_had_content(digest)
                and stated.table in {None, former.table}
            )
            return is_as_described or not {*record.relations}.isdisjoint(former.relations)

        others = [
            other
            for other, record in self.written.items()
            if other != name
            and any(not has_shared(member) and (is_same(member) or is_overlapping(member)) for member in record.members)
        ]
        if not others:
            return name
        shared = "are those" if others[0] in same else "are partly those"
        names_text = " and ".join(map(repr, others))
        reason = f"the records of {stated.name!r} {shared} of {names_text} in this ledger"
        if len(others) > 1 or not (former is None or same):
            raise ConfigError(
                f"{reason}, and a question would be charged to one of their budgets only: count each by its own name, "
                "or copy these records to a place of their own"
            )
        raise ConfigError(
            f"{reason}, and a second name would be a second budget: name them {others[0]!r}, in noisycount.toml by "
            f"account = {json.dumps(others[0])}"
        )

    def of_table(self, name: str, table: str) -> Self:
        """Return the catalog of one table of a data set, with its description under the name of `part_name`."""
        former = self.written.get(name)
        parts = {} if former is None else {**former.parts, **former.lookups}
        written = {part_name(name, table): parts[table]} if table in parts else {}
        return replace(self, written=written, entries=lambda _: self.entries(name))

    def knows(self, name: str) -> bool:
        """Return True if the privacy unit of the data set was ever stated."""
        return name in self.written or bool(self.entries(name))

    def unit(self, name: str, stated_unit: str | None) -> str | None:
        """Return the column of the privacy unit, which never changes; None if every row is a unit.

        Args:
            name: Name of the data set.
            stated_unit: The unit that the owner states now; None: as stated before.

        Raises:
            ConfigError: The unit was never stated, or differs from the stored one.
        """
        unit = None if stated_unit == ROW else stated_unit
        entries = () if name in self.written else self.entries(name)
        if name in self.written:
            known = self.written[name].unit
        elif entries:
            known = asked_part(entries[-1], "unit")
        elif stated_unit is not None:
            return unit
        else:
            raise ConfigError(
                "state the privacy unit once: --unit COLUMN (in Python unit=) names the column "
                "that identifies persons, --unit row says that every row is another person"
            )
        if stated_unit is not None and unit != known:
            counted = "rows" if known is None else f"distinct {known!r}"
            raise ConfigError(
                f"unit {stated_unit!r}: data set {redacted_name(name)!r} counts {counted} ever since its "
                "first answer, and rows and persons never share a budget: leave the unit out"
            )
        return known

    def known(self, name: str, stated: DatasetSettings) -> DatasetRecord | None:
        """Return the stored description of a data set, updated with the owner's present settings.

        Returns None if the records must be read to describe them: nothing is stored, the owner renews the description,
        another table is chosen, one of several tables has another unit, a column is unknown, or the format of the file
        changed before the first answer.
        """
        former = self.written.get(name)
        if former is None or stated.renews or former.table != stated.table:
            return None
        if stated.unit not in {None, former.unit or ROW}:
            return None
        columns = {**former.columns, **(stated.kinds or {})}
        selected = {*(stated.columns or ())} - {former.unit}
        if not selected <= columns.keys() | former.others.keys():
            return None
        parts = {part.name: getattr(stated.form, part.name) for part in fields(stated.form)}
        stated_parts = {name: value for name, value in parts.items() if value is not None}
        form = None if former.form is None else replace(former.form, **stated_parts)
        if form != former.form and not self.entries(name):
            return None
        return replace(former, columns=columns, form=form)
