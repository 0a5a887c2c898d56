"""The rule of a desk: monotone, safe against small groups, and where answers led to questions."""

import math
from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest

import noisycount as nc
from noisycount.analysis.privacy.bounds import pure_dp_delta
from noisycount.analysis.privacy.list_risk import Groups

EPSILON = 0.1
EVERYBODY_BUT_ONE = nc.Atoms(1000, [0.999, 0.001], [{0, 1}, {0}])


@pytest.mark.thorough
def test_a_list_of_large_groups_has_its_exact_curve() -> None:
    """Without small groups nothing is given away, and δ equals that of `privacy_curve`."""
    atoms = nc.Atoms.nested(1000, [0.05, 0.1])
    risk = nc.list_risk([nc.Gaussian(3)] * 2, atoms)
    assert risk.given == 0
    delta = risk.delta(EPSILON)
    assert delta == nc.privacy_curve([nc.Gaussian(3)] * 2, atoms).bracket(EPSILON)[1]
    assert delta == pytest.approx(0.02971, abs=1e-5)


@pytest.mark.thorough
@pytest.mark.parametrize("atoms", [nc.Atoms.nested(200, [0.05, 0.1]), nc.Atoms(200, [0.995, 0.005], [{0, 1}, {0}])])
def test_arrays_give_arrays(atoms: nc.Atoms) -> None:
    """Each ε has what it has alone, in the shape of the argument, as in `PrivacyCurve.delta`."""
    risk = nc.list_risk([nc.Gaussian(3)] * 2, atoms)
    for told in (risk.delta, risk.worst, risk.rest, risk.adaptive):
        assert told(np.array([[0.1], [0.2]])).tolist() == [[told(0.1)], [told(0.2)]]
        with pytest.raises(ValueError, match=r"^epsilon must be at least 0 and finite"):
            told([0.1, -0.2])


def test_everybody_but_one_pays_the_worst_case() -> None:
    """The group of one record is given to the outsider, and its δ is that of the worst case."""
    risk = nc.list_risk([nc.Gaussian(3)] * 2, EVERYBODY_BUT_ONE)
    worst = nc.privacy_curve([nc.Gaussian(3)] * 2).bracket(EPSILON)[1]
    assert risk.delta(EPSILON) == risk.worst(EPSILON) == risk.adaptive(EPSILON) == worst
    assert risk.rest(EPSILON) == 0
    assert risk.given == pytest.approx(0.001)


@pytest.mark.parametrize(
    "mechanism", [nc.Gaussian(3), nc.Exact(), pytest.param(nc.DiscreteLaplace(2), marks=pytest.mark.thorough)], ids=str
)
def test_delta_never_falls_as_the_list_grows(mechanism: nc.Gaussian) -> None:
    """Whatever is asked next, of three questions, the last of which parts off a small group."""
    rates = [0.3, 0.3, 0.2, 0.195, 0.005]
    asked = [{0}, {0}, {0, 1}, {0, 4}]
    found = [
        nc.list_risk([mechanism] * number, nc.Atoms(40, rates), asked[:number], least=1)
        for number in range(1, len(asked) + 1)
    ]
    deltas = [one.delta(EPSILON) for one in found]
    assert deltas == sorted(deltas)
    assert deltas[-1] == found[-1].worst(EPSILON)
    assert all(one.delta(EPSILON) <= one.worst(EPSILON) for one in found)


def test_the_adaptive_bound_is_that_of_exact_counts_of_the_atoms() -> None:
    """It does not grow with the number of questions about the same atoms."""
    atoms = nc.Atoms(40, [0.25] * 4)
    few = nc.list_risk([nc.DiscreteLaplace(1)] * 2, atoms, [{0}, {1}])
    many = nc.list_risk([nc.DiscreteLaplace(1)] * 9, atoms, [{0}, {1}, {2}] * 3)
    table = nc.privacy_curve(nc.Exact(), atoms, [{0}, {1}, {2}]).bracket(0.01)[1]
    assert few.adaptive(0.01) == many.adaptive(0.01) == pytest.approx(table, rel=1e-9)
    assert few.delta(0.01) <= few.adaptive(0.01) < few.worst(0.01)


def test_an_adaptive_strategy_stays_below_the_adaptive_bound() -> None:
    """The second question depends on the first answer: its δ exceeds that of each fixed list.

    Four records in three atoms; the first answer decides which question shows more. Whatever it is, the exact counts of
    the atoms show more still.
    """
    size, rates, noise, epsilon = 4, (0.25, 0.25, 0.5), nc.DiscreteLaplace(1.5), 0.5
    starts = np.arange(-40.0, 45.0)
    kernel = np.array([noise.errors.between(starts - count, np.ones_like(starts)) for count in range(size + 1)])
    gains = np.array([_gains(rates, kernel, which, epsilon) for which in (0, 1)])
    fixed = gains.sum(axis=2).max(axis=1)
    led = gains.max(axis=0).sum(axis=1).max()
    atoms = nc.Atoms(size, rates)
    risk = nc.list_risk([noise] * 2, atoms, [{0}, {0}], least=1)
    for which, question in enumerate(({0}, {1})):
        lower, upper = nc.privacy_curve([noise] * 2, atoms, [{0}, question]).bracket(epsilon)
        assert lower * (1 - 1e-6) <= fixed[which] <= upper
    assert led > 1.01 * max(fixed)
    assert led <= risk.adaptive(epsilon)


