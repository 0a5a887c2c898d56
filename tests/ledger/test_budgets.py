import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from itertools import accumulate, product

import dp_accounting
import mpmath
import numpy as np
import pytest
from dp_accounting import pld, rdp
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq, minimize_scalar

from noisycount.ledger.budget import (
    ApproximateBudget,
    Budget,
    ConcentratedBudget,
    Loss,
    PureBudget,
    Written,
    budget_from,
    budget_of,
)
from noisycount.model.concentrated import epsilon_of_rho
from noisycount.validation import exact_epsilon

MICRO = Fraction(1, 10**6)
prices = st.fractions(Fraction(1, 1000), 5, max_denominator=1000)
budgets = st.sampled_from(
    [
        PureBudget(Fraction(2)),
        ConcentratedBudget(Fraction(1, 2)),
        ApproximateBudget(Fraction(2), MICRO),
        ApproximateBudget(Fraction("0.1"), Fraction(1, 1000)),
    ]
)


@given(st.lists(prices))
def test_losses_add_up_exactly(paid: list[Fraction]) -> None:
    """In ε, and in halves of the squares."""
    total = sum(map(Loss.from_epsilon, paid), Loss())
    assert total == Loss(sum(paid, Fraction(0)), sum(price**2 for price in paid) / Fraction(2))


@pytest.mark.parametrize("epsilon", [Fraction(1, 1000), Fraction(1, 10), Fraction(1), Fraction(5)])
def test_the_rho_of_an_answer_bounds_its_renyi_divergences(epsilon: Fraction) -> None:
    """Discrete Laplace noise is randomised response for one unit: its divergences are closed forms.

    D_a = log(q^a (1−q)^(1−a) + (1−q)^a q^(1−a)) / (a − 1) ≤ ρ·a, with q = e^ε/(1 + e^ε).
    """
    with mpmath.workdps(50):
        right = 1 / (1 + mpmath.exp(-mpmath.mpf(epsilon.numerator) / epsilon.denominator))
        for order in map(mpmath.mpf, (1.001, 1.5, 2, 10, 100)):
            terms = [one**order * other ** (1 - order) for one, other in [(right, 1 - right), (1 - right, right)]]
            assert mpmath.log(sum(terms)) / (order - 1) <= float(Loss.from_epsilon(epsilon).rho) * order


@pytest.mark.parametrize("for_keys", ["0", "1e-7", "5e-7", "999e-9"])
def test_the_part_of_delta_for_keys_pays_for_no_noise(for_keys: str) -> None:
    """The ρ of a budget implies its ε at the rest of δ, and hardly more does: not at all of δ."""
    budget = ApproximateBudget(Fraction(2), MICRO, Fraction(Decimal(for_keys)))
    rest = MICRO - Fraction(Decimal(for_keys))
    assert budget.rho_delta == rest
    assert epsilon_of_rho(budget.rho, rest) <= 2 < epsilon_of_rho(budget.rho * 10001 / 10000, rest)
    answer = Loss.concentrated(budget.rho, Fraction(0))
    assert budget.admits(answer)
    assert not budget.admits(Loss.concentrated(budget.rho * 10001 / 10000, Fraction(0)))


@given(budgets, st.lists(prices, max_size=30))
def test_what_is_left_fits_and_hardly_more_does(budget: Budget, paid: list[Fraction]) -> None:
    """`left` is the largest price of one more answer, to a billionth."""
    spent = Loss()
    for price in paid:
        if budget.admits(spent + Loss.from_epsilon(price)):
            spent += Loss.from_epsilon(price)
    left = budget.left(spent)
    assert left == 0 or exact_epsilon(left) == left
    assert left == 0 or budget.admits(spent + Loss.from_epsilon(left))
    assert not budget.admits(spent + Loss.from_epsilon(left + Fraction(2, 10**9)))


