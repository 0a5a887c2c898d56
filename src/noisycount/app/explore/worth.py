"""What noise costs whoever uses the answer, and what it hides."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Self

from noisycount.analysis.utility.utility import utility_loss
from noisycount.app.explore.hiding import deltas, is_affordable
from noisycount.app.explore.quantity import QUANTITIES
from noisycount.app.explore.sliders import Sliders
from noisycount.app.risk.setting import Onlooker
from noisycount.model.subsampling import Subsample

__all__ = ["Guesses", "Worth"]

_FACTORS = tuple(map(Fraction, ("1/8", "3/16", "1/4", "1/2", "1", "3", "8")))  # of the scale
_MOST_VARIANCE = 10.0  # of a sampled count, in records²: a tenth of a second


@dataclass(frozen=True, slots=True)
class Guesses:
    """How often the best guess about one person is right, 50:50 before.

    Attributes:
        onlooker: Who sees the answer.
        shares: (1 + δ(0))/2 for each scale of the noise.
    """

    onlooker: Onlooker
    shares: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Worth:
    """Errors and guesses for scales around that of the noise.

    Attributes:
        sliders: Where all sliders stand.
        scales: In records, increasing, the scale of the noise among them.
        errors: The standard error of the answer about all records for each scale, in records.
        noise: The part of the privacy noise at the scale of the noise, in records.
        sampling: The part of the sample, in records; 0 where all records are counted.
        guesses: For each adversary, the worst case first.
    """

    sliders: Sliders
    scales: tuple[Fraction, ...]
    errors: tuple[float, ...]
    noise: float
    sampling: float
    guesses: tuple[Guesses, ...]

    @classmethod
    def of(cls, sliders: Sliders) -> Self:
        """What noise of other scales would cost and hide."""
        others = [replace(sliders, scale=scale) for scale in _scales(sliders.scale)]
        size, drawn = sliders.size, sliders.drawn
        sampled = utility_loss(Subsample(drawn), sliders.population) if drawn < size else 0.0
        return cls(
            sliders,
            tuple(other.scale for other in others),
            tuple(_error(other) for other in others),
            noise=float(sliders.made_noise.variance**0.5) * size / drawn,
            sampling=math.sqrt(sampled) * size,
            guesses=tuple(_guesses(others)),
        )

    @property
    def is_whole(self) -> bool:
        """Whether no adversary was left out, whose guesses take longer than a page may."""
        return len(self.guesses) == len(list(self.sliders.setting.onlookers()))

    @property
    def own(self) -> int:
        """The place of the scale of the noise."""
        return self.scales.index(self.sliders.scale)


def _scales(own: Fraction) -> list[Fraction]:
    """Scales around one, within the range of its slider."""
    quantity = QUANTITIES["scale"]
    return [own * factor for factor in _FACTORS if quantity.low <= own * factor <= quantity.high]


def _error(sliders: Sliders) -> float:
    """The standard error about all records, in records."""
    mechanism = sliders.setting.mechanism
    return math.sqrt(utility_loss(mechanism, sliders.population)) * sliders.size


def _guesses(others: list[Sliders]) -> Iterator[Guesses]:
    """What each adversary can guess, scale by scale."""
    mechanisms = [other.setting.mechanism for other in others]
    for each in others[0].setting.onlookers():
        if is_affordable(others[0], each, _MOST_VARIANCE):
            gaps = [deltas(mechanism, each.population, (0.0,))[0] for mechanism in mechanisms]
            yield Guesses(each, tuple((1 + gap) / 2 for gap in gaps))
