"""Noise with a density, whose answers are rounded to a public grid."""

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

from noisycount.model.drawing.one import RandomIntegers
from noisycount.model.drawing.scales import public_grid
from noisycount.model.noises.additive import AdditiveNoise
from noisycount.model.validation import positive_number, whole_number

__all__ = ["ContinuousNoise"]


@dataclass(frozen=True, slots=True)
class ContinuousNoise(AdditiveNoise):
    """Noise on the real numbers, of any positive scale.

    Args:
        scale: In records, positive and finite.

    Raises:
        ValueError: If the scale is not a positive finite number.
    """

    scale: float = field()  # without, the property of the base would be its default

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive_number(self.scale, "scale"))

    def on_grid(self, count: int, steps: Callable[[Fraction, RandomIntegers], int]) -> float:
        """The count plus noise on a public grid.

        Args:
            count: The true count, a whole number.
            steps: Draws the noise in steps of the grid, from the scale in such steps.
        """
        grid = public_grid(self.scale)
        drawn = steps(self.exact_scale / grid, RandomIntegers())
        return float(whole_number(count, "count") + drawn * grid)
