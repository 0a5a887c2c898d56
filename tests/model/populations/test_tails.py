import numpy as np
import pytest
from mpmath import binomial, log, mp, mpf

from noisycount.model.populations.binomial_sums import Kinds, deep_sum_of_binomials

mp.dps = 50


def exact_logs(sizes: list[int], rates: list[float], count: int) -> mpf:
    """The logarithm of the probability of a count of one or two kinds."""
    first, rate = sizes[0], mpf(rates[0])
    if len(sizes) == 1:
        return log(binomial(first, count) * rate**count * (1 - rate) ** (first - count))
    second, other = sizes[1], mpf(rates[1])
    return log(
        mp.fsum(
            binomial(first, i)
            * rate**i
            * (1 - rate) ** (first - i)
            * binomial(second, count - i)
            * other ** (count - i)
            * (1 - other) ** (second - count + i)
            for i in range(max(0, count - second), min(first, count) + 1)
        )
    )


@pytest.mark.few(0)
@pytest.mark.parametrize(
    ("sizes", "rates"),
    [
        ([300, 200], [0.1, 0.4]),
        ([36000], [0.001]),
        ([2000, 3000], [0.01, 0.004]),
        ([400, 400], [0.999, 0.6]),
        ([20], [0.5]),
    ],
)
def test_probabilities_keep_their_digits_to_the_ends(sizes: list[int], rates: list[float]) -> None:
    """Down to e^−700, and to a count of 0 or of all where they are nearer."""
    weights, odds = np.array(sizes, dtype=np.float64), np.array(rates)
    kinds = Kinds(weights, np.log(odds) - np.log1p(-odds))
    first, logs = deep_sum_of_binomials(kinds, 700.0)
    last = first + logs.size - 1
    assert logs[0] < -690 or first == 0
    assert logs[-1] < -690 or last == sum(sizes)
    for place in np.linspace(0, logs.size - 1, 25).astype(int).tolist():
        assert logs[place] == pytest.approx(
            float(exact_logs(sizes, rates, first + place)), rel=2e-14, abs=1e-12
        )
