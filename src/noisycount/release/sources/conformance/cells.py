"""The cells that engines are known to treat each in its own way."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from math import inf, isfinite, nan
from typing import Any

from noisycount.release.question.schema import Kind

__all__ = ["CELLS", "FEATURES", "Feature"]

_INTEGERS = (
    *(0, 1, -1, 2, 3, 30, 31, 255, -256, 32_767, -32_769, 2**31 - 1, 2**31, -(2**31) - 1),
    *(2**53 - 1, 2**53, 2**53 + 1, -(2**53) - 1, 2**62, -(2**62), 2**63 - 2, 2**63 - 1),
    *(-(2**63) + 1, -(2**63)),
)
_REALS = (
    *(0.0, -0.0, 1.0, -1.0, 0.5, -1.5, 0.1, 0.1 + 0.2, 0.3, 30.0, 31.0, 16_777_217.0, 1e15 + 0.3),
    *(2.0**53 - 1, 2.0**53, 2.0**53 + 2, 2.0**62, 2.0**63, -(2.0**63), 1e20, 1e308, -1e308),
    *(1.7976931348623157e308, 2.2250738585072014e-308, 5e-324, -5e-324, nan, inf, -inf),
)
_TEXTS = (
    *("a", "A", "b", "B", "ab", "aB", "AB", "a ", " a", "a  ", "", " ", "\t", "\n", "a\n", "\na"),
    *(
        "é",
        "e\u0301",
        "É",
        "e",
        "E",
        "ß",
        "ss",
        "ẞ",
        "\u0131",
        "i",
        "I",
        "İ",
        "ﬁ",
        "fi",
        "\u212b",
        "\u00c5",
        "ö",
    ),
    *(
        "oe",
        "z",
        "Z",
        "ä",
        "ae",
        "\u200b",
        "a\u200b",
        "a\u00ad",
        "\u00a0",
        "\uff41",
        "名",
        "\uffff",
    ),
    *(
        "👍",
        "👍🏽",
        "👩\u200d👩\u200d👧",
        "\U00010400",
        "\U00010428",
        "\ufffd",
        "\U0010fffd",
        "a👍b",
    ),
    *("'", "''", '"', "it's", "\\", "\\\\", "\\%", "\\_", "a\\b", "%", "_", "%%", "__", "100%"),
    *(
        "100\\%",
        "a%b",
        "a_b",
        "axb",
        "a.b",
        "a*b",
        "a?b",
        "[ab]",
        "[^a]",
        "^a$",
        "a|b",
        "(a)",
        "{}",
    ),
    *("two\nlines", "two\r\nlines", "cr\r", "null", "NULL", "None", "nan", "0", "00", "1", "-0"),
    *("true", "2026-01-31", ":a", "%(a)s", "?", "$1", "@a", "--", ";", "/*", "a\0b", "a\0", "\x7f"),
)
_DAYS = (
    *(date.min, date(1582, 10, 4), date(1582, 10, 10), date(1582, 10, 15), date(1752, 9, 3)),
    *(date(1900, 2, 28), date(1900, 3, 1), date(1969, 12, 31), date(1970, 1, 1), date(2000, 2, 29)),
    *(date(2020, 1, 31), date(2020, 2, 1), date(2020, 2, 29), date(2020, 12, 31)),
    *(date(2026, 3, 29), date(2026, 3, 31), date(2026, 4, 1), date(2038, 1, 19), date.max),
)
_MOMENTS = tuple(
    datetime.fromisoformat(text)
    for text in (
        *("0001-01-01 00:00:00", "1582-10-10 12:00:00", "1752-09-03 00:00:00.000001"),
        *("1883-11-18 12:03:58", "1900-01-01 00:00:00", "1969-12-31 23:59:59.999999"),
        *("1970-01-01 00:00:00", "1970-01-01 00:00:00.000001", "2020-01-31 12:00:00"),
        *("2020-01-31 12:00:00.000001", "2020-01-31 12:00:00.999999", "2020-01-31 12:00:01"),
        *("2020-02-29 23:59:59.999999", "2020-03-31 23:59:59.999999", "2020-04-01 00:00:00"),
        *("2020-12-31 23:59:59.999999", "2021-01-01 00:00:00", "2026-03-08 02:30:00"),
        *("2026-03-29 01:30:00", "2026-03-29 02:30:00", "2026-10-25 02:30:00"),
        *("2026-11-01 01:30:00", "2038-01-19 03:14:08", "2262-04-12 00:00:00"),
        *("9999-12-31 23:59:59.999999",),
    )
)

CELLS: Mapping[Kind, tuple[object, ...]] = {
    Kind.INTEGER: _INTEGERS,
    Kind.REAL: _REALS,
    Kind.TEXT: _TEXTS,
    Kind.BOOLEAN: (True, False),
    Kind.DATE: _DAYS,
    Kind.TIMESTAMP: _MOMENTS,
}
"""Values of each kind; a missing one belongs to every kind."""

_FIRST_YEAR = 1753  # of the narrowest type of times that servers have
_SMALLEST_NORMAL = 2.2250738585072014e-308
_LAST_OF_PLANE = "\uffff"


@dataclass(frozen=True, slots=True)
class Feature:
    """Some cells that not every engine can hold.

    Args:
        name: What they are called.
        covers: Whether a value is one of them.
    """

    name: str
    covers: Callable[[Any], bool]


FEATURES = (
    Feature("NaN and infinities", lambda cell: type(cell) is float and not isfinite(cell)),
    Feature(
        "subnormal numbers", lambda cell: type(cell) is float and 0 < abs(cell) < _SMALLEST_NORMAL
    ),
    Feature(
        "days before the year 1753", lambda cell: isinstance(cell, date) and cell.year < _FIRST_YEAR
    ),
    Feature("the character NUL", lambda cell: isinstance(cell, str) and "\0" in cell),
    Feature(
        "characters beyond the first plane, such as emoji",
        lambda cell: isinstance(cell, str) and max(cell, default="") > _LAST_OF_PLANE,
    ),
)
"""What an engine may refuse to hold; all other cells it must hold."""
