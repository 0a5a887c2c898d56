"""Numbers as people write them with the sign of a currency, in brackets, or with a minus behind."""

import re
from collections.abc import Iterable
from typing import Self

from noisycount.engines.formats import SYMBOL_BEFORE, SYMBOL_BEHIND
from noisycount.frozen import frozen

_MINUS = re.compile("([0-9.,].*?)[ \u00a0\u2009\u202f]*-")


def may_have_signs(cell: str) -> bool:
    """Return True if a text has the sign of a currency, brackets around it, or a minus behind it."""
    return cell.endswith((")", "-")) or bool(SYMBOL_BEFORE.match(cell) or SYMBOL_BEHIND.search(cell))


def may_be_open_ranges(cells: Iterable[str]) -> bool:
    """Return True if whole numbers with a minus behind are so short that they may be grades, or ranges without an end.

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
        """Return a text without signs, of which each may stand once around and within brackets."""
        symbols: list[str] = []
        has_brackets = has_minus_behind = False
        for _ in range(2):  # around the brackets and within them
            if found := SYMBOL_BEFORE.match(cell):
                symbols.append(found[2])
                cell = found[1] + cell[found.end() :]
            if found := SYMBOL_BEHIND.search(cell):
                symbols.append(found[1])
                cell = cell[: found.start()]
            if has_brackets or has_minus_behind:
                break
            if cell.startswith("(") and cell.endswith(")"):
                cell, has_brackets = f"-{cell[1:-1].strip()}", True
            elif found := _MINUS.fullmatch(cell):
                cell, has_minus_behind = f"-{found[1]}", True
        return cls(cell, tuple(symbols), has_brackets, has_minus_behind)
