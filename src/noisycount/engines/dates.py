"""The forms in which programs and people write dates and times, as a guess tries them."""

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import cache, lru_cache
from unicodedata import normalize

from noisycount.engines.date_words import (
    CROATIAN_MONTHS,
    FULL_DAY,
    FULL_MONTH,
    HALF_DAY,
    ORDINAL,
    SHORT_DAY,
    SHORT_MONTH,
)
from noisycount.engines.formats import DATE_BLANK, EXCEL, date_pattern
from noisycount.query.schema import ZONED, Kind, Spelling

_DAY, _MONTH = "(0?[1-9]|[12][0-9]|3[01])", "(0?[1-9]|1[0-2])"
_DAY_OF_YEAR = "(00[1-9]|0[1-9][0-9]|[12][0-9]{2}|3[0-5][0-9]|36[0-6])"
# The texts of each directive that a guess accepts: fewer than those that a stated form reads.
_LIKELY = {
    "a": SHORT_DAY,
    "A": FULL_DAY,
    "b": SHORT_MONTH,
    "B": FULL_MONTH,
    "d": _DAY,
    "m": _MONTH,
    "j": _DAY_OF_YEAR,
    "Y": "[0-9]{4}",
    "y": "[0-9]{2}",
    "H": "([01]?[0-9]|2[0-3])",
    "I": "(0?[1-9]|1[0-2])",
    "M": "[0-5][0-9]",
    "S": "[0-5][0-9]",
    "f": "[0-9]{1,6}",
    "n": "[0-9]{1,9}",
    "p": HALF_DAY,
    "z": "(Z|(GMT|UTC)?[+-]((0[0-9]|1[0-4])(:?[0-5][0-9])?|[0-9](:[0-5][0-9])?)|GMT|UTC)",
}
# Without a mark between them, numbers have all their digits, and years are 1900 to 2099.
_COMPACT = {
    "Y": "(19|20)[0-9]{2}",
    "m": "(0[1-9]|1[0-2])",
    "d": "(0[1-9]|[12][0-9]|3[01])",
    "H": "([01][0-9]|2[0-3])",
    "j": _DAY_OF_YEAR,
}
_SHORT_YEARS = "and years of two digits, from 1969 to 2068"
_NUMERIC_DATES = {
    **{f"%d{mark}%m{mark}%Y": "the day first" for mark in "./-"},
    **{f"%m{mark}%d{mark}%Y": "the month first" for mark in "/-."},
    **{f"%Y{mark}%m{mark}%d": "the year first" for mark in "-/."},
    **{f"%d{mark}%m{mark}%y": f"the day first {_SHORT_YEARS}" for mark in "./-"},
    **{f"%m{mark}%d{mark}%y": f"the month first {_SHORT_YEARS}" for mark in "/-."},
    "%d. %m. %Y": "the day first",
    "%Y. %m. %d": "the year first",
    "%y-%m-%d": f"the year first {_SHORT_YEARS}",
}
_WORDED_DATES = (
    *(f"%d{mark}%b{mark}%Y" for mark in ("-", " ", "/", ".", "")),
    *(f"%d{mark}%b{mark}%y" for mark in ("-", " ", "/", "")),
    *("%d %B %Y", "%d-%B-%Y", "%d. %B %Y", "%d. %b %Y", "%b %d, %Y", "%B %d, %Y", "%b %d %Y", "%B %d %Y"),
    *("%b-%d-%Y", "%Y-%b-%d", "%Y %b %d", "%d. %B %y", "%d.%B.%Y", "%B-%d-%Y", "%Y-%B-%d", "%d/%B/%Y"),
    *("%d de %B de %Y", "%d de %b de %Y", "%Y. %B %d", "%Y. %b %d"),
    *("%Y m. %B %d d.", "%Y. gada %d. %B", "%Y. gada %d. %b"),  # of Lithuania and Latvia
    "%Y\u5e74%m\u6708%d\u65e5",  # of Japan and China
)
# What may stand before and behind a day with all digits of its year.
_WEEKDAYS = ("%a, ", "%a ", "%A, ", "%A ", "%A den ")
_TAILS = (".", " r.", " \u0433.", " \u0440.")  # of Hungary, Poland, Russia and Ukraine
_MONTH_FORMS = (
    *(f"%{month}{mark}%{year}" for month in "bB" for mark in "- /" for year in "yY"),
    *("%B de %Y", "%b de %Y", "%b %Y.", "%Y. %B", "%B, %Y"),
    *("%Y-%b", "%Y %b", "%Y %B", "%Y-%m", "%Y/%m", "%m/%Y", "%m-%Y", "%YM%m"),
)
_HOURS = ("%H:%M", "%H:%M:%S", "%H:%M:%S.%f", "%H:%M:%S,%f", "%H:%M:%S.%n")
_POINTS = ("%H.%M.%S", "%H.%M.%S.%f", "%H.%M.%S.%n", "%I.%M.%S %p", "%I.%M.%S.%f %p", "%I.%M.%S.%n %p")  # of databases
_HALVES = tuple(f"{clock}{blank}%p" for clock in ("%I", "%I:%M", "%I:%M:%S", "%I:%M:%S.%f") for blank in ("", " "))
_CLOCKS = (
    *_HOURS,
    *_HALVES,
    *_POINTS,
    *(f"{clock}{zone}" for clock in _HOURS for zone in (" UTC", "%z", " %z")),
    *(f"{clock}{zone}" for clock in _HALVES for zone in (" UTC", " %z")),  # as Google Forms writes times
    *("%H:%M Uhr", "%H:%M:%S Uhr", "%Hh%M"),
)
_COMPACT_FORMS = ("%Y%m%d", "%Y%m%d%H%M", "%Y%m%d%H%M%S", "%d%m%Y", "%m%d%Y")
_SHORT_FORMS = ("%y%m%d", "%d%m%y", "%m%d%y", "%Y%m", "%Y%j")
_COMPACT_ZONED = (*(f"{form}%z" for form in _COMPACT_FORMS[1:3]), "%Y%m%d%H%M%S.%f%z", "%Y%m%d%H%M%S.%f")  # of HL7
_ZONES = ("Z", "GMT", *(f"{name}{sign}{hour}" for name in ("", "GMT") for sign in "+-" for hour in ("1", "01:00")))
_SAMPLE = datetime(2024, 9, 14, 13, 30, 15, 123456)  # noqa: DTZ001 - for its shape alone
_LONGEST = 60  # characters
_ZONE_NAME = re.compile("(?<=[0-9Mm.]) ([A-Z]{3,5})(?= |$)")
_LETTER = r"[^\W\d_]"


