import math

import numpy as np
import pytest

import noisycount as nc
from tests.oracles.drawn import interval, laplace, moved_ratios


@pytest.mark.thorough
def test_drawn_answers_show_as_much_as_is_computed() -> None:
    """One count of 1,000 records, four times with Laplace noise: both directions, at two ε.

    Of 100,000 databases, with bounds that are wrong once in a million; `audits` has more settings.
    """
    size, rate, answers, scale, runs = 1000, 0.1, 4, 5.0, 100_000
    source = np.random.default_rng(18)
    counts = source.binomial(size - 1, rate, runs)
    told = counts[:, None] + source.laplace(0.0, scale, (runs, answers))
    before, after = moved_ratios(size - 1, rate, told, laplace(scale), 80)
    curve = nc.privacy_curve([nc.Laplace(scale)] * answers, nc.Binomial(size, rate))
    for epsilon in (0.0, 0.1):
        for ratio, delta in zip((after, before), curve.directions(epsilon), strict=True):
            low, high = interval(np.maximum(0.0, 1 - math.exp(epsilon) * ratio))
            assert low <= delta <= high
            assert high - low < 0.2 * delta + 1e-3
