import math
from fractions import Fraction

import numpy as np
import pytest

import noisycount as nc
from noisycount.model.exact import ExactLikelihood
from noisycount.model.laws.factors import LogStep, Moved, Product


@pytest.mark.parametrize("count", [0, 1, 10**12])
def test_the_answer_is_the_count(count: int) -> None:
    """No noise: the release is the count itself, an int."""
    answer = nc.Exact().release(count)
    assert answer == count
    assert type(answer) is int


@pytest.mark.parametrize("answer", [0, 7, 10, 7.0, np.int64(7), np.float64(7), Fraction(7)])
def test_the_support_is_the_answer_alone(answer: float) -> None:
    """After an exact answer only one count is possible."""
    factor = nc.Exact().likelihood(answer, 10)
    assert factor.support == (answer, answer)
    assert factor.kinks == ()
    assert factor.is_log_concave


def test_the_factor_is_flat_on_its_support() -> None:
    """It changes the logarithm of no other factor."""
    factor = ExactLikelihood(3)
    assert factor.expansion(3)(np.zeros(2)).tolist() == [0.0, 0.0]
    assert factor.log_step(3) == 0
    assert factor.exact_log_step(3) == LogStep()


def test_two_different_exact_answers_contradict_each_other() -> None:
    """The support of their product is empty; moved by the difference they agree."""
    low, high = Product((ExactLikelihood(3), ExactLikelihood(4))).support
    assert low > high
    assert Product((ExactLikelihood(3), Moved(ExactLikelihood(4), 1))).support == (3, 3)


@pytest.mark.parametrize("answer", [1.5, -1, 11, math.nan, math.inf, True, "7", None, 10**400])
def test_an_impossible_answer_is_refused(answer: object) -> None:
    """The refusal names the range and the value."""
    message = rf"^answer must be a whole number from 0 to 10 without noise, got {answer!r}$"
    with pytest.raises(ValueError, match=message):
        nc.Exact().likelihood(answer, 10)  # type: ignore[arg-type]


@pytest.mark.parametrize("count", [-1, 1.5, math.nan, True])
def test_a_count_that_is_no_whole_number_is_refused(count: object) -> None:
    """Nothing is released about a count that cannot be."""
    with pytest.raises(ValueError, match=r"^count must be a whole number"):
        nc.Exact().release(count)  # type: ignore[arg-type]


def test_the_count_itself_has_a_likelihood_of_one() -> None:
    """In logarithms, at counts of any shape."""
    assert nc.Exact().logpmf(3, [[2, 3], [3, 4]]).tolist() == [[-math.inf, 0.0], [0.0, -math.inf]]
    assert float(nc.Exact().logpmf(3, 3)) == 0
