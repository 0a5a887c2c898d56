import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf

import noisycount as nc
from noisycount.analysis.evaluation import evaluation
from noisycount.analysis.evaluation.evaluation import ESTIMATES
from tests.helpers.cases import examples
from tests.oracles.evaluation import Density, Oracle, convolved, discrete, gaussian_density, laplace_density
from tests.oracles.posterior import (
    Law,
    beta_binomial_law,
    binomial_law,
    noisy_sample_likelihood,
    sample_likelihood,
    strata_law,
)

BAYES = ("mean", "median", "mode")
METRICS = (nc.mean_absolute_error, nc.improvement_probability, nc.tie_probability)
GAPS = [0.375, 0, 0, 0.125, 0, 0.5]
POPULATIONS: dict[str, tuple[nc.Population, Law]] = {
    "binomial": (nc.Binomial(6, 0.3), binomial_law(6, 0.3)),
    "symmetric": (nc.Binomial(4, 0.5), binomial_law(4, 0.5)),
    "one record": (nc.Binomial(1, 0.2), binomial_law(1, 0.2)),
    "certain": (nc.Binomial(3, 1.0), Law(3, [mpf(1)])),
    "uncertain": (nc.BetaBinomial(5, 0.5, 0.7), beta_binomial_law(5, 0.5, 0.7)),
    "gaps": (nc.Tabulated(GAPS), Law(0, [mpf(chance) for chance in GAPS])),
    "groups": (nc.Strata([2, 3], [0.1, 0.8]), strata_law([2, 3], [0.1, 0.8])),
    "informed": (nc.Binomial(5, 0.3).given(2, 1), Law(1, binomial_law(3, 0.3).weights)),
}
NOISES: dict[str, tuple[nc.Mechanism, Density]] = {
    "Laplace 1/4": (nc.DiscreteLaplace(0.25), discrete(laplace_density(0.25), 30)),
    "Laplace 3/2": (nc.DiscreteLaplace(1.5), discrete(laplace_density(1.5), 70)),
    "Gaussian 1/2": (nc.DiscreteGaussian(0.5), discrete(gaussian_density(0.5), 30)),
    "Gaussian 5/2": (nc.DiscreteGaussian(2.5), discrete(gaussian_density(2.5), 70)),
}


def close(found: float, exact: mpf) -> bool:
    """Return True if a figure is within 1e-10 relative or 1e-14 absolute of the exact one."""
    return abs(found - exact) <= mpf("1e-10") * abs(exact) + mpf("1e-14")


@pytest.mark.parametrize(("by", "error", "improvement"), [("mean", 0.98048, 0.51586), ("median", 0.93334, 0.64457)])
def test_median_is_better_than_the_mean_of_the_paper(by: str, error: float, improvement: float) -> None:
    """Naldi and D'Acquisto's setting n = 100, p = 0.3, ε = 1."""
    population, noise = nc.Binomial(100, 0.3), nc.Laplace.for_epsilon(1)
    assert nc.mean_absolute_error(population, noise, by) == pytest.approx(error, abs=5e-6)
    found = nc.improvement_probability(population, noise, by)
    assert found == pytest.approx(improvement, abs=5e-6)
    assert nc.tie_probability(population, noise, by) == 0


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1, 10])
def test_answer_is_off_by_one_over_epsilon(epsilon: float) -> None:
    """Eq. (14), at any size."""
    for size in (1, 10**6, 10**15):
        noise = nc.Laplace.for_epsilon(epsilon)
        error = nc.mean_absolute_error(nc.Binomial(size, 0.3), noise, "answer")
        assert error == pytest.approx(1 / epsilon, rel=1e-15)


def test_rounding_alone_beats_the_posterior_mean() -> None:
    """Far from the ends it has the error e^(−1/2)/(1 − e^−1) at ε = 1."""
    population = nc.Binomial(10**4, 0.3)
    rounded = nc.mean_absolute_error(population, nc.Laplace(1), "rounded")
    assert rounded == pytest.approx(math.exp(-0.5) / -math.expm1(-1), rel=1e-12)
    assert rounded < nc.mean_absolute_error(population, nc.Laplace(1), "mean")