@pytest.mark.parametrize(
    ("epsilon", "delta"), list(product(["0.1", "0.5", "1", "2", "10", "100"], ["1e-3", "1e-6", "1e-9", "1e-12"]))
)
def test_the_rho_of_a_budget_is_the_largest_that_implies_it(epsilon: str, delta: str) -> None:
    """Within 1e-4 of the optimum of Canonne, Kamath and Steinke (2020), and never above it."""
    goal, chance = float(epsilon), float(delta)

    def implied(rho: float) -> float:
        def at(log_order: float) -> float:
            above = math.exp(log_order)
            order = 1 + above
            return order * rho + math.log1p(-1 / order) - (math.log(chance) + math.log(order)) / above

        return float(minimize_scalar(at, bounds=(-12, 30), method="bounded").fun)

    best = brentq(lambda rho: implied(rho) - goal, 1e-9, 2 * goal)
    found = float(ApproximateBudget(Fraction(epsilon), Fraction(delta)).rho)
    assert best * (1 - 2e-4) < found <= best * (1 + 1e-9)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("epsilon", "delta", "price"),
    [("1", "1e-6", "0.05"), ("2", "1e-6", "0.1"), ("2", "1e-9", "0.01"), ("0.5", "1e-3", "0.1")],
)
def test_answers_within_a_budget_keep_to_it_by_an_independent_accountant(epsilon: str, delta: str, price: str) -> None:
    """Privacy loss distributions, which are tighter, give no larger ε; most of it is used."""
    budget = ApproximateBudget(Fraction(epsilon), Fraction(delta))
    each = Loss.from_epsilon(Fraction(price))
    totals = accumulate([each] * 10_000)
    fitting = sum(1 for total in totals if budget.admits(total))
    assert fitting >= Fraction(epsilon) / Fraction(price)
    composed = pld.PLDAccountant().compose(dp_accounting.LaplaceDpEvent(float(1 / Fraction(price))), fitting)
    reached = composed.get_epsilon(float(delta))
    assert reached <= float(epsilon) * (1 + 1e-6)


def test_many_cheap_answers_fit_a_budget_with_a_delta() -> None:
    """At ε = 0.01 each, 1763 of them where a sum of ε pays for 200."""
    price = Loss.from_epsilon(Fraction(1, 100))
    budget = ApproximateBudget(Fraction(2), MICRO)
    pays = [
        count for count in range(1, 3000) if budget.admits(Loss(*(count * each for each in (price.epsilon, price.rho))))
    ]
    assert pays == list(range(1, 1764))


def test_few_dear_answers_fit_as_in_a_budget_without() -> None:
    """Ten at 0.2 are 2 in all, though their ρ is more than the budget's."""
    budget = ApproximateBudget(Fraction(2), MICRO)
    ten = Loss(Fraction(2), 10 * Fraction(1, 50))
    one = Loss.from_epsilon(Fraction(2))
    assert one.rho > budget.rho
    assert budget.admits(one)
    assert budget.admits(ten)
    assert not budget.admits(one + Loss.from_epsilon(Fraction(1, 10**9)))


def test_dp_accounting_agrees_on_concentrated_budgets() -> None:
    """Its own accountant composes our ρ to the ε that it converts the budget's to."""
    events = [dp_accounting.ZCDpEvent(float(Loss.from_epsilon(Fraction(1, n)).rho)) for n in range(1, 20)]
    total = sum((Loss.from_epsilon(Fraction(1, n)) for n in range(1, 20)), Loss())
    one_by_one, at_once = rdp.RdpAccountant(), rdp.RdpAccountant()
    for event in events:
        one_by_one.compose(event)
    at_once.compose(dp_accounting.ZCDpEvent(float(total.rho)))
    assert one_by_one.get_epsilon(1e-6) == pytest.approx(at_once.get_epsilon(1e-6), rel=1e-12)
    above = Fraction(math.ceil(total.rho * 10**6), 10**6)
    assert ConcentratedBudget(above).admits(total)
    assert not ConcentratedBudget(above - MICRO).admits(total)


def test_a_budget_admits_its_very_sum_and_nothing_beyond() -> None:
    """Not a part in 10^18 more."""
    whole, more, nothing = Fraction(1), 1 + Fraction(1, 10**18), Fraction(0)
    assert PureBudget(whole).admits(Loss(whole, nothing))
    assert not PureBudget(whole).admits(Loss(more, nothing))
    assert ConcentratedBudget(whole).admits(Loss(nothing, whole))
    assert not ConcentratedBudget(whole).admits(Loss(nothing, more))


GAUSSIAN, HIDDEN = Loss.concentrated(Fraction(1, 100)), Loss.from_epsilon(Fraction(1, 10), MICRO / 10)


