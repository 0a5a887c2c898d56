"""The law of the positive records in a sample, for any law of the count."""

import math
from fractions import Fraction

import numpy as np
import pytest

import noisycount as nc
from noisycount.analysis.privacy.sampled_laws import sampled_laws


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
