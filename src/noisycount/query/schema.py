"""Kinds of values and schemas of columns: the vocabulary of queries.

`Kind` has a class for each kind of value, `Schema` maps columns to kinds, and `PublicValues` lists what a column can
hold.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from datetime import date, datetime, time
from functools import cached_property
from math import isfinite
from reprlib import repr as shortened
from typing import Any, ClassVar, TypeAlias

from noisycount.errors import PredicateError, SourceError
from noisycount.frozen import frozen
from noisycount.query.close_names import close_names

INTEGERS = range(-(2**63), 2**63)  # signed 64-bit integers, which every engine compares exactly
_CELLS = range(-(2**63), 2**64)  # integers that a file can hold: BIGINT and UBIGINT
_LONGEST_KEY = 1000  # characters
_UNWRITABLE = re.compile("[\0\ud800-\udfff]")

# Date format of moments in ISO 8601 that state their time zone; they are stored in UTC.
ZONED = "iso+zone"
_ISO_DATE = "[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
_CLOCK = r"([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]{1,6})?)?"
ISO_ZONED = f"{_ISO_DATE}[ T]{_CLOCK} ?(Z|[+-](0[0-9]|1[0-4])(:?[0-5][0-9])?)"
_WHOLE = "(0|[1-9][0-9]{0,17})"
_EXPONENT = "([eE][+-]?[0-9]{1,3})?"
_WRITTEN_DATE = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_WRITTEN_CLOCK = r"[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.(?:[0-9]{3}|[0-9]{6}))?)?"


@frozen
class Spelling:
    """A way of writing numbers, dates or times as texts, such as `1.234,5`. A check recognises it in a column."""

    pattern: str  # regular expression of texts in this spelling
    words: str  # name of such texts, for the owner
    decimal: str = "."  # decimal mark of a number
    thousands: str | None = None  # mark between thousands; None: the other of point and comma, or no mark
    date_format: str | None = None  # format of a date or time; None: ISO 8601
    has_groups: bool = False  # True if digits are grouped by thousands, which is the least common spelling


# Marks between thousands: as an owner states the mark, as a regular expression, and in words.
_GROUPS = (
    *((",", ",", "commas"), (".", "[.]", "points")),
    *((" ", "[ \u00a0\u2009\u202f]", "blanks"), ("'", "['\u2019]", "apostrophes")),
)
_DECIMALS = ((".", "point"), (",", "comma"))
_OTHER_GROUP = {".": _GROUPS[0], ",": _GROUPS[1]}
THOUSANDS = {mark: pattern for mark, pattern, _ in _GROUPS}
"""The regular expression of each mark between thousands that an owner can state."""


def _real_spelling(mark: str, mark_words: str, group: tuple[str, str, str]) -> Spelling:
    """Return the spelling of numbers with a decimal mark and an optional mark between thousands."""
    thousands, pattern, group_words = group
    has_groups = thousands in " '"
    words = "numbers" if mark == "." else f"numbers with a decimal {mark_words}"
    return Spelling(
        rf"[+-]?({_WHOLE}([{mark}][0-9]*)?|[1-9][0-9]{{0,2}}({pattern}[0-9]{{3}})+([{mark}][0-9]*)?|[{mark}][0-9]+)"
        + _EXPONENT,
        f"{words}{' and' if mark == ',' else ' with'} {group_words} between thousands" if has_groups else words,
        decimal=mark,
        thousands=thousands if has_groups else None,
        has_groups=has_groups,
    )


class Kind:
    """A kind of values that predicates can compare, with everything that does not depend on an engine.

    Each kind is the only instance of one of the classes below. Each engine has a table with its types of the kinds.
    """

    INTEGER: ClassVar["Kind"]
    REAL: ClassVar["Kind"]
    TEXT: ClassVar["Kind"]
    BOOLEAN: ClassVar["Kind"]
    DATE: ClassVar["Kind"]
    TIMESTAMP: ClassVar["Kind"]

    value: ClassVar[str]  # name of the kind in configurations, ledgers and answers
    type: ClassVar[type]  # Python type of the values
    example: ClassVar[str]  # advice on writing such a value in a predicate
    literal: ClassVar[str]  # example of a literal of this kind in a predicate
    # regular expression of a quoted literal of this kind; None: numbers, words and plain texts
    quoted: ClassVar[re.Pattern[str] | None] = None
    noun: ClassVar[str] = ""  # noun for a value, in errors about one that does not exist
    keys_example: ClassVar[str] = "2026-01..2026-12"  # example of a list of keys
    # options that an owner can state for the texts of a column, besides the words for a missing value
    options: ClassVar[frozenset[str]] = frozenset()
    spellings: ClassVar[tuple[Spelling, ...]] = ()  # spellings of the texts, the likeliest first
    # regular expression of the texts if their owner states nothing; empty: they have no single form
    iso: ClassVar[str] = ""
    is_number: ClassVar[bool] = False  # True if the values compare with numbers
    is_discrete: ClassVar[bool] = False  # True if no value lies between two neighbouring values
    is_moment: ClassVar[bool] = False  # True if each value has a year and a month
    grouping: ClassVar[str | None] = None  # usual grouping of values that are rarely equal; None: each value is a group
    known_keys: ClassVar[tuple[bool, ...] | None] = None  # all values, if the kind alone determines them

    def to_dict(self) -> str:
        """Return the name of the kind, for JSON."""
        return self.value

    def __repr__(self) -> str:
        return f"<Kind.{self.value.upper()}: {self.value!r}>"

    def __reduce__(self) -> str:
        return f"Kind.{self.value.upper()}"  # pickling and copying return the only instance

    def fault(self, value: object) -> str | None:
        """Return advice if a value cannot be a literal of this kind; None if it can."""
        return None if type(value) is self.type else f"write {self.example}"

    def holds(self, cell: object) -> bool:
        """Return True if a cell of records in memory is of this kind."""
        return type(cell) is self.type

    def parse_quoted(self, text: str) -> Any:  # noqa: ANN401 - of its type
        """Return the value that the text of a quoted literal states. The text must match the pattern `quoted`."""
        return self.type(text)

    def key(self, key: object) -> Any:  # noqa: ANN401 - of its type, or what was given
        """Return a key from a query or a ledger as a value of this kind. Return a key of another kind unchanged."""
        if self.quoted is None or not isinstance(key, str) or not self.quoted.fullmatch(key):
            return key
        try:
            return self.parse_quoted(key)
        except ValueError:
            return key

    def is_key(self, key: object) -> bool:
        """Return True if a key is a valid value of this kind."""
        return type(key) is self.type


def key_to_json(key: object) -> int | str | bool | None:
    """Return a key as JSON, which `Kind.key` reads back. Results show it too."""
    return key if key is None or isinstance(key, int | str) else str(key)


class Integer(Kind):
    """Whole numbers of 64 bits."""

    value = "integer"
    type = int
    example = "a number such as 30"
    literal = "30"
    keys_example = "1, 2, 3 or 1..12"
    options = frozenset({"decimal", "thousands", "symbols", "brackets", "minus_behind", "drop_missing"})
    spellings = (
        Spelling(f"[+-]?{_WHOLE}", "whole numbers"),
        *(
            Spelling(
                f"[+-]?({_WHOLE}|[1-9][0-9]{{0,2}}({group}[0-9]{{3}})+)",
                f"whole numbers with {words} between thousands",
                decimal="," if mark == "." else ".",
                thousands=mark if mark in " '" else None,
                has_groups=True,
            )
            for mark, group, words in _GROUPS
        ),
    )
    is_number = True
    is_discrete = True

    def fault(self, value: object) -> str | None:
        """Return advice for a value that is not an integer of 64 bits."""
        fits = type(value) is not int or value in INTEGERS
        return super().fault(value) if fits else "write an integer within signed 64 bits"

    def holds(self, cell: object) -> bool:
        """Return True for an integer that a file can hold, signed or unsigned."""
        return type(cell) is int and cell in _CELLS

    def is_key(self, key: object) -> bool:
        """Return True for an integer of 64 bits."""
        return type(key) is int and key in INTEGERS


class Real(Kind):
    """64-bit floating-point numbers."""

    value = "real"
    type = float
    example = "a number such as 0.5"
    literal = "0.5"
    options = frozenset({"decimal", "thousands", "symbols", "brackets", "minus_behind", "nan"})
    spellings = (
        *(_real_spelling(mark, mark_words, _OTHER_GROUP[mark]) for mark, mark_words in _DECIMALS),
        *(
            _real_spelling(mark, mark_words, group)
            for mark, mark_words in _DECIMALS
            for group in _GROUPS
            if group[0] in " '"
        ),
    )
    is_number = True
    grouping = "0,18,65"

    def fault(self, value: object) -> str | None:
        """Return advice for a value that is not a finite number."""
        fits = not isinstance(value, float) or isfinite(value)
        return super().fault(value) if fits else "write a finite number, at most 1.79e308"

    def holds(self, cell: object) -> bool:
        """Return True for a float, and for an integer that a file can hold."""
        return type(cell) is float or (type(cell) is int and cell in _CELLS)


class Text(Kind):
    """Texts, which compare by their code points."""

    value = "text"
    type = str
    example = "a text such as 'yes'"
    literal = "'yes'"
    keys_example = "Bern, Biel, null"
    options = frozenset({"trim", "fold_case", "normalise", "drop_zeros", "drop_marks", "drop_missing"})

    def fault(self, value: object) -> str | None:
        """Return advice for a value that is not a text, or that contains NUL."""
        has_nul = isinstance(value, str) and "\0" in value
        return "leave out the NUL character" if has_nul else super().fault(value)

    def is_key(self, key: object) -> bool:
        """Return True for a text of at most 1,000 characters without NUL and surrogates."""
        return type(key) is str and len(key) <= _LONGEST_KEY and _UNWRITABLE.search(key) is None


class Boolean(Kind):
    """True and false."""

    value = "boolean"
    type = bool
    example = "true or false"
    literal = "true"
    keys_example = "true, false"
    options = frozenset({"true", "false"})
    known_keys = (False, True)


class _Moment(Kind):
    """Days and times without a time zone."""

    options = frozenset({"date_format"})
    is_moment = True
    type: ClassVar[type[date | datetime]]

    def parse_quoted(self, text: str) -> date:
        """Return the day or time that a text in ISO 8601 states."""
        return self.type.fromisoformat(text)


class Date(_Moment):
    """Days."""

    value = "date"
    type = date
    noun = "day"
    example = "a date such as '2026-01-31'"
    literal = "'2026-01-31'"
    quoted = re.compile(_WRITTEN_DATE)
    iso = _ISO_DATE
    spellings = (Spelling(_ISO_DATE, "dates of ISO 8601"),)
    is_discrete = True

    def key(self, key: object) -> Any:  # noqa: ANN401 - of its type, or what was given
        """Return the day that a text names, or that begins at a midnight; any other key unchanged."""
        if isinstance(key, datetime) and key.time() == time.min:
            return key.date()
        try:
            return date.fromisoformat(key) if isinstance(key, str) else key
        except ValueError:
            return key


class Timestamp(_Moment):
    """Days with a time of day, to the microsecond."""

    value = "timestamp"
    type = datetime
    noun = "day or time"
    example = "a time such as '2026-01-31 12:00:00'"
    literal = "'2026-01-31 12:00:00'"
    quoted = re.compile(f"{_WRITTEN_DATE}(?:[ T]{_WRITTEN_CLOCK})?")
    iso = f"{_ISO_DATE}([ T]{_CLOCK})?"
    spellings = (
        Spelling(iso, "times of ISO 8601"),
        Spelling(ISO_ZONED, "times of ISO 8601 with a zone, read in UTC", date_format=ZONED),
    )
    grouping = "month"

    def holds(self, cell: object) -> bool:
        """Return True for a time without a time zone."""
        return type(cell) is datetime and cell.tzinfo is None


Kind.INTEGER, Kind.REAL, Kind.TEXT = Integer(), Real(), Text()
Kind.BOOLEAN, Kind.DATE, Kind.TIMESTAMP = Boolean(), Date(), Timestamp()

# Kinds by name.
KINDS = {kind.value: kind for kind in (Kind.INTEGER, Kind.REAL, Kind.TEXT, Kind.BOOLEAN, Kind.DATE, Kind.TIMESTAMP)}

# Owner's statement of the values of a column: a list, or a range such as "0 to 120".
Stated: TypeAlias = Sequence[object] | str
_LISTED_NAMES = 8
_THOUSANDS = re.compile(r"[+-]?[1-9][0-9]{0,2}\.[0-9]{3}")


@frozen(slots=False)
class PublicValues:
    """Values that a column can have besides missing ones, as its owner states: a list, or a range."""

    kind: Kind  # kind of the values
    listed: tuple[Any, ...] = ()  # values in the owner's order; empty: they are a range
    low: Any = None  # lower end of the range, included like `high`; None: the values are listed
    high: Any = None

    def __contains__(self, value: object) -> bool:
        return value in self._listed_set if self.listed else bool(self.low <= value <= self.high)

    @cached_property
    def _listed_set(self) -> frozenset[Any]:
        return frozenset(self.listed)

    @property
    def labels(self) -> tuple[int | str | bool | None, ...]:
        """Labels of the listed values, or of the two ends of the range."""
        return tuple(map(key_to_json, self.listed or (self.low, self.high)))

    @property
    def words(self) -> str:
        """The values in a few words.

        Example:
            >>> PublicValues(Kind.INTEGER, low=0, high=120).words
            '0 to 120'
        """
        if not self.listed:
            return " to ".join(map(str, self.labels))
        told = ", ".join(str(label) for label in self.labels[:_LISTED_NAMES])
        more = len(self.listed) - _LISTED_NAMES
        return f"{told} and {more:,} more" if more > 0 else told

    def to_dict(self) -> dict[str, Any]:
        """Return the list or the ends of the range as JSON; the members that do not apply are null."""
        low, high = (None, None) if self.listed else self.labels
        return {"listed": list(self.labels) if self.listed else None, "low": low, "high": high}


@frozen
class TableTraits:
    """Facts about one of several tables: the table that its columns count with, and the rows of a person in it."""

    rows: str  # table whose rows have its columns: itself, or for a public look-up the table which it explains
    is_one_row_a_unit: bool = False  # True if the owner states that each person has one row, such as a table of persons


@frozen(eq=False)
class Schema(Mapping[str, Kind]):
    """The kinds of all columns that queries may use, as a read-only mapping.

    In a data set of several tables a column is named `TABLE.COLUMN`, such as `visits.ward`.
    """

    kinds: Mapping[str, Kind]  # kind of each column
    # engine's type of each column that exists but that no query can use
    others: Mapping[str, str] = field(default_factory=dict)
    # schema of all columns of the records, if the owner chose some of them; None: this one
    whole: "Schema | None" = None
    unit: str | None = None  # column that names the person, which no query may use; None: unknown or none
    commas: frozenset[str] = frozenset()  # columns whose numbers are written with a decimal comma in the file
    # public values of columns, as their owner states them; they do not depend on the records
    public: Mapping[str, "PublicValues"] = field(default_factory=dict)
    # function that returns the normal form of a text, for each column whose texts are normalised
    normalisers: Mapping[str, Callable[[str], str]] = field(default_factory=dict)
    # values of each column that stand for a missing value in the file, as its owner states: no record has them
    missing: Mapping[str, frozenset[Any]] = field(default_factory=dict)
    tables: Mapping[str, TableTraits] = field(
        default_factory=dict
    )  # tables by name; empty: there is one without a name

    # A cache recognises only the same object: comparing all columns would take longer than reading a query.
    __hash__ = object.__hash__

    def __getitem__(self, name: str) -> Kind:
        return self.kinds[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.kinds)

    def __len__(self) -> int:
        return len(self.kinds)

    @property
    def entire(self) -> "Schema":
        """Schema of all columns of the records, also of those that queries may not use."""
        return self.whole or self

    def for_questions(self, unit: str | None, columns: Sequence[str] | None) -> "Schema":
        """Return the schema of the columns that queries may use: `columns`, or all except the unit.

        Raises:
            SourceError: `unit` or `columns` names an unknown column, or `columns` names the unit.
        """
        names = [*self.kinds, *self.others]
        for argument, name in [("unit", unit), *(("columns", name) for name in columns or ())]:
            if name is not None and name not in names:
                raise SourceError(f"{argument} names {name!r}, which is no column: use {close_names(name, names)}")
        if columns is not None and unit in columns:
            raise SourceError(f"columns must not name the unit column {unit!r}: leave it out of columns")
        chosen = set(names if columns is None else columns) - {unit}
        return Schema(
            {name: kind for name, kind in self.kinds.items() if name in chosen},
            {name: type_ for name, type_ in self.others.items() if name in chosen},
            self.entire,
            unit,
            self.commas,
            {name: values for name, values in self.public.items() if name in chosen},
            {name: normalise for name, normalise in self.normalisers.items() if name in chosen},
            {name: values for name, values in self.missing.items() if name in chosen},
            self.tables,
        )

    def require_clear_decimal(self, name: str, numerals: Iterable[str], argument: str) -> None:
        """Raise PredicateError for a number such as 1.000 if the numbers of the column have a decimal comma.

        In queries 1.000 is one; in such a file it is a thousand.
        """
        if name not in self.commas:
            return
        for numeral in filter(_THOUSANDS.fullmatch, map(str.strip, numerals)):
            whole, thousandths = numeral.lstrip("+-").split(".")
            raise PredicateError(
                f"{argument} has {numeral} for {shortened(name)}, whose numbers have a decimal "
                f"comma: write {whole}{thousandths} for the whole number, or {whole}.{thousandths}0"
                " with the decimal point of questions"
            )


def schema_of(kinds: Mapping[str, Kind]) -> Schema:
    """Return `kinds` itself if it is a schema, else a schema that knows only the kinds of the columns."""
    return kinds if isinstance(kinds, Schema) else Schema(kinds)
