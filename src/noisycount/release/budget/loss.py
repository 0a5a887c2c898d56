"""What answers have cost together."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from noisycount.release.budget.exact import exact_value, rational
from noisycount.shown.value import Shown

__all__ = ["Loss"]


@dataclass(frozen=True, slots=True)
class Loss(Shown):
    """The privacy loss of all answers so far, added up exactly in two ways.

    An answer that is ε-differentially private is also ε²/2-zCDP. Both add up over answers, also
    where each question and each price depends on the answers before.

    Args:
        epsilon: The sum of the ε.
        rho: The sum of the ε²/2.

    Raises:
        ValueError: A sum is no rational.

    Source:
        M. Bun and T. Steinke, Concentrated Differential Privacy (2016), Proposition 1.4 and
        Lemma 1.7; for prices that depend on answers R. Rogers, A. Roth, J. Ullman and S. Vadhan,
        Privacy Odometers and Filters (2016), and V. Feldman and T. Zrnic, Individual Privacy
        Accounting via a Rényi Filter (2021).

    Numerical error:
        None: both are rationals.

    Example:
        >>> Loss.of(Fraction(1, 3)) + Loss.of(Fraction(1))
        Loss(epsilon=Fraction(4, 3), rho=Fraction(5, 9))
    """

    epsilon: Fraction = Fraction(0)
    rho: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", rational(self.epsilon, "epsilon"))
        object.__setattr__(self, "rho", rational(self.rho, "rho"))

    @classmethod
    def of(cls, epsilon: Fraction) -> Self:
        """The loss of one answer."""
        exact = rational(epsilon, "epsilon")
        return cls._of_exact(exact, exact * exact / 2)

    @classmethod
    def read(cls, epsilon: str, rho: str) -> Self:
        """The loss whose sums `exact_text` wrote.

        Raises:
            ValueError: A text is something else.
        """
        return cls._of_exact(exact_value(epsilon), exact_value(rho))

    def __add__(self, other: Self) -> Self:
        return self._of_exact(self.epsilon + other.epsilon, self.rho + other.rho)

    @classmethod
    def _of_exact(cls, epsilon: Fraction, rho: Fraction) -> Self:
        """The loss of two sums that are known to be rationals of Python's own integers."""
        loss = object.__new__(cls)
        object.__setattr__(loss, "epsilon", epsilon)
        object.__setattr__(loss, "rho", rho)
        return loss
