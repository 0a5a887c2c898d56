"""The forms in which programs and people write dates and times, as a guess tries them."""

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import cache, lru_cache

from noisycount.engines.formats import EXCEL, date_pattern
from noisycount.query.schema import ZONED, Kind, Spelling

_MONTHS = "january february march april may june july august september october november december"
_DAYS = "monday tuesday wednesday thursday friday saturday sunday"
# The texts of each directive that a guess accepts: fewer than those that a stated form reads.
_LIKELY = {
    "a": f"(?i:{'|'.join(day[:3] for day in _DAYS.split())})",
    "A": f"(?i:{'|'.join(_DAYS.split())})",
    "b": f"(?i:{'|'.join(month[:3] for month in _MONTHS.split())})",
    "B": f"(?i:{'|'.join(_MONTHS.split())})",
    "d": "(0?[1-9]|[12][0-9]|3[01])",
    "m": "(0?[1-9]|1[0-2])",
    "Y": "[0-9]{4}",
    "y": "[0-9]{2}",
    "H": "([01]?[0-9]|2[0-3])",
    "I": "(0?[1-9]|1[0-2])",
    "M": "[0-5][0-9]",
    "S": "[0-5][0-9]",
    "f": "[0-9]{1,6}",
    "n": "[0-9]{7,9}",
    "p": "[AaPp][Mm]",
    "z": "(Z|[+-](0[0-9]|1[0-4])(:?[0-5][0-9])?)",
}
# Forms without a mark between year, month and day have as many digits as they need, in the years 1900 to 2099.
_COMPACT = {
    "Y": "(19|20)[0-9]{2}",
    "m": "(0[1-9]|1[0-2])",
    "d": "(0[1-9]|[12][0-9]|3[01])",
    "H": "([01][0-9]|2[0-3])",
}
_SHORT_YEARS = "and years of two digits, from 1969 to 2068"
_NUMERIC_DATES = {
    **{f"%d{mark}%m{mark}%Y": "the day first" for mark in "./-"},
    **{f"%m{mark}%d{mark}%Y": "the month first" for mark in "/-."},
    **{f"%Y{mark}%m{mark}%d": "the year first" for mark in "-/."},
    **{f"%d{mark}%m{mark}%y": f"the day first {_SHORT_YEARS}" for mark in "./-"},
    **{f"%m{mark}%d{mark}%y": f"the month first {_SHORT_YEARS}" for mark in "/-."},
    "%y-%m-%d": f"the year first {_SHORT_YEARS}",
}
_WORDED_DATES = (
    *("%a %b %d %Y", "%a %d %b %Y"),
    *(f"%d{mark}%b{mark}%Y" for mark in ("-", " ", "/", ".", "")),
    *(f"%d{mark}%b{mark}%y" for mark in ("-", " ", "/", "")),
    *("%d %B %Y", "%d-%B-%Y", "%d. %B %Y", "%d. %b %Y", "%b %d, %Y", "%B %d, %Y", "%b %d %Y", "%B %d %Y"),
    *("%b-%d-%Y", "%Y-%b-%d", "%Y %b %d", "%a, %d %b %Y", "%A, %d %B %Y", "%a, %b %d, %Y", "%A, %B %d, %Y"),
)
_MONTH_FORMS = (
    *(f"%{month}{mark}%{year}" for month in "bB" for mark in "- /" for year in "yY"),
    *("%Y-%b", "%Y %b", "%Y %B", "%Y-%m", "%Y/%m", "%m/%Y", "%m-%Y", "%YM%m"),
)
_HOURS = ("%H:%M", "%H:%M:%S", "%H:%M:%S.%f", "%H:%M:%S,%f", "%H:%M:%S.%n")
_POINTS = ("%H.%M.%S", "%H.%M.%S.%f", "%H.%M.%S.%n", "%I.%M.%S %p", "%I.%M.%S.%f %p", "%I.%M.%S.%n %p")  # of databases
_HALVES = tuple(
    f"{clock}{blank}%p"
    for clock in ("%I", "%I:%M", "%I:%M:%S", "%I:%M:%S.%f")
    for blank in ("", " ", "\u00a0", "\u202f")
)
_CLOCKS = (
    *_HOURS,
    *_HALVES,
    *_POINTS,
    *(f"{clock}{zone}" for clock in _HOURS for zone in (" UTC", " GMT", "%z", " %z")),
)
_COMPACT_FORMS = ("%Y%m%d", "%Y%m%d%H%M", "%Y%m%d%H%M%S")
_SAMPLE = datetime(2024, 9, 14, 13, 30, 15, 123456)  # noqa: DTZ001 - for its shape alone
_LONGEST = 60  # characters


