"""Closed formulas of the distribution of a sum of continuous Laplace noises."""

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.polynomial.polynomial import polyval

from noisycount.frozen import frozen
from noisycount.model.laws.gamma import Reals


@frozen(eq=False)
class LaplaceTerms:
    """The density of a sum of Laplace noises at x >= 0, in units of their widest scale: Σ_i e^(−r_i·x)·p_i(x).

    There is one term with a polynomial p_i if all scales are equal, and one with a number p_i for each scale if all
    scales differ.
    """

    rates: Reals  # r_i, shape (terms,), at least 1
    density: Reals  # coefficients of p_i in rising order, shape (terms, degree + 1)
    tail: Reals  # the same of P[Z >= x]

    def times_exponential(self, distances: Reals, *, is_tail: bool) -> Reals:
        """Return e^x times the density, or times P[Z >= x]."""
        series = self.tail if is_tail else self.density
        terms = np.exp(-(self.rates[:, None] - 1) * distances) * polyval(distances, series.T)
        return np.asarray(terms.sum(axis=0))

    @property
    def has_windows(self) -> bool:
        """True if the mass of an interval is a sum of terms that do not cancel."""
        return self.tail.shape[1] == 1

    def masses(self, starts: Reals, lengths: Reals) -> Reals:
        """Return P[start <= Z < start + length] for starts >= 0. Terms cancel no more than those of the density."""
        rates = self.rates[:, None]
        return np.asarray((self.tail * np.exp(-rates * starts) * -np.expm1(-rates * lengths)).sum(axis=0))


_MOST_NOISES = 16  # largest number of noises with a closed formula: powers of more equal ones might overflow
_LARGEST_TERMS = 100.0  # of a sum, the sizes of its terms, up to which the sum has digits enough


@lru_cache(maxsize=64)
def laplace_terms(scales: tuple[float, ...]) -> LaplaceTerms | None:
    """Return the closed formulas of a sum of Laplace noises; None if there are none without cancellation."""
    different = len(set(scales))
    if len(scales) > _MOST_NOISES or 1 < different < len(scales):
        return None
    if different == 1:
        return LaplaceTerms(np.ones(1), *_equal_laplace_coefficients(len(scales)))
    widest = Fraction(max(scales))
    units = [Fraction(scale) / widest for scale in scales]
    squares = [scale * scale for scale in units]
    shares = [
        math.prod((one / (one - other) for other in squares if other != one), start=Fraction(1)) for one in squares
    ]
    density = [share / one / 2 for share, one in zip(shares, units, strict=True)]
    tail = [share / 2 for share in shares]
    if any(sum(abs(term) for term in some) > _LARGEST_TERMS * sum(some) for some in (density, tail)):
        return None
    rates = np.array([float(1 / one) for one in units])
    return LaplaceTerms(rates, *(np.array([[float(term)] for term in some]) for some in (density, tail)))


def _equal_laplace_coefficients(number: int) -> tuple[Reals, Reals]:
    """Return the polynomials e^x·f(x) and e^x·P[Z >= x], x >= 0, of the sum Z of `number` unit Laplace noises.

    With m = `number`, Z is the difference of two gamma variables of shape m. Its density at x >= 0 is f(x) = e^−x·Σ_k
    (m − 1 + k)!/(k!·(m − 1 − k)!·(m − 1)!)·x^(m − 1 − k)/2^(m + k). For its tail, ∫_x^∞ t^j·e^−t dt = e^−x·Σ_{i <= j}
    j!/i!·x^i.
    """
    last, fact = number - 1, math.factorial
    density = [
        Fraction(fact(2 * last - j), fact(last - j) * fact(j) * fact(last) * 2 ** (number + last - j))
        for j in range(number)
    ]
    tail = [sum((density[j] * fact(j) for j in range(i, number)), Fraction(0)) / fact(i) for i in range(number)]
    return np.array([[float(one) for one in density]]), np.array([[float(one) for one in tail]])
