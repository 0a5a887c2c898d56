"""A law of a count under the names of the laws in scipy.stats."""

import numpy as np
from numpy.typing import ArrayLike

from noisycount.analysis.posterior.columns import above, quantiles, quantiles_from_above, up_to
from noisycount.model.laws.count_law import CountDistribution
from noisycount.model.laws.expansion import Reals

__all__ = ["FrozenLaw"]

_LEAST_LEVEL = 2.0**-54  # in place of a level of 0, whose quantile is no count


class FrozenLaw:
    """What a law in scipy.stats answers, for whoever has code for one.

    Counts and levels are numbers or arrays of any shape; results have that shape.
    """

    __slots__ = ()

    law: CountDistribution

    def pmf(self, counts: ArrayLike) -> Reals:
        """P[K = k | Y] for each count k."""
        return self.law.pmf(counts)

    def logpmf(self, counts: ArrayLike) -> Reals:
        """The logarithm of P[K = k | Y] for each count k, −inf for 0."""
        return self.law.log_pmf(counts)

    def cdf(self, counts: ArrayLike) -> Reals:
        """P[K <= k | Y] for each number k."""
        return up_to(self.law, counts)[()]

    def sf(self, counts: ArrayLike) -> Reals:
        """P[K > k | Y] for each number k, to full relative precision."""
        return above(self.law, counts)[()]

    def ppf(self, levels: ArrayLike) -> Reals:
        """The smallest k with P[K <= k | Y] >= level, for each level.

        Level 0 gives the count below the smallest possible one, level 1 the largest, as in SciPy.

        Raises:
            ValueError: If a level is not in [0, 1].
        """
        return quantiles(self.law, levels)[()]

    def isf(self, levels: ArrayLike) -> Reals:
        """The smallest k with P[K > k | Y] <= level, for each level, also where 1 − level is 1.

        Raises:
            ValueError: If a level is not in [0, 1].
        """
        return quantiles_from_above(self.law, levels)[()]

    def rvs(
        self,
        size: int | tuple[int, ...] | None = None,
        random_state: int | np.random.Generator | None = None,
    ) -> Reals:
        """Counts drawn from the law, for simulations: never to be released.

        Args:
            size: How many, or the shape; None: a single number.
            random_state: A seed or a generator; None: new draws each time.
        """
        levels = np.random.default_rng(random_state).random(size)
        return self.ppf(np.maximum(levels, _LEAST_LEVEL))
