import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import noisycount as nc
from tests.layers import examples


def test_groups_cost_what_one_record_can_move() -> None:
    """All answers, one of disjoint ones, two where a record is replaced; never more than all."""
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


def test_budgets_and_groups_that_cannot_be_are_refused() -> None:
    """Nothing is paid from a budget of 0, and no group is empty or free."""
    with pytest.raises(ValueError, match=r"^budget must be positive and finite, got 0"):
        nc.affordable_answers(0, 20, 0.05)
    with pytest.raises(ValueError, match=r"^answers must be a whole number from 1 to 2"):
        nc.epsilon_of_group(0.1, 0)
    with pytest.raises(ValueError, match=r"^epsilon must be positive and finite, got -0.1"):
        nc.epsilon_of_group(-0.1, 2)


@pytest.mark.parametrize("together", [False, True])
def test_a_budget_of_the_very_sum_pays_for_all(*, together: bool) -> None:
    """And one that is less by any amount for one answer fewer."""
    price = nc.epsilon_for_accuracy(20, 0.05, 7 if together else 1)
    budget = 7 * Fraction(str(price))
    assert nc.affordable_answers(budget, 20, 0.05, together=together) == 7
    less = budget - Fraction(1, 10**20)
    assert nc.affordable_answers(less, 20, 0.05, together=together) == 6
