import math

import numpy as np
import pytest

from noisycount import DiscreteGaussian, DiscreteLaplace, Exact, Gaussian, Laplace, Mechanism, NoiseSum, Tree, below
from noisycount.analysis.tables.answers import read_answers
from noisycount.analysis.tables.independent_cells import IndependentCells, smooth_estimates
from noisycount.analysis.tables.learning import learn_cell_law
from noisycount.model.noises.additive import AdditiveNoise
from noisycount.model.tables.cells import CellLaw

MEANS = 0.5 * 2 ** (np.arange(20) / 2)
LAW = CellLaw(0.4, MEANS, 0.6 * np.arange(1, 21) / 210)
NOISES = [
    DiscreteLaplace(3),
    DiscreteGaussian(5),
    Laplace(2.5),
    Gaussian(4),
    NoiseSum([DiscreteLaplace(2), DiscreteGaussian(3)]),
]
COUNTS = np.arange(3000)


def summed(logs: np.ndarray) -> tuple[float, ...]:
    """Mean, deviation, quantiles and evidence of a law over the counts, term by term."""
    chances = np.exp(logs - logs.max())
    total = math.fsum(chances)
    chances /= total
    mean = math.fsum(chances * COUNTS)
    spread = math.sqrt(math.fsum(chances * (COUNTS - mean) ** 2))
    ends = [int(np.searchsorted(chances.cumsum(), level)) for level in (0.5, 0.025, 0.975)]
    return mean, spread, *ends, logs.max() + math.log(total)


def check(cells: IndependentCells, cell: int, logs: np.ndarray) -> None:
    """The estimates of one cell, and its law, are those of the sum over all counts."""
    found = [float(each[cell]) for each in cells.direct_estimates()]
    expected = summed(logs)
    assert found[0] == pytest.approx(expected[0], abs=1e-10 * (1e-6 + expected[1]))
    assert found[1] == pytest.approx(expected[1], rel=1e-9, abs=1e-12)
    assert found[2:5] == list(expected[2:5])
    assert found[5] == pytest.approx(expected[5], abs=1e-10)
    law = cells.law(1, cell)
    assert law.mean == pytest.approx(expected[0], abs=1e-9)
    assert law.quantile(0.975) == expected[4]


@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_cells_have_their_exact_law(noise: Mechanism) -> None:
    """A cell with a negative, small, equal or very large answer has its exact posterior."""
    values = [-60, -1, 0, 4, 4, 250]
    cells = IndependentCells(6, LAW, read_answers(values, noise, Tree.flat(6), None))
    for cell, value in enumerate(values):
        check(cells, cell, LAW.log_pmf(COUNTS) + noise.logpmf(value, COUNTS))


def test_suppressed_cells_weigh_with_the_mass_below() -> None:
    """Under exact counts all below the threshold, under noise by its distribution."""
    noise = DiscreteLaplace(3)
    cells = IndependentCells(1, LAW, read_answers([below(7)], noise, Tree.flat(1), 6))
    answers = np.arange(-400, 7)
    chances = [np.exp(noise.logpmf(count, answers)).sum() for count in range(200)]
    logs = np.full(COUNTS.size, -np.inf)
    logs[:200] = LAW.log_pmf(COUNTS[:200]) + np.log(chances)
    check(cells, 0, logs)
    exact = IndependentCells(1, LAW, read_answers([below(7)], Exact(), Tree.flat(1), 6))
    check(exact, 0, np.where(COUNTS < 7, LAW.log_pmf(COUNTS), -np.inf))


def test_several_answers_multiply() -> None:
    """Of different mechanisms, also where they contradict each other; none leaves the law."""
    first, second = DiscreteLaplace(3), Gaussian(2)
    told = {(1, 0): [5, 7.5], (1, 1): 40, (1, 2): [3, 900.25]}
    laws = {key: [first, second] for key in told}
    cells = IndependentCells(4, LAW, read_answers(told, laws, Tree.flat(4), None))
    prior = LAW.log_pmf(COUNTS)
    check(cells, 0, prior + first.logpmf(5, COUNTS) + second.logpmf(7.5, COUNTS))
    check(cells, 1, prior + first.logpmf(40, COUNTS))
    check(cells, 2, prior + first.logpmf(3, COUNTS) + second.logpmf(900.25, COUNTS))
    found, chances = cells.estimates, np.exp(LAW.log_pmf(np.arange(30_000)))
    assert found.mean[3] == pytest.approx(LAW.mean, rel=1e-12)
    assert found.std[3] ** 2 == pytest.approx(chances @ (np.arange(30_000) - LAW.mean) ** 2, rel=1e-12)
    ends = [found.low[3], found.median[3], found.high[3]]
    assert ends == np.searchsorted(chances.cumsum(), [0.025, 0.5, 0.975]).tolist()
    assert abs(found.log_evidence[3]) < 1e-12
    assert cells.law(1, 3).mean == pytest.approx(LAW.mean)