@pytest.mark.thorough
@pytest.mark.parametrize("kind", POPULATIONS)
@pytest.mark.parametrize("noise", NOISES)
def test_discrete_noise_agrees_with_the_double_sum(kind: str, noise: str) -> None:
    """Error, improvement and tie of all five estimates, with true and with wrong beliefs."""
    population, law = POPULATIONS[kind]
    mechanism, density = NOISES[noise]
    size = population.records
    reach = 10 if isinstance(mechanism.scale, Fraction) and mechanism.scale < 1 else 45
    wrong = nc.Binomial(size, 0.75), binomial_law(size, 0.75)
    for assumed, belief in ((None, law), wrong):
        for by in ESTIMATES if assumed is None else BAYES:
            exact = Oracle(law, belief, density, by, size).of_whole_answers(reach)
            found = [metric(population, mechanism, by, assumed) for metric in METRICS]
            assert all(map(close, found, exact)), (by, assumed, found, exact)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("noises", "parts"),
    [
        ((nc.DiscreteLaplace(1), nc.DiscreteLaplace(2)), (laplace_density(1), laplace_density(2))),
        ((nc.DiscreteLaplace(1), nc.DiscreteGaussian(2)), (laplace_density(1), gaussian_density(2))),
    ],
)
def test_sums_of_discrete_noises_agree_with_the_double_sum(
    noises: tuple[nc.Mechanism, ...], parts: tuple[Density, ...]
) -> None:
    """Over the convolution of both laws."""
    density = convolved(discrete(parts[0], 90), discrete(parts[1], 90), 90)
    law = binomial_law(5, 0.3)
    for by in ESTIMATES:
        exact = Oracle(law, law, density, by, 5).of_whole_answers(60)
        found = [metric(nc.Binomial(5, 0.3), nc.NoiseSum(noises), by) for metric in METRICS]
        assert all(map(close, found, exact)), (by, found, exact)


@pytest.mark.parametrize("noise", [None, pytest.param(nc.DiscreteLaplace(1), marks=pytest.mark.thorough)])
def test_samples_agree_with_the_double_sum(noise: nc.Mechanism | None) -> None:
    """The answer is scaled up to the database; estimates see the sample."""
    size, drawn, law = 7, 3, binomial_law(7, 0.4)
    density = discrete(laplace_density(1), 60)
    answers = range(drawn + 1) if noise is None else range(-45, drawn + 46)
    totals: dict[str, list[mpf]] = {by: [mpf(0)] * 3 for by in ESTIMATES}
    for answer in answers:
        likelihood = (
            sample_likelihood(answer, drawn, size)
            if noise is None
            else noisy_sample_likelihood(lambda s, y=answer: density(mpf(y - s)), drawn, size)
        )
        weights = [w * likelihood(k) for k, w in zip(law.counts, law.weights, strict=True)]
        told, scaled = Law(0, weights), mpf(answer * size) / drawn
        estimates = {
            "answer": scaled,
            "rounded": min(max(mp.floor(scaled + 0.5), mpf(0)), mpf(size)),
            "mean": told.mean,
            "median": mpf(told.quantile(0.5)),
            "mode": mpf(told.mode),
        }
        for by, estimate in estimates.items():
            for count, weight in enumerate(weights):
                chance = weight / mp.binomial(size, drawn)
                away, gain = abs(count - estimate), abs(count - scaled) - abs(count - estimate)
                same = abs(gain) < mpf("1e-25")
                parts = (chance * away, chance * (gain > 0 and not same), chance * same)
                totals[by] = [a + b for a, b in zip(totals[by], parts, strict=True)]
    for by in ESTIMATES:
        found = [metric(nc.Binomial(size, 0.4), nc.Subsample(drawn, noise), by) for metric in METRICS]
        assert all(map(close, found, totals[by])), (by, found, totals[by])


@pytest.mark.thorough
@pytest.mark.parametrize("by", BAYES)
@pytest.mark.parametrize(("size", "rate"), [(1000, None), (1000, 0.31), (10_000, 0.31)])
def test_estimates_are_those_of_refine(by: str, size: int, rate: float | None) -> None:
    """The double sum with the estimates that `refine` gives, at the sizes of the paper."""
    population, noise = nc.Binomial(size, 0.3), nc.DiscreteLaplace(10)
    assumed = None if rate is None else nc.Binomial(size, rate)
    spread = math.ceil(8 * math.sqrt(0.21 * size))
    middle = round(0.3 * size)
    counts = np.arange(max(0, middle - spread), middle + spread + 1, dtype=np.float64)
    answers = np.arange(counts[0] - 300, counts[-1] + 301)
    estimates = nc.refine(answers, assumed or population, noise, by)
    noise_mass = math.tanh(0.05) * np.exp(-np.abs(answers[:, None] - counts) / 10)
    chances = population.law().pmf(counts) * noise_mass
    away = np.abs(counts - estimates[:, None])
    gain = np.abs(counts - answers[:, None]) - away
    exact = [(chances * away).sum(), chances[gain > 1e-9].sum(), chances[np.abs(gain) <= 1e-9].sum()]
    found = [metric(population, noise, by, assumed) for metric in METRICS]
    assert found == pytest.approx(exact, rel=1e-9, abs=1e-10)


