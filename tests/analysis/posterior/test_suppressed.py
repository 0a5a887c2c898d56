import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

import noisycount as nc
from noisycount.analysis.posterior.posterior import posterior
from noisycount.charts.chart import chart
from noisycount.model.exact import below

SIZE = 60
COUNTS = np.arange(SIZE + 1, dtype=np.float64)
POPULATIONS = [nc.Binomial(SIZE, 0.4), nc.BetaBinomial(SIZE, 0.5, 2), nc.Tabulated(np.full(SIZE + 1, 1 / (SIZE + 1)))]
WHOLE: list[nc.Mechanism] = [
    nc.DiscreteLaplace(3),
    nc.DiscreteGaussian(2.5),
    nc.NoiseSum([nc.DiscreteLaplace(2), nc.DiscreteLaplace(2)]),
]


def chances_below(threshold: float, mechanism: nc.Mechanism) -> list[float]:
    """P[Y < t | K = k] for k = 0..60, summed over the answers below t."""
    answers = np.arange(math.ceil(threshold) - 400, math.ceil(threshold))
    logs = [mechanism.logpmf(float(answer), COUNTS) for answer in answers]
    found: list[float] = np.exp(logs).sum(axis=0).tolist()
    return found


@pytest.mark.parametrize("population", POPULATIONS, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("noise", WHOLE, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("threshold", [12, 12.5, -4, 70])
def test_a_suppressed_answer_weighs_counts_by_their_chance_to_be_below(
    population: nc.Population, noise: nc.Mechanism, threshold: float
) -> None:
    """P[K = k | Y < t] ∝ P[K = k]·P[Y < t | k], alone and beside an answer; so the surprise."""
    chances, prior = np.array(chances_below(threshold, noise)), population.law().pmf(COUNTS)
    told = posterior(below(threshold), population, noise)
    weights = prior * chances
    np.testing.assert_allclose(told.pmf(COUNTS), weights / weights.sum(), 1e-9)
    assert told.surprise == pytest.approx(weights.sum(), rel=1e-9)
    both = posterior([below(threshold), 14], population, [noise, nc.DiscreteLaplace(4)])
    weights = weights * np.exp(-np.abs(14 - COUNTS) / 4)
    assert both.mean == pytest.approx(weights @ COUNTS / weights.sum(), rel=1e-9)


def test_continuous_noise_is_below_by_its_closed_form() -> None:
    """P[Z < 20 − k] of Gaussian noise."""
    tails = [math.erfc((k - 20) / 3 / math.sqrt(2)) / 2 for k in COUNTS.tolist()]
    weights = nc.Binomial(SIZE, 0.4).law().pmf(COUNTS) * tails
    told = posterior(below(20), nc.Binomial(SIZE, 0.4), nc.Gaussian(3))
    assert told.mean == pytest.approx(weights @ COUNTS / weights.sum(), rel=1e-10)


def test_a_count_without_noise_is_below_by_itself() -> None:
    """K < 5 cuts the law; a threshold of 0 leaves nothing."""
    told = posterior(below(5), nc.BetaBinomial(SIZE, 1, 1), nc.Exact())
    assert (told.mean, told.interval(0.95), told.probability(5, SIZE)) == (2.0, (0, 4), 0.0)
    with pytest.raises(ValueError, match=r"^answer is impossible"):
        posterior(below(0), nc.Binomial(SIZE, 0.4), nc.Exact())


def test_a_sample_is_below_by_its_own_count() -> None:
    """The positives of a sample of all records are the count."""
    of_sample = posterior(below(20), nc.Binomial(SIZE, 0.4), nc.Subsample(SIZE))
    of_count = posterior(below(20), nc.Binomial(SIZE, 0.4), nc.Exact())
    assert of_sample.mean == pytest.approx(of_count.mean, rel=1e-10)


def test_suppressed_counts_of_many_records_are_told_at_once() -> None:
    """P[K < 450 + z] weighs a flat prior of 1e9 records: uniform counts up to about 450."""
    told = posterior(below(450), nc.BetaBinomial(10**9, 1, 1), nc.DiscreteLaplace(30))
    counts = np.arange(4000, dtype=np.float64)
    weights = np.exp(nc.DiscreteLaplace(30).tail(449, 10**9, upper=False).log_values(counts))
    assert told.mean == pytest.approx(weights @ counts / weights.sum(), rel=1e-9)


def test_a_suppressed_answer_cannot_be_drawn() -> None:
    """The chart has a place for a number."""
    told = posterior(below(20), nc.Binomial(SIZE, 0.4), nc.Laplace(3))
    assert told.to_dict()["answers"] == [{"type": "Below", "threshold": 20.0}]
    with pytest.raises(ValueError, match=r"^answer must be a number to be drawn, got Below"):
        chart(told)


@pytest.mark.parametrize("kind", [nc.Laplace, nc.DiscreteLaplace])
@pytest.mark.filterwarnings("ignore:an answer this far")
def test_answers_far_below_leave_the_tilted_law(kind: type[nc.Laplace | nc.DiscreteLaplace]) -> None:
    """Out there the likelihood falls by e^(−1/scale) a record, however small it is."""
    told = posterior(below(-1e6), nc.Binomial(5, 0.05), kind(Fraction(13, 12)))
    tilted = 0.05 * math.exp(-12 / 13)
    rate = tilted / (0.95 + tilted)
    assert told.sf(2) == pytest.approx(binom.sf(2, 5, rate), rel=1e-14)
    assert told.mean == pytest.approx(5 * rate, rel=1e-14)