@pytest.mark.parametrize(
    ("budget", "price", "obstacle"),
    [
        (PureBudget(Fraction(2)), GAUSSIAN, "a budget in ε alone pays for no Gaussian noise: give"),
        (PureBudget(Fraction(2)), HIDDEN, "a budget in ε alone pays for no hidden keys, which"),
        (ConcentratedBudget(Fraction(2)), HIDDEN, "a budget in ρ pays for no hidden keys, which"),
        (ApproximateBudget(Fraction(2), MICRO), HIDDEN, "the budget ε = 2 at δ = 1e-06 of 'x' sets"),
        (
            ApproximateBudget(Fraction(2), MICRO, MICRO),
            GAUSSIAN,
            "the budget ε = 2 at δ = 1e-06, 1e-06 of it for keys of 'x' leaves no δ for Gaussian",
        ),
    ],
)
def test_a_budget_says_what_it_can_never_pay_for(budget: Budget, price: Loss, obstacle: str) -> None:
    """In one line with the remedy; and it admits no such answer."""
    told = budget.obstacle(price, "'x'")
    assert told is not None
    assert told.startswith(obstacle)
    assert "\n" not in told
    assert not budget.admits(price)
    assert budget.left(price) == 0 or isinstance(budget, ApproximateBudget)


@pytest.mark.parametrize(
    ("budget", "price"),
    [
        (ConcentratedBudget(Fraction(2)), GAUSSIAN),
        (ApproximateBudget(Fraction(2), MICRO), GAUSSIAN),
        (ApproximateBudget(Fraction(2), MICRO, MICRO / 2), GAUSSIAN),
        (ApproximateBudget(Fraction(2), MICRO, MICRO / 2), HIDDEN),
        (ApproximateBudget(Fraction(2), MICRO, MICRO), HIDDEN),
    ],
)
def test_a_budget_pays_for_what_it_has_no_obstacle_to(budget: Budget, price: Loss) -> None:
    """And says so."""
    assert budget.admits(price)
    assert budget.obstacle(price, "'x'") is None
    assert budget.left(price) > 0


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: PureBudget(Fraction(0)), "budget must be a decimal"),
        (lambda: ConcentratedBudget(Fraction(-1)), "rho must be a decimal"),
        (lambda: ApproximateBudget(Fraction(1), Fraction(0)), "delta must be a decimal"),
        (lambda: ApproximateBudget(Fraction(1), Fraction(1)), "delta must be a decimal"),
        (lambda: ApproximateBudget(Fraction(0), MICRO), "budget must be a decimal"),
    ],
)
def test_a_budget_out_of_range_is_refused(made: Callable[[], Budget], message: str) -> None:
    """In one line that says what it may be."""
    with pytest.raises(ValueError, match=rf"\A{message}"):
        made()


def test_what_is_left_can_be_asked_where_the_remainder_has_no_short_form() -> None:
    """The prices leave 986039/988027, whose denominator no price may have."""
    spent = Loss.from_epsilon(Fraction(1, 991)) + Loss.from_epsilon(Fraction(1, 997))
    remainder = 1 - spent.epsilon
    assert remainder == Fraction(986039, 988027)
    for budget in (PureBudget(Fraction(1)), ApproximateBudget(Fraction(1), MICRO)):
        left = budget.left(spent)
        assert exact_epsilon(left) == left
        assert 0 < remainder - left < Fraction(1, 10**18)
        assert budget.admits(spent + Loss.from_epsilon(left))
    assert PureBudget(Fraction(1)).left(Loss.from_epsilon(1 - Fraction(1, 10**10))) == 0


EXACT = ["1/2", "0.5", Decimal("0.5"), Fraction(np.int64(1), np.int64(2))]  # type: ignore[arg-type]


@pytest.mark.parametrize("half", EXACT)
def test_a_budget_keeps_what_it_checked(half: Fraction) -> None:
    """Whatever denotes an exact number is kept as one, of Python's integers."""
    kept = (
        PureBudget(half).epsilon,
        ConcentratedBudget(half).rho,
        ApproximateBudget(half, MICRO).epsilon,
        ApproximateBudget(Fraction(1), half).delta,
    )
    for value in kept:
        assert (value, type(value.numerator)) == (Fraction(1, 2), int)
    for budget in (budget_of(half), ApproximateBudget(Fraction(1), half)):
        assert budget.left(Loss.from_epsilon(Fraction(1, 3))) >= Fraction(1, 6)
        assert "5" in budget.text


def test_a_number_is_a_budget_of_so_many_epsilon() -> None:
    """A number of any exact type is a budget in ε."""
    for two in (2, "2", 2.0, Decimal(2), Fraction(2), np.int64(2)):
        assert budget_of(two) == PureBudget(Fraction(2))  # type: ignore[arg-type]
    budget = ConcentratedBudget(Fraction(1))
    assert budget_of(budget) is budget


