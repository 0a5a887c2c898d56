"""What zero-concentrated differential privacy implies in ε and δ, and how far one record moves several counts."""

from collections.abc import Callable
from decimal import ROUND_DOWN, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from math import exp, inf, isqrt, nextafter

from noisycount.validation import open_probability, positive_number


def l1_sensitivity(counts: int, of_a_record: int, *, replaced: bool) -> int:
    """The sum of the moves of several counts, each of which moves by one at most.

    A record that comes or goes moves those that it can be in; one that replaces another also those that the other was
    in.
    """
    return min(counts, (2 if replaced else 1) * of_a_record)


_PLACES = 10**6  # of the scale of Gaussian noise, which is rounded up


def root_above(square: Fraction) -> Fraction:
    """A square root, rounded up to seven digits.

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


_DIGITS = 6  # of the largest ρ, rounded down
_SEARCHED, _CERTIFIED = 30, 150  # digits in which an order is searched, and its bound computed
_LOWEST, _HIGHEST = -70.0, 140.0  # logarithms of orders less 1; no bound gains beyond them
_HALVINGS = 50  # to 2e-13 in the logarithm, of which a bound at its optimum feels the square


def epsilon_of_rho(rho: float | Fraction, delta: float | Fraction) -> float:
    """The smallest ε that ρ-zCDP is known to imply at δ.

    The infimum over the orders α > 1 of αρ + log(1 − 1/α) − (log δ + log α)/(α − 1).
    """
    spent, chance = _exact_positive(rho, "rho"), _exact_share(delta)

    def bound(above: Decimal) -> Decimal:
        order = 1 + above
        return order * spent + (above / order).ln() - (chance.ln() + order.ln()) / above

    return max(0.0, _rounded_up(_at_best_order(bound, lambda above: (spent, bound(above)))))


def delta_of_rho(rho: float | Fraction, epsilon: float | Fraction) -> float:
    """The smallest δ that ρ-zCDP is known to imply at ε, at most 1.

    The infimum over the orders α > 1 of e^((α − 1)(αρ − ε)) (1 − 1/α)^α / (α − 1).
    """
    spent, goal = _exact_positive(rho, "rho"), _exact_positive(epsilon, "epsilon")

    def bound(above: Decimal) -> Decimal:
        order = 1 + above
        return above * (order * spent - goal + above.ln()) - order * order.ln()

    return min(1.0, _rounded_up(_at_best_order(bound, lambda _: (spent, goal)), Decimal.exp))


@lru_cache(maxsize=1000)
def rho_within(epsilon: float | Fraction, delta: float | Fraction) -> Fraction:
    """The largest ρ of six digits with which ρ-zCDP is known to imply (ε, δ).

    The supremum over the orders α > 1 of (ε − log(1 − 1/α) + (log δ + log α)/(α − 1))/α.
    """
    goal, chance = _exact_positive(epsilon, "epsilon"), _exact_share(delta)

    def bound(above: Decimal) -> Decimal:
        order = 1 + above
        return (goal - (above / order).ln() + (chance.ln() + order.ln()) / above) / order

    best = _at_best_order(bound, lambda above: (bound(above), goal))
    with localcontext(prec=_DIGITS, rounding=ROUND_DOWN):
        return Fraction(+best)


def _at_best_order(bound: Callable[[Decimal], Decimal], pair: Callable[[Decimal], tuple[Decimal, Decimal]]) -> Decimal:
    """A bound at the order at which it is best.

    At fixed ρ and ε the logarithm of δ is convex in the order α, with the derivative (2α − 1)ρ − ε + log(1 − 1/α), so
    that a bound on any of the three has one optimum, at which this is 0.
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


def _rounded_up(value: Decimal, function: Callable[[Decimal], Decimal] = lambda value: value) -> float:
    """A float above a function of what was computed."""
    with localcontext(prec=_SEARCHED):
        return nextafter(float(function(+value)), inf)


def _exact_positive(value: float | Fraction, name: str) -> Decimal:
    positive_number(value, name)
    return _decimal(value)


def _exact_share(value: float | Fraction) -> Decimal:
    open_probability(value, "delta")
    return _decimal(value)


def _decimal(value: float | Fraction) -> Decimal:
    """The decimal of a number, exact to 150 digits."""
    exact = Fraction(value)
    with localcontext(prec=_CERTIFIED):
        return Decimal(exact.numerator) / exact.denominator