@pytest.mark.thorough
@examples(20)
@given(
    size=st.integers(1, 60),
    rate=st.floats(0.01, 0.99),
    scale=st.floats(0.05, 200),
    noise=st.sampled_from([nc.Laplace, nc.Gaussian, nc.DiscreteLaplace, nc.DiscreteGaussian]),
    believed=st.floats(0.01, 0.99),
)
def test_estimates_obey_the_laws_of_decisions(
    size: int, rate: float, scale: float, noise: type, believed: float
) -> None:
    """Nothing beats the median; a mirrored count is estimated as well; chances are chances."""
    population, mechanism = nc.Binomial(size, rate), noise(scale)
    best = nc.mean_absolute_error(population, mechanism, "median")
    wrong = nc.Binomial(size, believed)
    for by in ESTIMATES:
        assert best <= nc.mean_absolute_error(population, mechanism, by) * (1 + 1e-9) + 1e-14
        wrong_error = nc.mean_absolute_error(population, mechanism, by, wrong)
        assert best <= wrong_error * (1 + 1e-9) + 1e-14
        improved = nc.improvement_probability(population, mechanism, by, wrong)
        tied = nc.tie_probability(population, mechanism, by, wrong)
        assert min(improved, tied) >= 0
        assert improved + tied <= 1 + 1e-12
    mirrored = nc.Tabulated(population.law().pmf(np.arange(size, -1, -1)))
    for metric in METRICS:
        found = metric(mirrored, mechanism, "mean")
        assert found == pytest.approx(metric(population, mechanism, "mean"), rel=1e-8, abs=1e-9)


@pytest.mark.few(2)
@pytest.mark.parametrize("by", BAYES)
@pytest.mark.parametrize("noise", [nc.Laplace(3), nc.Gaussian(3), nc.DiscreteLaplace(3), nc.DiscreteGaussian(3)])
def test_believing_the_truth_is_knowing_it(by: str, noise: nc.Mechanism) -> None:
    """An assumed population that is the true one, by name or as a table, changes nothing."""
    population = nc.Binomial(200, 0.3)
    for assumed in (population, nc.Tabulated(population.law().pmf(np.arange(201)))):
        for metric in METRICS:
            expected = metric(population, noise, by)
            assert metric(population, noise, by, assumed) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("by", BAYES)
def test_noise_without_end_leaves_the_prior(by: str) -> None:
    """At a scale of 1e6 the estimate is that before the answer, and nearly always better."""
    population = nc.Binomial(100, 0.3)
    law = population.law()
    guess = {"mean": law.mean, "median": law.median, "mode": law.mode}[by]
    counts = np.arange(101)
    expected = float(law.pmf(counts) @ np.abs(counts - guess))
    for noise in (nc.Laplace(1e6), nc.Gaussian(1e6), nc.DiscreteGaussian(10**6)):
        found = nc.mean_absolute_error(population, noise, by)
        assert found == pytest.approx(expected, rel=1e-4)
        assert nc.improvement_probability(population, noise, by) > 0.9999


