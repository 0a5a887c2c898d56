"""Tests of `analysis/privacy/disjoint_samples.py` and `analysis/privacy/overlapping_samples.py`."""

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from numpy.typing import NDArray

import noisycount as nc
from tests.helpers.curve_checks import assert_exact
from tests.oracles.databases import answered_delta, exact_delta
from tests.oracles.pairs import Outsider, binomial_sample_pairs

EPSILONS = (0.0, 0.1, 0.7)
RATES = (Fraction(1, 8), Fraction(3, 8), Fraction(1, 2))
QUESTIONS = (frozenset({0}), frozenset({0, 1}))


def probabilities(noise: nc.Laplace) -> Callable[[int], NDArray[np.float64]]:
    """Return a function from a count to the probabilities of its answers, in bins if the noise is continuous."""
    width = 1.0 if noise.is_discrete else 0.1

    def answers(count: int) -> NDArray[np.float64]:
        starts = np.arange(-30.0, 32.0, width) - count
        return noise.errors.between(starts, np.full_like(starts, width))

    return answers


def parted(size: int, first: int, second: int) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Return every pair of disjoint samples of the two sizes."""
    return [
        (one, two)
        for one in combinations(range(size), first)
        for two in combinations(sorted(set(range(size)) - set(one)), second)
    ]


@pytest.mark.few(0)
@pytest.mark.parametrize("sizes", [(1, 1), (2, 2), (1, 3), (2, 1)], ids=str)
def test_parts_agree_with_every_database(sizes: tuple[int, int]) -> None:
    """Four records of three kinds, two questions, each on its own part: the bracket holds δ."""
    atoms = nc.Atoms(4, [float(rate) for rate in RATES], QUESTIONS)
    curve = nc.parts_curve([nc.Subsample(size) for size in sizes], atoms)
    for epsilon in EPSILONS:
        true = exact_delta(4, RATES, QUESTIONS, epsilon, parted(4, *sizes))
        lower, upper = curve.bracket(epsilon)
        assert lower <= true * (1 + 1e-12)
        assert true <= upper * (1 + 1e-12)
        assert upper - lower < 2e-4
        assert max(curve.directions(epsilon)) == curve.delta(epsilon) == upper


@pytest.mark.few(0)
@pytest.mark.parametrize("noise", [nc.DiscreteLaplace(1), nc.Gaussian(1)], ids=str)
def test_noisy_parts_agree_with_every_database(noise: nc.Laplace) -> None:
    """So they do with noise on top."""
    atoms = nc.Atoms(4, [float(rate) for rate in RATES], QUESTIONS)
    curve = nc.parts_curve([nc.Subsample(2, noise)] * 2, atoms)
    for epsilon in EPSILONS:
        true = answered_delta(4, RATES, QUESTIONS, epsilon, probabilities(noise), parted(4, 2, 2))
        lower, upper = curve.bracket(epsilon)
        assert lower <= true * (1 + 1e-3) + 1e-9
        assert true <= upper + 1e-9
        assert upper - lower < 0.01 * upper + 1e-3


def test_parts_about_one_property_are_one_sample() -> None:
    """Without noise, counts of parts tell what the count of all of them tells."""
    records = nc.Binomial(1000, 0.1)
    whole = nc.privacy_curve(nc.Subsample(400), records).delta(0.1)
    lower, upper = nc.parts_curve([nc.Subsample(100)] * 4, records).bracket(0.1)
    assert lower <= whole <= upper
    assert upper - lower < 1e-9


@pytest.mark.parametrize("noise", [None, nc.Gaussian(3), nc.DiscreteLaplace(2)], ids=str)
def test_one_part_is_a_sample(noise: nc.Gaussian | None) -> None:
    """The curve of one part is that of `Subsample`."""
    records, sample = nc.Binomial(300, 0.2), nc.Subsample(100, noise)
    lower, upper = nc.parts_curve([sample], records).bracket(0.05)
    assert lower <= nc.privacy_curve(sample, records).delta(0.05) <= upper
    assert upper - lower < 0.01 * upper


@pytest.mark.thorough
@pytest.mark.parametrize("noise", [None, nc.Gaussian(2)], ids=str)
def test_the_adaptive_bound_is_never_below(noise: nc.Gaussian | None) -> None:
    """To tell which part holds the record tells more; with parts of all records it is their δ."""
    atoms = nc.Atoms.independent(200, [0.1, 0.3])
    parts = [nc.Subsample(100, noise)] * 2
    for epsilon in (0.01, 0.2):
        told = nc.parts_curve(parts, atoms, adaptive=True).bracket(epsilon)
        assert nc.parts_curve(parts, atoms).bracket(epsilon)[0] <= told[1]
        alone = [nc.privacy_curve(noise or nc.Exact(), nc.Binomial(100, rate)).delta(epsilon) for rate in (0.1, 0.3)]
        assert told[1] == pytest.approx(sum(alone) / 2, rel=1e-9)


@pytest.mark.thorough
def test_more_parts_show_more() -> None:
    """Another answer never lowers δ, and larger parts tell more."""
    atoms = nc.Atoms.disjoint(300, [0.2, 0.3])
    one = nc.parts_curve([nc.Subsample(100)], atoms, [{0}]).bracket(0.05)
    two = nc.parts_curve([nc.Subsample(100)] * 2, atoms).bracket(0.05)
    larger = nc.parts_curve([nc.Subsample(150)] * 2, atoms).bracket(0.05)
    assert one[0] < two[1]
    assert two[0] < larger[1]
    assert one[1] < two[0] < two[1] < larger[0]


@pytest.mark.parametrize("sizes", [(1, 1), (2, 2), (3, 1)], ids=str)
def test_samples_agree_with_every_database(sizes: tuple[int, int]) -> None:
    """Two samples of four records that may share some: the lower bound is the sum over all."""
    rate = float(RATES[0] + RATES[1])
    drawings = list(product(*(combinations(range(4), size) for size in sizes)))
    question = frozenset({0, 1})
    curve = nc.samples_curve([nc.Subsample(size) for size in sizes], nc.Binomial(4, rate))
    for epsilon in EPSILONS:
        true = exact_delta(4, RATES, (question, question), epsilon, drawings)
        lower, upper = curve.bracket(epsilon)
        assert lower == pytest.approx(float(true), abs=1e-9)
        assert true <= upper * (1 + 1e-12)


@pytest.mark.thorough
def test_samples_tell_less_than_parts_of_their_sizes() -> None:
    """Overlapping samples have at most the δ of disjoint ones, by post-processing of the union."""
    records, samples = nc.Binomial(500, 0.2), [nc.Subsample(60, nc.Gaussian(1))] * 3
    lower, upper = nc.samples_curve(samples, records).bracket(0.05)
    parts = nc.parts_curve([nc.Subsample(60)] * 3, records).bracket(0.05)
    assert lower <= upper <= parts[1]
    assert nc.privacy_curve(samples[0], records).delta(0.05) <= upper
    assert nc.privacy_curve(samples[0], records).delta(0.05) <= lower * 1.01


def test_one_sample_is_exact() -> None:
    """A single sample has the curve of `privacy_curve`."""
    records, sample = nc.Binomial(500, 0.2), nc.Subsample(60, nc.Gaussian(1))
    exact = nc.privacy_curve(sample, records)
    found = nc.samples_curve([sample], records)
    assert found.bracket(0.05) == pytest.approx(exact.bracket(0.05), rel=1e-9)
    assert found.directions(0.05) == pytest.approx(exact.directions(0.05), rel=1e-9)


@pytest.mark.parametrize("sizes", [(1, 1), (2, 1)], ids=str)
def test_samples_of_two_questions_are_bounded(sizes: tuple[int, int]) -> None:
    """The sum over every database of four records lies between the bounds; questions overlap."""
    drawings = list(product(*(combinations(range(4), size) for size in sizes)))
    questions = (frozenset({0, 1}), frozenset({1, 2}))
    atoms = nc.Atoms(4, [float(rate) for rate in RATES])
    curve = nc.samples_curve([nc.Subsample(m) for m in sizes], atoms, questions)
    for epsilon in EPSILONS:
        true = exact_delta(4, RATES, questions, epsilon, drawings)
        lower, upper = curve.bracket(epsilon)
        assert lower <= true * (1 + 1e-12) + 1e-12
        assert true <= upper
        assert upper == pytest.approx(1 - math.prod(1 - m / 4 for m in sizes))


def test_noisy_samples_of_two_questions_are_bounded() -> None:
    """So it does with noise; there the bound is far below the chance to be in a sample."""
    noise, questions = nc.DiscreteLaplace(1), (frozenset({0, 1}), frozenset({1, 2}))
    drawings = list(product(combinations(range(4), 2), combinations(range(4), 1)))
    atoms = nc.Atoms(4, [float(rate) for rate in RATES])
    curve = nc.samples_curve([nc.Subsample(2, noise), nc.Subsample(1, noise)], atoms, questions)
    for epsilon in EPSILONS:
        true = answered_delta(4, RATES, questions, epsilon, probabilities(noise), drawings)
        lower, upper = curve.bracket(epsilon)
        assert lower <= true + 1e-9
        assert true <= upper < 0.4


def test_samples_of_all_records_have_the_worst_case() -> None:
    """And one of a part of them the share of it; both whatever is asked."""
    atoms = nc.Atoms.nested(50, [0.2, 0.5])
    noises = [nc.DiscreteLaplace(3), nc.DiscreteGaussian(2)]
    whole = nc.samples_curve([nc.Subsample(50, noise) for noise in noises], atoms)
    assert whole.delta(0.1) == pytest.approx(nc.list_risk(noises, atoms).worst(0.1))
    part = nc.samples_curve([nc.Subsample(5, noises[0])], atoms, [{0}])
    lower, upper = part.bracket(0.1)
    assert upper == pytest.approx(0.1 * nc.privacy_curve(noises[0]).delta(0.1))
    exact = nc.privacy_curve(nc.Subsample(5, noises[0]), nc.Binomial(50, 0.2)).delta(0.1)
    assert lower == pytest.approx(exact)
    assert exact <= upper


@pytest.mark.thorough
def test_equal_samples_are_counted_alike() -> None:
    """A hundred of them are no more work than their number; another sample never lowers δ."""
    atoms = nc.Atoms.nested(1000, [0.2, 0.5])
    sample = nc.Subsample(10, nc.DiscreteGaussian(4))
    deltas = [
        nc.samples_curve([sample] * number, atoms, [{0}, {0, 1}] * (number // 2)).delta(0.1) for number in (2, 20, 100)
    ]
    assert deltas == sorted(deltas)


RARE = 5e-10
BELL = np.exp(-0.5 * ((np.arange(201) - 80) / 7) ** 2)
TABLES = {
    "rare counts": [0, 1 - 5 * RARE, RARE, RARE, RARE, 0, RARE, 0, RARE, 1e-21 * RARE],
    "one in a thousand million": [1 - 1e-9, 1e-9 - 1e-30, 0, 1e-30],
    "nearly certain": [1e-12, 1 - 2e-12, 1e-12],
    "two lumps": [0.25, 0.25, 0, 0, 0.5],
    "a bell": (BELL / BELL.sum()).tolist(),
}


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("size", "rate", "drawn", "noise"),
    [
        (10**6, 0.3, 300, nc.Gaussian(9.0)),
        (10**9, 0.5, 1, None),
        (10**9, 0.5, 1, nc.Laplace(2.0)),
        (10**7, 0.3, 50, nc.Laplace(2.0)),
        (10**6, 0.01, 100, nc.Gaussian(9.0)),
        (3000, 0.5, 2000, None),
    ],
    ids=str,
)
def test_samples_of_groups_of_one_rate_are_binomial(
    size: int, rate: float, drawn: int, noise: nc.Laplace | nc.Gaussian | None
) -> None:
    """From large databases, by the closed form, though groups are summed over every count."""
    population = nc.Strata([1, size // 2, size - size // 2 - 1], [rate, rate, rate])
    pairs = binomial_sample_pairs(size, rate, drawn, last=min(drawn, 1500))
    assert_exact(nc.privacy_curve(nc.Subsample(drawn, noise), population), pairs, [0.0, 1e-6, 1e-4])


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("drawn", [1, 2])
def test_small_samples_of_tables_are_exact(name: str, drawn: int) -> None:
    """Curves stay exact if the two laws of a sample differ by as little as 1e-12."""
    outsider = Outsider.of_table(TABLES[name])
    assert_exact(outsider.curve(nc.Subsample(drawn)), outsider.pairs(), [0.0, 1e-10, 1e-3, 1.0])


@pytest.mark.thorough
@pytest.mark.parametrize("drawn", [1, 40, 299])
@pytest.mark.parametrize(("known", "positives"), [(20, 5), (299, 100)])
def test_samples_are_exact_for_somebody_who_holds_records(drawn: int, known: int, positives: int) -> None:
    """From one record drawn to all but one."""
    for population in (nc.Binomial(300, 0.3), nc.BetaBinomial(300, 3e9, 5e9)):
        outsider = Outsider(population, known, positives)
        assert_exact(outsider.curve(nc.Subsample(drawn)), outsider.pairs(), [0.0, 1e-3, 0.1, 1.0])


@pytest.mark.parametrize(
    ("size", "rate", "drawn"), [(10**6, 1e-300, 1), (10**9, 1e-250, 7), (100, 1e-210, 99), (10**6, 1 - 2**-53, 10)]
)
def test_samples_of_records_that_are_all_but_certain_are_exact(size: int, rate: float, drawn: int) -> None:
    """δ(0) is the share that is drawn."""
    curve = nc.privacy_curve(nc.Subsample(drawn), nc.Binomial(size, rate))
    pairs = binomial_sample_pairs(size, rate, drawn)
    assert_exact(curve, pairs, [0.0, 1e-10, 1e-3, 1.0])


@pytest.mark.thorough
@pytest.mark.parametrize(("size", "rate"), [(10**10, 0.5), (10**10, 0.99)])
def test_brackets_of_very_wide_groups_meet_those_of_one_rate(size: int, rate: float) -> None:
    """The mean of that many records is itself rounded."""
    unit = 1 / (size * rate * (1 - rate)) ** 0.5
    epsilons = [0.0, unit, 10 * unit]
    groups = nc.Strata([size // 2, size // 2], [rate, rate])
    low, high = nc.privacy_curve(nc.Exact(), groups).bracket(epsilons)
    lower, upper = nc.privacy_curve(nc.Exact(), nc.Binomial(size, rate)).bracket(epsilons)
    assert (low <= upper).all()
    assert (lower <= high).all()
