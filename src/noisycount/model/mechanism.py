"""A mechanism: the law of the answer given the count."""

from abc import ABC, abstractmethod

from noisycount.model.laws.factor import Factor
from noisycount.model.laws.tails import ValuedFactor
from noisycount.shown.value import Shown

__all__ = ["Mechanism"]


class Mechanism(Shown, ABC):
    """The law of an answer Y given a count K: what analysis asks of it, and one real answer."""

    __slots__ = ()

    @abstractmethod
    def likelihood(self, answer: float, size: int) -> Factor:
        """P[Y = answer | K = k] as a function of the count k, up to a constant.

        Args:
            answer: The answer, in records.
            size: The number of records of the database.

        Raises:
            ValueError: If this mechanism cannot give that answer.
        """

    @abstractmethod
    def tail(self, answer: float, size: int, *, upper: bool) -> ValuedFactor:
        """P[Y >= answer | K = k] (upper) or P[Y <= answer | K = k] as a function of the count k.

        Args:
            answer: The answer, in records.
            size: The number of records of the database.
            upper: Which of the two.
        """

    @abstractmethod
    def release(self, count: int) -> int | float:
        """One answer about this count, drawn by the exact sampler."""
