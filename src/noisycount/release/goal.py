"""What an asker wants of an answer, and the price of that."""

from dataclasses import dataclass
from fractions import Fraction

from noisycount.model.drawing.scales import as_written
from noisycount.model.half_width import epsilon_within, readable_epsilon_within
from noisycount.model.validation import fraction_of_one
from noisycount.model.written import written_share
from noisycount.release.budget.exact import Exactly, exact_epsilon, is_in_range

__all__ = ["Goal"]


@dataclass(frozen=True, slots=True)
class Goal:
    """A price, or how near the answer should be to the count.

    Args:
        epsilon: The price itself.
        within: The half-width as a share of the guess, such as "20%" or 0.2.
        error: The half-width in units.
        guess: A public guess of the count, for `within`; never the true count.
        confidence: The probability that the answer lies within the half-width, in (0, 1).

    Example:
        >>> Goal(within="20%", guess=100).price, Goal(error=20).price, Goal(epsilon=0.1).price
        (Fraction(3, 20), Fraction(3, 20), Fraction(1, 10))
    """

    epsilon: Exactly | None = None
    within: str | float | Fraction | None = None
    error: float | Fraction | None = None
    guess: float | Fraction | None = None
    confidence: float = 0.95

    @property
    def price(self) -> Fraction:
        """The ε that reaches the goal: given, or as `noisycount plan` computes it.

        Raises:
            ValueError: None or several of epsilon, within and error are given, a guess is missing
                or not needed, a value is out of range, or no ledger keeps the price.
        """
        fraction_of_one(self.confidence, "confidence")
        asked = {"epsilon": self.epsilon, "within": self.within, "error": self.error}
        given = [name for name, value in asked.items() if value is not None]
        if len(given) != 1:
            raise ValueError(
                "one of epsilon, within and error must be given, "
                f"got {' and '.join(given) or 'none'}: such as epsilon='0.1', or within='20%' with "
                "a public guess"
            )
        if (self.guess is None) == (self.within is not None):
            raise ValueError(
                f"guess must be given with within, and only then, got {self.guess!r} with "
                f"{given[0]}: within is a share of the public guess"
            )
        return self._price_within() if self.epsilon is None else exact_epsilon(self.epsilon)

    def _price_within(self) -> Fraction:
        """The price of the half-width."""
        error = self._half_width
        formula = epsilon_within(error, self.confidence)
        if not is_in_range(formula):
            name = "error" if self.within is None else "within"
            raise ValueError(
                f"{name} must need an ε from 1e-9 to 1e6, got ±{float(error):.3g} units, which "
                f"need {formula:.2g}: choose another goal"
            )
        return exact_epsilon(readable_epsilon_within(error, self.confidence))

    @property
    def _half_width(self) -> Fraction:
        """How far off the answer may be, in units."""
        if self.error is not None:
            return as_written(self.error, "error")
        assert self.guess is not None  # noqa: S101  (`price` refuses that)
        return _share(self.within) * as_written(self.guess, "guess")


def _share(within: str | float | Fraction | None) -> Fraction:
    """A share of the guess, from its text too."""
    if isinstance(within, (int, float, Fraction)) and not isinstance(within, bool):
        share: Fraction | None = as_written(within, "within")
    else:
        share = written_share(within) if isinstance(within, str) else None
    if share is None or not 0 < share <= 1:
        raise ValueError(
            f"within must be above 0 and at most 100%, such as '20%' or 0.2, got {within!r}"
        )
    return share
