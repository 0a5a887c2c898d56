"""What an answer tells of the count."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from noisycount.analysis.posterior.posterior import Posterior, posterior_of
from noisycount.app.explore.sliders import Sliders
from noisycount.charts.refinement.curves import RefinementCurves

__all__ = ["Told"]

_POINTS = 61  # of the whole range, and as many again where the count probably lies


@dataclass(frozen=True, slots=True)
class Told:
    """The count of the records that are drawn, before and after an answer.

    Attributes:
        sliders: Where all sliders stand.
        posterior: The law of that count given the answer.
        curves: What is drawn of it.
    """

    sliders: Sliders
    posterior: Posterior
    curves: RefinementCurves

    @classmethod
    def of(cls, sliders: Sliders) -> Self:
        """What the answer tells."""
        told = posterior_of(sliders.answer, sliders.counted, sliders.made_noise)
        return cls(sliders, told, RefinementCurves.of(told))

    @property
    def shown(self) -> list[int]:
        """Which points of the curves are drawn: enough of all, and enough where it matters."""
        counts = np.asarray(self.curves.counts)
        low, high = self.curves.low, self.curves.high
        width = high - low + 1
        inside = np.flatnonzero((counts >= low - width) & (counts <= high + width)).tolist()
        return sorted({*_spread(range(counts.size)), *_spread(inside)})

    @property
    def alone(self) -> float:
        """The standard deviation of the answer without anything else that is known."""
        return float(self.sliders.made_noise.variance**0.5)


def _spread(places: Sequence[int]) -> list[int]:
    """Some of the places, from the first to the last."""
    chosen = np.linspace(0, len(places) - 1, min(_POINTS, len(places))).round().astype(int)
    return [places[place] for place in chosen.tolist()]
