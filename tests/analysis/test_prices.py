import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from mpmath import mp, mpf

import noisycount as nc
from tests.helpers.cases import examples


def test_groups_cost_what_one_record_can_move() -> None:
    """A group costs all its answers, or if they are disjoint one answer, or two under replacement."""
    tenth = Fraction(1, 10)
    assert nc.epsilon_of_group(0.1, 3) == 3 * tenth
    assert nc.epsilon_of_group(0.1, 3, replaced=True) == 3 * tenth
    assert nc.epsilon_of_group(tenth, 3, disjoint=True) == tenth
    assert nc.epsilon_of_group(Fraction(1, 3), 2, disjoint=True, replaced=True) == Fraction(2, 3)
    assert nc.epsilon_of_group(0.1, 1, disjoint=True, replaced=True) == tenth


@given(
    budget=st.fractions(Fraction(1, 1000), 1000),
    alpha=st.floats(1, 1e4),
    beta=st.floats(1e-9, 0.99),
    noise=st.sampled_from([nc.Laplace, nc.DiscreteLaplace]),
    together=st.booleans(),
)
@examples(60)
def test_a_budget_pays_for_that_many_answers_and_no_more(
    budget: Fraction, alpha: float, beta: float, noise: type[nc.Laplace], *, together: bool
) -> None:
    """So many answers cost at most the budget, and one more is too much, exactly."""
    found = nc.affordable_answers(budget, alpha, beta, noise, together=together)

    def cost(answers: int) -> Fraction:
        group = answers if together else 1
        return nc.epsilon_of_group(nc.epsilon_for_accuracy(alpha, beta, group, noise), answers)

    assert found == 0 or cost(found) <= budget
    assert cost(found + 1) > budget


def test_an_error_below_one_record_costs_what_one_record_does() -> None:
    """Discrete noise that is off is off by a record: ε = ln 3 for half of the answers."""
    for alpha in (0.001, 0.5, 1):
        assert nc.affordable_answers(10, alpha, 0.5, nc.DiscreteLaplace) == 9
        assert nc.affordable_answers(10, alpha, 0.5, nc.DiscreteLaplace, together=True) == 4


def test_a_budget_is_not_rounded() -> None:
    """A price that is a tenth is paid three times by 0.3, as no float would do."""
    beta = math.exp(-2)
    assert nc.epsilon_for_accuracy(20, beta) == 0.1
    assert 0.3 // 0.1 == 2
    assert nc.affordable_answers(0.3, 20, beta) == 3


@pytest.mark.parametrize("together", [False, True])
def test_a_budget_of_the_very_sum_pays_for_all(*, together: bool) -> None:
    """And one that is less by any amount for one answer fewer."""
    price = nc.epsilon_for_accuracy(20, 0.05, 7 if together else 1)
    budget = 7 * Fraction(str(price))
    assert nc.affordable_answers(budget, 20, 0.05, together=together) == 7
    less = budget - Fraction(1, 10**20)
    assert nc.affordable_answers(less, 20, 0.05, together=together) == 6


mp.dps = 50
COUNTS = st.floats(0.5, 1e12)
WIDTHS = st.floats(1e-6, 10)
CONFIDENCES = st.one_of(st.floats(1e-12, 0.999), st.sampled_from([1e-250, 0.95, 1 - 2**-53]))
CLOSE = mpf(10) ** -15


def test_the_example_of_the_paper_gives_its_number() -> None:
    """Naldi and D'Acquisto (2015), section 3: 0.08 (0.0805) for ±20 % of 100 with 80 %."""
    assert round(nc.epsilon_for_relative_error(100, 0.2, 0.8), 4) == 0.0805


@given(count=COUNTS, within=WIDTHS, confidence=CONFIDENCES)
def test_equation_10_and_its_inverses_agree(count: float, within: float, confidence: float) -> None:
    """ε·w·c = −ln(1 − p), whichever of the four is asked for, to 4 units in the last place."""
    surprisal = -mp.log1p(-mpf(confidence))
    epsilon = nc.epsilon_for_relative_error(count, within, confidence)
    assert abs(mpf(epsilon) * within * count / surprisal - 1) <= CLOSE
    width = nc.relative_error(count, confidence, epsilon)
    assert abs(mpf(epsilon) * width * count / surprisal - 1) <= CLOSE
    guess = nc.count_for_relative_error(within, confidence, epsilon)
    assert abs(mpf(epsilon) * within * guess / surprisal - 1) <= CLOSE
    exact = -mp.expm1(-mpf(epsilon) * within * count)
    assert abs(nc.relative_confidence(count, within, epsilon) / exact - 1) <= CLOSE


