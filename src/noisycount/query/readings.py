"""Numbers and days in texts, as the functions `number` and `date` of the language read them.

These rules must not change: a ledger recognises a query by its text, and a top-up builds on an answer to the same text.
Another rule needs a function with another name.
"""

import re
from collections.abc import Callable, Mapping
from datetime import date
from typing import Any

from noisycount.query.schema import Kind

BLANKS = " \t\n\v\f\r"  # characters that are ignored around a value
MOST_DIGITS = 32  # maximum number of digits before and after the point of a number
MOST_CLOCK_DIGITS = 16  # maximum number of digits in each part of a time of day, such as fractions of a second

# The exponent has at most two digits, so that no engine overflows or underflows.
_NUMBER = re.compile(
    rf"[+-]?([0-9]{{1,{MOST_DIGITS}}}(\.[0-9]{{0,{MOST_DIGITS}}})?|\.[0-9]{{1,{MOST_DIGITS}}})([eE][+-]?[0-9]{{1,2}})?"
)
_DIGITS = f"[0-9]{{1,{MOST_CLOCK_DIGITS}}}"
_DAY = re.compile(
    rf"[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}"
    rf"([ T]{_DIGITS}:{_DIGITS}(:{_DIGITS}(\.{_DIGITS})?)?( ?(Z|[+-]{_DIGITS}(:{_DIGITS})?))?)?"
)


def read_number(text: str) -> float | None:
    """Return the double that is nearest to the number in a text; None if the text is not a number.

    Example:
        >>> [read_number(text) for text in (" 12 ", "-.5", "1e+05", "1,5", "NaN")]
        [12.0, -0.5, 100000.0, None, None]
    """
    numeral = text.strip(BLANKS)
    return float(numeral) if _NUMBER.fullmatch(numeral) else None


def read_day(text: str) -> date | None:
    """Return the day in a text of ISO 8601, with or without a time of day; None if the text is not a day.

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


# Functions of the language by name, each with the kind of its values.
FUNCTIONS: Mapping[str, Kind] = {"number": Kind.REAL, "date": Kind.DATE}
READERS: Mapping[Kind, Callable[[str], Any]] = {Kind.REAL: read_number, Kind.DATE: read_day}
