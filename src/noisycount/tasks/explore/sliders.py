"""The sliders of Explore: their ranges and stops, where they stand, as an address says it, and what they mean."""

import math
import re
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Self
from urllib.parse import urlencode

from noisycount.errors import NoisyCountError
from noisycount.frozen import frozen
from noisycount.model.noises.additive import AdditiveNoise
from noisycount.model.populations.binomial import Binomial
from noisycount.readers.assumption import Assumed, Rate
from noisycount.readers.values import NOISE_KINDS, noise_of
from noisycount.tasks.risk import RiskScenario
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


_NOISE = "discrete-laplace"

# What an address says, in this order.
NAMES = ("size", "rate", "noise", "scale", "sample", "known", "deviations")


@frozen
class Sliders:
    """A count that is asked for with noise, and an answer to it; all of it public.

    Example:
        >>> Sliders.of_query({"epsilon": "0.15", "size": "5912"}).scale
        Fraction(20, 3)
    """

    size: int = int(QUANTITIES["size"].start)  # the number of records, 2 to 1,000,000
    rate: Fraction = QUANTITIES["rate"].start  # the chance that a record counts, 0.0001 to 0.9999
    noise: str = _NOISE  # the kind of noise, by what one types for `--noise`
    scale: Fraction = QUANTITIES["scale"].start  # of the noise, 0.3 to 10,000 records
    sample: Fraction = QUANTITIES["sample"].start  # the share of the records that is drawn and counted, 0.01 to 1
    # the share of the records that the partly informed adversary knows, 0 to 0.999
    known: Fraction = QUANTITIES["known"].start
    # how far the answer is above what was expected, −4 to 4 standard deviations
    deviations: Fraction = QUANTITIES["deviations"].start

    def __post_init__(self) -> None:
        """The refusal of what no slider reaches."""
        if self.noise not in NOISE_KINDS:
            kinds = " or ".join(NOISE_KINDS)
            raise NoisyCountError(f"noise must be {kinds}, got {self.noise[:20]!r}: choose one")
        for name, quantity in QUANTITIES.items():
            value = quantity.checked(Fraction(getattr(self, name)))
            object.__setattr__(self, name, int(value) if quantity.is_whole else value)

    @classmethod
    def of_query(cls, given: Mapping[str, str]) -> Self:
        """What an address says; what it leaves out stands where it stands at first."""
        odd = [name for name in given if name not in {*NAMES, EPSILON.name}]
        if odd:
            raise NoisyCountError(f"an address of Explore has no {odd[0][:20]!r}: give {', '.join(NAMES)} or epsilon")
        texts = {name: text for name, text in given.items() if text.strip()}
        noise = texts.pop("noise", _NOISE)
        epsilon = texts.pop(EPSILON.name, None)
        values = {name: QUANTITIES[name].value(text) for name, text in texts.items()}
        if epsilon is not None:
            values["scale"] = _scale(epsilon, noise, is_given_too="scale" in values)
        size = int(values.pop("size", QUANTITIES["size"].start))
        return cls(size=size, noise=noise, **values)

    @property
    def texts(self) -> dict[str, str]:
        """Each value as it is written in an address."""
        return {name: value if isinstance(value := getattr(self, name), str) else exact_text(value) for name in NAMES}

    @property
    def query(self) -> str:
        """The one way to write all this in an address.

        Example:
            >>> Sliders().query
            'size=1000&rate=0.1&noise=discrete-laplace&scale=10&sample=1&known=0.5&deviations=1'
        """
        return urlencode(self.texts)

    @property
    def made_noise(self) -> AdditiveNoise:
        """What is added to the count."""
        return noise_of(self.noise, self.scale)

    @property
    def epsilon(self) -> Fraction | None:
        """ε of the noise for who knows all other records; None: there is none with δ = 0."""
        own = self.made_noise.epsilon
        return None if own is None else 1 / self.scale

    @property
    def population(self) -> Binomial:
        """The law of the count of all records."""
        return Binomial(self.size, float(self.rate))

    @property
    def drawn(self) -> int:
        """How many records are drawn and counted, at least one."""
        return max(1, round(self.size * self.sample))

    @property
    def is_sampled(self) -> bool:
        """Whether some records are left out of the count."""
        return self.drawn < self.size

    @property
    def counted(self) -> Binomial:
        """The law of the count of those that are drawn."""
        return Binomial(self.drawn, float(self.rate))

    @property
    def known_records(self) -> int:
        """How many records the partly informed adversary knows, of whom one is never known."""
        return min(self.size - 1, round(self.size * self.known))

    @property
    def answer(self) -> int:
        """The answer, in records of those that are drawn."""
        spread = math.sqrt(self.counted.law().variance + self.made_noise.variance)
        return round(float(self.drawn * self.rate) + float(self.deviations) * spread)

    @property
    def setting(self) -> RiskScenario:
        """The same for `noisycount risk`."""
        return RiskScenario(
            Assumed.of_rate(self.size, Rate(float(self.rate))),
            self.made_noise,
            sample=self.drawn if self.is_sampled else None,
            known=self.known_records or None,
        )


def _scale(epsilon: str, noise: str, *, is_given_too: bool) -> Fraction:
    """The scale of Laplace noise of that ε."""
    if is_given_too:
        raise NoisyCountError("epsilon and scale say the same of noise: give one of them")
    if noise in NOISE_KINDS and NOISE_KINDS[noise](1).epsilon is None:
        raise NoisyCountError(f"{noise} noise has no epsilon with δ = 0: give its scale")
    return 1 / EPSILON.value(epsilon)