def test_arrays_give_arrays() -> None:
    """Of the common shape, each value that of the numbers alone."""
    epsilons = np.array([[0.1], [0.5]])
    confidences = [0.5, 0.9, 0.99]
    found = nc.relative_error(100, confidences, epsilons)
    assert isinstance(found, np.ndarray)
    assert found.shape == (2, 3)
    assert found[1, 2] == nc.relative_error(100, 0.99, 0.5)
    assert np.shape(nc.relative_confidence(100, [0.1, 0.2], 0.1)) == (2,)
    assert np.shape(nc.count_for_relative_error(0.2, 0.95, epsilons)) == (2, 1)
    assert np.shape(nc.epsilon_for_relative_error([10, 100, 1000], 0.2, 0.95)) == (3,)


def test_iso_epsilon_curves_lie_where_epsilon_is_the_same() -> None:
    """Fig. 1: on each curve eq. (10) gives back its ε; a lower ε lies at larger widths."""
    epsilons, confidences = [0.05, 0.08, 0.1], np.linspace(0.5, 0.99, 9)
    widths = nc.iso_epsilon_curves(100, epsilons, confidences)
    assert widths.shape == (3, 9)
    for epsilon, curve in zip(epsilons, widths, strict=True):
        assert nc.epsilon_for_relative_error(100, curve, confidences) == pytest.approx([epsilon] * 9)
    assert (np.diff(widths, axis=0) < 0).all()
    assert (np.diff(widths, axis=1) > 0).all()


@pytest.mark.parametrize("extreme", [5e-324, 1e-200, 1e200, 1.7e308])
def test_extreme_values_give_numbers(extreme: float) -> None:
    """A product that overflows or underflows gives 0 or infinity, never NaN."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = [
            nc.epsilon_for_relative_error(extreme, extreme, 0.95),
            nc.relative_error(extreme, 0.95, extreme),
            nc.relative_confidence(extreme, extreme, extreme),
            nc.count_for_relative_error(extreme, 0.95, extreme),
        ]
    assert not any(map(math.isnan, found))


def test_one_bad_value_in_an_array_is_named() -> None:
    """The message quotes the value, not the array."""
    with pytest.raises(ValueError, match=r"^epsilon must be positive and finite, got -2.0"):
        nc.relative_error(100, 0.95, [0.1, -2.0])


@pytest.mark.parametrize("count", [5e-324, 1e-300, 1e300])
@pytest.mark.parametrize("width", [1e-310, 1e-300, 1e300])
def test_what_is_a_double_is_found_though_a_step_to_it_is_none(count: float, width: float) -> None:
    """Neither products nor quotients leave the doubles on the way to a result that does not."""
    for other in (1e-300, 1.0, 1e300):
        quotient = -mp.log1p(-mpf(0.5)) / count / width
        power = other * mpf(count) * width
        for found, exact in (
            (nc.epsilon_for_relative_error(count, width, 0.5), quotient),
            (nc.relative_error(count, 0.5, width), quotient),
            (nc.count_for_relative_error(width, 0.5, count), quotient),
            (nc.relative_confidence(count, width, other), -mp.expm1(-power)),
        ):
            if 1e-307 < exact < 1e308:
                assert abs(found / exact - 1) <= CLOSE


mp.dps = 50
ALPHAS = st.floats(0.3, 1e9)
BETAS = st.one_of(st.floats(1e-300, 1e-3), st.floats(1e-3, 0.999), st.just(1 - 1e-12))
QUERIES = st.sampled_from([1, 2, 10, 10_000])


@given(alpha=ALPHAS, beta=BETAS, queries=QUERIES)
def test_epsilon_is_the_inverse_of_accuracy(alpha: float, beta: float, queries: int) -> None:
    """Laplace noise of that ε reaches alpha with probability beta, in 50 digits."""
    epsilon = nc.epsilon_for_accuracy(alpha, beta, queries)
    tail = mp.exp(-mpf(alpha) * mpf(epsilon))
    assert abs(-mp.expm1(queries * mp.log1p(-tail)) / beta - 1) <= 1e-10
    assert nc.accuracy(nc.Laplace.for_epsilon(epsilon), beta, queries) == pytest.approx(alpha, rel=1e-10)


@given(alpha=ALPHAS, beta=BETAS, queries=QUERIES)
def test_discrete_noise_of_that_epsilon_keeps_the_goal(alpha: float, beta: float, queries: int) -> None:
    """It never reaches alpha too often; a little less ε would not do."""
    assume(beta < 0.999 or alpha < 100)  # else ε < 2^−52, which discrete noise does not take
    epsilon = nc.epsilon_for_accuracy(alpha, beta, queries, nc.DiscreteLaplace)
    noise = nc.DiscreteLaplace.for_epsilon(epsilon)
    assert nc.failure_probability(noise, alpha, queries) <= beta * (1 + 1e-12)
    fall = mp.exp(-mpf(epsilon) * (1 - mpf(10) ** -9))
    tail = 2 * fall ** math.ceil(alpha) / (1 + fall)
    assert -mp.expm1(queries * mp.log1p(-tail)) > beta


@pytest.mark.parametrize("noise", [nc.Laplace, nc.DiscreteLaplace])
@pytest.mark.parametrize("parts", [1, 2, 30])
@pytest.mark.parametrize("queries", [1, 10])
@pytest.mark.parametrize("beta", [1e-9, 0.05, 0.6])
def test_a_total_of_parts_keeps_the_goal(noise: type[nc.Laplace], parts: int, queries: int, beta: float) -> None:
    """The noises of the parts add up; with 1e-6 less ε the total would miss the goal."""
    epsilon = nc.epsilon_for_accuracy(50, beta, queries, noise, parts)
    for price, kept in ((epsilon * (1 + 1e-9), True), (epsilon * (1 - 1e-6), False)):
        total = nc.NoiseSum([noise.for_epsilon(price)] * parts)
        assert (nc.failure_probability(total, 50, queries) <= beta) is kept


def test_the_example_of_the_blog_in_exact_numbers() -> None:
    """Two disjoint parts, one total: (1 + αε/2)·e^(−αε) = β, at less than √2 of one part's ε."""
    epsilon = nc.epsilon_for_accuracy(20, 0.05, parts=2)
    reach = 20 * mpf(epsilon)
    assert abs((1 + reach / 2) * mp.exp(-reach) - 0.05) < 1e-11
    assert 1.37 < epsilon / nc.epsilon_for_accuracy(20, 0.05) < 1.38


