"""Tests of `model/atoms.py`."""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import reduce
from itertools import pairwise

import numpy as np
import pytest

import noisycount as nc
from noisycount.analysis.privacy import lattice
from noisycount.analysis.privacy.workload import BoundedWorkload, Workload, moves_of_two, reduced_workload
from noisycount.analysis.privacy.workload_answers import (
    IndependentAnswers,
    WorkloadAnswers,
    is_independent,
    workload_answers,
)
from tests.helpers.cases import case_name
from tests.oracles.several import of_atoms

HALF, THIRD = Fraction(1, 2), Fraction(1, 3)
EPSILON = 0.1
TWO: dict[str, nc.Atoms] = {
    "independent": nc.Atoms.independent(4, [0.3, 0.2]),
    "disjoint": nc.Atoms.disjoint(4, [0.3, 0.2]),
    "nested": nc.Atoms.nested(4, [0.3, 0.5]),
    "crossed": nc.Atoms(3, [0.1, 0.2, 0.3, 0.4], [{0, 1}, {1, 2}]),
    "a part and the rest": nc.Atoms(4, [0.2, 0.8], [{0}, {1}]),
    "one record": nc.Atoms(1, [0.1, 0.2, 0.7], [{0}, {1}]),
}
PAIRS: dict[str, list[nc.Mechanism]] = {
    "discrete Laplace": [nc.DiscreteLaplace(HALF)] * 2,
    "discrete Gaussian": [nc.DiscreteGaussian(1), nc.DiscreteGaussian(2)],
    "none and discrete": [nc.Exact(), nc.DiscreteGaussian(1)],
    "none": [nc.Exact()] * 2,
}
DENSE: dict[str, list[nc.Mechanism]] = {
    "Laplace": [nc.Laplace(1.0)] * 2,
    "Gaussian": [nc.Gaussian(1.0), nc.Gaussian(2.0)],
    "both": [nc.Laplace(1.0), nc.Gaussian(1.0)],
}
THREE: dict[str, nc.Atoms] = {
    "crossed": nc.Atoms(2, [0.1, 0.2, 0.3, 0.4], [{0, 1}, {1, 2}, {0, 3}]),
    "nested": nc.Atoms.nested(3, [0.2, 0.3, 0.6]),
    "disjoint": nc.Atoms.disjoint(3, [0.2, 0.3, 0.1]),
}


@pytest.mark.parametrize("noises", PAIRS, ids=case_name)
@pytest.mark.parametrize("people", TWO)
@pytest.mark.parametrize("epsilon", [0.0, 0.2, 1.5])
def test_two_questions_are_those_of_all_databases(people: str, noises: str, epsilon: float) -> None:
    """Both directions, within brackets of 1e-10; of one count asked twice with Laplace, of 1e-5.

    A table without noise tells the larger direction for both.
    """
    width = 1e-5 if (people, noises) == ("a part and the rest", "discrete Laplace") else 1e-10
    curve = nc.privacy_curve(PAIRS[noises], TWO[people])
    true = of_atoms(TWO[people], PAIRS[noises], epsilon)
    lower, upper = curve.bracket(epsilon)
    assert lower - 1e-15 <= max(true) <= upper + 1e-15
    assert upper - lower < width
    told = (max(true),) * 2 if (people, noises) == ("disjoint", "none") else true
    assert curve.directions(epsilon) == pytest.approx(told, abs=width)


@pytest.mark.thorough
@pytest.mark.parametrize("noises", DENSE, ids=case_name)
@pytest.mark.parametrize("people", ["independent", "crossed"])
def test_two_dense_answers_are_integrals(people: str, noises: str) -> None:
    """Both directions lie in brackets of 5e-4."""
    curve = nc.privacy_curve(DENSE[noises], TWO[people])
    lower, upper = curve.bracket(0.2)
    assert lower - 2e-6 <= max(of_atoms(TWO[people], DENSE[noises], 0.2)) <= upper + 2e-6
    assert upper - lower < 5e-4


