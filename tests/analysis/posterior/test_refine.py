import math
import subprocess
import sys
from dataclasses import field
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

import noisycount as nc
from noisycount.analysis.posterior.laplace_intervals import laplace_intervals, wide_intervals
from noisycount.analysis.posterior.posterior import posterior
from noisycount.analysis.posterior.refine import Estimate, posterior_values, refine
from noisycount.frozen import frozen
from noisycount.model.laws.factors import Factor
from noisycount.model.laws.gamma import Reals
from noisycount.model.populations.binomial import ClosedFormPopulation

POPULATIONS = {
    "Binomial": nc.Binomial(100, 0.3),
    "large Binomial": nc.Binomial(10**9, 0.3),
    "U-shaped BetaBinomial": nc.BetaBinomial(1000, 1e-6, 0.5),
    "large BetaBinomial": nc.BetaBinomial(10**6, 30, 70),
    "narrow Strata": nc.Strata([1, 1, 1, 50], [0.2, 0.5, 0.9, 0.01]),
    "wide Strata": nc.Strata([5000, 300, 12], [0.3, 0.6, 1.0]),
    "Tabulated": nc.Tabulated([0.125, 0, 0, 0.25, 0.5, *[0] * 40, 0.125]),
    "Informed": nc.Binomial(300, 0.3).given(20, 3),
}
NOISES = [
    nc.Laplace(10),
    nc.Laplace(0.3),
    nc.DiscreteLaplace(4),
    nc.Gaussian(7),
    nc.Gaussian(0.5),
    nc.DiscreteGaussian(3),
    nc.Subsample(30),
]
ESTIMATES: list[Estimate] = ["mean", "median", "mode"]


def answers_about(population: nc.Population, noise: nc.Mechanism) -> Reals:
    """Answers in the bulk and between, at and beyond the ends of what a count can be."""
    if isinstance(noise, nc.Subsample):
        return np.array([0.0, 1.0, 3.0, 4.0, 30.0])
    law, size = population.law(), population.records
    middle, reach = law.mean, 5 * math.sqrt(law.variance) + 30
    bulk = np.linspace(middle - reach, middle + reach, 15)
    ends = [-1e6, -1.0, 0.0, 1.0, size / 3, size - 1.0, size, size + 0.5, size + 1e6, 2.5, 2.5]
    answers = np.concatenate([bulk, ends])
    is_discrete = isinstance(noise, nc.DiscreteLaplace | nc.DiscreteGaussian)
    return np.round(answers) if is_discrete else answers


def assert_posteriors(
    estimates: Reals, answers: Reals, population: nc.Population, noise: nc.Mechanism, by: Estimate
) -> None:
    """Each estimate is that of the answer's own posterior."""
    for answer, estimate in zip(answers.tolist(), estimates.tolist(), strict=True):
        assert_estimate(estimate, posterior(answer, population, noise), by)


def assert_estimate(estimate: float, told: nc.Posterior, by: Estimate) -> None:
    """Equal; means as exact as a posterior."""
    expected = getattr(told, by)
    error = 1e-10 * math.sqrt(told.variance) + 4 * math.ulp(expected) if by == "mean" else 0
    assert abs(estimate - expected) <= error, f"{by} of {told}"


@pytest.mark.thorough
@pytest.mark.parametrize("noise", NOISES, ids=str)
@pytest.mark.parametrize("population", POPULATIONS)
def test_refine_is_the_posterior_of_each_answer(population: str, noise: nc.Mechanism) -> None:
    """In the bulk, far out, and where look-up intervals end."""
    known = POPULATIONS[population]
    answers = answers_about(known, noise)
    columns = [refine(answers, known, noise, by).tolist() for by in ESTIMATES]
    for answer, *estimates in zip(answers.tolist(), *columns, strict=True):
        told = posterior(answer, known, noise)
        for by, estimate in zip(ESTIMATES, estimates, strict=True):
            assert_estimate(estimate, told, by)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("population", "noise"),
    [(POPULATIONS["narrow Strata"], nc.Laplace(0.3)), (nc.BetaBinomial(10**6, 0.5, 0.5), nc.Laplace(200))],
    ids=str,
)
def test_means_that_turn_sharply_are_those_of_each_answer(population: nc.Population, noise: nc.Mechanism) -> None:
    """Cells end where the prior loses its digits, polynomials where answers leave the counts."""
    answers = np.append(answers_about(population, noise), np.linspace(-1000, 1000, 60))
    estimates = refine(answers, population, noise)
    assert_posteriors(estimates, answers, population, noise, "mean")


