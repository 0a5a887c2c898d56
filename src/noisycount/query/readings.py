"""Numbers and days that texts spell, as the functions `number` and `date` of the language read them.

A ledger knows a question by its text, and a top-up rests on an answer to the same text. So these rules must not change:
another rule needs a function of another name.
"""

import re
from collections.abc import Callable, Mapping
from datetime import date
from typing import Any

from noisycount.query.schema import Kind

BLANKS = " \t\n\v\f\r"  # characters that may stand around a value without belonging to it
MOST_DIGITS = 32  # before and behind the point of a number
MOST_CLOCK_DIGITS = 16  # of each part of a time of day, which may be a fraction of a second

# The exponent has two digits at most, so that no engine overflows or underflows.
_NUMBER = re.compile(
    rf"[+-]?([0-9]{{1,{MOST_DIGITS}}}(\.[0-9]{{0,{MOST_DIGITS}}})?|\.[0-9]{{1,{MOST_DIGITS}}})([eE][+-]?[0-9]{{1,2}})?"
)
_DIGITS = f"[0-9]{{1,{MOST_CLOCK_DIGITS}}}"
_DAY = re.compile(
    rf"[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}"
    rf"([ T]{_DIGITS}:{_DIGITS}(:{_DIGITS}(\.{_DIGITS})?)?( ?(Z|[+-]{_DIGITS}(:{_DIGITS})?))?)?"
)


def read_number(text: str) -> float | None:
    """Return the double nearest to the number that a text spells; None if it spells none.

    Example:
        >>> [read_number(text) for text in (" 12 ", "-.5", "1e+05", "1,5", "NaN")]
        [12.0, -0.5, 100000.0, None, None]
    """
    numeral = text.strip(BLANKS)
    return float(numeral) if _NUMBER.fullmatch(numeral) else None


def read_day(text: str) -> date | None:
    """Return the day of ISO 8601 that a text spells, alone or with a time of day; None if it spells none.

    Example:
        >>> [str(read_day(text)) for text in ("2024-02-29", "2024-02-29T23:30:00Z", "2023-02-29", "29.02.2024")]
        ['2024-02-29', '2024-02-29', 'None', 'None']
    """
    written = "".join(" " if character in BLANKS else character for character in text).strip(" ")
    if not _DAY.fullmatch(written):
        return None
    try:
        return date.fromisoformat(written[:10])
    except ValueError:
        return None


# The functions of the language by name, each with the kind of its values.
FUNCTIONS: Mapping[str, Kind] = {"number": Kind.REAL, "date": Kind.DATE}
READERS: Mapping[Kind, Callable[[str], Any]] = {Kind.REAL: read_number, Kind.DATE: read_day}
