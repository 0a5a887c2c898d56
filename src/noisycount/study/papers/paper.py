"""A paper: where it appeared, its figures and its numbers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from noisycount.study.claim import Claim
from noisycount.study.figure import Figure

__all__ = ["ALIKE", "CLEARLY", "CLOSE", "MUCH", "NEARLY", "SIMILAR", "Paper", "number", "percent"]

# How a claim in words is judged: texts do not say what they mean by them.
ALIKE = 0.02  # "the same", "fall together": within 2 %
NEARLY = 0.9  # "similar to", "levels off": from 90 % on
CLEARLY = 1.1  # "significantly larger": by a tenth at least
CLOSE = 0.05  # "very close": within 5 %
SIMILAR = 1.5  # "quite similar", "quite small": less than half as much again
MUCH = 2.0  # "much", "quite helpful": twice at least


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper and how its figures are computed.

    Args:
        key: The first part of the keys of its figures.
        name: Authors and year.
        reference: Title and place.
        figures: What computes each figure, by its key, in order.
        claims: What computes the numbers that it states outside its figures; none by default.
    """

    key: str
    name: str
    reference: str
    figures: Mapping[str, Callable[[], Figure]]
    claims: Callable[[], tuple[Claim, ...]] = tuple


def number(value: float, digits: int = 3) -> str:
    """A number with so many digits, as a text has it.

    Example:
        >>> number(0.0123456), number(1234.5), number(2.0), number(3.2e-9)
        ('0.0123', '1230', '2', '3.2e-9')
    """
    text = f"{value:.{digits}g}"
    mantissa, _, power = text.partition("e")
    if power:
        text = f"{float(text):.0f}" if int(power) > 0 else f"{mantissa}e{int(power)}"
    return text.replace("-", "\N{MINUS SIGN}", 1) if value < 0 else text


def percent(share: float) -> str:
    """A share in percent, with two digits.

    Example:
        >>> percent(0.5347), percent(1.06)
        ('53 %', '110 %')
    """
    return f"{number(100 * share, 2)} %"