@pytest.mark.parametrize("value", [1e-10, True, None, object(), "two", [], b"2", 0, "1e9"])
def test_what_is_no_budget_is_refused_at_once(value: object) -> None:
    """In one line."""
    for made in (budget_of, PureBudget):
        with pytest.raises(ValueError, match=r"\Abudget must be [^\n]+\Z"):
            made(value)  # type: ignore[arg-type]


def test_a_loss_is_of_pythons_integers() -> None:
    """Losses use Python's integers, as NumPy's would overflow; floats are refused."""
    price = Fraction(np.int64(583), np.int64(917))  # type: ignore[arg-type]
    total = sum((Loss.from_epsilon(price) for _ in range(50)), Loss())
    assert total == Loss(50 * Fraction(583, 917), 25 * Fraction(583, 917) ** 2)
    assert type(Loss(price, price).rho.numerator) is int
    for inexact in (0.5, "1/2", None):
        with pytest.raises(ValueError, match=r"\Aepsilon must be an exact rational"):
            Loss.from_epsilon(inexact)  # type: ignore[arg-type]


def test_every_sum_of_a_loss_adds_up() -> None:
    """The δ too; a loss includes what none of its sums falls short of."""
    hidden, noisy = Loss.from_epsilon(Fraction(1), MICRO), Loss.concentrated(Fraction(1, 4), 2 * MICRO)
    both = hidden + noisy
    assert both == Loss(None, Fraction(3, 4), 3 * MICRO)
    assert both.includes(hidden)
    assert both.includes(noisy)
    assert not hidden.includes(noisy)
    assert not Loss.from_epsilon(Fraction(1), MICRO).includes(Loss.from_epsilon(Fraction(1), 2 * MICRO))
    assert not Loss.from_epsilon(Fraction(1), MICRO).includes(Loss.from_epsilon(Fraction(2), MICRO))


def test_half_of_a_budget_that_was_spent_is_not_left() -> None:
    """If an answer had no ε, the remaining budget follows from ρ alone."""
    budget = ApproximateBudget(Fraction(2), MICRO)
    spent = Loss.concentrated(budget.rho / 2)
    left = budget.left(spent)
    assert left**2 <= budget.rho < (left + Fraction(1, 10**9)) ** 2
    assert not budget.left(Loss.concentrated(budget.rho))
    assert not budget.left(spent + Loss.from_epsilon(left + Fraction(1, 10**8)))


def test_budgets_say_what_they_are() -> None:
    """In a few words; a number is a budget in ε."""
    assert budget_of(Fraction(1, 3)).text == "1/3"
    assert ConcentratedBudget(Fraction(1, 10)).text == "ρ = 0.1"
    assert ApproximateBudget(Fraction(2), MICRO).text == "ε = 2 at δ = 1e-06"


@pytest.mark.parametrize(
    ("written", "budget"),
    [
        ("2", PureBudget(Fraction(2))),
        (0.1, PureBudget(Fraction(1, 10))),
        (ConcentratedBudget(Fraction(1)), ConcentratedBudget(Fraction(1))),
        ({"rho": "0.1"}, ConcentratedBudget(Fraction(1, 10))),
        ({"epsilon": "2", "delta": "1e-6"}, ApproximateBudget(Fraction(2), MICRO, MICRO / 2)),
        ({"delta": MICRO, "epsilon": 2, "for_keys": "0"}, ApproximateBudget(Fraction(2), MICRO)),
        ({"delta": MICRO, "epsilon": 2, "for_keys": "1e-7"}, ApproximateBudget(Fraction(2), MICRO, MICRO / 10)),
    ],
)
def test_a_budget_has_parts(written: Written, budget: Budget) -> None:
    """Half of δ is for hidden keys where nothing else is said."""
    assert budget_from(written) == budget


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ({}, "budget must be"),
        ({"epsilon": "2"}, "got parts 'epsilon'"),
        ({"rho": "1", "delta": "1e-6"}, "budget must be"),
        ({"epsilon": "2", "delta": "1"}, "delta must be"),
        ({"epsilon": "2", "delta": "1e-6", "for_keys": "1e-5"}, "for_keys must be at most"),
        ({"epsilon": "2", "delta": "1e-6", "for_keys": "-1"}, "for_keys must be a decimal .* from 0"),
        ({"epsilon": "0", "delta": "1e-6"}, "epsilon must be"),
        ("two", "budget must be"),
    ],
)
def test_parts_that_are_none_are_refused(written: Written, words: str) -> None:
    """In one line that names the part."""
    with pytest.raises(ValueError, match=words) as refused:
        budget_from(written)
    assert "\n" not in str(refused.value)