def _shape(text: str) -> str:
    """Return a text with `0` for each run of digits and `a` for each run of letters.

    Example:
        >>> _shape("14-Feb-2024 1:30 PM")
        '0-a-0 0:0 a'
    """
    return re.sub("[A-Za-z]+", "a", re.sub("[0-9]+", "0", text))


def _by_shape(forms: Iterable[str]) -> dict[str, list[str]]:
    """Return the forms of each shape, the likeliest first."""
    shapes: dict[str, list[str]] = {}
    for form in forms:
        sample = _SAMPLE.strftime(form.replace("%n", "123456789").replace("%z", "{}"))
        for shape in dict.fromkeys(_shape(sample.format(zone)) for zone in ("Z", "+01:00", "-01:00", "+01", "-01")):
            shapes.setdefault(shape, []).append(form)
    return shapes


@cache
def _parts_by_shape() -> tuple[dict[str, list[str]], ...]:
    """Return the forms of days, of months, and of what follows the day in a time."""
    between = (" ", "T", ", ")
    clocks = [f"{blank}{clock}" for clock in _CLOCKS for blank in between]
    compact = [f"{blank}{clock}" for clock in ("%H%M", "%H%M%S") for blank in between]
    colons = [f":{clock}" for clock in _HOURS]
    days = [*_NUMERIC_DATES, *_WORDED_DATES, "%Y%m%d", "%a %b %d %H:%M:%S %Y"]  # the last is a time of the C library
    others = [*colons, *(f"-{clock}" for clock in _POINTS)]  # as SAS and DB2 write times
    return _by_shape(days), _by_shape(_MONTH_FORMS), _by_shape([*clocks, *compact, *others])


@lru_cache(1000)
def _forms(shape: str) -> list[str]:
    """Return the date formats that a cell of a shape may have, the likeliest first."""
    days, months, clocks = _parts_by_shape()
    times = [
        f"{day}{clock}"
        for cut in range(1, len(shape))
        for day in days.get(shape[:cut], ())
        for clock in clocks.get(shape[cut:], ())
    ]
    return [*days.get(shape, ()), *months.get(shape, ()), *times]


@cache
def _spelling(form: str) -> tuple[Kind, Spelling]:
    """Return the spelling of a date format."""
    is_time = "%H" in form or "%I" in form
    kind = Kind.TIMESTAMP if is_time else Kind.DATE
    noun = "times" if is_time else "dates"
    date = next((date for date in _NUMERIC_DATES if form.startswith(date)), None)
    if form in _MONTH_FORMS:
        words = f"months, each read as its first day{f', {_SHORT_YEARS}' if '%y' in form else ''}"
    elif date is not None:
        words = f"{noun} with {_NUMERIC_DATES[date]}"
    else:
        words = f"{noun} as {form}"
    if "%z" in form:
        words += ", read in UTC"
    is_compact = form.startswith("%Y%m") or (form in _MONTH_FORMS and "%m" in form)
    likely = _LIKELY | _COMPACT if is_compact else _LIKELY
    return kind, Spelling(date_pattern(form, likely), words, date_format=form)


def date_spellings(cells: Iterable[str]) -> Iterator[tuple[Kind, Spelling]]:
    """Yield the kind and the spelling of each form that some of the cells have by their shape."""
    shapes = dict.fromkeys(_shape(cell) for cell in dict.fromkeys(cells) if len(cell) <= _LONGEST)
    for form in dict.fromkeys(form for shape in shapes for form in _forms(shape)):
        yield _spelling(form)


def order_of(form: str | None) -> str:
    """Return the order of day, month and year in a date format; None is ISO 8601.

    Example:
        >>> order_of("%d %B %Y"), order_of("%m/%d/%y %H:%M"), order_of(None)
        ('dmy', 'mdy', 'ymd')
    """
    if form in {None, ZONED, EXCEL}:
        return "ymd"
    return "".join(_ORDERED.get(letter, "") for letter in re.findall("%(.)", form or ""))


_ORDERED = {"d": "d", "m": "m", "b": "m", "B": "m", "Y": "y", "y": "y"}


def compact_spellings() -> Iterator[tuple[Kind, Spelling]]:
    """Yield the spellings of days and times that are whole numbers, such as 20240214."""
    for form in _COMPACT_FORMS:
        yield _spelling(form)
