"""What turns the transform of a law into that of the mass between two errors."""

from dataclasses import dataclass

import numpy as np

from noisycount.model.laws.expansion import Reals
from noisycount.model.noises.sums.transforms import Complexes, Path, Tilt, Tilted

__all__ = ["Window"]

_SMALL = 1e-3  # below, the first terms of both series are within 2e-7 of the whole
_FAR = 300.0  # whose squared hyperbolic sine, e^600/4, is a double still


@dataclass(frozen=True, slots=True)
class Window:
    """The transform of a window of errors around 0.

    It is ∫ e^(s·u) du = 2·sinh(s·w/2)/s over |u| < w/2 on the line, and on a lattice the sum
    sinh(s·w/2)/sinh(s/2) over w points with gaps of 1. So the density of the noise that is joined
    by it is, at w/2 or at (w + 1)/2, the mass of the noise in [0, w) or on 1..w: a sum of positive
    terms, to full relative precision also where it is tiny.

    Attributes:
        width: w, in records or in points.
        is_discrete: Whether the window is that of a lattice.
    """

    width: float
    is_discrete: bool

    @property
    def centre(self) -> float:
        """Where the density of the joined noise is the mass."""
        return (self.width + 1) / 2 if self.is_discrete else self.width / 2

    def in_units(self, unit: float) -> "Window":
        """The same window in other units of records."""
        return Window(self.width / unit, self.is_discrete)

    def slopes(self, tilt: Tilt) -> tuple[Reals, Reals]:
        """The mean and the variance of the tilted window."""
        mean, variance = _uniform_slopes(tilt.point, self.width)
        if not self.is_discrete:
            return mean, variance
        gap_mean, gap_variance = _uniform_slopes(tilt.point, 1.0)
        return mean - gap_mean, variance - gap_variance

    def tilted(self, tilt: Tilt) -> Tilted:
        """(1 − e^(−w·s))/s, or (1 − e^(−w·s))/(1 − e^−s), but for the drift."""
        span = -np.expm1(-tilt.point) if self.is_discrete else tilt.point
        drift = self.width / 2 - (0.5 if self.is_discrete else 0.0)
        logarithm = tilt.point * drift + np.log(-np.expm1(-tilt.point * self.width) / span)
        point = tilt.point[:, None]

        def rest(path: Path) -> Complexes:
            places = point + path.step
            falls = np.expm1(-self.width * places) / np.expm1(-self.width * point)
            spans = np.expm1(-places) / np.expm1(-point) if self.is_discrete else places / point
            logs: Complexes = np.log(falls / spans)
            return logs

        return Tilted(logarithm, drift, rest=rest)


def _uniform_slopes(point: Reals, width: float) -> tuple[Reals, Reals]:
    """The first two derivatives of ln(sinh(θ·w/2)/(θ·w/2)), as precisely as a path needs them."""
    reach = point * width / 2
    large = np.maximum(reach, _SMALL)
    mean = np.where(reach < _SMALL, reach / 3, 1 / np.tanh(large) - 1 / large)
    spread = 1 / large**2 - 1 / np.sinh(np.minimum(large, _FAR)) ** 2
    variance = np.where(reach < _SMALL, 1 / 3, spread)
    return width / 2 * mean, (width / 2) ** 2 * variance
