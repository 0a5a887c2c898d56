import math
from fractions import Fraction

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from noisycount.analysis.accuracy import accuracy, failure_probability
from noisycount.analysis.planning import (
    affordable_answers,
    epsilon_for_accuracy,
    epsilon_of_group,
    readable_epsilon,
    readable_epsilon_within,
)
from noisycount.model.gaussian import Gaussian
from noisycount.model.noise import DiscreteLaplace, Laplace
from noisycount.model.noise_sum import NoiseSum

ALPHAS = st.floats(0.3, 1e9)
BETAS = st.one_of(st.floats(1e-300, 1e-3), st.floats(1e-3, 0.999), st.just(1 - 1e-12))
QUERIES = st.sampled_from([1, 2, 10, 10_000])


@given(alpha=ALPHAS, beta=BETAS, queries=QUERIES)
def test_epsilon_is_the_inverse_of_accuracy(alpha: float, beta: float, queries: int) -> None:
    """Laplace noise of that ε reaches alpha with probability beta, in 50 digits."""
    epsilon = epsilon_for_accuracy(alpha, beta, queries)
    tail = mp.exp(-mpf(alpha) * mpf(epsilon))
    assert abs(-mp.expm1(queries * mp.log1p(-tail)) / beta - 1) <= 1e-10
    assert accuracy(Laplace.for_epsilon(epsilon), beta, queries) == pytest.approx(alpha, rel=1e-10)


@given(alpha=ALPHAS, beta=BETAS, queries=QUERIES)
def test_discrete_noise_of_that_epsilon_keeps_the_goal(
    alpha: float, beta: float, queries: int
) -> None:
    """It never reaches alpha too often; a little less ε would not do."""
    assume(beta < 0.999 or alpha < 100)  # else ε < 2^−52, which discrete noise does not take
    epsilon = epsilon_for_accuracy(alpha, beta, queries, DiscreteLaplace)
    noise = DiscreteLaplace.for_epsilon(epsilon)
    assert failure_probability(noise, alpha, queries) <= beta * (1 + 1e-12)
    fall = mp.exp(-mpf(epsilon) * (1 - mpf(10) ** -9))
    tail = 2 * fall ** math.ceil(alpha) / (1 + fall)
    assert -mp.expm1(queries * mp.log1p(-tail)) > beta


@pytest.mark.parametrize("noise", [Laplace, DiscreteLaplace])
@pytest.mark.parametrize("parts", [1, 2, 30])
@pytest.mark.parametrize("queries", [1, 10])
@pytest.mark.parametrize("beta", [1e-9, 0.05, 0.6])
def test_a_total_of_parts_keeps_the_goal(
    noise: type[Laplace], parts: int, queries: int, beta: float
) -> None:
    """The noises of the parts add up; with 1e-6 less ε the total would miss the goal."""
    epsilon = epsilon_for_accuracy(50, beta, queries, noise, parts)
    for price, kept in ((epsilon * (1 + 1e-9), True), (epsilon * (1 - 1e-6), False)):
        total = NoiseSum([noise.for_epsilon(price)] * parts)
        assert (failure_probability(total, 50, queries) <= beta) is kept


def test_the_example_of_the_blog_in_exact_numbers() -> None:
    """Two disjoint parts, one total: (1 + αε/2)·e^(−αε) = β, at less than √2 of one part's ε."""
    epsilon = epsilon_for_accuracy(20, 0.05, parts=2)
    reach = 20 * mpf(epsilon)
    assert abs((1 + reach / 2) * mp.exp(-reach) - 0.05) < 1e-11
    assert 1.37 < epsilon / epsilon_for_accuracy(20, 0.05) < 1.38


def test_groups_cost_what_one_record_can_move() -> None:
    """All answers, one of disjoint ones, two where a record is replaced; never more than all."""
    tenth = Fraction(1, 10)
    assert epsilon_of_group(0.1, 3) == 3 * tenth
    assert epsilon_of_group(0.1, 3, replaced=True) == 3 * tenth
    assert epsilon_of_group(tenth, 3, disjoint=True) == tenth
    assert epsilon_of_group(Fraction(1, 3), 2, disjoint=True, replaced=True) == Fraction(2, 3)
    assert epsilon_of_group(0.1, 1, disjoint=True, replaced=True) == tenth


