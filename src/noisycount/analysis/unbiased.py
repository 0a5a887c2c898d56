"""Functions of an answer that are right on average."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from noisycount.frozen import frozen
from noisycount.model.laws.gamma import Reals
from noisycount.model.mechanism import Mechanism
from noisycount.model.noises.laplace import DiscreteLaplace

# A function of counts as arrays, such as `numpy.square`: of all integers, negative ones too.
OfCount = Callable[[Reals], Reals]


@frozen
class Unbiased:
    """The estimate g(y) with E[g(Y)] = f(k) for every count k."""

    function: OfCount  # the function f of a count
    noise: DiscreteLaplace  # the noise of the answer

    def __call__(self, answers: ArrayLike) -> Reals:
        """The estimate for each answer, shape as given; nan for nan."""
        given = np.asarray(answers, dtype=np.float64)
        wrong = ~(np.isnan(given) | (given == np.floor(given))) | np.isinf(given)
        if wrong.any():
            refused = float(given[wrong].flat[0])
            raise ValueError(f"answers must be integers under discrete noise, got {refused!r}")
        below, here, above = (np.asarray(self.function(given + step), dtype=np.float64) for step in (-1, 0, 1))
        bend = (above - here) - (here - below)
        estimates: Reals = here - self.weight * bend
        return estimates[()]

    @property
    def weight(self) -> float:
        """a/(1 − a)² = 1/(4·sinh²(1/(2·scale))): half of the variance of the noise."""
        return 1 / (4 * math.sinh(float(1 / self.noise.scale) / 2) ** 2)


def unbiased(f: OfCount, noise: Mechanism) -> Unbiased:
    """The estimate of f(count) that is right on average, under discrete Laplace noise.

    g(y) = f(y) − a/(1 − a)²·(f(y + 1) − 2·f(y) + f(y − 1)), a = e^(−1/scale).

    Since the law of the noise is a two-sided geometric series, this second difference undoes it: E[g(Y)] = f(k) for
    every whole count k, if E|f(Y)| is finite. It is the only such estimate. Its variance is E[g(Y)²] − f(k)², which
    grows with the bends of f: with v = 2a/(1 − a)², the variance of the noise, that of the count itself is v, that of
    the square (g(y) = y² − v) is 4k²·v + Var[Z²]. A right average is not a small error: g(y) may be negative where f
    never is, and posterior means err less.

    Args:
        f: A function of arrays of integers, negative ones included, as answers may be negative.
        noise: `DiscreteLaplace`; of other noises no second difference undoes the law: continuous
            Laplace noise takes derivatives, Gaussian noise a series that need not converge.

    Raises:
        ValueError: If the noise is another one.

    Source: arXiv:2605.06502.
    Numerical error: no bound is promised. The second difference is rounded like f itself, and that
    error is multiplied by the weight, half of the variance of the noise.

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
        f"noise must be DiscreteLaplace, got {noise!r}: only the law of that noise is undone by a second difference"
    )