def test_exact_answers_leave_nothing_to_estimate() -> None:
    """Every estimate is the count, which is the answer."""
    for by in ESTIMATES:
        found = [metric(nc.Binomial(10, 0.3), nc.Exact(), by) for metric in METRICS]
        assert found == [0.0, 0.0, 1.0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((5, nc.Laplace(1), "mean"), "^population must be a Population, got 5"),
        ((nc.Binomial(5, 0.5), 3, "mean"), "^mechanism must be"),
        ((nc.Binomial(5, 0.5), nc.Laplace(1), "mean", 5), "^assumed must be a Population, got 5"),
        ((nc.Binomial(9, 0.3), nc.Laplace(1), "best"), "by must be one of"),
        ((nc.Binomial(9, 0.3), nc.Laplace(1), "mean", nc.Binomial(8, 0.3)), "the 9 records"),
        ((nc.Binomial(9, 0.3), nc.Exact(), "mean", nc.Binomial(9, 0.4)), "Exact without `assumed`"),
        ((nc.Binomial(9, 0.3), nc.Subsample(10), "mean"), "at most the 9 records"),
        ((nc.Binomial(9, 0.3), nc.Subsample(3, nc.Laplace(1)), "mean"), "discrete noise or none"),
        ((nc.Binomial(10**15, 0.3), nc.Laplace(1), "mean"), "take a smaller size, or simulate"),
        ((nc.Binomial(9, 0.3), nc.Subsample(3), "mean", nc.Tabulated([0.5, *[0] * 8, 0.5])), "every answer possible"),
        ((nc.Binomial(10**6, 0.3), nc.Subsample(10**5), "mean"), "pairs of count and answer"),
        ((nc.Binomial(10**4, 0.9), nc.Gaussian(1), "mean", nc.Strata([10**4], [1e-5])), "probabilities underflow"),
    ],
)
def test_refusals_name_what_is_wrong(arguments: tuple[object, ...], message: str) -> None:
    """A refusal is a single line with the value and the remedy."""
    for metric in METRICS:
        with pytest.raises(ValueError, match=message):
            metric(*arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize("scale", [1e-4, 5e-4, 1e-3, 2e-3])
@pytest.mark.parametrize("noise", [nc.DiscreteLaplace, nc.DiscreteGaussian])
def test_noise_that_is_nearly_none_leaves_the_count(noise: type[nc.DiscreteLaplace], scale: float) -> None:
    """Errors keep their digits down to where they are 0 in a float."""
    population, mechanism, law = nc.Binomial(6, 0.3), noise(scale), binomial_law(6, 0.3)
    density = laplace_density if noise is nc.DiscreteLaplace else gaussian_density
    chances = discrete(density(mpf(str(scale))), 4)
    for by in ESTIMATES:
        with mp.workdps(400):
            values = Oracle(law, law, chances, by, 6).of_whole_answers(3)
        exact = [float(value) for value in values]
        found = [metric(population, mechanism, by) for metric in METRICS]
        assert found[0] == pytest.approx(exact[0], rel=1e-9, abs=1e-15 if by == "mean" else 1e-300)
        if by != "mean":  # it differs from the answer by less than the oracle counts
            assert found[1:] == pytest.approx(exact[1:], abs=1e-14)


@pytest.mark.parametrize("rate", [1e-15, 1e-12, 1e-9, 0.01, 0.25, 0.5])
@pytest.mark.parametrize(("size", "drawn"), [(10, 2), (6, 3), (12, 4)])
def test_ties_of_a_sample_are_those_in_fractions(rate: float, size: int, drawn: int) -> None:
    """A mean that is nearly the answer is not the answer: 8e-12 records are no tie."""
    p, tied = Fraction(rate), Fraction(0)
    for answer in range(drawn + 1):
        joint = [
            math.comb(size, k)
            * p**k
            * (1 - p) ** (size - k)
            * Fraction(math.comb(k, answer) * math.comb(size - k, drawn - answer))
            / math.comb(size, drawn)
            for k in range(size + 1)
        ]
        mean = sum(k * chance for k, chance in enumerate(joint)) / sum(joint)
        scaled = Fraction(answer * size, drawn)
        tied += sum(c for k, c in enumerate(joint) if abs(k - mean) == abs(k - scaled))
    found = nc.tie_probability(nc.Binomial(size, rate), nc.Subsample(drawn), "mean")
    assert found == pytest.approx(float(tied), abs=1e-14)


@pytest.mark.parametrize("by", ESTIMATES)
@pytest.mark.parametrize("noise", [nc.DiscreteLaplace, nc.DiscreteGaussian, nc.Laplace, nc.Gaussian])
def test_the_narrowest_noise_overflows_nowhere(by: str, noise: type) -> None:
    """No warning of numbers: tails are asked for at answers that are far, not at infinite ones."""
    population = nc.Binomial(1, 0.027)
    assert 0 <= nc.improvement_probability(population, noise(1e-9), by) <= 1
    assert 0 <= nc.mean_absolute_error(population, noise(1e-9), by) <= 1.01e-9


def test_a_belief_in_other_counts_keeps_its_own_samples() -> None:
    """A belief in fewer positives weighs samples that never come if all records are positive.

    Of two records one is drawn: Y = 1 + Z. At Y = 0 the mode of the belief is 0, as far off as 2·Y.
    Nearer it is at Y < 0, where it is 0, and at Y > 1, where it is 2.
    """
    population, noise = nc.Tabulated([0.0, 0.0, 1.0]), nc.DiscreteLaplace(1)
    found = nc.improvement_probability(population, nc.Subsample(1, noise), "mode", nc.Binomial(2, 0.318))
    tails = (math.exp(-1) + math.exp(-2)) / (1 + math.exp(-1))
    assert found == pytest.approx(tails, abs=1e-12)


TRUE = nc.Binomial(1000, 0.3)
NOISE = nc.Laplace(10)


@pytest.mark.thorough
@pytest.mark.parametrize("by", ["mean", "median", "mode"])
@pytest.mark.parametrize("deviation", [0.0, 0.02])
def test_error_at_a_break_even_rate_is_that_of_the_answer(by: str, deviation: float) -> None:
    """It is smaller just inside, and larger just outside."""
    low, high = nc.break_even_rates(TRUE, NOISE, by, deviation)

    def error(rate: float) -> float:
        if deviation == 0:
            return nc.mean_absolute_error(TRUE, NOISE, by, nc.Binomial(1000, rate))
        assumed = nc.BetaBinomial.from_rate(1000, rate, deviation)
        return nc.mean_absolute_error(TRUE, NOISE, by, assumed)

    assert low < 0.3 < high
    for rate, inwards in ((low, 1e-5), (high, -1e-5)):
        assert by == "mode" or error(rate) == pytest.approx(10, rel=1e-9)
        assert error(rate + inwards) < 10 < error(rate - inwards)


@pytest.mark.thorough
def test_an_uncertain_rate_may_be_more_wrong() -> None:
    """The more uncertain, the farther off it may be."""
    ranges = [nc.break_even_rates(TRUE, NOISE, "mean", spread) for spread in (0.0, 0.02, 0.05)]
    assert ranges[0][0] > ranges[1][0] > ranges[2][0]
    assert ranges[0][1] < ranges[1][1] < ranges[2][1]


def test_noise_wider_than_the_count_forgives_every_rate() -> None:
    """An error of at most 100 records is better than noise of scale 1000."""
    assert nc.break_even_rates(nc.Binomial(100, 0.3), nc.Laplace(1000)) == (0.0, 1.0)
    low, high = nc.break_even_rates(nc.Binomial(100, 0.3), nc.Laplace(1000), deviation=0.1)
    assert low * (1 - low) == pytest.approx(0.01, rel=2e-3)
    assert high == pytest.approx(1 - low)


@pytest.mark.parametrize(
    ("population", "arguments", "message"),
    [
        (TRUE, {"by": "answer"}, "by must be"),
        (TRUE, {"by": "rounded"}, "by must be"),
        (1000, {}, "population must be a Population, got 1000"),
        (TRUE, {"deviation": -1.0}, "deviation must be"),
        (TRUE, {"deviation": 0.5}, "deviation must be below"),
        (nc.BetaBinomial(1000, 3, 7), {}, "better than the answer at the true rate"),
        (nc.Binomial(0, 0.3), {}, "size"),
    ],
)
def test_refusals_of_break_even_rates_name_what_is_wrong(
    population: nc.Population, arguments: dict[str, object], message: str
) -> None:
    """A refusal is a single line with the value and the remedy."""
    with pytest.raises(ValueError, match=message):
        nc.break_even_rates(population, NOISE, **arguments)


def test_break_even_rates_take_few_averages(monkeypatch: pytest.MonkeyPatch) -> None:
    """The excess is nearly linear in the squared distance from the true rate."""
    rates = nc.break_even_rates(nc.Binomial(1000, 0.3), nc.Laplace(10))
    calls = []

    def counted(*arguments: object) -> float:
        calls.append(arguments)
        return nc.mean_absolute_error(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(evaluation, "mean_absolute_error", counted)
    assert nc.break_even_rates(nc.Binomial(1000, 0.3), nc.Laplace(10)) == rates
    assert len(calls) <= 18
