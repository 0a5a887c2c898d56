"""Numbers as people write them, read exactly."""

import re
from decimal import Decimal
from fractions import Fraction
from numbers import Rational

__all__ = ["Exactly", "written", "written_share"]

Exactly = str | int | float | Decimal | Fraction
"""What denotes a rational: a text, an exact number, or a float, as the decimal that it shows."""

_LONGEST_TEXT = 40
# Three digits of exponent: a longer one could build an integer that fills the memory.
_NUMBER = re.compile(
    r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?|[0-9]+/0*[1-9][0-9]*"
)
_SHARE = re.compile(r"[±+]?\s*(\d{1,30}(?:\.\d{0,30})?|\.\d{1,30})\s*(%?)")


def written(value: object) -> Fraction | None:
    """The rational that a value denotes; None where it denotes none that can be told at once.

    Args:
        value: A rational, a float, read as the decimal that Python shows for it, or a decimal or a
            fraction in at most 40 characters, not negative.

    Returns:
        A fraction of Python's own integers: those of NumPy overflow when they are added up.

    Example:
        >>> written("1/3"), written(0.1), written("a tenth")
        (Fraction(1, 3), Fraction(1, 10), None)
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    shown = float(value) if isinstance(value, float) else value  # a float of NumPy is one too
    text = str(shown).strip() if isinstance(shown, (str, Decimal, float)) else ""
    if len(text) > _LONGEST_TEXT or _NUMBER.fullmatch(text) is None:
        return None
    return Fraction(text)


def written_share(text: str) -> Fraction | None:
    """The share that a text denotes, of whatever size; None where it denotes none.

    Example:
        >>> written_share("±20 %"), written_share("0.2"), written_share("a fifth")
        (Fraction(1, 5), Fraction(1, 5), None)
    """
    match = _SHARE.fullmatch(text.strip())
    return Fraction(match[1]) / (100 if match[2] else 1) if match else None
