import math
from fractions import Fraction
from itertools import product

import dp_accounting
import mpmath
import pytest
from dp_accounting import rdp
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf

import noisycount as nc
from noisycount.model.concentrated import delta_of_rho, epsilon_of_rho, rho_within
from noisycount.model.half_width import epsilon_within, error_within

mp.dps = 50
CONFIDENCES = st.sampled_from([0.01, 0.5, 0.8, 0.95, 0.99, 1 - 1e-9])


@pytest.mark.parametrize("error", [Fraction(15), 15, 15.9, 0.5, 1000.25])
@pytest.mark.parametrize("confidence", [1e-9, 0.5, 0.95, 1 - 1e-9])
@pytest.mark.parametrize("queries", [1, 10])
def test_the_readable_epsilon_keeps_all_answers_within(error: float, confidence: float, queries: int) -> None:
    """In 50 digits; one step of the second digit less breaks the promise or the formula."""
    epsilon = nc.readable_epsilon_within(error, confidence, queries)
    width = math.floor(error)
    formula = -mp.log1p(-(mpf(confidence) ** (mpf(1) / queries))) / mpf(float(error))

    def kept(price: Fraction) -> bool:
        fall = mp.exp(-mpf(price.numerator) / price.denominator)
        inside = (1 - 2 * fall ** (width + 1) / (1 + fall)) ** queries
        return bool(inside >= confidence and price >= formula)

    step = Fraction(10) ** (math.floor(math.log10(epsilon)) - 1)
    assert (epsilon / step).denominator == 1
    assert kept(epsilon)
    assert not kept(epsilon - step)


@given(epsilon=st.fractions(Fraction(1, 1000), 5), confidence=CONFIDENCES, queries=st.integers(1, 9))
def test_the_width_is_the_smallest_that_is_kept(epsilon: Fraction, confidence: float, queries: int) -> None:
    """Answers lie within ±m often enough, and not within ±(m − 1), in 50 digits."""
    noise = nc.DiscreteLaplace.for_epsilon(epsilon)
    fall = mp.exp(-mpf(noise.scale.denominator) / noise.scale.numerator)

    def inside(width: int) -> mpf:
        return (1 - 2 * fall ** (width + 1) / (1 + fall)) ** queries

    width = error_within(noise, confidence, queries)
    assert inside(width) >= confidence - mpf(1e-12)
    assert width == 0 or inside(width - 1) < confidence + mpf(1e-12)


@pytest.mark.parametrize("confidence", [1e-20, 0.5, 0.95, 1 - 1e-12])
@pytest.mark.parametrize("queries", [1, 10_000])
def test_the_formula_holds_for_several_answers(confidence: float, queries: int) -> None:
    """(1 − e^(−ε·error))^k is the confidence."""
    epsilon = epsilon_within(15, confidence, queries)
    outside = mp.exp(-15 * mpf(epsilon))
    exact = -mp.log(-mp.expm1(mp.log(mpf(confidence)) / queries)) / 15
    assert abs(epsilon / exact - 1) < 1e-13
    assert 0 < outside < 1


EPSILONS = [1e-3, 0.03, 0.5, 2, 10, 100]
DELTAS = [1e-18, 1e-12, 1e-6, 1e-3, 0.1]
epsilons = st.floats(-7, 4.6).map(math.exp)
deltas = st.floats(-41, -2.3).map(math.exp)
ORDERS = [mpmath.mpf(10) ** (mpmath.mpf(step) / 40) for step in range(-400, 800)]  # less 1


def implied_delta(above: mpmath.mpf, rho: mpmath.mpf, epsilon: mpmath.mpf) -> mpmath.mpf:
    """Give the bound on log δ of one order, as Proposition 12 of Canonne and others has it."""
    order = 1 + above
    lost = above * (order * rho - epsilon) - mpmath.log(above)
    return lost + order * mpmath.log(above / order)


@pytest.mark.parametrize(("epsilon", "delta"), list(product(EPSILONS, DELTAS)))
def test_rho_implies_the_pair_and_hardly_more_would(epsilon: float, delta: float) -> None:
    """In 60 digits one order proves it; a relative 1e-5 more is proved by none of a fine grid."""
    with mpmath.workdps(60):
        goal, chance = mpmath.mpf(epsilon), mpmath.log(mpmath.mpf(delta))
        rho = rho_within(epsilon, delta)
        exact = mpmath.mpf(rho.numerator) / rho.denominator
        best = min(ORDERS, key=lambda above: implied_delta(above, exact, goal))
        found = mpmath.findroot(
            lambda log_above: mpmath.diff(lambda place: implied_delta(mpmath.exp(place), exact, goal), log_above),
            mpmath.log(best),
        )
        assert implied_delta(mpmath.exp(found), exact, goal) <= chance
        more = exact * (1 + mpmath.mpf("1.1e-5"))
        assert implied_delta(mpmath.exp(found), more, goal) > chance
        assert all(implied_delta(above, more, goal) > chance for above in ORDERS)


@given(epsilons, deltas)
def test_the_three_functions_agree(epsilon: float, delta: float) -> None:
    """The ρ within a pair implies it, by either function; one more in its sixth digit does not."""
    rho = rho_within(epsilon, delta)
    more = rho * Fraction("1.000011")
    assert epsilon_of_rho(rho, delta) <= epsilon * (1 + 1e-15) < epsilon_of_rho(more, delta)
    assert delta_of_rho(rho, epsilon) <= delta * (1 + 1e-15) < delta_of_rho(more, epsilon)


@pytest.mark.parametrize(("rho", "delta"), list(product([1e-4, 0.01, 0.5, 3, 40], DELTAS)))
def test_dp_accounting_finds_nothing_smaller(rho: float, delta: float) -> None:
    """Its orders are a grid, so that its ε is as large, and within a thousandth on a fine one."""
    accountant = rdp.RdpAccountant([1 + 1.02**step / 50 for step in range(1, 1000)])
    theirs = accountant.compose(dp_accounting.ZCDpEvent(rho)).get_epsilon(delta)
    ours = epsilon_of_rho(rho, delta)
    assert theirs * (1 - 2e-3) - 1e-9 < ours <= theirs * (1 + 1e-12)


@pytest.mark.parametrize("rho", [0.02, 0.5, 4.0])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 6.0])
def test_gaussian_noise_keeps_what_its_rho_implies(rho: float, epsilon: float) -> None:
    """Its own δ, in closed form, is smaller: Φ(1/2σ − εσ) − e^ε·Φ(−1/2σ − εσ) at σ² = 1/2ρ."""
    with mpmath.workdps(50):
        sigma = 1 / mpmath.sqrt(2 * mpmath.mpf(rho))
        near, far = 1 / (2 * sigma) - epsilon * sigma, -1 / (2 * sigma) - epsilon * sigma
        own = mpmath.ncdf(near) - mpmath.exp(epsilon) * mpmath.ncdf(far)
        assert own < delta_of_rho(rho, epsilon)


def test_rounding_never_promises_too_much() -> None:
    """Six digits, rounded down; bounds rounded up, within what they may be."""
    rho = rho_within(Fraction(2), Fraction(1, 10**6))
    assert rho == Fraction("0.0881526")
    assert rho_within(2, 1e-6) == rho
    assert epsilon_of_rho(1e-18, 0.5) == 0
    assert delta_of_rho(1e6, 1e-9) == 1
    assert 0 < delta_of_rho(1e-9, 1e6) < 1e-300
