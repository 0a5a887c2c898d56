"""Unbiased estimates of functions of a count, such as its square, from an answer with discrete Laplace noise."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from noisycount.frozen import frozen
from noisycount.model.laws.gamma import Reals
from noisycount.model.mechanism import Mechanism
from noisycount.model.noises.laplace import DiscreteLaplace

# A function of an array of integers, negative ones included, such as `numpy.square`.
OfCount = Callable[[Reals], Reals]


@frozen
class Unbiased:
    """The estimate g(y) with E[g(Y)] = f(k) for every count k."""

    function: OfCount  # the function f of a count
    noise: DiscreteLaplace  # the noise of the answer

    def __call__(self, answers: ArrayLike) -> Reals:
        """Return the estimate for each answer, in the shape of the answers; nan for nan."""
        values = np.asarray(answers, dtype=np.float64)
        is_invalid = ~(np.isnan(values) | (values == np.floor(values))) | np.isinf(values)
        if is_invalid.any():
            first = float(values[is_invalid].flat[0])
            raise ValueError(f"answers must be integers under discrete noise, got {first!r}")
        below, middle, above = (np.asarray(self.function(values + step), dtype=np.float64) for step in (-1, 0, 1))
        second_difference = (above - middle) - (middle - below)
        estimates: Reals = middle - self.weight * second_difference
        return estimates[()]

    @property
    def weight(self) -> float:
        """Factor of the second difference: a/(1 − a)² = 1/(4·sinh²(1/(2·scale))), half the variance of the noise."""
        return 1 / (4 * math.sinh(float(1 / self.noise.scale) / 2) ** 2)


def unbiased(f: OfCount, noise: Mechanism) -> Unbiased:
    """Return the unbiased estimator of f(count) under discrete Laplace noise.

    g(y) = f(y) − a/(1 − a)²·(f(y + 1) − 2·f(y) + f(y − 1)), a = e^(−1/scale).

    E[g(Y)] = f(k) for every whole count k, if E|f(Y)| is finite, as the second difference inverts the convolution with
    the two-sided geometric distribution of the noise. No other estimator is unbiased for all k. Its variance is
    E[g(Y)²] − f(k)². With v = 2a/(1 − a)², the variance of the noise: v for f(k) = k; 4k²·v + Var[Z²] for f(k) = k²,
    where g(y) = y² − v. An unbiased estimate need not be accurate: g(y) may be negative although f never is, and the
    posterior mean has a smaller error.

    Args:
        f: A function of arrays of integers, negative ones included, as answers may be negative.
        noise: `DiscreteLaplace`. Other noises have no such estimator: continuous Laplace noise needs
            derivatives of f, Gaussian noise a series that need not converge.

    Raises:
        ValueError: If the noise is not `DiscreteLaplace`.

    Source: arXiv:2605.06502.
    Numerical error: no bound is stated. The rounding error of f is multiplied by half the variance of
    the noise.

    Example:
        >>> import numpy as np
        >>> import noisycount as nc
        >>> square = nc.unbiased(np.square, nc.DiscreteLaplace(2))
        >>> square([3, 0]).round(6).tolist()
        [1.164604, -7.835396]
    """
    if isinstance(noise, DiscreteLaplace):
        return Unbiased(f, noise)
    raise ValueError(
        f"noise must be DiscreteLaplace, got {noise!r}: only under that noise is a second difference unbiased"
    )
