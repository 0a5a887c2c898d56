"""Formats of a file and of its texts, which the owner states or a check guesses: how texts represent values.

`ColumnFormat` describes a column and `FileFormat` the layout of a file.
"""

import re
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Self, TypeVar
from unicodedata import normalize

from noisycount.display.texts import toml_key, toml_value
from noisycount.display.values import Shown
from noisycount.engines.date_words import DAY, HALF_DAY, ORDINAL, ZONE
from noisycount.errors import SourceError
from noisycount.frozen import frozen
from noisycount.query.readings import BLANKS
from noisycount.query.schema import KINDS, THOUSANDS, ZONED, Kind

Choice = TypeVar("Choice")


def by_ending(path: Path, choices: Mapping[str, Choice]) -> Choice:
    """Return the choice for the ending of a file, without regard to case.

    Raises:
        SourceError: The ending is unknown.

    Example:
        >>> by_ending(Path("answers.PQ"), {".csv": "text", ".pq": "columns"})
        'columns'
        >>> by_ending(Path("answers.csv.gz"), {".csv": "text", ".csv.gz": "packed text"})
        'packed text'
    """
    packed = path.suffix.lower() == ".gz"
    ending = "".join(path.suffixes[-2:]) if packed else path.suffix
    choice = choices.get(ending.lower())
    if choice is None:
        remedy = next((text for endings, text in _RENAMED.items() if path.suffix.lower() in endings), "")
        raise SourceError(f"{str(path)!r} has the unknown extension {ending!r}: use {', '.join(choices)}{remedy}")
    return choice


_RENAMED = {
    ("", ".txt", ".dat", ".tab", ".asc", ".psv", ".prn", ".out", ".data"): (
        "; if it holds lines of cells, rename it so that it ends in .csv"
    ),
    (".xls", ".xlsm", ".xlsb", ".ods", ".numbers"): "; save a sheet of it as CSV",
    (".json", ".geojson"): "; write one object a line into a file that ends in .jsonl",
    (".db3", ".s3db", ".gpkg"): "; if it is a SQLite database, rename it so that it ends in .sqlite",
    (".feather", ".arrow", ".ipc", ".orc", ".avro"): "; export its table as Parquet",
    (".zip", ".7z", ".rar", ".tar", ".bz2", ".xz", ".zst"): "; unpack it",
    (".rds", ".rdata", ".mdb", ".accdb", ".html", ".xml", ".pdf"): "; export its table as CSV",
}


