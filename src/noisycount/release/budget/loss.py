"""What answers have cost together."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from noisycount.release.budget.exact import exact_text, exact_value, optional_value, rational
from noisycount.shown.value import Shown

__all__ = ["Loss"]

_NONE = Fraction(0)


@dataclass(frozen=True, slots=True)
class Loss(Shown):
    """The privacy loss of all answers so far, added up exactly in three ways.

    An answer that is ε-differentially private is also ε²/2-zCDP; one with Gaussian noise is ρ-zCDP
    and has no ε. Hidden keys fail with a probability of δ, and are so δ-approximately one or the
    other. All three add up over answers, also where each question and each price depends on the
    answers before.

    Args:
        epsilon: The sum of the ε; None: an answer had no ε.
        rho: The sum of the ρ, each ε²/2 where there is an ε.
        delta: The sum of the δ.

    Raises:
        ValueError: A sum is no rational.

    Source:
        M. Bun and T. Steinke, Concentrated Differential Privacy (2016), Proposition 1.4, Lemma 1.7
        and Section 8; for prices that depend on answers R. Rogers, A. Roth, J. Ullman and
        S. Vadhan, Privacy Odometers and Filters (2016), and J. Whitehouse, A. Ramdas, R. Rogers
        and Z. S. Wu, Fully-Adaptive Composition in Differential Privacy (2023).

    Numerical error:
        None: all are rationals.

    Example:
        >>> Loss.of(Fraction(1, 3)) + Loss.of(Fraction(1))
        Loss(epsilon=Fraction(4, 3), rho=Fraction(5, 9), delta=Fraction(0, 1))
        >>> (Loss.of(Fraction(1)) + Loss.concentrated(Fraction(1, 10))).text
        'ρ = 0.6'
    """

    epsilon: Fraction | None = _NONE
    rho: Fraction = _NONE
    delta: Fraction = _NONE

    def __post_init__(self) -> None:
        if self.epsilon is not None:
            object.__setattr__(self, "epsilon", rational(self.epsilon, "epsilon"))
        object.__setattr__(self, "rho", rational(self.rho, "rho"))
        object.__setattr__(self, "delta", rational(self.delta, "delta"))

    @classmethod
    def of(cls, epsilon: Fraction, delta: Fraction = _NONE) -> Self:
        """The loss of one answer that is (ε, δ)-differentially private."""
        exact = rational(epsilon, "epsilon")
        return cls._of_exact(exact, exact * exact / 2, rational(delta, "delta"))

    @classmethod
    def concentrated(cls, rho: Fraction, delta: Fraction = _NONE) -> Self:
        """The loss of one answer that is δ-approximately ρ-zCDP, and has no ε."""
        return cls._of_exact(None, rational(rho, "rho"), rational(delta, "delta"))

    @classmethod
    def read(cls, epsilon: str | None, rho: str, delta: str | None = None) -> Self:
        """The loss whose sums `exact_text` wrote.

        Args:
            epsilon: None: an answer had no ε.
            rho: The sum of the ρ.
            delta: None: no answer had a δ.

        Raises:
            ValueError: A text is something else.
        """
        return cls._of_exact(
            optional_value(epsilon), exact_value(rho), optional_value(delta) or _NONE
        )

    @property
    def text(self) -> str:
        """The loss in a few words, in ε where it has one."""
        sums = f"ρ = {exact_text(self.rho)}"
        if self.epsilon is not None:
            sums = f"ε = {exact_text(self.epsilon)}"
        return f"{sums} at δ = {float(self.delta):.6g}" if self.delta else sums

    def __bool__(self) -> bool:
        return self.epsilon is None or any((self.epsilon, self.rho, self.delta))

    def __add__(self, other: Self) -> Self:
        has_epsilon = self.epsilon is not None and other.epsilon is not None
        return self._of_exact(
            self.epsilon + other.epsilon if has_epsilon else None,  # type: ignore[operator]  # both
            self.rho + other.rho,
            self.delta + other.delta,
        )

    def includes(self, part: "Loss") -> bool:
        """Whether another loss can be a part of this one."""
        if self.epsilon is not None and (part.epsilon is None or part.epsilon > self.epsilon):
            return False
        return part.rho <= self.rho and part.delta <= self.delta

    @classmethod
    def _of_exact(cls, epsilon: Fraction | None, rho: Fraction, delta: Fraction) -> Self:
        """The loss of sums that are known to be rationals of Python's own integers."""
        loss = object.__new__(cls)
        object.__setattr__(loss, "epsilon", epsilon)
        object.__setattr__(loss, "rho", rho)
        object.__setattr__(loss, "delta", delta)
        return loss