@pytest.mark.thorough
@pytest.mark.parametrize("people", THREE)
@pytest.mark.parametrize("noise", [nc.DiscreteLaplace(THIRD), nc.DiscreteGaussian(HALF), nc.Exact()])
def test_three_questions_are_those_of_all_databases(people: str, noise: nc.Mechanism) -> None:
    """Both directions; a table without noise tells the larger one for both."""
    true = of_atoms(THREE[people], [noise] * 3, 0.2)
    told = (max(true),) * 2 if (people, noise) == ("disjoint", nc.Exact()) else true
    assert nc.privacy_curve(noise, THREE[people]).directions(0.2) == pytest.approx(told, abs=1e-10)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("atoms", "delta"),
    [
        (nc.Atoms.independent(400, [0.1, 0.1]), 0.04651),
        (nc.Atoms.disjoint(400, [0.1, 0.1]), 0.04238),
        (nc.Atoms.nested(1000, [0.05, 0.1]), 0.02971),
    ],
    ids=["independent", "disjoint", "nested"],
)
def test_known_figures_are_met(atoms: nc.Atoms, delta: float) -> None:
    """With Gaussian noise of 3 records, at ε = 0.1, in brackets of 2e-4; in the fifth digit."""
    curve = nc.privacy_curve([nc.Gaussian(3)] * 2, atoms)
    lower, upper = curve.bracket(EPSILON)
    assert lower < upper < (1 + 2e-4) * lower
    assert lower - 1.5e-5 < delta < upper + 1.5e-5


@pytest.mark.thorough
def test_all_and_all_but_one_shows_the_one() -> None:
    """Of two atoms that only one record is in: .057, where one answer has .0095."""
    rare = 1e-12
    atoms = nc.Atoms(1000, [0.1, 0.9 - 2 * rare, rare, rare], [{0, 2}, {0}])
    both = nc.privacy_curve(nc.Gaussian(3), atoms)
    assert both.delta(EPSILON) == pytest.approx(0.057, abs=1e-4)
    alone = nc.privacy_curve(nc.Gaussian(3), nc.Atoms(1000, atoms.rates, [{0, 2}]))
    assert alone.delta(EPSILON) == pytest.approx(0.0095, abs=5e-5)


@pytest.mark.thorough
@pytest.mark.parametrize("noise", [nc.DiscreteGaussian(3), nc.DiscreteLaplace(2), nc.Laplace(2)])
def test_drawn_answers_show_as_much_as_is_computed(noise: nc.Mechanism) -> None:
    """The mean of (1 − e^ε·f(y − d)/f(y))₊ over draws is within 5 standard errors.

    Of independent questions the law f of the answers is a product of two sums.
    """
    size, rates, runs = 1000, (0.1, 0.3), 200_000
    curve = nc.privacy_curve([noise] * 2, nc.Atoms.independent(size, rates))
    generator = np.random.default_rng(18)
    ratios = np.ones(runs)
    for rate in rates:
        counts = generator.binomial(size - 1, rate, runs) + noise.draws(runs, generator)
        low, high = math.floor(counts.min()) - 1, math.ceil(counts.max()) + 1
        grid = np.linspace(low, high, (high - low) * (1 if noise.is_discrete else 16) + 1)
        places = np.arange(size)
        law = nc.Binomial(size - 1, rate).law().pmf(places)
        likely = np.exp(noise.errors.log_density(grid[:, None] - places)) @ law
        before = np.exp(noise.errors.log_density(grid[:, None] - places - 1)) @ law
        ratios *= np.interp(counts, grid, before / likely)
    drawn = np.maximum(0.0, 1 - math.exp(EPSILON) * ratios)
    error = 5 * drawn.std() / math.sqrt(runs)
    lower, upper = curve.bracket(EPSILON)
    assert lower - error <= drawn.mean() <= upper + error


def growing(curves: Sequence[nc.PrivacyCurve]) -> bool:
    """Return True if each curve has at least the δ of the curve before it."""
    bounds = [curve.bracket(EPSILON) for curve in curves]
    return all(one[0] <= other[1] for one, other in pairwise(bounds))


@pytest.mark.thorough
def test_more_questions_never_tell_less() -> None:
    """From one to three, and then in bounds."""
    atoms = nc.Atoms.disjoint(40, [0.2, 0.3, 0.1, 0.15])
    noise = nc.DiscreteGaussian(2)
    asked = [atoms.questions[: number + 1] for number in range(4)]
    curves = [nc.privacy_curve([noise] * len(one), atoms, one) for one in asked]
    assert growing(curves)
    assert curves[1].delta(EPSILON) > 1.2 * curves[0].delta(EPSILON)