def _gains(
    rates: Sequence[float], kernel: np.ndarray[tuple[int, int], np.dtype[np.float64]], which: int, epsilon: float
) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """δ of each move, one part for each first answer.

    The first answer is about atom 0, the second about it once more, or about atom 1.
    """
    size = len(kernel) - 1
    laws = [np.zeros((85, 85)) for _ in rates]
    for first in range(size):
        for second in range(size - first):
            weight = _multinomial((first, second, size - 1 - first - second), rates)
            for atom in range(len(rates)):
                one, two = first + (atom == 0), second + (atom == 1)
                laws[atom] += weight * np.outer(kernel[one], kernel[(one, two)[which]])
    gain = np.exp(epsilon)
    moves = [(one, two) for one in laws for two in laws if one is not two]
    return np.array([np.maximum(one - gain * two, 0).sum(axis=1) for one, two in moves])


def _multinomial(counts: Sequence[int], rates: Sequence[float]) -> float:
    """The probability of the counts of the atoms."""
    chance, left = 1.0, sum(counts)
    for count, rate in zip(counts, rates, strict=True):
        for step in range(count):
            chance *= rate * (left - step) / (step + 1)
        left -= count
    return chance


def test_small_groups_are_given_with_nearly_all_that_they_may_hold() -> None:
    """Fewer records are unknown, but for a chance that is added to δ."""
    groups = Groups.from_questions(nc.Atoms(1000, [0.5, 0.495, 0.005]), [frozenset({0}), frozenset({1})], 10)
    size, chance = groups.unknown()
    assert 940 < size < 985
    assert 0 < chance < 1e-12
    assert groups.given == pytest.approx(0.005)
    assert Groups.from_questions(nc.Atoms(9, [0.5, 0.5]), [frozenset({0})], 10).unknown()[0] >= 1


def test_the_worst_case_adds_prices_up() -> None:
    """At the sum of the prices δ is 0, below it never more than that of one answer of the sum."""
    prices = ["0.5", "1", "1"]
    noises = [nc.DiscreteLaplace.for_epsilon(price) for price in prices]
    risk = nc.list_risk(noises, nc.Atoms.nested(100, [0.5]), [{0}] * 3)
    assert risk.worst(2.5001) == 0
    assert 0 < risk.worst(2.49) < 0.01
    assert risk.worst(0.0) <= np.tanh(1.25) * (1 + 1e-9)


def test_a_risk_shows_itself() -> None:
    """On one line, and as plain data."""
    risk = nc.list_risk([nc.Gaussian(3)] * 2, EVERYBODY_BUT_ONE)
    assert repr(risk).startswith("ListRisk(")
    told = risk.to_dict()
    assert told["deltas"] == [{"epsilon": 0.1, "delta": risk.delta(0.1), "worst": risk.worst(0.1)}]


@pytest.mark.parametrize("rate", [1e-300, 1e-17, 1e-12, 1e-3])
def test_a_group_is_small_however_small_it_is(rate: float) -> None:
    """A group with a share of 1e-300 has the worst case, although the other shares add up to 1."""
    atoms = nc.Atoms(1000, [rate, rate, 0.5 - rate, 0.5 - rate], [{0}, {1}, {2}])
    risk = nc.list_risk([nc.Gaussian(3)] * 3, atoms)
    assert 0 < risk.given <= 2.001 * rate
    assert risk.delta(0.1) == risk.worst(0.1)
    assert risk.rest(0.1) < 0.1 * risk.worst(0.1)


def test_answers_of_any_noises_have_a_worst_case() -> None:
    """Five discrete Laplace answers at five ε: each says which of two with odds e^ε, no more."""
    prices = [0.1, 0.2, 0.3, 0.4, 0.7]
    right = [math.exp(price) / (1 + math.exp(price)) for price in prices]
    said = [
        (
            math.prod(p if is_right else 1 - p for p, is_right in zip(right, each, strict=True)),
            math.prod(1 - p if is_right else p for p, is_right in zip(right, each, strict=True)),
        )
        for each in product((True, False), repeat=5)
    ]
    noises = [nc.DiscreteLaplace.for_epsilon(str(price)) for price in prices]
    risk = nc.list_risk(noises, nc.Atoms.nested(1000, [0.1, 0.2, 0.3, 0.4, 0.5]))
    for epsilon in (0.0, 0.1, 1.0, 1.6):
        exact = math.fsum(max(0.0, one - math.exp(epsilon) * other) for one, other in said)
        low, high = risk.worst_case.bracket(epsilon)
        assert low <= exact * (1 + 1e-12) <= high * (1 + 1e-9)
        assert risk.worst(epsilon) == high <= pure_dp_delta(1.7, epsilon) * (1 + 1e-9)
    assert risk.worst(1.7001) == 0
