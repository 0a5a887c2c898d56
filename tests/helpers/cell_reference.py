"""Values of text cells in plain Python: the reference for the SQL that reads whole columns."""

import re
from datetime import UTC, date, datetime, timedelta
from functools import cache
from math import isfinite
from string import punctuation
from unicodedata import combining, normalize

import numpy as np
from babel import Locale

from noisycount.engines.formats import EXCEL, ColumnFormat, date_pattern
from noisycount.query.schema import ISO_ZONED, ZONED, Kind

# White_Space of the Unicode Character Database, and two characters without a width.
WHITE = "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
WHITE += "\u2028\u2029\u202f\u205f\u3000\u200b\ufeff"
TRUE, FALSE = ("true", "t", "yes", "y", "1"), ("false", "f", "no", "n", "0")


def reference(cell: str | None, form: ColumnFormat) -> tuple[bool, object]:
    """Return whether a cell has a text, and its value: None if the text is no value of the kind."""
    if not cell:
        return False, None
    if form.normalise == "NFKC":
        cell = _with_plain_signs(normalize("NFKC", _with_plain_signs(cell)))
    kept = form.kind is Kind.TEXT and not form.trim
    text = cell if kept else cell.strip(WHITE if form.kind is Kind.TEXT else " \t\n\v\f\r")
    if text in form.missing or not text or (form.nan and text.lower() == "nan"):
        return False, None
    return True, _VALUES[form.kind](text, form)


def _number(text: str, form: ColumnFormat) -> str | None:
    """The digits of a number with a decimal point and without marks between groups of three."""
    text = _without_signs(text, form)
    point, group = (".", ",") if form.decimal == "." else (",", ".")
    if form.thousands is not None:
        text = text.translate(str.maketrans(SAME_MARKS.get(form.thousands, {})))
        group = form.thousands
    found = re.fullmatch(
        rf"([+-]?)([0-9{re.escape(group)}]*)((?:{re.escape(point)}[0-9]*)?)((?:[eE][+-]?[0-9]+)?)", text
    )
    if found is None:
        return None
    sign, whole, decimals, exponent = found.groups()
    first, *rest = whole.split(group)
    if rest and not (1 <= len(first) <= 3 and all(len(part) == 3 for part in rest)):
        return None
    if not any(map(str.isdigit, whole + decimals)):
        return None
    return f"{sign}{first}{''.join(rest)}{decimals.replace(point, '.')}{exponent}"


SAME_MARKS = {" ": dict.fromkeys("\u00a0\u2009\u202f", " "), "'": {"\u2019": "'"}}
AROUND = " \t\u00a0\u2009\u202f"


def _without_signs(text: str, form: ColumnFormat) -> str:
    """Return the text without the symbols before and behind it, and with a minus in front."""
    text = _without_symbols(text, form)
    if form.brackets and text[:1] == "(" and text[-1:] == ")":
        text = _without_symbols(f"-{text[1:-1].strip(AROUND)}", form)
    if form.minus_behind and text[-1:] == "-":
        text = _without_symbols(f"-{text[:-1].rstrip(AROUND)}", form)
    return text


def _without_symbols(text: str, form: ColumnFormat) -> str:
    """The text without one symbol before it, which may stand behind its sign, and one behind it."""
    sign = text[:1] if text[:1] in {"+", "-"} else ""
    bare = text[len(sign) :].lstrip(AROUND)
    symbol = next((symbol for symbol in form.symbols if bare.startswith(symbol)), None)
    if symbol is not None:
        text = sign + bare.removeprefix(symbol).lstrip(AROUND)
    symbol = next((symbol for symbol in form.symbols if text.endswith(symbol)), None)
    return text if symbol is None else text.removesuffix(symbol).rstrip(AROUND)


def _integer(text: str, form: ColumnFormat) -> int | None:
    plain = _number(text, form)
    if plain is None or not re.fullmatch("[+-]?[0-9]+", plain):
        return None
    return int(plain) if -(2**63) <= int(plain) < 2**63 else None


def _real(text: str, form: ColumnFormat) -> float | None:
    if re.fullmatch("[+-]?inf(inity)?|nan", text, re.IGNORECASE | re.ASCII):
        return float(text)
    plain = _number(text, form)
    return float(plain) if plain is not None and isfinite(float(plain)) else None


def _boolean(text: str, form: ColumnFormat) -> bool | None:
    said = text.lower()
    if said in [word.lower() for word in form.true or TRUE]:
        return True
    return False if said in [word.lower() for word in form.false or FALSE] else None


def _moment(text: str, form: ColumnFormat) -> datetime | None:
    if form.date_format == EXCEL:
        return _serial(text, form)
    if form.date_format is None:
        pattern = form.kind.iso
    else:
        pattern = ISO_ZONED if form.date_format == ZONED else _date_pattern(form.date_format)
    if not re.fullmatch(pattern, text):
        return None
    try:
        if form.date_format is None:
            return datetime.fromisoformat(text)
        if form.date_format == ZONED:
            moment = datetime.fromisoformat(text.replace(" ", "T", 1).replace(" ", ""))
            return moment.astimezone(UTC).replace(tzinfo=None)
        return _parsed(text, form.date_format)
    except (ValueError, OverflowError):
        return None


_date_pattern = cache(date_pattern)