WHITE_SPACE = f"{BLANKS}\x85\xa0\u1680{''.join(map(chr, range(0x2000, 0x200C)))}\u2028\u2029\u202f\u205f\u3000\ufeff"
"""Characters that `trim` removes: all white space of Unicode, and two characters without a width."""
_INVISIBLE = (0x0, 0xAD, 0x34F, 0x61C, 0x180E, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070))
SIGNS = str.maketrans(
    {
        **{chr(0xFF01 + place): chr(0x21 + place) for place in range(94)},  # signs of full width
        **dict.fromkeys(WHITE_SPACE, " "),
        **dict.fromkeys(map(chr, (*_INVISIBLE, *range(0xFE00, 0xFE10), 0xFEFF)), ""),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2043\u2212", "-"),
        **dict.fromkeys("`\xb4\u02b9\u02bb\u02bc\u02c8\u2018\u2019\u201a\u201b\u2032", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033", '"'),
        **{chr(first + digit): str(digit) for first in (0x660, 0x6F0, 0x966) for digit in range(10)},
    }
)
"""Plain signs for similar ones: blanks, dashes, quotes, signs of full width, Arabic and Indian digits.

An invisible character, such as a soft hyphen or a mark of direction, maps to nothing.
"""
_LISTED = sorted(SIGNS.items(), key=lambda each: not each[1])  # invisible characters last
SIGNS_FROM = "".join(chr(code) for code, _ in _LISTED if code)  # servers cannot store NUL
SIGNS_TO = "".join(plain for _, plain in _LISTED)
"""`SIGNS` as two texts for `translate` of SQL, which deletes the invisible characters at the end of the first text."""
PLAIN_TEXT = "[!-_a-~]*"
"""The regular expression of most of the texts that `compatible_text` leaves unchanged, and of no others."""
DIGITS_WITH_ZEROS = r"^0*([0-9]+)(\.0+)?$"
"""The regular expression of a whole number as programs write it; the first group has its significant digits."""
ZEROS_INSIDE = "(^|[^0-9.,])0+([0-9])"
"""The regular expression of leading zeros of a whole number in a text, as in P007; the groups surround the zeros."""
MARKS = "".join(character for character in map(chr, range(0x20, 0x7F)) if not character.isalnum())
"""Characters that `drop_marks` removes from an id: blanks and signs of ASCII, such as dashes, points and quotes."""
SPELLING_RULES = ("trim", "fold_case", "normalise", "drop_zeros", "drop_marks")
"""Parts of a form by which several spellings of a text become one text."""
MISSING_WORDS = (
    *("NA", "N/A", "#N/A", "NaN", "NULL", "None", "nil", "-", "--", "?", "."),
    *("k.A.", "k. A.", "keine Angabe", "n/a", "na", "nan", "null", "none", "missing"),
)
"""Words for a missing value."""
_NO_ANSWERS = (
    *("unknown", "don't know", "don\u2019t know", "dont know", "refused", "no answer", "not applicable", "<NA>"),
    *("anonymous", "anonym", "(blank)", "(leer)", "<null>", "(null)", "n.a.", "unk", "undefined", "tbd", "no id"),
    *("#REF!", "#VALUE!", "#NAME?", "#NUM!", "#DIV/0!"),
    *("unbekannt", "weiss nicht", "weiß nicht", "verweigert", "inconnu", "ne sait pas", "no sabe", "#NULL!"),
)
NO_ANSWERS = frozenset(map(str.casefold, (*MISSING_WORDS, *_NO_ANSWERS)))
"""Words for a missing value or for no answer, in small letters. As an id, none of them names a person."""
_SYMBOL = (
    r"[A-Z]{0,2}\$|[€£¥₹₽₺₩₪₫฿₴₦₱]|(?:CHF|EUR|USD|GBP|JPY|CNY|INR|CAD|AUD|NZD|SEK|NOK|DKK|ISK|PLN|CZK|HUF|RON|BRL|ZAR)"
    r"|kr\.?|zł|Kč|Ft|Fr\.|Rs\.?|%|‰"
)
_AROUND = "[ \u00a0\u2009\u202f]*"
SYMBOL_BEFORE = re.compile(f"([+-]?){_AROUND}({_SYMBOL}){_AROUND}(?=[0-9.,(+-])")
"""A currency or percent sign before a number; the groups are the sign of the number and the symbol."""
SYMBOL_BEHIND = re.compile(f"(?<=[0-9.,)-]){_AROUND}({_SYMBOL})$")
"""A currency or percent sign behind a number."""
_DIRECTIVES = {
    "d": "[0-9]{1,2}",
    "m": "[0-9]{1,2}",
    "Y": "[0-9]{4}",
    "y": "[0-9]{2}",
    **dict.fromkeys("bB", r"[^0-9\s.,/:()-]{2,20}[.]?"),  # a word, which is looked up among the names of months
    "H": "[0-9]{1,2}",
    "I": "[0-9]{1,2}",
    "M": "[0-9]{2}",
    "S": "[0-9]{2}",
    "f": "[0-9]{1,6}",
    "n": "[0-9]{1,9}",
    "p": HALF_DAY,
    "a": DAY,
    "A": DAY,
    "z": ZONE,
    "j": "[0-9]{1,3}",
}
# Adjacent numbers without a mark between them have all their digits.
_ADJACENT = {**dict.fromkeys("dmHI", "[0-9]{2}"), "j": "[0-9]{3}"}
RUN_OF_NUMBERS = "(%[dmjYyHIMSfn]){2,}"
"""The regular expression of directives of adjacent numbers."""
DATE_BLANK = "[ \u00a0\u2009\u202f]"
"""The regular expression of a blank in a date. One or more of them match a blank in the format."""
EXCEL = "excel"
"""The date format of workbooks: days since 1899-12-30, with the time of day as a fraction."""


def compatible_text(text: str) -> str:
    """Return a text in form NFKC of Unicode, with plain signs in place of similar ones, and with single blanks.

    Example:
        >>> compatible_text("\uff2f\u2019Brien\u200b\u00a0\u2013\u00a0\uff17")
        "O'Brien - 7"
    """
    return re.sub(" +", " ", normalize("NFKC", text.translate(SIGNS)).translate(SIGNS))


@frozen
class ColumnFormat(Shown):
    """The form of the cells of a column of texts: the kind of their values, and how they are written.

    Example:
        >>> ColumnFormat(Kind.REAL, decimal=",").parts
        {'kind': 'real', 'decimal': ','}
    """

    kind: Kind  # the kind of the values
    # decimal mark of a number: `.` or `,`; the other of the two may separate groups of three digits
    decimal: str = "."
    # mark between thousands: `,`, `.`, a blank (also a no-break blank) or an apostrophe; None: the other of point and
    # comma
    thousands: str | None = None
    symbols: tuple[str, ...] = ()  # symbols that may precede or follow a number, such as a currency or a percent sign
    brackets: bool = False  # True if a number in brackets is negative
    minus_behind: bool = False  # True if a minus behind a number makes it negative
    nan: str | None = None  # `missing`: NaN is a missing value; None: it is a value above all numbers
    # format of dates or times in directives of `strftime`; `iso+zone`: ISO 8601 with a time zone, converted to UTC;
    # `excel`: days since 1899-12-30; None: ISO 8601
    date_format: str | None = None
    true: tuple[str, ...] = ()  # words for true, without regard to case; empty: the usual English ones
    false: tuple[str, ...] = ()  # words for false
    missing: tuple[str, ...] = ()  # words for a missing value, besides an empty cell
    trim: bool = False  # True if white space around a text is ignored
    fold_case: bool = False  # True if the texts of a unit are compared without regard to case
    # "NFC": texts are compared in that form of Unicode; "NFKC": by `compatible_text`; None: as they are
    normalise: str | None = None
    drop_zeros: bool = False  # True if 007, 7 and 7.0 are one text of a unit, and also P7 and P007
    drop_marks: bool = False  # True if a unit is compared by its letters and digits alone
    drop_missing: bool = False  # True if rows without a value of the unit are no records
    codes: bool = False  # True if the values of a labelled column of SPSS or Stata are its codes, not their labels
    accepts_unreadable: bool = False  # True if the owner accepts unreadable cells as missing

    def __post_init__(self) -> None:
        if self.decimal not in {".", ","}:
            raise SourceError(f'decimal must be "." or ",", got {self.decimal!r}')
        if self.thousands is not None and self.thousands not in THOUSANDS.keys() - {self.decimal}:
            marks = ", ".join(map(toml_value, THOUSANDS))
            raise SourceError(f"thousands must be one of {marks}, and not the decimal mark, got {self.thousands!r}")
        if not all(re.fullmatch(r"[^\d\s.,'+()-]([^\d\s'+()-]*[^\d\s,'+()-])?", symbol) for symbol in self.symbols):
            raise SourceError(f'symbols must be signs or words without digits, such as "€", got {[*self.symbols]!r}')
        if self.nan not in {None, "missing"}:
            raise SourceError('nan must be "missing", or be left out')
        true, false = ({*map(str.casefold, words)} for words in (self.true, self.false))
        if bool(true) != bool(false) or true & false:
            raise SourceError("true and false must both be lists of words, without a common word")
        if self.date_format not in {None, ZONED, EXCEL}:
            date_pattern(self.date_format or "")
        if self.normalise not in {None, "NFC", "NFKC"}:
            raise SourceError(f'normalise must be "NFC" or "NFKC", or be left out, got {self.normalise!r}')
        for name in (each for each in _DEFAULTS if each not in {"false", "missing", "codes", "accepts_unreadable"}):
            if getattr(self, name) != _DEFAULTS[name] and name not in self.kind.options:
                meant = " or ".join(kind.value for kind in KINDS.values() if name in kind.options)
                raise SourceError(
                    f"{name} belongs to a column of kind {meant}, not {self.kind.value}: "
                    "leave it out, or state another kind"
                )

    def require_applicable(self, name: str, *, is_unit: bool) -> None:
        """Raise SourceError if this form does not suit a column.

        Args:
            name: The name of the column.
            is_unit: True if the column names the person. A unit must be of kind text or integer.
        """
        if is_unit and self.kind not in {Kind.TEXT, Kind.INTEGER}:
            raise SourceError(
                f"kinds states that the unit {name!r} is of kind {self.kind.value}, but a unit is read as text or as "
                "integer: state one of these, or leave it out"
            )
        for part in ("fold_case", "drop_zeros", "drop_marks", "drop_missing"):
            if getattr(self, part) and not is_unit:
                raise SourceError(f"kinds states {part} of {name!r}, but {part} belongs to the unit: leave it out")

    @property
    def parts(self) -> dict[str, Any]:
        """The parts that differ from the usual form, and the kind, as a configuration writes them."""
        stated = {name: getattr(self, name) for name in _DEFAULTS}
        parts = {name: value for name, value in stated.items() if value != _DEFAULTS[name]}
        if parts.pop("accepts_unreadable", False):
            parts["unreadable"] = "missing"
        return {
            "kind": self.kind.value,
            **{n: list(value) if isinstance(value, tuple) else value for n, value in parts.items()},
        }

    def normal_text(self, text: str) -> str:
        """Return the normal form of a text, by the rules that the engines use.

        Example:
            >>> ColumnFormat(Kind.TEXT, trim=True, normalise="NFC").normal_text(" Zu\u0308rich")
            'Zürich'
        """
        if self.normalise == "NFKC":
            text = compatible_text(text)
        if self.trim:
            text = text.strip(WHITE_SPACE)
        if self.fold_case:
            text = "".join(map(_lower_case_letter, text))
        if self.normalise:
            text = normalize("NFC", text)
        if self.drop_zeros:
            text = re.sub(DIGITS_WITH_ZEROS, r"\1", text)
        if self.drop_marks:
            text = text.translate(dict.fromkeys(map(ord, MARKS)))
        return re.sub(ZEROS_INSIDE, r"\1\2", text) if self.drop_zeros else text

    def line(self, name: str) -> str:
        """Return the line of the table `kinds` of a configuration that states this form of a column.

        Example:
            >>> print(ColumnFormat(Kind.REAL, decimal=",").line("cost"))
            cost = { kind = "real", decimal = "," }
            >>> print(ColumnFormat(Kind.INTEGER).line("age"))
            age = "integer"
        """
        parts = self.parts
        return f"{toml_key(name)} = {toml_value(parts if len(parts) > 1 else parts['kind'])}"

    @classmethod
    def from_parts(cls, parts: Mapping[str, Any]) -> Self:
        """Return the form with some stated parts: the inverse of `parts`.

        Raises:
            SourceError: A part is invalid.

        Example:
            >>> ColumnFormat.from_parts({"kind": "real", "unreadable": "missing"}).accepts_unreadable
            True
        """
        stated = dict(parts)
        kind = KINDS.get(str(stated.pop("kind", None)))
        if kind is None:
            raise SourceError(f"kind must be one of {', '.join(KINDS)}")
        unreadable = stated.pop("unreadable", None)
        if unreadable is not None and unreadable != "missing":
            raise SourceError('unreadable must be "missing", or be left out')
        for name, value in stated.items():
            stated[name] = _tuple_if_words(name, value)
        return cls(kind, accepts_unreadable=unreadable is not None, **stated)


def _lower_case_letter(letter: str) -> str:
    """Return a letter in lower case, unless that would be more than one letter."""
    capital = letter.upper()
    small = (capital if len(capital) == 1 else letter).lower()
    return small if len(small) == 1 else letter


_DEFAULTS = {field.name: field.default for field in fields(ColumnFormat) if field.name != "kind"}


@frozen
class FileFormat(Shown):
    """Layout of a file: its encoding, the names of its columns, and the rows that are not records.

    A part that is not stated is None. Each rule depends only on a row and the line of names. So no record changes how
    other records are read.

    Example:
        >>> FileFormat.from_parts({"names": {"3": "ward"}, "comment": "#"}).line("names")
        'names = { 3 = "ward" }'
        >>> FileFormat.from_parts({"drop_rows_where": {"sex": "Both sexes"}}).parts["drop_rows_where"]
        {'sex': ['Both sexes']}
    """

    # encoding of the characters, by its name in Python; None: UTF-8, or the encoding of a byte order mark
    encoding: str | None = None
    delimiter: str | None = None  # mark between cells; None: the most frequent one in the first lines
    # number of lines before the names of the columns; None: leading lines with fewer cells than the table
    skip: int | None = None
    header: bool | None = None  # False: no line names the columns
    names: tuple[tuple[int, str], ...] | None = None  # names of columns by their position, from 1
    skip_rows_after_header: int | None = None  # rows below the names that are no records
    drop_empty_rows: bool | None = None  # True: rows whose cells are all empty are no records
    drop_rows_like_header: bool | None = None  # True: rows that repeat the names are no records
    comment: tuple[str, ...] | None = None  # rows whose first filled cell begins with one of these are no records
    footer: tuple[str, ...] | None = None  # rows whose first filled cell is one of these are no records
    # rows that are no records: for each column, texts that its cell has in such a row
    drop_rows_where: tuple[tuple[str, tuple[str, ...]], ...] | None = None
    # rows with more or fewer cells than names: "pad" fills up short rows, "drop" leaves out all such rows,
    # "pad_or_drop" fills up short rows and leaves out long ones
    ragged: str | None = None
    quote: str | None = None  # mark around cells; empty: no mark has a meaning; None: the double quotation mark

    def __post_init__(self) -> None:
        if self.encoding is not None and not _is_encoding(self.encoding):
            raise SourceError(f'encoding must be one that Python knows, such as "cp1252", got {self.encoding!r}')
        if self.delimiter is not None and not re.fullmatch(r'[^"\r\n\0]', self.delimiter):
            raise SourceError(f'delimiter must be one character, such as ";", got {self.delimiter!r}')
        if self.quote and (not re.fullmatch(r"[^\w\s\0]", self.quote) or self.quote == self.delimiter):
            raise SourceError(
                f'quote must be one mark, such as "\'", or "" if no mark has a meaning, got {self.quote!r}'
            )
        for name in ("skip", "skip_rows_after_header"):
            number = getattr(self, name)
            if number is not None and not 0 <= number <= 1000:  # noqa: PLR2004 - lines of titles
                raise SourceError(f"{name} must be from 0 to 1000 lines, got {number}")
        if self.ragged not in {None, "pad", "drop", "pad_or_drop"}:
            raise SourceError(f'ragged must be "pad", "drop" or "pad_or_drop", got {self.ragged!r}')
        for name in ("comment", "footer"):
            if not all(text.strip() for text in getattr(self, name) or ()):
                raise SourceError(f"{name} must not be empty: state what such rows begin with")
        if not all(1 <= place <= _MOST_COLUMNS and name.strip() for place, name in self.names or ()):
            raise SourceError('names must be texts by the places of columns, from 1, such as { 3 = "ward" }')

    @property
    def parts(self) -> dict[str, Any]:
        """Stated parts as a configuration writes them, without parts that older releases lack if they are usual."""
        found: dict[str, Any] = {"encoding": self.encoding, "delimiter": self.delimiter, "skip": self.skip}
        if self.quote not in {None, '"'}:
            found["quote"] = self.quote
        if self.header is False:
            found["header"] = False
        if self.names:
            is_list = [place for place, _ in self.names] == [*range(1, len(self.names) + 1)]
            by_place = {str(place): name for place, name in self.names}
            found["names"] = [*by_place.values()] if is_list else by_place
        for name in _ROW_RULES:
            if value := getattr(self, name):
                found[name] = list(value) if isinstance(value, tuple) else value
        if self.drop_rows_where:
            found["drop_rows_where"] = {name: list(texts) for name, texts in self.drop_rows_where}
        return found

    @classmethod
    def from_parts(cls, parts: Mapping[str, Any]) -> Self:
        """Return the layout with some stated parts, as `parts` returns them or as a configuration has them.

        Raises:
            SourceError: A part is invalid.
        """
        found = dict(parts)
        for name in ("comment", "footer"):
            if name in found:
                found[name] = tuple(_as_texts(name, found[name]))
        if "drop_rows_where" in found:
            where = sorted(found["drop_rows_where"].items())
            found["drop_rows_where"] = tuple(
                (name, tuple(_as_texts("drop_rows_where", texts))) for name, texts in where
            )
        if "names" in found:
            names = found["names"]
            by_place = names if isinstance(names, Mapping) else dict(enumerate(_as_texts("names", names), start=1))
            places = {str(place): name for place, name in by_place.items()}
            if not all(place.isascii() and place.isdigit() and isinstance(name, str) for place, name in places.items()):
                raise SourceError('names must be a list of texts, or texts by place, such as { 3 = "ward" }')
            found["names"] = tuple(sorted((int(place), name) for place, name in places.items()))
        return cls(**found)

    @property
    def quoted_by(self) -> str:
        """Mark around cells; empty if no mark has a meaning."""
        return '"' if self.quote is None else self.quote

    def line(self, part: str) -> str:
        """Return the line of a configuration that states a part."""
        return f"{part} = {toml_value(self.parts[part])}"


_MOST_COLUMNS = 1_000_000
_ROW_RULES = ("skip_rows_after_header", "drop_empty_rows", "drop_rows_like_header", "comment", "footer", "ragged")


def _as_texts(name: str, value: object) -> list[str]:
    """Return one text or a list of texts as a list."""
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list | tuple) or not all(isinstance(text, str) for text in texts):
        raise SourceError(f"{name} must be a text or a list of texts, got {value!r}")
    return [*texts]