@pytest.mark.few(1)
@pytest.mark.parametrize("by", ESTIMATES)
def test_noisy_samples_are_refined_one_by_one(by: Estimate) -> None:
    """The noise on a sample has no look-up intervals."""
    population, noise = nc.Binomial(30, 0.3), nc.Subsample(10, nc.Laplace(2))
    answers = np.array([-40.0, 0.0, 3.25, 3.25, 50.0])
    assert_posteriors(refine(answers, population, noise, by), answers, population, noise, by)


@pytest.mark.parametrize("by", ESTIMATES)
def test_exact_answers_are_their_own_estimates(by: Estimate) -> None:
    """Nothing is left to estimate without noise."""
    answers = np.arange(101.0)
    assert refine(answers, nc.Binomial(100, 0.3), nc.Exact(), by).tolist() == answers.tolist()


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("population", "noise"),
    [
        (nc.Binomial(10**12, 0.3), nc.Laplace(1e5)),
        (nc.Binomial(10**12, 0.3), nc.Laplace(3.0)),
        (nc.Binomial(10**9, 0.01), nc.DiscreteLaplace(1000)),
        (nc.BetaBinomial(10**9, 3, 7), nc.Laplace(1000)),
        (nc.BetaBinomial(10**6, 0.5, 0.5), nc.Laplace(200)),
        (nc.Strata([10**6, 10**7], [0.25, 0.5]), nc.Laplace(20)),
        (nc.Binomial(10**9, 0.3), nc.Gaussian(3e4)),
    ],
    ids=str,
)
def test_long_columns_about_large_counts_are_exact(
    population: nc.Population, noise: nc.Laplace | nc.DiscreteLaplace | nc.Gaussian
) -> None:
    """Four thousand answers, of which every 250th is compared with its own posterior."""
    law, generator = population.law(), np.random.default_rng(20140)
    spread = math.sqrt(law.variance) + float(noise.scale)
    answers = np.round(law.mean + spread * generator.standard_normal(4000))
    some = slice(None, None, 250)
    assert_posteriors(refine(answers, population, noise)[some], answers[some], population, noise, "mean")


@pytest.mark.parametrize("by", ESTIMATES)
def test_nan_answers_come_back_nan_and_the_rest_is_right(by: Estimate) -> None:
    """A missing answer spoils no other."""
    population, noise = nc.Binomial(100, 0.3), nc.Laplace(10)
    answers = np.array([35.2, math.nan, -3.0, math.nan])
    estimates = refine(answers, population, noise, by)
    assert np.isnan(estimates).tolist() == [False, True, False, True]
    kept = ~np.isnan(answers)
    assert_posteriors(estimates[kept], answers[kept], population, noise, by)
    assert np.isnan(refine([math.nan] * 3, population, noise, by)).all()
    assert math.isnan(refine(math.nan, population, noise, by))


@pytest.mark.parametrize("by", ESTIMATES)
@pytest.mark.parametrize("shape", [(0,), (1,), (6,), (2, 3), (3, 1, 2), (2, 0)])
def test_the_shape_is_kept(by: Estimate, shape: tuple[int, ...]) -> None:
    """The estimates have the shape of the answers, in any order in memory."""
    answers = np.arange(math.prod(shape), dtype=np.float64).reshape(shape) * 7
    population, noise = nc.Binomial(100, 0.3), nc.Laplace(10)
    estimates = refine(answers, population, noise, by)
    assert estimates.shape == shape
    assert np.array_equal(refine(answers.T, population, noise, by), estimates.T)
    assert_posteriors(estimates.reshape(-1), answers.reshape(-1), population, noise, by)