_ZEROS = str.maketrans("123456789", "000000000")


@lru_cache(10_000)
def _text_shape(text: str) -> str:
    """Return a text with `0` for each run of digits and `a` for each run of letters.

    Example:
        >>> _text_shape("14-Feb-2024 1:30 PM")
        '0-a-0 0:0 a'
        >>> _text_shape("1er f\u00e9vr. 2024 1:30 p.\u00a0m.")
        '0 a 0 0:0 a'
    """
    text = re.sub(f"(?<!{_LETTER}){HALF_DAY}(?!{_LETTER})", "PM", text)
    text = re.sub(f"(?<=[0-9]){ORDINAL}(?!{_LETTER})", "", normalize("NFC", text))
    text = re.sub(f"{DATE_BLANK}+", " ", text)
    return re.sub(f"{_LETTER}+(-feira)?[.]?", "a", re.sub("[0-9]+", "0", text))


def _group_by_shape(forms: Iterable[str]) -> dict[str, list[str]]:
    """Return the date formats of each shape, the likeliest first."""
    shapes: dict[str, list[str]] = {}
    for form in forms:
        sample = _SAMPLE.strftime(form.replace("%n", "123456789").replace("%z", "{}"))
        for shape in dict.fromkeys(_text_shape(sample.format(zone)) for zone in (_ZONES if "{" in sample else "Z")):
            shapes.setdefault(shape, []).append(form)
    return shapes


@cache
def parts_by_shape() -> tuple[dict[str, list[str]], ...]:
    """Return the formats of days, of months, and of the part of a time behind its day, by their shapes."""
    between = (" ", "T", ", ", " - ", " um ", " \u00e0 ", " at ")
    clocks = [f"{blank}{clock}" for clock in _CLOCKS for blank in between]
    compact = [f"{blank}{clock}{zone}" for clock in ("%H%M", "%H%M%S") for zone in ("", "%z") for blank in between]
    colons = [f":{clock}{zone}" for clock in _HOURS for zone in ("", " %z")]
    of_c = [f"%a %b %d %H:%M:%S{zone} %Y" for zone in ("", " UTC")]  # as its library writes times
    days = [*_NUMERIC_DATES, *_WORDED_DATES]
    whole = [day for day in days if "%Y" in day]
    days += [f"{weekday}{day}" for weekday in _WEEKDAYS for day in whole]
    days += [f"{day}{tail}" for day in whole for tail in _TAILS]
    days += ["%Y%m%d", *_COMPACT_ZONED, *of_c]
    others = [*colons, *(f"-{clock}" for clock in _POINTS)]  # as SAS, Apache and DB2 write times
    return _group_by_shape(days), _group_by_shape(_MONTH_FORMS), _group_by_shape([*clocks, *compact, *others])


