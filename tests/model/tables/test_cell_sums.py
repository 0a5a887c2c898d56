"""Sums of independent cells against convolutions of positive terms, which have all digits."""

import numpy as np
import pytest

from noisycount.model.tables.cell_law import CellLaw
from noisycount.model.tables.cell_sums import CellSums

LAST = 3000


@pytest.mark.few(3)
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
def test_logarithms_are_those_of_convolutions(cells: int, zero: float, means: list[float]) -> None:
    """From the least to the rarest count, also where components are of very different size."""
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


def test_large_sums_add_up() -> None:
    """Counts of many cells far beyond what a table of probabilities can hold."""
    law = CellLaw(0.25, np.array([10.0, 1e5]), np.array([0.5, 0.25]))
    cells = 40_000
    mean, deviation = cells * law.mean, (cells * law.variance) ** 0.5
    aside = round(deviation / 20)
    first = round(mean - 9 * deviation)
    sums = CellSums(law, cells)
    chances = [np.exp(sums.log_pmf(first + step * aside, 1)[0]) * aside for step in range(361)]
    assert sum(chances) == pytest.approx(1, abs=1e-9)


def test_few_records_of_very_many_cells() -> None:
    """One record is in one of the cells."""
    law = CellLaw(0.4, np.array([1.0, 50]), np.array([0.5, 0.1]))
    cells = 100_000
    logs = law.log_pmf([0, 1])
    want = [cells * logs[0], np.log(cells) + (cells - 1) * logs[0] + logs[1]]
    assert CellSums(law, cells).log_pmf(0, 2) == pytest.approx(want, rel=1e-14)


def test_cells_that_are_all_empty_have_sum_0() -> None:
    """Nothing else is possible."""
    law = CellLaw(1.0, np.array([1.0]), np.array([0.0]))
    assert CellSums(law, 4).log_pmf(0, 3).tolist() == [0, -np.inf, -np.inf]
