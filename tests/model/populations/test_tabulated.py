import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mpf

import noisycount as nc
from tests.oracles.posterior import Law, assert_exact, gaussian_likelihood, laplace_likelihood, reweighted


@given(weights=st.lists(st.integers(0, 10**15), min_size=1, max_size=50).filter(any))
def test_the_law_is_the_table(weights: list[int]) -> None:
    """Probabilities, estimates and quantiles are those of the table, zeros and all."""
    table = [weight / sum(weights) for weight in weights]
    law, exact = nc.Tabulated(table).law(), Law(0, [mpf(chance) for chance in table])
    expected = [float(exact.pmf(count)) for count in range(len(table))]
    assert law.pmf(range(len(table))) == pytest.approx(expected, rel=1e-14)
    assert law.mean == pytest.approx(float(exact.mean), rel=1e-13)
    assert law.variance == pytest.approx(float(exact.variance), rel=1e-11, abs=1e-90)
    assert law.quantile(0.3) == exact.quantile(0.3)


@pytest.fixture(scope="module")
def ramps() -> list[float]:
    """A table for a million records: two ramps with a gap of zeros between them."""
    ramp = np.arange(1.0, 490_001)
    table = np.concatenate([ramp, np.zeros(20_001), ramp[::-1]]) / (2 * ramp.sum())
    return table.tolist()


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("answer", "first", "last"),
    [(-1e6, 0, 4000), (12_345.6, 8000, 16_500), (500_000, 487_000, 513_000), (2e6, 996_000, 10**6)],
)
@pytest.mark.parametrize("scale", [0.5, 40.0])
def test_a_table_of_a_million_counts_is_exact(
    ramps: list[float], answer: float, first: int, last: int, scale: float
) -> None:
    """Only the counts within some dozens of scales of the nearest possible one matter."""
    law = Law(first, [mpf(chance) for chance in ramps[first : last + 1]])
    exact = reweighted(law, laplace_likelihood(answer, scale))
    assert_exact(nc.posterior(answer, nc.Tabulated(ramps), nc.Laplace(scale)), exact)


@pytest.mark.thorough
@pytest.mark.parametrize(("known", "positives"), [(10**5, 2100), (999_000, 21_000), (10**6, 9)])
def test_knowledge_of_many_records_keeps_its_digits(known: int, positives: int) -> None:
    """A flat table after held records is a beta-binomial law, with moments in closed form."""
    told = nc.Tabulated(np.full(10**6 + 1, 1 / (10**6 + 1))).given(known, positives).law()
    others, alpha, beta = 10**6 - known, positives + 1, known - positives + 1
    total = alpha + beta
    mean = positives + Fraction(others * alpha, total)
    variance = Fraction(others * alpha * beta * (total + others), total**2 * (total + 1))
    assert abs(told.mean - mean) <= 1e-10 * math.sqrt(variance) + 4 * math.ulp(mean)
    assert told.variance == pytest.approx(float(variance), rel=1e-9)


def test_counts_of_probability_zero_are_never_told() -> None:
    """Neither an exact answer nor a posterior can put weight where the table has none."""
    table = nc.Tabulated([0.5, 0.0, 0.0, 0.5])
    told = nc.posterior(1.4, table, nc.Gaussian(0.3))
    assert told.pmf([1, 2]).tolist() == [0, 0]
    assert told.mode == told.median == 0
    with pytest.raises(ValueError, match=r"^answer is impossible: no count can have it"):
        nc.posterior(1, table, nc.Exact())


def test_wide_noise_sees_both_sides_of_a_gap() -> None:
    """The weights of two far counts against the definition."""
    exact = reweighted(Law(0, [mpf(0.5), mpf(0), mpf(0), mpf(0.5)]), gaussian_likelihood(1.4, 30.0))
    assert_exact(nc.posterior(1.4, nc.Tabulated([0.5, 0, 0, 0.5]), nc.Gaussian(30)), exact)
