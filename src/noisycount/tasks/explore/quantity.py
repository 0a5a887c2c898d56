"""The quantities that sliders move: their ranges, their stops, and how they are written."""

import re
from decimal import Decimal
from fractions import Fraction

from noisycount.errors import NoisyCountError
from noisycount.frozen import frozen
from noisycount.validation import exact_text, parse_rational

_LONGEST = 20
_SIGNED = re.compile(r"(-?)(.+)")
_LEADING = ("1", "1.5", "2", "3", "5", "7")


@frozen
class Quantity:
    """A number that a slider moves.

    Example:
        >>> QUANTITIES["scale"].value("20/3")
        Fraction(20, 3)
    """

    name: str  # what it is called in an address, as on the command line
    label: str  # what people call it
    unit: str  # of its values
    low: Fraction  # the smallest value
    high: Fraction  # the largest value
    stops: tuple[Fraction, ...]  # where a slider stops, increasing; any other value in the range can be typed
    start: Fraction  # the value of a page that was asked for none
    is_whole: bool = False  # whether it is a number of things

    @property
    def range(self) -> str:
        """The range in words."""
        return f"{exact_text(self.low)} to {float(self.high):,.12g}".replace("-", "−")

    def value(self, text: str) -> Fraction:
        """The value that a text denotes."""
        match = _SIGNED.fullmatch(text.strip().replace("−", "-"))
        number = parse_rational(match[2]) if match and len(text) <= _LONGEST else None
        if number is None or match is None:
            raise self._refusal(repr(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."))
        return self.checked(-number if match[1] else number)

    def checked(self, value: Fraction) -> Fraction:
        """A value of the range."""
        if not self.low <= value <= self.high or (self.is_whole and value.denominator > 1):
            raise self._refusal(exact_text(value))
        return value

    def nearest(self, value: Fraction) -> int:
        """The number of the stop next to a value, from 0 on."""
        return min(range(len(self.stops)), key=lambda number: abs(self.stops[number] - value))

    def _refusal(self, got: str) -> NoisyCountError:
        kind = "a whole number" if self.is_whole else "a number"
        return NoisyCountError(f"{self.name} must be {kind} from {self.range}, got {got}: choose one in that range")


def _decades(low: str, high: str) -> tuple[Fraction, ...]:
    """Some round numbers of each power of ten, from the least to the largest."""
    ends = Fraction(low), Fraction(high)
    all_of_them = (Fraction(Decimal(leading).scaleb(power)) for power in range(-4, 7) for leading in _LEADING)
    return tuple(number for number in all_of_them if ends[0] <= number <= ends[1])


def _numbers(text: str) -> tuple[Fraction, ...]:
    return tuple(map(Fraction, text.split()))


def _quantity(  # noqa: PLR0913, PLR0917  (one line a quantity)
    name: str, label: str, unit: str, ends: str, start: str, stops: tuple[Fraction, ...] = (), *, is_whole: bool = False
) -> Quantity:
    low, high = _numbers(ends)
    return Quantity(name, label, unit, low, high, stops, Fraction(start), is_whole)


_SHARES = _numbers("0 .01 .02 .05 .1 .2 .3 .4 .5 .6 .7 .8 .9 .95 .99 .999")

_RATES = _numbers(".001 .002 .005 .01 .015 .02 .03 .05 .07 .1 .15 .2 .25 .3 .4 .5 .6 .7 .8 .9 .95 .98 .99")

_DRAWN = (*_SHARES[1:-3], Fraction(1))
_SIZES = tuple(number for number in _decades("10", "1000000") if number.denominator == 1)
_QUARTERS = tuple(Fraction(number, 4) for number in range(-16, 17))
_SHARE, _FAR = "share from 0 to 1", "How far the answer is from what was expected"
_DRAWN_WORDS = "Share of the records that is drawn and counted"
_KNOWN_WORDS = "Share of the records that somebody knows"

# The sliders, in the order in which a page shows them.
QUANTITIES: dict[str, Quantity] = {
    made.name: made
    for made in (
        _quantity("size", "How many records there are", "records", "2 1000000", "1000", _SIZES, is_whole=True),
        _quantity("rate", "Chance that a record counts", _SHARE, ".0001 .9999", ".1", _RATES),
        _quantity("scale", "Scale of the noise", "records", ".3 10000", "10", _decades(".3", "10000")),
        _quantity("sample", _DRAWN_WORDS, _SHARE, ".01 1", "1", _DRAWN),
        _quantity("known", _KNOWN_WORDS, _SHARE, "0 .999", ".5", _SHARES),
        _quantity("deviations", _FAR, "standard deviations", "-4 4", "1", _QUARTERS),
    )
}

_SCALES = QUANTITIES["scale"]
_EPSILONS = f"{1 / _SCALES.high} {1 / _SCALES.low}"

# What may be given in place of the scale of Laplace noise.
EPSILON = _quantity("epsilon", "ε of Laplace noise", "no unit", _EPSILONS, "1/10")