@given(
    budget=st.fractions(Fraction(1, 1000), 1000),
    alpha=st.floats(1, 1e4),
    beta=st.floats(1e-9, 0.99),
    noise=st.sampled_from([Laplace, DiscreteLaplace]),
    together=st.booleans(),
)
@settings(deadline=None, max_examples=60)
def test_a_budget_pays_for_that_many_answers_and_no_more(
    budget: Fraction, alpha: float, beta: float, noise: type[Laplace], *, together: bool
) -> None:
    """So many answers cost at most the budget, and one more is too much, exactly."""
    found = affordable_answers(budget, alpha, beta, noise, together=together)

    def cost(answers: int) -> Fraction:
        group = answers if together else 1
        return epsilon_of_group(epsilon_for_accuracy(alpha, beta, group, noise), answers)

    assert found == 0 or cost(found) <= budget
    assert cost(found + 1) > budget


def test_a_budget_is_not_rounded() -> None:
    """A price that is a tenth is paid three times by 0.3, as no float would do."""
    beta = math.exp(-2)
    assert epsilon_for_accuracy(20, beta) == 0.1
    assert 0.3 // 0.1 == 2
    assert affordable_answers(0.3, 20, beta) == 3


@pytest.mark.parametrize("error", [Fraction(15), 15, 15.9, 0.5, 1000.25])
@pytest.mark.parametrize("confidence", [1e-9, 0.5, 0.95, 1 - 1e-9])
@pytest.mark.parametrize("queries", [1, 10])
def test_the_readable_epsilon_keeps_all_answers_within(
    error: float, confidence: float, queries: int
) -> None:
    """In 50 digits; one step of the second digit less breaks the promise or the formula."""
    epsilon = readable_epsilon_within(error, confidence, queries)
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


def test_an_absolute_goal_is_the_relative_one_of_the_same_width() -> None:
    """±20 % of 100 and ±20 are one goal."""
    assert readable_epsilon_within(20, 0.95) == readable_epsilon(100, 0.2, 0.95)
    assert readable_epsilon_within(Fraction(3, 10), 0.95) == readable_epsilon(3, 0.1, 0.95)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 0.05), r"^alpha must be positive and finite, got 0"),
        ((-3, 0.05), r"^alpha must be positive and finite, got -3"),
        ((math.nan, 0.05), r"^alpha must be positive and finite, got nan"),
        ((20, 0), r"^beta must lie strictly between 0 and 1, got 0"),
        ((20, 1.0), r"^beta must lie strictly between 0 and 1, got 1.0"),
        ((20, 0.05, 0), r"^queries must be a whole number from 1 to 2\*\*53, got 0"),
        ((20, 0.05, 1.5), r"^queries must be a whole number from 1 to 2\*\*53, got 1.5"),
        ((20, 0.05, 1, Gaussian), r"^noise must be Laplace or DiscreteLaplace, got <class "),
        ((20, 0.05, 1, Laplace, 0), r"^parts must be a whole number from 1 to 2\*\*53, got 0"),
    ],
)
def test_goals_that_cannot_be_are_refused(arguments: tuple[float, float], message: str) -> None:
    """Each argument by its name, with its value."""
    with pytest.raises(ValueError, match=message):
        epsilon_for_accuracy(*arguments)


def test_budgets_groups_and_widths_that_cannot_be_are_refused() -> None:
    """Nothing is paid from a budget of 0, no group is empty, no interval has a width of 0."""
    with pytest.raises(ValueError, match=r"^budget must be positive and finite, got 0"):
        affordable_answers(0, 20, 0.05)
    with pytest.raises(ValueError, match=r"^answers must be a whole number from 1 to 2"):
        epsilon_of_group(0.1, 0)
    with pytest.raises(ValueError, match=r"^epsilon must be positive and finite, got -0.1"):
        epsilon_of_group(-0.1, 2)
    with pytest.raises(ValueError, match=r"^error must be positive and finite, got 0"):
        readable_epsilon_within(0, 0.95)
    with pytest.raises(ValueError, match=r"^confidence must lie strictly between 0 and 1, got 1"):
        readable_epsilon_within(3, 1)