@pytest.mark.parametrize(
    "noise",
    [
        pytest.param(nc.Gaussian, marks=pytest.mark.thorough),
        pytest.param(nc.Laplace, marks=pytest.mark.thorough),
        nc.DiscreteLaplace,
        nc.DiscreteGaussian,
    ],
)
def test_less_noise_and_more_knowledge_never_tell_less(noise: Callable[[float], nc.Mechanism]) -> None:
    """Known records leave fewer that hide one."""
    atoms = nc.Atoms.nested(200, [0.2, 0.3])
    assert growing([nc.privacy_curve(noise(scale), atoms) for scale in (4.0, 2.0, 1.0)])
    fewer = (nc.Atoms.nested(size, [0.2, 0.3]) for size in (200, 100, 50, 1))
    assert growing([nc.privacy_curve(noise(2.0), one) for one in fewer])


@pytest.mark.parametrize("noise", [nc.DiscreteLaplace(2), nc.DiscreteGaussian(2), nc.Gaussian(2)])
def test_a_record_alone_is_in_the_worst_case(noise: nc.Mechanism) -> None:
    """As are those of atoms that hide nobody: of two changes each is the worst case of one."""
    atoms = nc.Atoms(1, [0.3, 0.3, 0.4], [{0}, {1}])
    one = nc.privacy_curve(noise, nc.Atoms(1, [0.5, 0.5], [{0}]))
    worst, twice = nc.privacy_curve(noise), nc.privacy_curve([noise] * 2)
    assert one.delta(EPSILON) == pytest.approx(worst.delta(EPSILON), rel=1e-9)
    both = nc.privacy_curve([noise] * 2, atoms)
    assert growing([twice, both])
    assert growing([both, twice])


def test_a_list_of_one_question_is_a_count() -> None:
    """As are a question asked twice and its complement, and one with a question that is certain."""
    atoms, noise = nc.Atoms(300, [0.25, 0.75]), nc.DiscreteGaussian(2)
    population = nc.Binomial(300, 0.25)
    one = nc.privacy_curve(noise, population).delta(EPSILON)
    twice = nc.privacy_curve([noise] * 2, population).delta(EPSILON)
    for questions, delta in (([{0}], one), ([{0}, set(), {0, 1}], one), ([{0}, {0}], twice), ([{0}, {1}], twice)):
        found = nc.privacy_curve([noise] * len(questions), atoms, questions).delta(EPSILON)
        assert found == pytest.approx(delta, rel=1e-12)


@pytest.mark.thorough
@pytest.mark.parametrize("make", [nc.Atoms.independent, nc.Atoms.disjoint, nc.Atoms.nested], ids=case_name)
@pytest.mark.few(2)
@pytest.mark.parametrize("noise", [nc.DiscreteGaussian(2), nc.DiscreteLaplace(1), nc.Gaussian(2)])
def test_bounds_contain_what_is_exact(make: Callable[..., nc.Atoms], noise: nc.Mechanism) -> None:
    """Bounds made for long lists contain the exact δ of a short list, in both directions."""
    atoms = make(80, [0.1, 0.2])
    told = reduced_workload(atoms, atoms.questions, [noise] * 2)
    bounds = BoundedWorkload(workload_answers(told.select([0])), moves_of_two(told)).directions([0.0, 0.5])
    true = workload_answers(told).directions([0.0, 0.5])
    for bounded, exact in zip(bounds, true, strict=True):
        for a, b in zip(bounded, exact, strict=True):
            assert a.lower <= b.upper
            assert b.lower <= a.upper


@pytest.mark.thorough
def test_long_lists_have_bounds() -> None:
    """Close ones where most records lie in the two atoms that are told apart."""
    curve = nc.privacy_curve(nc.DiscreteGaussian(3), nc.Atoms.disjoint(1000, [0.1] * 4))
    lower, upper = curve.bracket(0.01)
    assert 0.9 * upper < lower < upper