@pytest.mark.parametrize("by", ESTIMATES)
def test_a_single_answer_gives_a_float(by: Estimate) -> None:
    """Plain numbers in, plain numbers out; integers and lists are numbers too."""
    population, noise = nc.Binomial(100, 0.3), nc.DiscreteLaplace(10)
    estimate = refine(35, population, noise, by)
    assert type(estimate) is float
    assert estimate == refine([35], population, noise, by)[0]
    assert estimate == refine(np.array([35], dtype=np.int64), population, noise, by)[0]


def test_the_answers_are_left_as_they_were() -> None:
    """Neither the array nor its missing values are written to."""
    answers = np.array([35.25, math.nan, 1e6])
    answers.flags.writeable = False
    refine(answers, nc.Binomial(100, 0.3), nc.Laplace(10))
    assert np.array_equal(answers, [35.25, math.nan, 1e6], equal_nan=True)


def test_estimates_never_fall_as_the_answer_rises() -> None:
    """Across intervals and their ends, at any fineness."""
    answers = np.linspace(-300, 500, 20_001)
    estimates = refine(answers, nc.Binomial(100, 0.3), nc.Laplace(3))
    assert (np.diff(estimates) >= -1e-12).all()


@pytest.mark.thorough
@pytest.mark.parametrize("level", [0.025, 0.5, 0.9])
def test_quantiles_of_many_answers_are_those_of_each(level: float) -> None:
    """Whole numbers that grow with the answer are found by bisection over the answers."""
    answers = np.linspace(-20, 130, 101)
    found = posterior_values(answers, nc.Binomial(100, 0.3), nc.Gaussian(9), lambda told: told.law.quantile(level))
    expected = [
        posterior(answer, nc.Binomial(100, 0.3), nc.Gaussian(9)).law.quantile(level) for answer in answers.tolist()
    ]
    assert found.tolist() == expected