@pytest.mark.parametrize("queries", [1, 2])
@pytest.mark.parametrize("beta", [0.05, 0.5, 0.95])
@pytest.mark.parametrize(("alpha", "whole"), [(0.001, 1), (0.01, 1), (0.05, 1), (1.5, 2), (7, 7)])
def test_discrete_noise_reaches_whole_errors_only(alpha: float, whole: int, beta: float, queries: int) -> None:
    """A broken alpha costs what the next whole one does, in closed form for alpha = 1."""
    epsilon = nc.epsilon_for_accuracy(alpha, beta, queries, nc.DiscreteLaplace)
    assert epsilon == nc.epsilon_for_accuracy(whole, beta, queries, nc.DiscreteLaplace)
    if whole == 1:  # 2q/(1 + q) = b
        each = -mp.expm1(mp.log1p(-mpf(beta)) / queries)
        assert epsilon == pytest.approx(float(mp.log((2 - each) / each)), rel=1e-10)
    totals = [nc.epsilon_for_accuracy(error, beta, 1, nc.DiscreteLaplace, 3) for error in (alpha, whole)]
    assert totals[0] == totals[1]


mp.dps = 50


def test_discrete_noise_needs_more_where_the_width_is_not_whole() -> None:
    """±20 % of 9 is ±1.8, so an integer answer has to lie within ±1."""
    continuous = nc.epsilon_for_relative_error(9, 0.2, 0.95)
    assert float(nc.readable_epsilon(9, 0.2, 0.95)) > 1.05 * continuous


def test_an_absolute_goal_is_the_relative_one_of_the_same_width() -> None:
    """±20 % of 100 and ±20 are one goal."""
    assert nc.readable_epsilon_within(20, 0.95) == nc.readable_epsilon(100, 0.2, 0.95)
    for guess, within in ((3, 0.1), (9, 0.2), (10**6, 0.199), (7, 3.0), (1, 0.001)):
        width = Fraction(str(within)) * guess
        for confidence in (0.01, 0.8, 1 - 1e-9):
            assert nc.readable_epsilon_within(width, confidence) == nc.readable_epsilon(guess, within, confidence)
