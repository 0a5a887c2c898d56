"""What a table costs, and the noise that its price buys."""

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt

from noisycount.model.concentrated import rho_within
from noisycount.model.noises.discrete import DiscreteNoise
from noisycount.model.noises.discrete_gaussian import DiscreteGaussian
from noisycount.model.noises.discrete_laplace import DiscreteLaplace
from noisycount.release.budget.exact import Exactly, exact_delta, exact_epsilon
from noisycount.release.budget.loss import Loss
from noisycount.shown.line import short

__all__ = ["TablePrice"]

_DIGITS = 10**6  # of the scale of Gaussian noise, which is rounded up


@dataclass(frozen=True, slots=True)
class TablePrice:
    """What all counts of a table cost together.

    Attributes:
        noise: The class of the noise.
        loss: What is charged.
        threshold_delta: The probability that a key of one unit alone may appear with; 0: all keys
            are known.
        rho_delta: The δ at which ρ implies the ε that was asked for; None: no such ε was.
    """

    noise: type[DiscreteNoise]
    loss: Loss
    threshold_delta: Fraction = Fraction(0)
    rho_delta: Fraction | None = None

    @classmethod
    def of(
        cls,
        noise: object,
        epsilon: Exactly | None,
        rho: Exactly | None,
        delta: Exactly | None,
        *,
        is_hidden: bool,
    ) -> "TablePrice":
        """The price of a table.

        Under Laplace noise it is ε, and for hidden keys (ε, δ). Under Gaussian noise it is ρ; or
        (ε, δ), which the largest such ρ implies, and of which hidden keys take half of δ.

        Args:
            noise: `DiscreteLaplace` or `DiscreteGaussian`.
            epsilon: In units of privacy loss.
            rho: In those of concentrated differential privacy; for Gaussian noise.
            delta: From 1e-18 to below 1.
            is_hidden: Whether only the records know the keys.

        Raises:
            ValueError: A number is missing, is one too many, or is out of range.
        """
        if is_hidden and delta is None:
            raise ValueError("delta is missing: hidden keys need one, such as '1e-6'")
        chance = None if delta is None else exact_delta(delta)
        if noise is DiscreteLaplace:
            return cls._laplace(epsilon, rho, chance, is_hidden=is_hidden)
        if noise is DiscreteGaussian:
            return cls._gaussian(epsilon, rho, chance, is_hidden=is_hidden)
        raise ValueError(
            f"noise must be DiscreteLaplace or DiscreteGaussian, the class, got {short(noise)}"
        )

    @classmethod
    def _laplace(
        cls,
        epsilon: Exactly | None,
        rho: Exactly | None,
        delta: Fraction | None,
        *,
        is_hidden: bool,
    ) -> "TablePrice":
        if rho is not None or epsilon is None:
            remedy = "give it" if rho is None else "give it, and leave rho out"
            raise ValueError(f"epsilon is the price of Laplace noise, such as '0.5': {remedy}")
        if delta is not None and not is_hidden:
            raise ValueError(
                "delta is for hidden keys or Gaussian noise: leave it out, as all keys are known"
            )
        price = exact_epsilon(epsilon)
        return cls(DiscreteLaplace, Loss.of(price, delta or Fraction(0)), delta or Fraction(0))

    @classmethod
    def _gaussian(
        cls,
        epsilon: Exactly | None,
        rho: Exactly | None,
        delta: Fraction | None,
        *,
        is_hidden: bool,
    ) -> "TablePrice":
        if (epsilon is None) == (rho is None):
            raise ValueError(
                "rho is the price of Gaussian noise, such as '0.1': give it, or epsilon with delta"
            )
        hidden = delta or Fraction(0) if is_hidden else Fraction(0)
        if rho is not None:
            if delta is not None and not is_hidden:
                raise ValueError("delta must not be given with rho, unless keys are hidden")
            return cls(
                DiscreteGaussian, Loss.concentrated(exact_epsilon(rho, "rho"), hidden), hidden
            )
        if delta is None or epsilon is None:
            raise ValueError(
                "delta is missing: epsilon of Gaussian noise needs one, such as '1e-6'"
            )
        hidden /= 2
        implied = rho_within(exact_epsilon(epsilon), delta - hidden)
        loss = Loss.concentrated(implied, hidden)
        return cls(DiscreteGaussian, loss, hidden, rho_delta=delta - hidden)

    def mechanism(self, sensitivity: int, share: Fraction) -> DiscreteNoise:
        """The noise of counts that move by so much together, for a share of the price.

        Laplace noise of scale Δ/(share·ε); Gaussian noise of σ = √(Δ/(2·share·ρ)), rounded up, as
        the squares of moves by 1 add up to Δ as well.
        """
        if self.noise is DiscreteLaplace:
            assert self.loss.epsilon is not None  # noqa: S101 - `of` gave one
            return DiscreteLaplace(sensitivity / (share * self.loss.epsilon))
        return DiscreteGaussian(_root_above(sensitivity / (2 * share * self.loss.rho)))


def _root_above(square: Fraction) -> Fraction:
    """A square root, rounded up to seven digits.

    Example:
        >>> _root_above(Fraction(4)), float(_root_above(Fraction(2)))
        (Fraction(2, 1), 1.414214)
    """
    places = _DIGITS
    while square * places**2 < _DIGITS**2:
        places *= 10
    scaled = square * places**2
    whole = -(-scaled.numerator // scaled.denominator)
    root = isqrt(whole)
    return Fraction(root + (root * root < whole), places)