MEMORY = """
import resource
import numpy as np
from noisycount.analysis.posterior.refine import refine
from noisycount.model.noises.laplace import Laplace
from noisycount.model.populations.binomial import Binomial

population = Binomial({size}, 0.3)
answers = np.random.default_rng(1).laplace(0.3 * {size}, 10, 10**7)
refine(answers[:1000], population, Laplace(10))
output = answers + 1
del output
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
refine(answers, population, Laplace(10))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.thorough
@pytest.mark.parametrize("size", [1000, 10**9])
def test_ten_million_answers_need_64_mebibytes_beside_input_and_output(size: int) -> None:
    """The peak of the process, less that of a copy of the answers before."""
    command = [sys.executable, "-c", MEMORY.format(size=size)]
    process = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603  (our own text)
    assert int(process.stdout) <= 64 * 1024


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("population", "scale"),
    [
        (nc.Binomial(10**12, 0.3), 1e6),
        (nc.BetaBinomial(10**9, 1.5, 1.5), 1e6),
    ],
)
def test_columns_about_very_large_counts_agree_with_single_answers(
    population: nc.Binomial | nc.BetaBinomial, scale: float
) -> None:
    """Thousands of answers over a wide range go through intervals, the same as one by one."""
    law, random = population.law(), np.random.default_rng(5)
    answers = law.mean + law.variance**0.5 * random.standard_normal(3000)
    answers += random.laplace(0, scale, 3000)
    answers[7] = np.nan
    means = refine(answers, population, nc.Laplace(scale))
    assert np.isnan(means[7])
    for place in [*range(7), *range(8, 40)]:
        told = posterior(float(answers[place]), population, nc.Laplace(scale))
        tolerance = 1e-10 * told.variance**0.5 + 4 * np.spacing(told.mean)
        assert abs(means[place] - told.mean) <= tolerance


@frozen
class Fair(ClosedFormPopulation):
    """Records of a rate of 1/2, as a population that the package does not know."""

    size: int = field()

    def log_pmf(self, counts: Reals) -> Reals:
        """The binomial law."""
        return binom.logpmf(counts, self.size, 0.5)

    @property
    def smooth_prior(self) -> Factor:
        """An equal binomial prior that keeps the digits of its differences."""
        return nc.Binomial(self.size, 0.5)


@pytest.mark.parametrize("scale", [0.3, 10.0])
def test_answers_inside_the_intervals_need_no_clipping(scale: float) -> None:
    """Their means are those that clipping gives, to the last digit."""
    law, answers = nc.Binomial(10**6, 0.3).law(), np.linspace(298_000, 302_000, 50_001)
    intervals = laplace_intervals(law, 10**6, scale, (answers[0], answers[-1]), 10**6)
    assert intervals is not None
    inside = intervals.means(answers, (answers[0], answers[-1]))
    assert inside.tolist() == intervals.means(answers, (-math.inf, math.inf)).tolist()


def test_a_population_states_whether_its_law_is_smooth() -> None:
    """Cells serve whoever says so, and nobody else: not a table, nor a law with two tops."""
    noise, answers = nc.Laplace(40), np.linspace(49_950, 50_050, 10)
    intervals, known = (wide_intervals(some(100_000), noise) for some in (Fair, lambda n: nc.Binomial(n, 0.5)))
    assert intervals is not None
    assert known is not None
    ends = float(answers[0]), float(answers[-1])
    assert intervals.means(answers, ends) == pytest.approx(known.means(answers, ends), rel=1e-12)
    told = [posterior(answer, nc.Binomial(100_000, 0.5), noise).mean for answer in answers[:3].tolist()]
    assert known.means(answers, ends)[:3] == pytest.approx(told, rel=1e-12)
    assert wide_intervals(nc.Strata([200_000], [0.5]), noise) is None
    assert wide_intervals(nc.BetaBinomial(200_000, 0.5, 0.5), noise) is None


def test_fractions_and_whole_numbers_are_answers() -> None:
    """As they are for one posterior."""
    population, noise = nc.Binomial(10, 0.5), nc.Laplace(1)
    expected = refine([2.5, 3.0, 4.0], population, noise)
    answers = [Fraction(5, 2), 3, np.float32(4)]
    assert refine(answers, population, noise).tolist() == expected.tolist()


@pytest.mark.parametrize("scale", [2.0**-52, 1e-9])
def test_many_answers_half_way_leave_what_was_known_before(scale: float) -> None:
    """Half way between two counts narrow noise says nothing, to the last digits."""
    told = refine([0.5, 1.5], nc.Binomial(2, 0.05), nc.Laplace(scale))
    assert told.tolist() == pytest.approx([2 * 0.05 / 1.05, 1 + 0.05 / 1.95], rel=1e-13)


@pytest.mark.parametrize("answer", [-3.0, 0.4, 1.0, 2.5, 1e17])
def test_means_next_to_nothing_keep_their_digits(answer: float) -> None:
    """They are no difference of the answer and a distance from it."""
    near = min(answer, 2.0)  # beyond all counts an answer tells no more
    zero, one, two = (math.exp(-abs(near - count) / 1.499) for count in range(3))
    first, second = 2e-12 * (1 - 1e-12) * one, 1e-24 * two
    mean = (first + 2 * second) / ((1 - 1e-12) ** 2 * zero + first + second)
    found = refine([answer, 1.0], nc.Binomial(2, 1e-12), nc.Laplace(1.499))
    assert found[0] == pytest.approx(mean, rel=1e-14)


def test_columns_about_nobody_are_zeros() -> None:
    """Nothing is computed of counts that nobody can have."""
    assert [*refine([-0.0, 3.0], nc.Tabulated([1.0]), nc.Laplace(9.5))] == [0.0, 0.0]
