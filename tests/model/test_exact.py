import math
from fractions import Fraction

import numpy as np
import pytest

import noisycount as nc
from noisycount.model.laws.factors import LogRatio, Product, ShiftedFactor


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
    factor = nc.Exact().likelihood(3, 10)
    assert factor.expansion(3)(np.zeros(2)).tolist() == [0.0, 0.0]
    assert factor.log_ratio_to_next(3) == 0
    assert factor.exact_log_ratio_to_next(3) == LogRatio()


def test_two_different_exact_answers_contradict_each_other() -> None:
    """The support of their product is empty; moved by the difference they agree."""
    low, high = Product((nc.Exact().likelihood(3, 10), nc.Exact().likelihood(4, 10))).support
    assert low > high
    assert Product((nc.Exact().likelihood(3, 10), ShiftedFactor(nc.Exact().likelihood(4, 10), 1))).support == (3, 3)


def test_the_count_itself_has_a_likelihood_of_one() -> None:
    """In logarithms, at counts of any shape."""
    assert nc.Exact().logpmf(3, [[2, 3], [3, 4]]).tolist() == [[-math.inf, 0.0], [0.0, -math.inf]]
    assert float(nc.Exact().logpmf(3, 3)) == 0


def test_rates_of_atoms_add_up() -> None:
    """Whatever makes them, and each question has the rate of its predicate."""
    rates = [0.1, 0.25, 0.5]
    for make in (nc.Atoms.independent, nc.Atoms.disjoint, nc.Atoms.nested):
        atoms = make(100, rates)
        assert math.fsum(atoms.rates) == pytest.approx(1, abs=1e-15)
        found = [atoms.rate(question) for question in atoms.questions]
        assert found == pytest.approx(rates, abs=1e-15)


def test_patterns_join_atoms_that_no_question_parts() -> None:
    """And leave out those that no record is in."""
    atoms = nc.Atoms(10, [0.25, 0.5, 0, 0.25], [{0}, {0, 2}])
    assert atoms.patterns(atoms.questions) == {(1, 1): 0.25, (0, 0): 0.75}
