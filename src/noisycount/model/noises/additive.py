"""Noise that is added to the count."""

import math
from abc import abstractmethod
from fractions import Fraction

from noisycount.model.laws.tails import Tail
from noisycount.model.mechanism import Mechanism
from noisycount.model.noises.error_laws import CertifiedErrorLaw
from noisycount.model.noises.smallest_error import smallest_error
from noisycount.model.validation import real_number

__all__ = ["AdditiveNoise", "SymmetricNoise", "check_integer", "log_complement"]


class SymmetricNoise(Mechanism):
    """A mechanism Y = K + Z: the noise Z is symmetric, one-peaked and independent of the count."""

    __slots__ = ()

    @property
    @abstractmethod
    def variance(self) -> float:
        """The variance of the noise, in records²."""

    @property
    @abstractmethod
    def errors(self) -> CertifiedErrorLaw:
        """The law of the noise at many errors at once."""

    @property
    def is_discrete(self) -> bool:
        """Whether the answers are integers."""
        return self.errors.is_discrete

    @abstractmethod
    def check_answer(self, answer: float) -> None:
        """Refuse, with a ValueError, an answer that this noise cannot give."""

    @abstractmethod
    def log_tail(self, alpha: float) -> float:
        """The logarithm of P[|Y − K| >= alpha], alpha in records."""

    @abstractmethod
    def log_within(self, alpha: float) -> float:
        """The logarithm of P[|Y − K| < alpha], alpha in records, also where it is tiny."""

    @abstractmethod
    def log_exceedance(self, error: float) -> float:
        """The logarithm of P[Z >= error], error in records."""

    def smallest_error(self, beta: float) -> float:
        """The smallest alpha, in records, with P[|Y − K| >= alpha] <= beta, beta in (0, 1)."""
        return self.error_with_tail(math.log(beta))

    def error_with_tail(self, log_beta: float) -> float:
        """The smallest alpha, in records, with ln P[|Y − K| >= alpha] <= log_beta < 0."""
        return smallest_error(self, log_beta)


class AdditiveNoise(SymmetricNoise):
    """Noise of one kind and one scale."""

    __slots__ = ()

    @property
    @abstractmethod
    def exact_scale(self) -> Fraction:
        """The scale in records, as the rational that is drawn."""

    def log_exceedance(self, error: float) -> float:
        """The logarithm of P[Z >= error], error in records.

        Of discrete noise it is the smooth curve through its values at integers, on each side of 0.
        """
        below = error <= 0
        tail = self.log_tail(abs(error)) - math.log(2)
        return log_complement(tail) if below else tail

    def tail(self, answer: float, size: int, *, upper: bool) -> Tail:  # noqa: ARG002  (as additive noise of every size)
        """P[Y >= answer | K = k] (upper) or P[Y <= answer | K = k] as a function of the count k."""
        self.check_answer(answer)
        side = 1 if upper else -1
        return Tail(
            lambda count: self.log_exceedance(side * (answer - count)),
            kinks=(answer - 1, answer, answer + 1),
        )


def log_complement(log_probability: float) -> float:
    """The logarithm of 1 − p from that of p."""
    return math.log1p(-math.exp(log_probability))


def check_integer(answer: float) -> None:
    """Refuse, with a ValueError, an answer that discrete noise cannot give."""
    if not real_number(answer, "answer").is_integer():
        raise ValueError(f"answer must be an integer under discrete noise, got {answer!r}")