def test_windows_follow_the_law_away_from_the_answer() -> None:
    """A law that lives far below an answer draws the count out of the answer's reach."""
    narrow = CellLaw(0.0, np.array([1.0]), np.array([1.0]))
    noise = DiscreteLaplace(2)
    cells = IndependentCells(1, narrow, read_answers([500], noise, Tree.flat(1), None))
    check(cells, 0, narrow.log_pmf(COUNTS) + noise.logpmf(500, COUNTS))


def test_counts_may_be_large() -> None:
    """A count of 1e9 under noise of scale 10, to the last record."""
    answers = read_answers([10**9, 3], DiscreteLaplace(10), Tree.flat(2), None)
    found = IndependentCells(2, learn_cell_law(answers), answers).estimates
    assert abs(found.mean[0] - 10**9) < 1
    assert found.std[0] == pytest.approx(math.sqrt(DiscreteLaplace(10).variance), rel=1e-3)


@pytest.mark.thorough
@pytest.mark.parametrize("noise", [Laplace(1), Laplace(8), Gaussian(5), NoiseSum([Laplace(4), Gaussian(3)])])
def test_very_many_answers_are_interpolated(noise: AdditiveNoise) -> None:
    """Each cell's estimates are those that it has alone."""
    random = np.random.default_rng(1)
    size = 3000
    counts = random.choice([0, 0, 3, 20, 700], size)
    values = np.append(counts[3:] + noise.draws(size - 3, random), [2.0, 3.0, np.nextafter(3, 0)])
    answers = read_answers(values, noise, Tree.flat(size), None)
    many = IndependentCells(size, LAW, answers)
    fast, slow = smooth_estimates(many), many.direct_estimates()
    assert fast is not None
    assert np.abs((fast.mean - slow.mean) / slow.std).max() < 1e-11
    assert np.allclose(fast.std, slow.std, rtol=1e-10, atol=0)
    assert np.allclose(fast.log_evidence, slow.log_evidence, rtol=0, atol=1e-11)
    for ours, exact in zip(fast[2:5], slow[2:5], strict=True):
        assert np.array_equal(ours, exact)


LAWS = {
    "even": lambda size, _: np.full(size, 50),
    "zipf": lambda size, _: (50 * size / np.arange(1, size + 1) / 4).astype(int),
    "log-normal": lambda size, random: np.exp(random.normal(2.5, 1.5, size)).astype(int),
    "one big": lambda size, random: np.r_[20 * size + 500, random.poisson(3, size - 1)],
    "half empty": lambda size, random: random.poisson(40, size) * (np.arange(size) % 2),
}


@pytest.mark.few(0)
@pytest.mark.parametrize("noise", [DiscreteLaplace(10), DiscreteGaussian(40)])
@pytest.mark.parametrize("size", [5, 300])
@pytest.mark.parametrize("kind", LAWS)
def test_learned_intervals_cover(kind: str, size: int, noise: AdditiveNoise) -> None:
    """At least 93 % of 900 counts, whatever the form; errors are about those of clamping or less.

    Five cells of which three are empty gain nothing; all others do.
    """
    random = np.random.default_rng([size, *kind.encode()])
    inside, errors, clamped = [], [], []
    for _ in range(900 // size):
        counts = LAWS[kind](size, random)
        noisy = counts + noise.draws(size, random)
        answers = read_answers(noisy, noise, Tree.flat(size), None)
        found = IndependentCells(size, learn_cell_law(answers), answers).estimates
        inside.append((found.low <= counts) & (counts <= found.high))
        errors.append(np.abs(found.median - counts))
        clamped.append(np.abs(np.maximum(noisy, 0) - counts))
    assert np.mean(inside) >= 0.93
    assert np.mean(errors) <= 1.05 * np.mean(clamped)


def test_learning_finds_a_law() -> None:
    """The mean of many cells, and how many of them are empty."""
    random = np.random.default_rng(5)
    counts = random.negative_binomial(3, 0.1, 20_000) * (random.random(20_000) < 0.5)
    noise = DiscreteGaussian(3)
    answers = read_answers(counts + noise.draws(20_000, random), noise, Tree.flat(20_000), None)
    law = learn_cell_law(answers)
    assert law.mean == pytest.approx(counts.mean(), rel=0.01)
    assert law.zero + law.weights[0] == pytest.approx(0.5, abs=0.03)


def test_learning_takes_what_there_is() -> None:
    """Exact counts, suppressed cells and answers of several mechanisms teach together."""
    told = {-1: [3, 5, below(4), below(4), np.nan, 8], (1, 4): [6.5, 7]}
    laws = {-1: Exact(), (1, 4): [Laplace(2), Gaussian(5)]}
    law = learn_cell_law(read_answers(told, laws, Tree.flat(6), None))
    assert 2 < law.mean < 9
    assert law.zero + law.weights.sum() == pytest.approx(1)
    thinned = read_answers(np.arange(25_000), DiscreteLaplace(1), Tree.flat(25_000), None)
    assert learn_cell_law(thinned).mean == pytest.approx(12_500, rel=0.05)