def _serial(text: str, form: ColumnFormat) -> datetime | None:
    """The day of a number of days, and its time to the millisecond if times are meant."""
    pattern = r"[1-9][0-9]{0,6}(\.0+)?" if form.kind is Kind.DATE else r"[0-9]{1,7}(\.[0-9]+)?"
    if not re.fullmatch(pattern, text):
        return None
    return datetime(1899, 12, 30) + timedelta(milliseconds=int(np.rint(float(text) * 86_400_000)))  # noqa: DTZ001 - as above


def _parsed(text: str, date_format: str) -> datetime:
    """The moment, in UTC if it has a zone; digits after the microseconds are cut off."""
    if "%n" in date_format:
        text, date_format = re.sub(r"(\.[0-9]{6})[0-9]+", r"\1", text), date_format.replace("%n", "%f")
    text, date_format = _english(text, date_format)
    if "%z" in date_format:
        text = re.sub("([+-][0-9]{2})$", r"\g<1>00", text)
        return datetime.strptime(text, date_format).astimezone(UTC).replace(tzinfo=None)
    moment = datetime.strptime(text, date_format)  # noqa: DTZ007 - columns have no zone
    if "%j" in date_format and moment.strftime(date_format) != text:  # day 366 of a year that has 365
        raise ValueError
    return moment


LANGUAGES = (
    *("en", "de", "de_AT", "fr", "es", "it", "pt", "nl", "sv", "da", "nb"),
    *("pl", "cs", "sk", "sl", "hu", "ro", "bg", "el", "fi", "et", "lv", "lt", "tr", "ru", "uk", "id"),
)
"""Those whose names of months are read."""


def _plain(word: str) -> str:
    """A word in small letters without accents and without its point."""
    return "".join(letter for letter in normalize("NFD", word.casefold()) if not combining(letter)).rstrip(".")


MONTHS = {
    _plain(name): date(2024, month, 1).strftime("%b")
    for language in LANGUAGES
    for use in ("format", "stand-alone")
    for width in ("wide", "abbreviated")
    for month, name in Locale.parse(language).months[use][width].items()
}


def _english(text: str, date_format: str) -> tuple[str, str]:
    """A date with the words that Python reads, and its format."""
    if " " in date_format:
        text = re.sub("[ \u00a0\u2009\u202f]+", " ", text)
    if {"%a", "%A"} & {date_format[:2]}:
        text, date_format = re.sub(r"^[^\W\d_]+(-feira)?\.?", "Mon", text), f"%a{date_format[2:]}"
    if {"%b", "%B"} & {date_format[place : place + 2] for place in range(len(date_format))}:
        text = re.sub(r"(?<=[0-9])(st|nd|rd|th|er|[º°])(?=[^a-z])", "", text)
        text = re.sub(r"[^\W\d_]+\.?", lambda word: MONTHS.get(_plain(word[0]), word[0]), normalize("NFC", text))
    if "%p" in date_format:
        text = re.sub(r"([AaPp])\.?[ \xa0\u202f]?[Mm]\.?(?= |$)", r"\1M", text)
    if "%z" in date_format:
        text = re.sub("(?:GMT|UTC)?([+-])([0-9]{1,2})(?![0-9])", lambda zone: f"{zone[1]}{int(zone[2]):02}", text)
        text = re.sub("(GMT|UTC)$", "Z", text)
        text = re.sub("(?:GMT|UTC)([+-])", r"\1", text)
    return text, date_format.replace("%B", "%b")


def _date(text: str, form: ColumnFormat) -> date | None:
    moment = _moment(text, form)
    return None if moment is None else moment.date()


def _with_plain_signs(text: str) -> str:
    """Return a text with single blanks, one sign for all that look alike, and no invisible one."""
    around = [
        (f"[{WHITE[:-2]}]+", " "),
        ("[\u200b-\u200f\u2060\u00ad\ufeff]", ""),
        ("[`\u00b4\u2019\u2018]", "'"),
        ("[\u2010\u2011\u2013\u2014\u2212]", "-"),
    ]
    for signs, plain in around:
        text = re.sub(signs, plain, text)
    text = re.sub("[\u0660-\u0669\u06f0-\u06f9\u0966-\u096f]", lambda digit: str(int(digit[0])), text)
    return re.sub(" +", " ", text)


def _text(text: str, form: ColumnFormat) -> str:
    if form.fold_case:
        text = "".join(one if len(one) == 1 else letter for letter in text for one in [letter.upper()])
        text = "".join(one if len(one) == 1 else letter for letter in text for one in [letter.lower()])
    if form.normalise:
        text = normalize("NFC", text)
    if form.drop_zeros and re.fullmatch(r"[0-9]+(\.0+)?", text):
        text = str(int(text.split(".")[0]))
    if form.drop_marks:
        text = "".join(each for each in text if each not in f" {punctuation}")
    if form.drop_zeros:
        runs = re.split("([0-9]+)", text)
        text = "".join(
            str(int(run)) if place % 2 and not runs[place - 1].endswith((".", ",")) else run
            for place, run in enumerate(runs)
        )
    return text


_VALUES = {
    Kind.INTEGER: _integer,
    Kind.REAL: _real,
    Kind.TEXT: _text,
    Kind.BOOLEAN: _boolean,
    Kind.DATE: _date,
    Kind.TIMESTAMP: _moment,
}
