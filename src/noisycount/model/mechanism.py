"""The interface of a mechanism: the distribution of an answer given the count.

`noises.additive` and `subsampling` implement it.
"""

from abc import ABC, abstractmethod

from numpy.typing import ArrayLike

from noisycount.display.values import Shown
from noisycount.model.laws.factors import Factor, ValuedFactor
from noisycount.model.laws.gamma import Reals


class Mechanism(Shown, ABC):
    """The distribution of an answer Y given a count K, for analysis and for releases."""

    __slots__ = ()

    @abstractmethod
    def likelihood(self, answer: float, size: int) -> Factor:
        """Return P[Y = answer | K = k] as a function of the count k, up to a constant.

        Args:
            answer: The answer, in records.
            size: The number of records of the database.

        Raises:
            ValueError: If this mechanism cannot give that answer.
        """

    @abstractmethod
    def tail(self, answer: float, size: int, *, upper: bool) -> ValuedFactor:
        """Return P[Y >= answer | K = k] (upper) or P[Y <= answer | K = k] as a function of the count k.

        Args:
            answer: The answer, in records.
            size: The number of records of the database.
            upper: True for P[Y >= answer | K = k], False for P[Y <= answer | K = k].
        """

    @abstractmethod
    def logpmf(self, answer: float, counts: ArrayLike, size: int | None = None) -> Reals:
        """Return ln P[Y = answer | K = k] for each count k, for samplers of other packages.

        Args:
            answer: The answer, in records.
            counts: Counts k, an array of any shape.
            size: The number of records of the database; only a sample needs it.

        Returns:
            −inf for 0; of continuous noise the logarithm of the density; shape as given.

        Raises:
            ValueError: If this mechanism cannot give that answer.
        """

    @abstractmethod
    def release(self, count: int) -> int | float:
        """Return one answer about this count, drawn by the exact sampler."""