def date_pattern(
    date_format: str, directives: Mapping[str, str] = _DIRECTIVES, adjacent: Mapping[str, str] = _ADJACENT
) -> str:
    r"""Return the regular expression of all texts that a date format can produce.

    Args:
        date_format: Directives of `strftime` and the marks between them. A blank matches one or more blanks.
        directives: The regular expression of each directive.
        adjacent: The regular expressions of directives of numbers that are next to another number without a mark.

    Raises:
        SourceError: The format has an unknown directive, or none.

    Example:
        >>> date_pattern("%d.%m.%Y"), date_pattern("%Y%m%d")
        ('[0-9]{1,2}\\.[0-9]{1,2}\\.[0-9]{4}', '[0-9]{4}[0-9]{2}[0-9]{2}')
    """
    pieces = re.split("%(.)", date_format)
    unknown = [letter for letter in pieces[1::2] if letter not in _DIRECTIVES]
    if len(pieces) == 1 or unknown or "'" in date_format or "%" in pieces[-1]:
        raise SourceError(
            f"date_format must be made of %{', %'.join(_DIRECTIVES)} and the marks between them, "
            f"such as %d.%m.%Y, got {date_format!r}"
        )
    if {"b", "B"} & {*pieces[1::2]}:
        directives = {**directives, "d": directives["d"] + ORDINAL}
    patterns = {**directives, **{f"0{letter}": adjacent.get(letter, each) for letter, each in directives.items()}}
    marked = re.sub(RUN_OF_NUMBERS, lambda run: run[0].replace("%", "%0"), date_format)
    pieces = re.split("%(0?.)", marked)
    pieces[::2] = (re.sub(r"(\\ )+", lambda _: f"{DATE_BLANK}+", re.escape(mark)) for mark in pieces[::2])
    pieces[1::2] = map(patterns.__getitem__, pieces[1::2])
    return "".join(pieces)


def _tuple_if_words(name: str, value: object) -> object:
    """Return a part of a column's form, a list of words as a tuple.

    Raises:
        SourceError: The part is unknown, or its value has the wrong type.
    """
    is_words = isinstance(value, list) and all(isinstance(word, str) for word in value)
    usual = {part: default for part, default in _DEFAULTS.items() if part != "accepts_unreadable"}
    if name not in usual:
        raise SourceError(f"{name!r} is no part of a column's format: use {', '.join(usual)}")
    fits, form = isinstance(value, str), "a text"
    if isinstance(usual[name], bool):
        fits, form = isinstance(value, bool), "true or false"
    elif isinstance(usual[name], tuple):
        fits, form = is_words, "a list of texts"
    if not fits:
        raise SourceError(f"{name} must be {form}, got {value!r}")
    return tuple(value) if is_words else value  # type: ignore[arg-type]  # a list, as it is words


def _is_encoding(name: str) -> bool:
    """Return True if Python has an encoding of this name for texts."""
    try:
        "a".encode(name)  # Python does not look up the encoding of an empty text
    except (LookupError, ValueError):
        return False
    return True