@lru_cache(1000)
def _formats_of_shape(shape: str) -> list[str]:
    """Return the date formats that a cell of a shape may have, the likeliest first."""
    days, months, clocks = parts_by_shape()
    times = [
        f"{day}{clock}"
        for cut in range(1, len(shape))
        for day in days.get(shape[:cut], ())
        for clock in clocks.get(shape[cut:], ())
    ]
    return [*days.get(shape, ()), *months.get(shape, ()), *times]


@cache
def _date_spelling(form: str) -> tuple[Kind, Spelling]:
    """Return the spelling of a date format."""
    is_time = "%H" in form or "%I" in form
    kind = Kind.TIMESTAMP if is_time else Kind.DATE
    noun = "times" if is_time else "dates"
    date = next((date for date in _NUMERIC_DATES if form.startswith(date)), None)
    is_month = not re.search("%[dj]", form)
    if is_month:
        words = f"months, each read as its first day{f', {_SHORT_YEARS}' if '%y' in form else ''}"
    elif date is not None:
        words = f"{noun} with {_NUMERIC_DATES[date]}"
    else:
        words = f"{noun} as {form}"
    if "%z" in form:
        words += ", read in UTC"
    likely = _LIKELY | _COMPACT if is_month and "%m" in form else _LIKELY
    return kind, Spelling(date_pattern(form, likely, _COMPACT), words, date_format=form)


def date_spellings(cells: Iterable[str]) -> Iterator[tuple[Kind, Spelling]]:
    """Yield the kind and the spelling of each date format whose shape some of the cells have.

    A time may contain the name of a zone. All cells have the same zone, which is a part of the format.
    """
    masked = dict.fromkeys(cell.translate(_ZEROS) for cell in cells if len(cell) <= _LONGEST)  # most are alike
    shapes = dict.fromkeys(map(_text_shape, masked))
    zones = dict.fromkeys(zone for cell in masked for zone in _ZONE_NAME.findall(cell))
    for form in dict.fromkeys(form for shape in shapes for form in _formats_of_shape(shape)):
        for zone in zones if " UTC" in form else ("UTC",):
            yield _date_spelling(form.replace(" UTC", f" {zone}"))


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


def compact_spellings(*, is_short: bool) -> Iterator[tuple[Kind, Spelling]]:
    """Yield the spellings of days and times as whole numbers, long ones (20240214) or short ones (240214)."""
    return map(_date_spelling, _SHORT_FORMS if is_short else _COMPACT_FORMS)


def may_be_day_of_month(form: str | None, cells: Iterable[str]) -> bool:
    """Return True if cells such as Feb-05, read as months of a year, may also be days without a year.

    A number above 31 is not a day. If one number occurs with two months or more, it is a year, except for the number 1.

    Example:
        >>> may_be_day_of_month("%b-%y", ["Feb-01", "Feb-20"]), may_be_day_of_month("%b-%y", ["Jan-24", "Feb-24"])
        (True, False)
    """
    if not re.fullmatch("%[bB][- /]%y", form or ""):
        return False
    pairs = [re.split("[- /]", cell) for cell in cells]
    months, numbers = {month for month, _ in pairs}, {int(number) for _, number in pairs}
    return numbers <= {*range(1, 32)} and (1 in numbers or 2 * len(numbers) > len(months))


def may_be_croatian(form: str | None, cells: Iterable[str]) -> bool:
    """Return True if every month in the cells has a name that means another month in Croatian.

    Example:
        >>> may_be_croatian("%d %b %Y", ["1 lis 2024"]), may_be_croatian("%d %b %Y", ["1 lis 2024", "1 mar 2024"])
        (True, False)
    """
    has_names = re.search("%[bB]", form or "") is not None
    return has_names and not any(CROATIAN_MONTHS.isdisjoint(re.findall(f"{_LETTER}+", cell.lower())) for cell in cells)
