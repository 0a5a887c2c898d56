"""Records that can be exchanged, the law of whose count has a formula with a smooth logarithm."""

from functools import lru_cache

from noisycount.model.laws.count_law import CountDistribution
from noisycount.model.laws.factor import BaseFactor, Factor
from noisycount.model.laws.smooth_law import smooth_law
from noisycount.model.populations.exchangeable import Exchangeable

__all__ = ["SmoothPopulation"]


class SmoothPopulation(BaseFactor, Exchangeable):
    """A population that is itself the factor of its law."""

    __slots__ = ()

    def law(self, *likelihoods: Factor) -> CountDistribution:
        """The law of the count, given the answers whose likelihoods these are."""
        return smooth_law([self, *likelihoods]) if likelihoods else _prior(self)

    @property
    def smooth_prior(self) -> Factor:
        """The law itself."""
        return self


@lru_cache(maxsize=64)  # laws of a few kilobytes, each asked again for every answer of a table
def _prior(population: SmoothPopulation) -> CountDistribution:
    """The law of the count before any answer."""
    return smooth_law([population])
