"""Prices that depend on answers: why the part of δ for hidden keys is fixed beforehand.

An adversary first buys Gaussian noise. Where the answer says little about a unit, it goes on to
hidden keys, which fail, and tell all, with as much δ as the budget still admits; else it goes on
with noise, as long as the budget admits it.
"""

from fractions import Fraction
from itertools import product
from math import exp, pi, sqrt

import pytest
from scipy.integrate import quad
from scipy.special import ndtr

from noisycount.ledger.budget import ApproximateBudget, Loss
from noisycount.model.concentrated import delta_of_rho, rho_within

EPSILON, DELTA = Fraction(1), Fraction(1, 10**6)
SHARES = [0.5, 0.7, 0.9]  # of the ρ that implies the pair, for the first answer
TURNS = [1.5, 2.5, 3.5]  # deviations of its loss from which on noise is bought


def gaussian_delta(epsilon: float, rho: float) -> float:
    """Give δ(ε) of Gaussian noise, in closed form."""
    deviation = sqrt(2 * rho)
    above = ndtr((rho - epsilon) / deviation)
    return float(above - exp(epsilon) * ndtr((-rho - epsilon) / deviation))


def reached(first: float, second: float, failing: float, turn: float) -> float:
    """Give δ(ε) of all that the adversary sees, by the law of the first loss."""
    epsilon, deviation = float(EPSILON), sqrt(2 * first)

    def density(loss: float) -> float:
        return exp(-(((loss - first) / deviation) ** 2) / 2) / (deviation * sqrt(2 * pi))

    def with_keys(loss: float) -> float:
        return density(loss) * (failing + (1 - failing) * max(0.0, 1 - exp(epsilon - loss)))

    def with_noise(loss: float) -> float:
        return density(loss) * gaussian_delta(epsilon - loss, second)

    low, middle, high = (first + place * deviation for place in (-12, turn, 12))
    usual, _ = quad(with_keys, low, middle, epsabs=1e-13, limit=200)
    rare, _ = quad(with_noise, middle, high, epsabs=1e-13, limit=200)
    return float(usual + rare)


@pytest.mark.parametrize("turn", TURNS)
def test_two_answers_by_noise_reach_what_one_of_their_sum_does(turn: float) -> None:
    """The integral is right where its value is known: all paths buy noise, or nothing at all."""
    rho = float(rho_within(EPSILON, DELTA))
    assert reached(rho / 2, rho / 2, 0, -12) == pytest.approx(gaussian_delta(float(EPSILON), rho), rel=1e-4)
    assert reached(rho, 1e-12, 0, turn) == pytest.approx(gaussian_delta(float(EPSILON), rho), rel=1e-3)


@pytest.mark.parametrize(("share", "turn"), list(product(SHARES, TURNS)))
def test_a_fixed_part_of_delta_is_kept(share: float, turn: float) -> None:
    """On either path the budget is used up, and together they keep to it."""
    budget = ApproximateBudget(EPSILON, DELTA, DELTA / 2)
    first = budget.rho * Fraction(share)
    assert budget.admits(Loss.concentrated(first, DELTA / 2))
    assert budget.admits(Loss.concentrated(budget.rho))
    assert not budget.admits(Loss.concentrated(first, DELTA / 2 + DELTA / 10**9))
    assert not budget.admits(Loss.concentrated(budget.rho * (1 + Fraction(1, 10**9))))
    assert reached(float(first), float(budget.rho - first), 5e-7, turn) < DELTA


def test_what_is_left_of_delta_could_not_be_spent_freely() -> None:
    """A budget that converts the δ that others left to a ρ would be overspent by a fifth."""
    whole = float(rho_within(EPSILON, DELTA))
    first = 0.7 * whole
    failing = float(DELTA) - delta_of_rho(first, EPSILON)
    assert rho_within(EPSILON, float(DELTA) - failing) == pytest.approx(first, rel=1e-5)
    assert reached(first, whole - first, failing, 2.5) > 1.19 * DELTA
