"""Detection of texts that look like dates, times or numbers but that no form can read, and of numbers with signs."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Self

from noisycount.engines.check import Resemblance
from noisycount.engines.date_words import HALF_DAY, MONTH, ORDINAL, WESTERN_MONTH
from noisycount.engines.formats import SYMBOL_BEFORE, SYMBOL_BEHIND, compatible_text
from noisycount.frozen import frozen

ENOUGH = 0.8
"""Share of the cells that must look alike: with fewer the others are hardly mistakes."""
_LONGEST = 80  # such as those of a browser: Wed Feb 14 2024 13:30:00 GMT+0100 (Central European Standard Time)
_LETTER = r"[^\W\d_]"
_DAY, _MONTH, _YEAR = "(0?[1-9]|[12][0-9]|3[01])", "(0?[1-9]|1[0-2])", r"(19|20)\d\d"
_WITHOUT_YEAR = re.compile(rf"{_DAY}([-/]{_MONTH}|[.] ?{_MONTH}[.])|{_MONTH}[-/]{_DAY}")
# With the name of a month, with other words, with three numbers, without marks, with Roman numerals, and by quarters or
# weeks.
_LOOKS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"({_LETTER}+[.,]* )?\d{{1,4}}{ORDINAL}[-. /]*(de )?{WESTERN_MONTH}(?!{_LETTER}).*",
        rf"({_LETTER}+[.,]* )?{WESTERN_MONTH}[-. /]*\d{{1,4}}(?!{_LETTER}{{3}}).*",
        rf"(\D{{0,24}} )?{_YEAR}\W+(\D{{1,8}} )?({_DAY}\W+{MONTH}|{MONTH}\W+{_DAY})(?!{_LETTER}|\d).*",
        rf"\d\d(/|[.] ){_MONTH}(/|[.] ){_DAY}[.]?",
        rf"(\D{{0,24}} )?{_DAY}[-. /]+(?=\D*{_LETTER}\D*{_LETTER})\D{{2,24}}{_YEAR}(\D.*)?",
        rf"{_YEAR}\D{{1,6}}\d{{1,2}}\D{{1,6}}\d{{1,2}}(\D.*)?",
        rf"(\D{{0,24}} )?{_DAY}\D{{1,8}}{_MONTH}\D{{1,6}}{_YEAR}(\D.*)?",
        rf"{_DAY}[-./] ?{_DAY}[-./] ?(\d\d|{_YEAR})(\D.*)?",
        rf"{_YEAR}(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])((T| )?\d{{2,6}})?[^\d,].*",
        rf"{_DAY}[-./ ](I{{1,3}}|I?V|VI{{1,3}}|I?X|XI{{1,2}})[-./ ](\d\d|{_YEAR})(\D.*)?",
        rf"{_YEAR}[- /.]?(Q|W|KW|T|H|S)[- ]?\d{{1,2}}(-\d)?|(Q|W|KW|T|H|S)[- ]?\d{{1,2}}[- /.]*{_YEAR}",
        rf"[1-4]Q ?(\d\d|{_YEAR})|Q[1-4][-/ ']\d\d",
        r"/Date\(-?\d+([-+]\d{4})?\)/",  # of .NET
    )
)
_COMPACT = re.compile(rf"{_YEAR}(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])")
CLOCK = re.compile(rf"[0-9]{{1,2}}:[0-9]{{2}}(:[0-9]{{2}}(\.[0-9]{{1,6}})?)?( ?{HALF_DAY})?|[0-2][0-9][.h][0-5][0-9]")
"""A time of day; with a point it has a zero in front, as no number has."""
ORDERED_CLOCK = re.compile(r"([01][0-9]|2[0-4]):[0-5][0-9]:[0-5][0-9](\.[0-9]{0,5}[1-9])?")
"""A time of day in the one form whose characters have the order of the times."""
_ZONED_CLOCK = re.compile(
    rf"{CLOCK.pattern}|T?[0-9]{{1,2}}:[0-9]{{2}}(:[0-9]{{2}}(\.[0-9]{{1,6}})?)?( ?{HALF_DAY})? ?"
    rf"(|Uhr|[A-Z]{{1,5}}|([A-Z]{{3}})?[+-][0-9]{{1,2}}(:?[0-9]{{2}})?)"
)
_NUMBER = "([1-9][0-9]*((,[0-9]{2})*,[0-9]{3}|([.' ][0-9]{3})*)|0)([.,][0-9]+)?"
# With a bound or another sign in front, and an error, a sign, the word of a multiple or of a side of an account behind.
_SIGNED = re.compile(
    f"([<>~\u2264\u2265\u2248\u00b1]=? ?|c(irc)?a[.]? )?(- ?)?{_NUMBER}"
    f"([-+]| ?(\u00b1|[+]/-) ?{_NUMBER}| ?(k|K|M|Mio[.]?|[CD][Rr]))?"
)
_FRACTION = re.compile("-?([0-9]+ ?)??([0-9]+)[/\u2044]([0-9]+)")
_LAKHS = re.compile(",[0-9]{2},")  # groups of two digits, as India writes them
_VULGAR = "[\u00bc-\u00be\u2150-\u215e]"  # such as ½
_ARABIC_MARKS = str.maketrans("\u066b\u066c", ".,")
_DIGIT = re.compile(rf"\d|{_VULGAR}")

_UNREAD = "in a form that is not read"
_KEPT_TEXT = re.compile('="[^"]*"')
_FORMULAS = Resemblance(
    "formulas around texts, as programs write them for Excel",
    'Write 001 and not ="001" in the export, or ask with the whole cell',
    "",
)
_DATES = Resemblance(
    f"dates {_UNREAD}", "Write them as 2024-02-14 in the export, or state a date_format if one fits all cells", ""
)
_DAYS_OR_FRACTIONS = Resemblance(
    f"days without a year or fractions {_UNREAD}", "Write dates as 2024-02-14, and numbers as 0.5", ""
)
_CLOCKS = Resemblance("times of day", "Write all as 08:30:00, so that their characters have their order", "")
_NUMBERS = Resemblance(
    f"numbers {_UNREAD}", "Write them as -12.5 in digits 0 to 9, without signs behind or other words", ""
)
EPOCHS = {
    unit: Resemblance(noun, "Compare it with such numbers, or write times as 2024-02-14 13:30:00", "")
    for unit, noun in ((1, "seconds since 1970"), (1000, "milliseconds since 1970"))
}
"""What times look like that are counted since 1970, by how many of their unit are a second."""


def first_cells(cells: Sequence[str]) -> Sequence[str]:
    """Return the first cells. A form that enough of all cells fit also fits some of these."""
    return cells[: len(cells) - int(ENOUGH * len(cells)) + 1]


def looks_like_date(cell: str) -> bool:
    """Return True if a text looks like a date or a time in any form.

    Example:
        >>> [looks_like_date(text) for text in ("Jan 5", "2024-W07", "14/02", "2024-02-14 CET", "1.5", "room 12")]
        [True, True, True, True, False, False]
    """
    return len(cell) <= _LONGEST and any(pattern.fullmatch(cell) for pattern in (*_LOOKS, _WITHOUT_YEAR))


def resemblance(values: Sequence[str]) -> Resemblance | None:
    """Return the kind that enough cells resemble although no form can read them; None if there is no such kind."""
    if sum(map(bool, map(_KEPT_TEXT.fullmatch, values))) >= ENOUGH * len(values):
        return replace(_FORMULAS, example=next(filter(_KEPT_TEXT.fullmatch, values)))
    if len([*filter(_DIGIT.search, values)]) < ENOUGH * len(values):
        return None
    cells = [*map(_with_plain_signs, values)]
    for likeness, is_like in _LIKENESSES:
        if not any(map(is_like, first_cells(cells))) or sum(map(bool, map(is_like, cells))) < ENOUGH * len(cells):
            continue
        odd = [
            cell
            for cell, plain in zip(values, cells, strict=True)
            if is_like(plain) and _is_good_example(likeness, cell, plain)
        ]
        return replace(likeness, example=odd[0]) if odd else None
    return None


def _with_plain_signs(cell: str) -> str:
    """Return a short text in which signs such as Arabic digits are replaced by similar ASCII signs."""
    if cell.isascii():
        return cell
    return compatible_text(re.sub(f"(?<=[0-9])({_VULGAR})", r" \1", cell[: _LONGEST + 1]).translate(_ARABIC_MARKS))


def _is_fraction(cell: str) -> bool:
    """Return True if a text is a fraction below 1, alone or behind a whole number.

    Example:
        >>> [_is_fraction(text) for text in ("1/2", "1 1/2", "120/80")]
        [True, True, False]
    """
    match = _FRACTION.fullmatch(cell)
    return match is not None and int(match[2]) < int(match[3])


def _is_number(cell: str) -> bool:
    """Return True if a text looks like a number in any form."""
    return _SIGNED.fullmatch(SignedNumber.read(cell).text) is not None or _is_fraction(cell)


def _is_date(cell: str) -> bool:
    """Return True if a text looks like a date, with or without marks between its numbers."""
    return looks_like_date(cell) or _COMPACT.fullmatch(cell) is not None


def _is_day_or_fraction(cell: str) -> bool:
    """Return True if a text is a fraction, and may be a day without a year."""
    return _is_fraction(cell) and looks_like_date(cell)


_LIKENESSES: tuple[tuple[Resemblance, Callable[[str], object]], ...] = (
    (_DAYS_OR_FRACTIONS, _is_day_or_fraction),
    (_DATES, _is_date),
    (_CLOCKS, _ZONED_CLOCK.fullmatch),
    (_NUMBERS, _is_number),
)


def _is_good_example(likeness: Resemblance, cell: str, plain: str) -> bool:
    """Return True if a cell is a good example of the texts that cannot be read. Times that sort correctly are not."""
    if likeness is _NUMBERS:
        return cell != plain or _LAKHS.search(cell) is not None or not (cell.replace(".", "")).isdigit()
    return not ORDERED_CLOCK.fullmatch(cell)


_MINUS = re.compile("([0-9.,].*?)[ \u00a0\u2009\u202f]*-")


def may_have_signs(cell: str) -> bool:
    """Return True if a text has the sign of a currency, brackets around it, or a minus behind it."""
    return cell.endswith((")", "-")) or bool(SYMBOL_BEFORE.match(cell) or SYMBOL_BEHIND.search(cell))


def may_be_open_ranges(cells: Iterable[str]) -> bool:
    """Return True if cells such as 5- are so short that they may be grades, or ranges without an end.

    Example:
        >>> may_be_open_ranges(["2-", "65-"]), may_be_open_ranges(["2-", "1.300-"])
        (True, False)
    """
    return not any(map(re.compile("([0-9]{5,}|[0-9]+[.,' ][0-9].*)-").fullmatch, cells))


@frozen
class SignedNumber:
    """A text without the signs of a number.

    Example:
        >>> SignedNumber.read("($ 1,234.50)").text, SignedNumber.read("12 %-").text, SignedNumber.read("5- €").text
        ('-1,234.50', '-12', '-5')
    """

    text: str  # with its minus in front
    symbols: tuple[str, ...]  # the signs of currencies and percent signs before and behind it
    has_brackets: bool
    has_minus_behind: bool

    @classmethod
    def read(cls, cell: str) -> Self:
        """Return a text without its signs. A sign may occur once outside and once inside brackets."""
        symbols: list[str] = []
        has_brackets = has_minus_behind = False
        for _ in range(2):  # around the brackets and within them
            if match := SYMBOL_BEFORE.match(cell):
                symbols.append(match[2])
                cell = match[1] + cell[match.end() :]
            if match := SYMBOL_BEHIND.search(cell):
                symbols.append(match[1])
                cell = cell[: match.start()]
            if has_brackets or has_minus_behind:
                break
            if cell.startswith("(") and cell.endswith(")"):
                cell, has_brackets = f"-{cell[1:-1].strip()}", True
            elif match := _MINUS.fullmatch(cell):
                cell, has_minus_behind = f"-{match[1]}", True
        return cls(cell, tuple(symbols), has_brackets, has_minus_behind)
