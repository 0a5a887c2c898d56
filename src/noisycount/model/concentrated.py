"""Conversion between zero-concentrated differential privacy (ρ-zCDP) and (ε, δ), and sensitivities of several counts.

`noises.gaussian` has the noise whose privacy is stated as ρ.
"""

from collections.abc import Callable
from decimal import ROUND_DOWN, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from math import exp, inf, isqrt, nextafter

from noisycount.validation import open_probability, positive_number


def l1_sensitivity(counts: int, of_a_record: int, *, replaced: bool) -> int:
    """Return the L1 sensitivity of several counts, each of which changes by at most one.

    A record that is added or removed changes the counts that contain it. A record that replaces another also changes
    the counts that contained the other.
    """
    return min(counts, (2 if replaced else 1) * of_a_record)


_PLACES = 10**6  # the scale of Gaussian noise is rounded up to a multiple of 1/10^6


def root_above(square: Fraction) -> Fraction:
    """Return the square root, rounded up to seven digits.

    Example:
        >>> root_above(Fraction(4)), float(root_above(Fraction(2)))
        (Fraction(2, 1), 1.414214)
    """
    places = _PLACES
    while square * places**2 < _PLACES**2:
        places *= 10
    scaled = square * places**2
    whole = -(-scaled.numerator // scaled.denominator)
    root = isqrt(whole)
    return Fraction(root + (root * root < whole), places)


_DIGITS = 6  # digits of the largest ρ, rounded down
_SEARCHED, _CERTIFIED = 30, 150  # digits of the search for the best order, and of the bound at that order
_LOWEST, _HIGHEST = -70.0, 140.0  # range of ln(α − 1); no bound improves outside it
_HALVINGS = 50  # leave an error of 2e-13 in ln(α − 1), which changes the bound only in second order


def epsilon_of_rho(rho: float | Fraction, delta: float | Fraction) -> float:
    """Return the smallest ε that ρ-zCDP is known to imply at δ.

    The infimum over the orders α > 1 of αρ + log(1 − 1/α) − (log δ + log α)/(α − 1).
    """
    spent, chance = _exact_positive(rho, "rho"), _exact_share(delta)

    def bound(above: Decimal) -> Decimal:
        order = 1 + above
        return order * spent + (above / order).ln() - (chance.ln() + order.ln()) / above

    return max(0.0, _float_above(_bound_at_best_order(bound, lambda above: (spent, bound(above)))))


def delta_of_rho(rho: float | Fraction, epsilon: float | Fraction) -> float:
    """Return the smallest δ, at most 1, that ρ-zCDP is known to imply at ε.

    The infimum over the orders α > 1 of e^((α − 1)(αρ − ε)) (1 − 1/α)^α / (α − 1).
    """
    spent, goal = _exact_positive(rho, "rho"), _exact_positive(epsilon, "epsilon")

    def bound(above: Decimal) -> Decimal:
        order = 1 + above
        return above * (order * spent - goal + above.ln()) - order * order.ln()

    return min(1.0, _float_above(_bound_at_best_order(bound, lambda _: (spent, goal)), Decimal.exp))


@lru_cache(maxsize=1000)
def rho_within(epsilon: float | Fraction, delta: float | Fraction) -> Fraction:
    """Return the largest ρ of six digits for which ρ-zCDP is known to imply (ε, δ).

    The supremum over the orders α > 1 of (ε − log(1 − 1/α) + (log δ + log α)/(α − 1))/α.
    """
    goal, chance = _exact_positive(epsilon, "epsilon"), _exact_share(delta)

    def bound(above: Decimal) -> Decimal:
        order = 1 + above
        return (goal - (above / order).ln() + (chance.ln() + order.ln()) / above) / order

    best = _bound_at_best_order(bound, lambda above: (bound(above), goal))
    with localcontext(prec=_DIGITS, rounding=ROUND_DOWN):
        return Fraction(+best)


def _bound_at_best_order(
    bound: Callable[[Decimal], Decimal], pair: Callable[[Decimal], tuple[Decimal, Decimal]]
) -> Decimal:
    """Return a bound at its best order α.

    At fixed ρ and ε, the logarithm of δ is convex in the order α, with the derivative (2α − 1)ρ − ε + log(1 − 1/α). So
    a bound of ρ, ε or δ is best at one order, where this derivative is 0.
    """
    low, high = _LOWEST, _HIGHEST
    with localcontext(prec=_SEARCHED):
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            above = Decimal(exp(middle))
            rho, epsilon = pair(above)
            slope = (1 + 2 * above) * rho - epsilon + (above / (1 + above)).ln()
            low, high = (middle, high) if slope < 0 else (low, middle)
    with localcontext(prec=_CERTIFIED):
        return bound(Decimal(exp(low)))


def _float_above(value: Decimal, function: Callable[[Decimal], Decimal] = lambda value: value) -> float:
    """Return a float above function(value)."""
    with localcontext(prec=_SEARCHED):
        return nextafter(float(function(+value)), inf)


def _exact_positive(value: float | Fraction, name: str) -> Decimal:
    """Return a positive number as a decimal; raise ValueError otherwise."""
    positive_number(value, name)
    return _decimal(value)


def _exact_share(value: float | Fraction) -> Decimal:
    """Return δ in (0, 1) as a decimal; raise ValueError otherwise."""
    open_probability(value, "delta")
    return _decimal(value)


def _decimal(value: float | Fraction) -> Decimal:
    """Return a number as a decimal, exact to 150 digits."""
    exact = Fraction(value)
    with localcontext(prec=_CERTIFIED):
        return Decimal(exact.numerator) / exact.denominator
