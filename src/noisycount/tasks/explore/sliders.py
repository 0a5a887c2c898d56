"""The sliders of Explore: their ranges and stops, and their positions as the query of an address.

`Quantity` describes one slider. `Sliders` holds the positions of all, and derives the noise and the count from them.
"""

import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import fields
from fractions import Fraction
from pathlib import Path
from typing import Any, Self
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


@frozen
class Quantity:
    """A number that a slider sets.

    Example:
        >>> QUANTITIES["scale"].value("20/3")
        Fraction(20, 3)
    """

    name: str  # name in an address, as on the command line
    label: str  # label on the page
    unit: str  # unit of the values
    low: Fraction  # smallest value
    high: Fraction  # largest value
    stops: tuple[Fraction, ...]  # stops of the slider in ascending order; any other value of the range can be typed
    start: Fraction  # value on a page whose address does not state one
    is_whole: bool = False  # True if only whole numbers are values

    @property
    def range(self) -> str:
        """The range in words."""
        return f"{exact_text(self.low)} to {float(self.high):,.12g}".replace("-", "−")

    def value(self, text: str) -> Fraction:
        """Return the number that a text states. Raise NoisyCountError if it is not a number of the range."""
        match = _SIGNED.fullmatch(text.strip().replace("−", "-"))
        number = parse_rational(match[2]) if match and len(text) <= _LONGEST else None
        if number is None or match is None:
            raise self._range_error(repr(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."))
        return self.require_in_range(-number if match[1] else number)

    def require_in_range(self, value: Fraction) -> Fraction:
        """Return the value. Raise NoisyCountError if it is out of range, or a fraction where a whole number must be."""
        if not self.low <= value <= self.high or (self.is_whole and value.denominator > 1):
            raise self._range_error(exact_text(value))
        return value

    def nearest(self, value: Fraction) -> int:
        """Return the index of the stop nearest to a value."""
        return min(range(len(self.stops)), key=lambda number: abs(self.stops[number] - value))

    def _range_error(self, got: str) -> NoisyCountError:
        kind = "a whole number" if self.is_whole else "a number"
        return NoisyCountError(f"{self.name} must be {kind} from {self.range}, got {got}: choose one in that range")


def _load_quantities() -> dict[str, Quantity]:
    """Return the quantities of `sliders.toml` by name, in the order in which a page shows them."""
    text = Path(__file__).with_name("sliders.toml").read_text(encoding="utf-8")
    quantities = {}
    for name, parts in tomllib.loads(text).items():
        numbers: dict[str, Any] = {part: Fraction(parts.pop(part)) for part in ("low", "high", "start")}
        stops = tuple(map(Fraction, parts.pop("stops", "").split()))
        quantities[name] = Quantity(name, **parts, **numbers, stops=stops)
    return quantities


QUANTITIES = _load_quantities()
# ε may be given in place of the scale of Laplace noise; it has no slider.
EPSILON = QUANTITIES.pop("epsilon")

_NOISE = "discrete-laplace"


@frozen
class Sliders:
    """The positions of all sliders: a count that is answered with noise, and a possible answer. All of it is public.

    Example:
        >>> Sliders.from_query({"epsilon": "0.15", "size": "5912"}).scale
        Fraction(20, 3)
    """

    size: int = int(QUANTITIES["size"].start)  # number of records, 2 to 1,000,000
    rate: Fraction = QUANTITIES["rate"].start  # probability that a person or row is counted, 0.0001 to 0.9999
    noise: str = _NOISE  # kind of noise, as an argument of `--noise`
    scale: Fraction = QUANTITIES["scale"].start  # scale of the noise, 0.3 to 10,000 records
    sample: Fraction = QUANTITIES["sample"].start  # share of the records that is drawn and counted, 0.01 to 1
    # share of the records that the partly informed adversary knows, 0 to 0.999
    known: Fraction = QUANTITIES["known"].start
    # difference between the answer and its expectation, −4 to 4 standard deviations
    deviations: Fraction = QUANTITIES["deviations"].start

    def __post_init__(self) -> None:
        """Raise NoisyCountError if the noise is no known kind, or if a value is out of the range of its slider."""
        if self.noise not in NOISE_KINDS:
            kinds = " or ".join(NOISE_KINDS)
            raise NoisyCountError(f"noise must be {kinds}, got {self.noise[:20]!r}: choose one")
        for name, quantity in QUANTITIES.items():
            value = quantity.require_in_range(Fraction(getattr(self, name)))
            object.__setattr__(self, name, int(value) if quantity.is_whole else value)

    @classmethod
    def from_query(cls, texts_by_name: Mapping[str, str]) -> Self:
        """Return the positions that the query of an address states; a missing one has its start value.

        Raise NoisyCountError if a name is unknown, a value is out of range, or both `epsilon` and `scale` are given.
        """
        unknown_names = [name for name in texts_by_name if name not in {*NAMES, EPSILON.name}]
        if unknown_names:
            raise NoisyCountError(
                f"{unknown_names[0][:20]!r} is no parameter of Explore: give {', '.join(NAMES)} or epsilon"
            )
        texts = {name: text for name, text in texts_by_name.items() if text.strip()}
        noise = texts.pop("noise", _NOISE)
        epsilon = texts.pop(EPSILON.name, None)
        values = {name: QUANTITIES[name].value(text) for name, text in texts.items()}
        if epsilon is not None:
            values["scale"] = _scale_for_epsilon(epsilon, noise, is_given_too="scale" in values)
        size = int(values.pop("size", QUANTITIES["size"].start))
        return cls(size=size, noise=noise, **values)

    @property
    def texts(self) -> dict[str, str]:
        """Values by name, as texts of an address."""
        return {name: value if isinstance(value := getattr(self, name), str) else exact_text(value) for name in NAMES}

    @property
    def query(self) -> str:
        """Query of an address with these positions, in canonical form.

        Example:
            >>> Sliders().query
            'size=1000&rate=0.1&noise=discrete-laplace&scale=10&sample=1&known=0.5&deviations=1'
        """
        return urlencode(self.texts)

    @property
    def added_noise(self) -> AdditiveNoise:
        """Noise that is added to the count."""
        return noise_of(self.noise, self.scale)

    @property
    def epsilon(self) -> Fraction | None:
        """ε of the noise against an adversary who knows all other records; None if the noise has no ε with δ = 0.

        Sampling is not taken into account.
        """
        noise_epsilon = self.added_noise.epsilon
        return None if noise_epsilon is None else 1 / self.scale

    @property
    def population(self) -> Binomial:
        """Distribution of the count of all records."""
        return Binomial(self.size, float(self.rate))

    @property
    def sample_size(self) -> int:
        """Number of records that are drawn and counted, at least one."""
        return max(1, round(self.size * self.sample))

    @property
    def is_sampled(self) -> bool:
        """True if only a sample of the records is drawn."""
        return self.sample_size < self.size

    @property
    def sample_count(self) -> Binomial:
        """Distribution of the count of the drawn records."""
        return Binomial(self.sample_size, float(self.rate))

    @property
    def known_records(self) -> int:
        """Number of records that the partly informed adversary knows; at least one record remains unknown."""
        return min(self.size - 1, round(self.size * self.known))

    @property
    def answer(self) -> int:
        """Possible answer about the drawn records: the expected one, shifted by `deviations` standard deviations.

        The standard deviation is that of the answer, which includes the count and the noise.
        """
        spread = math.sqrt(self.sample_count.law().variance + self.added_noise.variance)
        return round(float(self.sample_size * self.rate) + float(self.deviations) * spread)

    @property
    def scenario(self) -> RiskScenario:
        """These positions as a scenario of `noisycount risk`."""
        return RiskScenario(
            Assumed.from_rate(self.size, Rate(float(self.rate))),
            self.added_noise,
            sample=self.sample_size if self.is_sampled else None,
            known=self.known_records or None,
        )


# Names in the query of an address, in this order.
NAMES = tuple(field.name for field in fields(Sliders))


def _scale_for_epsilon(epsilon: str, noise: str, *, is_given_too: bool) -> Fraction:
    """Return the scale of Laplace noise with a given ε.

    Raise NoisyCountError if a scale is given too, or if noise of this kind has no ε with δ = 0.
    """
    if is_given_too:
        raise NoisyCountError("epsilon and scale both set the noise: give one of them")
    if noise in NOISE_KINDS and NOISE_KINDS[noise](1).epsilon is None:
        raise NoisyCountError(f"{noise} noise has no epsilon with δ = 0: give its scale")
    return 1 / EPSILON.value(epsilon)
