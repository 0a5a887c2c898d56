"""The noise of an answer on a grid: once as it is seen rounded, once as a part of it is told."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from noisycount.model.exact import Exact
from noisycount.model.laws.expansion import Reals
from noisycount.model.noises.additive import SymmetricNoise
from noisycount.model.noises.gaussian import Gaussian
from noisycount.model.noises.laplace import Laplace
from noisycount.model.noises.noise_sum import NoiseSum

__all__ = ["LOST", "Kernel", "is_continuous", "kernel"]

LOST = 1e-13
"""The mass of a law, on each side, that is left out."""

_HALF_WAY = 0.5  # where only rounding parts the bounds
_LEAST_BLUR = 1.0  # steps², of 1/(1/σ₁² + 1/τ²): then a grid is seen by 2·e^(−2π²) = 5e-9 at most
_BLURRED = 1.1e-8  # twice that, and a tenth more for all the smaller terms
_NARROW = 4.0  # times the blur: the least variance of noise that can be parted, in steps²


@dataclass(frozen=True, slots=True, eq=False)
class Kernel:
    """Noise on a grid of some steps a record, from −reach to reach records.

    Rounding an answer to the grid is a function of it, so that it can only lower δ. And where the
    noise is a sum D + R of independent parts, D on the grid, an adversary who gets the answer with
    D alone can only know more.

    Attributes:
        reach: How far from 0 the noise can lie, in records.
        steps: How many steps a record has.
        seen: The law of the rounded noise, shape (2·reach·steps + 1,).
        told: The law of D, same shape.
        error: How far the sum D + R may be from the noise, relative to its density.
        share: How much of what rounding and telling change of the variance rounding does.
    """

    reach: int
    steps: int
    seen: Reals
    told: Reals
    error: float
    share: float

    def offsets(self) -> Iterator[tuple[Reals, Reals]]:
        """Both laws at whole numbers plus 0, 1, … steps, from −reach on, shape (2·reach + 1,)."""
        width = 2 * self.reach + 1
        for start in range(self.steps):
            pair = np.zeros((2, width))
            for row, law in zip(pair, (self.seen, self.told), strict=True):
                part = law[start :: self.steps]
                row[: part.size] = part
            yield pair[0], pair[1]


def is_continuous(mechanism: Exact | SymmetricNoise) -> bool:
    """Whether answers lie between the integers."""
    return isinstance(mechanism, SymmetricNoise) and not mechanism.is_discrete


def kernel(mechanism: Exact | SymmetricNoise, steps: int) -> Kernel:
    """The noise of a mechanism on a grid.

    Args:
        mechanism: No noise, or noise on the integers or of a density.
        steps: How many steps a record has; noise on the integers has one.

    Raises:
        ValueError: If its density is not of a public kind.
    """
    if not isinstance(mechanism, SymmetricNoise):
        return Kernel(0, 1, np.ones(1), np.ones(1), 0.0, _HALF_WAY)
    reach = _reach(mechanism)
    if mechanism.is_discrete:
        law = _masses(mechanism, np.arange(-reach, reach + 1.0))
        return Kernel(reach, 1, law, law, 0.0, _HALF_WAY)
    grid = np.arange(-reach * steps, reach * steps + 1.0) / steps
    seen = mechanism.errors.between(grid - 0.5 / steps, np.full(grid.size, 1 / steps))
    parts = [_told(one, grid, steps) for one in _parts(mechanism)]
    told = reduce(lambda one, other: np.convolve(one, other, "same"), [law for law, _, _ in parts])
    hidden = sum(variance for _, _, variance in parts)
    error = sum(error for _, error, _ in parts)
    return Kernel(reach, steps, seen, told, error, 1 / (1 + 12 * hidden))


def _parts(noise: SymmetricNoise) -> Sequence[SymmetricNoise]:
    """The noises of a sum."""
    return noise.noises if isinstance(noise, NoiseSum) else [noise]


def _reach(noise: SymmetricNoise) -> int:
    """How far noise reaches, but for what is left out, in records."""
    return max(1, math.ceil(noise.error_with_tail(math.log(LOST))))


def _masses(noise: SymmetricNoise, errors: Reals) -> Reals:
    """The probabilities of integers."""
    law = noise.errors
    logs = law.log_density(errors)
    masses: Reals = law.peak * np.exp(logs - logs[errors.size // 2])
    return masses


def _told(noise: SymmetricNoise, grid: Reals, steps: int) -> tuple[Reals, float, float]:
    """The law of D, its relative error, and the variance of R in steps²."""
    if isinstance(noise, Laplace):
        return _geometric(noise.scale * steps, grid * steps)
    if isinstance(noise, Gaussian):
        return _blurred(noise.scale * steps, grid * steps)
    raise ValueError(
        "mechanism must be Laplace, Gaussian, discrete noise or none in a list of questions, "
        f"got {noise!r}"
    )


def _geometric(scale: float, grid: Reals) -> tuple[Reals, float, float]:
    """Laplace noise is discrete Laplace noise and a rest, independently and exactly.

    It is the difference of two exponential variables, of each of which the whole part and the rest
    are independent as it forgets.
    """
    law = math.tanh(1 / (2 * scale)) * np.exp(-np.abs(grid) / scale)
    ratio = math.exp(-1 / scale)
    return law, 0.0, max(0.0, 2 * scale**2 - 2 * ratio / (1 - ratio) ** 2)


def _blurred(scale: float, grid: Reals) -> tuple[Reals, float, float]:
    """Gaussian noise is discrete Gaussian noise and a Gaussian rest, but for e^(−2π²).

    With variances σ₁² and τ² the density of the sum is that of their sum, times
    1 + 2·Σ_m e^(−2π²m²s²)·cos(…) with s² = σ₁²τ²/(σ₁² + τ²) in steps², by Poisson's formula.
    Narrower noise is told whole.
    """
    variance = scale**2
    if variance <= _NARROW * _LEAST_BLUR:
        return (grid == 0).astype(np.float64), 0.0, variance
    root = math.sqrt(1 - _NARROW * _LEAST_BLUR / variance)
    hidden = 2 * _LEAST_BLUR / (1 + root)
    weights = np.exp(-(grid**2) / (2 * (variance - hidden)))
    return weights / weights.sum(), _BLURRED, hidden