@pytest.mark.parametrize("questions", [2, 3])
def test_slabs_add_up_to_the_whole(questions: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However few rows each has."""
    atoms = nc.Atoms.nested(60, [0.1, 0.4, 0.6][:questions])
    whole = nc.privacy_curve(nc.DiscreteGaussian(1), atoms).directions(EPSILON)
    monkeypatch.setattr(lattice, "_SLAB", 7000 if questions > 2 else 300)
    parts = nc.privacy_curve(nc.DiscreteGaussian(1), atoms).directions(EPSILON)
    assert parts == pytest.approx(whole, abs=1e-13)


@pytest.mark.parametrize("slab", [300, 2**21])
@pytest.mark.parametrize("answers", [2, 3])
def test_answers_to_one_question_are_those_of_a_sum_over_the_counts(
    answers: int, slab: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """δ = Σ_y (f(y − 1) − e^ε·f(y))₊ with f(y) = Σ_k P(k)·Π n_i(y_i − k)."""
    monkeypatch.setattr(lattice, "_SLAB", slab)
    noises = [nc.DiscreteLaplace(Fraction(1, 4)), nc.DiscreteGaussian(1), nc.DiscreteLaplace(Fraction(1, 5))][:answers]
    size, rate, factor = 30, 0.3, math.exp(EPSILON)
    places = np.arange(-20.0, size + 20)
    law = np.zeros((places.size,) * answers)
    for count in range(size):
        chance = math.comb(size - 1, count) * rate**count * (1 - rate) ** (size - 1 - count)
        law += chance * reduce(
            np.multiply.outer, [np.exp(noise.errors.log_heights(places - count)) for noise in noises]
        )
    moved, stayed = (law[(part,) * answers] for part in (slice(0, -1), slice(1, None)))
    true = [np.maximum(one - factor * other, 0).sum() for one, other in ((moved, stayed), (stayed, moved))]
    curve = nc.privacy_curve(noises, nc.Binomial(size, rate))
    assert curve.directions(EPSILON) == pytest.approx(true, abs=1e-10)
    lower, upper = curve.bracket(EPSILON)
    assert lower - 1e-13 <= max(true) <= upper + 1e-13
    assert upper - lower < 1e-10


def test_two_answers_to_one_question_take_little_time_for_many_records() -> None:
    """Their law has as many places as the first answer times the differences."""
    noises = [lattice.noise_on_grid(noise, 1) for noise in (nc.Laplace(3), nc.Gaussian(4))]
    whole = lattice.Lattice(10**6 - 1, {(0, 0): 0.9, (1, 1): 0.1}, noises)
    assert whole.shortest.places < whole.places / 10
    assert whole.shortest.error < 1e-11


FOUR = nc.Atoms.independent(9, [0.5, 0.5])
NOISE = nc.DiscreteLaplace(2)
REFUSED = [
    ([NOISE] * 2, nc.Binomial(9, 0.5), [{0}, {1}], "population must be Atoms for a list of"),
    ([NOISE] * 2, nc.BetaBinomial(9, 1, 2), [{0}, {1}], "population must be Atoms for a list of"),
    ([NOISE], FOUR, [{0}, {1}], "questions must be as many as the 1 mechanisms .*, got 2"),
    ([NOISE], FOUR, [{9}], "question must hold numbers of atoms from 0 to 3, got 9"),
    ([], FOUR, [], "questions must have at least one question"),
    ([], nc.Binomial(9, 0.5), None, "mechanism must be at least one mechanism, got an empty list"),
    (NOISE, FOUR, [set(), {0, 1, 2, 3}], "population must leave a question uncertain"),
    (NOISE, nc.Atoms(0, [0.5, 0.5], [{0}]), None, "population must leave at least one record"),
    (
        NOISE,
        nc.Atoms.independent(9, [0.1] * 12),
        None,
        "questions are too many, got 12: an exact curve takes at most 3",
    ),
    ([NOISE, nc.Subsample(4)], FOUR, None, "mechanism must be one of noisycount's mechanisms, or a list of noises"),
]


@pytest.mark.parametrize(("mechanism", "population", "questions", "told"), REFUSED)
def test_lists_that_cannot_be_had_are_refused_on_one_line(
    mechanism: list[nc.Mechanism], population: nc.Atoms, questions: list[set[int]], told: str
) -> None:
    """With the argument, its value and the remedy."""
    with pytest.raises(ValueError, match=f"^{told}") as refusal:
        nc.privacy_curve(mechanism, population, questions)
    assert "\n" not in str(refusal.value)


HALF_WAY, QUARTER = Fraction(1, 2), Fraction(1, 4)
RATES = [0.3, 0.2, 0.6]
DISCRETE: dict[str, list[nc.Mechanism]] = {
    "discrete Laplace": [nc.DiscreteLaplace(QUARTER)] * 3,
    "discrete Gaussian": [nc.DiscreteGaussian(HALF_WAY)] * 3,
    "none": [nc.Exact()] * 3,
    "mixed": [nc.DiscreteLaplace(QUARTER), nc.Exact(), nc.DiscreteGaussian(HALF_WAY)],
}


def listed(size: int, rates: Sequence[float], noises: Sequence[nc.Mechanism]) -> Workload:
    """Independent questions."""
    atoms = nc.Atoms.independent(size, rates)
    return reduced_workload(atoms, atoms.questions, noises)


@pytest.mark.few(0)
@pytest.mark.parametrize("noises", DISCRETE, ids=case_name)
@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize("epsilon", [0.0, 1.5])
def test_independent_answers_are_those_of_all_databases(size: int, noises: str, epsilon: float) -> None:
    """Both directions, in brackets of 1e-6."""
    told = listed(size, RATES, DISCRETE[noises])
    assert is_independent(told)
    true = of_atoms(nc.Atoms.independent(size, RATES), DISCRETE[noises], epsilon)
    for (found,), exact in zip(IndependentAnswers(told).directions([epsilon]), true, strict=True):
        assert found.lower <= exact + 1e-15
        assert exact <= found.upper + 1e-15
        assert found.upper - found.lower < 1e-6


@pytest.mark.thorough
@pytest.mark.parametrize("noise", [nc.Gaussian(1.5), nc.Laplace(1.5), nc.DiscreteGaussian(1.5)], ids=case_name)
def test_sums_of_log_ratios_and_a_transform_agree(noise: nc.Mechanism) -> None:
    """Of three answers about 15 records; the sums are closer for noise with a density."""
    told = listed(15, RATES, [noise] * 3)
    sums, whole = (way.directions([0.0, 0.3]) for way in (IndependentAnswers(told), WorkloadAnswers(told)))
    for ours, theirs in zip(sums, whole, strict=True):
        for one, other in zip(ours, theirs, strict=True):
            assert one.lower <= other.upper
            assert other.lower <= one.upper
            assert one.upper - one.lower < 3e-4 * one.upper


@pytest.mark.few(0)
@pytest.mark.parametrize("noise", [nc.DiscreteGaussian(5), nc.Gaussian(5), nc.Laplace(5)], ids=case_name)
def test_three_questions_about_many_records_have_close_brackets(noise: nc.Mechanism) -> None:
    """Three of 10,000 records."""
    atoms = nc.Atoms.independent(10_000, [0.1, 0.2, 0.3])
    lower, upper = nc.privacy_curve(noise, atoms).bracket(0.02)
    assert 0.0102 < lower < upper < lower * (1 + 2e-5) < 0.0105


@pytest.mark.thorough
def test_five_questions_about_many_records_have_close_brackets() -> None:
    """The bracket lies within .0421 to .0447, the interval that simulation gives."""
    five = nc.Atoms.independent(1000, [0.1, 0.2, 0.3, 0.4, 0.5])
    lower, upper = nc.privacy_curve(nc.DiscreteGaussian(5), five).bracket(0.05)
    assert 0.0421 < lower < upper < 0.0447
    assert upper < lower * (1 + 1e-6)


def test_questions_that_depend_a_little_on_each_other_are_no_product() -> None:
    """A rate that is moved by 1e-6 is enough."""
    atoms = nc.Atoms.independent(100, RATES)
    moved = [*atoms.rates[:-2], atoms.rates[-2] + 1e-6, atoms.rates[-1] - 1e-6]
    noises = [nc.DiscreteGaussian(1)] * 3
    assert is_independent(reduced_workload(atoms, atoms.questions, noises))
    other = nc.Atoms(100, moved, atoms.questions)
    assert not is_independent(reduced_workload(other, other.questions, noises))
