"""The law of the count of a cell, and of the sum of independent cells."""

import numpy as np
import pytest
from mpmath import mp, mpf

from noisycount.model.tables.cells import CellLaw, CellSums

MEANS = 0.5 * 2 ** (np.arange(62) / 2)
RANDOM = np.random.default_rng(3)
LAST = 3000
WEIGHTS = RANDOM.dirichlet(np.ones(63) / 3)
LAW = CellLaw(float(WEIGHTS[0]), MEANS, WEIGHTS[1:])


def exact(count: int) -> float:
    """The logarithm of the mixture in 50 digits."""
    with mp.workdps(50):
        total = mpf(LAW.zero) if count == 0 else mpf(0)
        for mean, weight in zip(LAW.means.tolist(), LAW.weights.tolist(), strict=True):
            share = mpf(mean) / (3 + mpf(mean))
            ways = mpf(count + 1) * (count + 2) / 2
            total += mpf(weight) * ways * (1 - share) ** 3 * share**count
        return float(mp.log(total))


def test_law_has_its_digits_at_counts_of_every_size() -> None:
    """Against 50 digits, alone and among many, to counts beyond 1e9."""
    counts = np.unique(np.round(np.exp(RANDOM.uniform(0, 22, 60)))).astype(np.int64)
    expected = [exact(count) for count in counts.tolist()]
    assert np.allclose(LAW.log_pmf(counts), expected, rtol=0, atol=2e-12)
    many = np.concatenate([counts, np.arange(5000, 30000)])
    assert np.allclose(LAW.log_pmf(many)[: counts.size], expected, rtol=0, atol=2e-12)
    assert LAW.log_pmf(0) == pytest.approx(exact(0), abs=1e-12)


def test_no_count_has_no_probability() -> None:
    """Negative and broken numbers."""
    assert np.exp(LAW.log_pmf([-1, 0.5, np.nan])).tolist() == [0, 0, 0]


def test_the_mean_and_the_end_are_those_of_the_sum() -> None:
    """Of a small law, summed count by count."""
    law = CellLaw(0.25, np.array([1.0, 8.0]), np.array([0.5, 0.25]))
    counts = np.arange(500)
    chances = np.exp(law.log_pmf(counts))
    assert chances.sum() == pytest.approx(1)
    assert law.mean == pytest.approx(chances @ counts)
    assert law.log_pmf(law.negligible_from(40)) < -40


def test_empty_cells_alone_are_a_law() -> None:
    """A law with all weight on 0 has probability 1 there."""
    law = CellLaw(1.0, np.array([1.0]), np.array([0.0]))
    assert np.exp(law.log_pmf([0, 1, 5000])).tolist() == [1, 0, 0]


def test_law_shows_itself() -> None:
    """As plain data."""
    facts = CellLaw(0.5, np.array([2.0]), np.array([0.5])).to_dict()
    assert facts == {"type": "CellLaw", "zero": 0.5, "means": [2.0], "weights": [0.5]}


@pytest.mark.parametrize(
    ("cells", "zero", "means"),
    [
        (1, 0.3, [0.5, 1, 8, 100]),
        (2, 0.5, [3, 50]),
        (3, 0.1, [0.5, 0.7, 1, 2, 4, 300]),
        (3, 0.98, [0.5, 300]),
        (20, 0.2, [0.5, 5, 20]),
        (20, 0.0, [1e-3]),
        (60, 0.5, [0.5, 40, 1000]),
    ],
)
def test_sums_are_convolutions(cells: int, zero: float, means: list[float]) -> None:
    """Of positive terms, to the rarest count, also where components are of very different size."""
    weights = np.linspace(1, 2, len(means))
    law = CellLaw(zero, np.array(means), (1 - zero) / weights.sum() * weights)
    one = np.exp(law.log_pmf(np.arange(LAST + 1)))
    whole = one
    for _ in range(cells - 1):
        whole = np.convolve(whole, one)[: LAST + 1]
    told = whole > 1e-280
    logs = CellSums(law, cells).log_pmf(0, LAST + 1)
    assert np.allclose(logs[told], np.log(whole[told]), rtol=0, atol=2e-11)
    part = CellSums(law, cells).log_pmf(700, 90)
    assert np.allclose(part, logs[700:790], rtol=0, atol=2e-11)


@pytest.mark.thorough
def test_large_sums_add_up() -> None:
    """Counts of many cells far beyond what a table of probabilities can hold."""
    law = CellLaw(0.25, np.array([10.0, 1e5]), np.array([0.5, 0.25]))
    cells = 40_000
    squares = law.weights @ (law.means + law.means**2 * (1 + 1 / 3))
    mean, deviation = cells * law.mean, (cells * (squares - law.mean**2)) ** 0.5
    aside = round(deviation / 20)
    first = round(mean - 9 * deviation)
    sums = CellSums(law, cells)
    chances = [np.exp(sums.log_pmf(first + step * aside, 1)[0]) * aside for step in range(361)]
    assert sum(chances) == pytest.approx(1, abs=1e-9)


def test_few_records_of_very_many_cells() -> None:
    """A single record is in exactly one of the cells."""
    law = CellLaw(0.4, np.array([1.0, 50]), np.array([0.5, 0.1]))
    cells = 100_000
    logs = law.log_pmf([0, 1])
    want = [cells * logs[0], np.log(cells) + (cells - 1) * logs[0] + logs[1]]
    assert CellSums(law, cells).log_pmf(0, 2) == pytest.approx(want, rel=1e-14)


def test_cells_that_are_all_empty_have_sum_0() -> None:
    """Nothing else is possible."""
    law = CellLaw(1.0, np.array([1.0]), np.array([0.0]))
    assert CellSums(law, 4).log_pmf(0, 3).tolist() == [0, -np.inf, -np.inf]
