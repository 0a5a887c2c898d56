"""How little noise keeps a privacy guarantee?"""

import math
from collections.abc import Sequence
from typing import overload

import numpy as np
from numpy.typing import ArrayLike

from noisycount.analysis.privacy.privacy_curve import privacy_curve
from noisycount.model.exact import Exact
from noisycount.model.laws.expansion import Reals
from noisycount.model.noises.catalogue import NoiseClass, noise_class
from noisycount.model.populations.population import Population
from noisycount.model.search import bracketed_by_factors, root
from noisycount.model.validation import real_number

__all__ = ["smallest_scale"]

_SMALLEST, _LARGEST = 2.0**-50, 2.0**50  # records: all noises have scales so small and so large
_FACTOR = 4.0  # the first step of the search; each is the square of the one before
_LEAST = 1e-305  # below every upper end but 0: a goal of 0 has a logarithm too


@overload
def smallest_scale(
    noise: NoiseClass, epsilon: float, delta: float, population: Population | None = None
) -> float: ...


@overload
def smallest_scale(
    noise: NoiseClass,
    epsilon: Sequence[float] | Reals,
    delta: float,
    population: Population | None = None,
) -> Reals: ...


def smallest_scale(
    noise: NoiseClass, epsilon: ArrayLike, delta: float, population: Population | None = None
) -> float | Reals:
    """The least noise that keeps δ(ε) <= delta.

    The smallest s with `privacy_curve(noise(s), population).delta(epsilon)` at most delta, raised
    by at most one part in 10^9 so that the upper end of its bracket keeps it too. δ falls in the
    scale, because a wider law is a narrower one with more noise added. For Gaussian noise and no
    population that is the analytic Gaussian mechanism.

    Args:
        noise: The class: `Laplace`, `DiscreteLaplace`, `Gaussian` or `DiscreteGaussian`.
        epsilon: ε, at least 0, a number or an array of any shape.
        delta: δ, from 0 to 1. Gaussian noise never reaches 0, and no noise does at ε = 0.
        population: What an outsider knows; None: the worst case, all records but one.

    Returns:
        The scale in records, an array for an array; 0 if what the outsider does not know is enough.

    Raises:
        ValueError: If an argument is out of range, or no scale up to 2^50 records is enough.

    Source: Breutigam and Reischuk, section 6; Balle and Wang (2018) for the worst case.
    Numerical error: 1e-9 relative, on the safe side.

    Example:
        >>> import noisycount as nc
        >>> round(nc.smallest_scale(nc.Gaussian, 0.5, 1e-6), 4)
        8.0576
        >>> round(nc.smallest_scale(nc.Gaussian, 0.5, 1e-6, nc.Binomial(500, 0.1)), 4)
        5.5451
    """
    noise_class(noise)
    if not 0 <= real_number(delta, "delta") <= 1:
        raise ValueError(f"delta must be from 0 to 1, got {delta!r}")
    given = np.asarray(epsilon, dtype=object)
    if given.ndim:
        scales = [_scale_at(noise, each, delta, population) for each in given.reshape(-1)]
        return np.array(scales, dtype=np.float64).reshape(given.shape)
    return _scale_at(noise, given.item(), delta, population)


def _scale_at(
    noise: NoiseClass, epsilon: float, delta: float, population: Population | None
) -> float:
    """The smallest scale for one ε."""
    goal = max(delta, _LEAST)
    if privacy_curve(Exact(), population).bracket(epsilon)[1] <= delta:
        return 0.0

    def shortfall(scale: float) -> float:
        upper = privacy_curve(noise(scale), population).bracket(epsilon)[1]
        return math.log(goal / upper) if upper else math.inf  # of the right sign to the last digit

    if shortfall(_LARGEST) < 0:
        raise ValueError(
            f"delta must be one that {noise.__name__} noise of a scale up to 2**50 records can "
            f"reach at epsilon = {epsilon!r}, got {delta!r}"
        )
    bracket = bracketed_by_factors(shortfall, 1.0, _FACTOR, (_SMALLEST, _LARGEST))
    return root(shortfall, bracket).high
