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


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (
            lambda: nc.Atoms(10, [0.5, 0.4]),
            r"rates of atoms must add up to 1, got 0\.9 from 2: add",
        ),
        (lambda: nc.Atoms(10, [1.5, -0.5]), "rates must be a probability"),
        (lambda: nc.Atoms(10, [[0.5, 0.5]]), "rates must be one row of numbers, got shape"),
        (lambda: nc.Atoms(10, ["a"]), "rates must be numbers"),  # type: ignore[list-item]
        (lambda: nc.Atoms(-1, [1.0]), "size must be a whole number"),
        (lambda: nc.Atoms(10, [0.5, 0.5], [{2}]), "question must hold .* from 0 to 1, got 2"),
        (lambda: nc.Atoms(10, [0.5, 0.5], [{True}]), "question must hold .*, got True"),
        (lambda: nc.Atoms(10, [0.5, 0.5], [0]), "question must be a set of numbers"),  # type: ignore[list-item]
        (lambda: nc.Atoms.disjoint(10, [0.6, 0.6]), "rates of disjoint predicates .* at most 1"),
        (lambda: nc.Atoms.nested(10, [0.6, 0.5]), "rates of nested predicates must not fall"),
        (lambda: nc.Atoms.independent(10, [0.5] * 17), "rates must be at most 16"),
        (lambda: nc.Atoms.independent(10, []), "rates must hold that of one predicate at least"),
    ],
)
def test_what_is_no_atoms_is_refused_on_one_line(make, told: str) -> None:  # noqa: ANN001
    """With the argument, its value and the remedy."""
    with pytest.raises(ValueError, match=f"^{told}") as refusal:
        make()
    assert "\n" not in str(refusal.value)
