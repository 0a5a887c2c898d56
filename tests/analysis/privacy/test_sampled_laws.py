"""The law of the positive records in a sample, for any law of the count."""

import math
from fractions import Fraction

import numpy as np
import pytest

import noisycount as nc
from noisycount.analysis.privacy.sampled_laws import sampled_laws
from noisycount.model.laws.gamma import log_hypergeometric


@pytest.mark.parametrize(("size", "drawn"), [(4, 2), (300, 7), (2000, 1000), (2000, 1999)])
def test_a_sample_of_a_uniform_table_has_the_curve_of_a_uniform_rate(size: int, drawn: int) -> None:
    """The likeliest count is 0, where samples hardly vary: those of larger counts are summed as far."""
    table, formula = (
        nc.privacy_curve(nc.Subsample(drawn, nc.Laplace(3)), population)
        for population in (nc.Tabulated(np.ones(size + 1) / (size + 1)), nc.BetaBinomial(size, 1, 1))
    )
    for epsilon in (0.0, 0.01, 0.2):
        (low, high), (lower, upper) = table.bracket(epsilon), formula.bracket(epsilon)
        assert low <= upper
        assert lower <= high
        assert high - low <= 1e-9 * high


@pytest.mark.parametrize(
    ("size", "drawn", "first", "last"),
    [(9, 4, 0, 9), (60, 1, 3, 50), (60, 59, 0, 60), (900, 300, 600, 601), (400, 390, 40, 400)],
)
def test_mixed_laws_of_samples_agree_with_sums_in_all_digits(size: int, drawn: int, first: int, last: int) -> None:
    """Integers summed exactly, with weights that span hundreds of nepers."""
    random = np.random.default_rng(size)
    weights = np.exp(random.uniform(-500, 0, last - first + 1))
    law = sampled_laws(first, weights[None], size, drawn)[0]
    for sample in random.integers(0, drawn + 1, 9).tolist():
        exact = sum(
            Fraction(float(weight)) * math.comb(count, sample) * math.comb(size - count, drawn - sample)
            for count, weight in enumerate(weights, first)
        ) / math.comb(size, drawn)
        assert law[sample] == pytest.approx(float(exact), rel=2e-12, abs=1e-290)


_LARGE, _DRAWN = 30_000, 12_000


def test_a_large_sample_of_a_uniform_table_is_uniform() -> None:
    """Most samples are interpolated, and all are 1/(m + 1)."""
    law = sampled_laws(0, np.full((1, _LARGE + 1), 1 / (_LARGE + 1)), _LARGE, _DRAWN)[0]
    assert law == pytest.approx(np.full(_DRAWN + 1, 1 / (_DRAWN + 1)), rel=2e-12)


@pytest.mark.parametrize("depth", [0.0, 500.0])
@pytest.mark.parametrize("share", [1.0, 1e-3])
def test_large_samples_of_a_rough_table_agree_with_sums_at_each_sample(depth: float, share: float) -> None:
    """Weights that span hundreds of nepers, and weights that are 0 at nearly all counts."""
    random = np.random.default_rng(1)
    weights = random.random((2, _LARGE + 1)) * np.exp(-random.uniform(0, depth, _LARGE + 1))
    weights[:, random.random(_LARGE + 1) > share] = 0.0
    laws = sampled_laws(0, weights, _LARGE, _DRAWN)
    counts = np.arange(_LARGE + 1, dtype=np.float64)
    for sample in random.integers(0, _DRAWN + 1, 9).tolist():
        chances = np.exp(log_hypergeometric(np.full(counts.shape, float(sample)), counts, _LARGE, _DRAWN))
        assert laws[:, sample] == pytest.approx(weights @ chances, rel=2e-12, abs=1e-290)
