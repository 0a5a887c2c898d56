"""A mechanism: the law of the answer given the count."""

from abc import ABC, abstractmethod

from noisycount.model.expansion import Expansion, LogStep

__all__ = ["Mechanism"]


class Mechanism(ABC):
    """The law of an answer Y given a count K: what analysis asks of it, and one real answer."""

    @abstractmethod
    def check_answer(self, answer: float) -> None:
        """Refuse, with a ValueError, an answer that this mechanism cannot give."""

    @abstractmethod
    def expansion(self, answer: float, centre: int) -> Expansion:
        """How ln P[Y = answer | K = centre + d] changes with the integer or real offset d."""

    @abstractmethod
    def log_step(self, answer: float, count: int) -> LogStep:
        """The logarithm of P[Y = answer | K = count + 1] / P[Y = answer | K = count]."""

    @abstractmethod
    def kink(self, answer: float) -> float | None:
        """The count at which the expansion is not smooth, None if there is no such count."""

    @abstractmethod
    def release(self, count: int) -> int | float:
        """One answer about this count, drawn by the exact sampler."""
