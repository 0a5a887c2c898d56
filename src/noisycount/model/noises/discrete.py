"""Noise on the integers, whose law is exact: its scale is the rational that is drawn."""

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisycount.model.drawing.one import RandomIntegers
from noisycount.model.drawing.scales import as_written, drawable
from noisycount.model.laws.expansion import Reals
from noisycount.model.noises.additive import AdditiveNoise
from noisycount.model.validation import whole_number

__all__ = ["DiscreteNoise", "Sampler"]


class Sampler(NamedTuple):
    """The exact draws of a law on the integers, of a scale that is a rational number.

    Attributes:
        one: A single draw.
        many: Draws in bulk, of the same law.
    """

    one: Callable[[Fraction, RandomIntegers], int]
    many: Callable[..., NDArray[np.int64]]


@dataclass(frozen=True, slots=True, init=False)
class DiscreteNoise(AdditiveNoise):
    """Noise on the integers; of its scale its kinds tell."""

    scales: ClassVar[tuple[float, float]] = (2.0**-10, 2.0**52)  # below, the variance underflows
    sampler: ClassVar[Sampler]

    scale: Fraction = field()  # without, the property of the base would be its default

    def __init__(self, scale: float | Fraction) -> None:
        object.__setattr__(self, "scale", drawable(as_written(scale, "scale")))

    @property
    def exact_scale(self) -> Fraction:
        """The scale."""
        return self.scale

    def release(self, count: int) -> int:
        """The count plus one exact draw of the noise.

        Args:
            count: The true count, a whole number.
        """
        return whole_number(count, "count") + self.sampler.one(self.scale, RandomIntegers())

    def samples(self, size: int) -> NDArray[np.int64]:
        """Independent draws of the noise, in records, shape (size,), by the exact sampler."""
        return self.sampler.many(self.scale, whole_number(size, "size"))

    def draws(self, size: int, generator: np.random.Generator) -> Reals:
        """Draws of the noise from a seed, in records, shape (size,): never to be released."""
        return self.sampler.many(self.scale, size, generator.bytes).astype(np.float64)
