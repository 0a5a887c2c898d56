"""Tests of `analysis/tables/model_checks.py`."""

import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import noisycount as nc
from noisycount.analysis.posterior.posterior import posterior, posterior_of
from noisycount.analysis.posterior.predictive import SURPRISING, is_expected
from noisycount.analysis.posterior.refine import surprises
from noisycount.model.noises.additive import AdditiveNoise
from tests.oracles.tails import exceedance

POPULATIONS = [
    nc.Binomial(40, 0.3),
    nc.Binomial(40, 1e-12),
    nc.BetaBinomial(40, 0.5, 0.5),
    nc.BetaBinomial(40, 3, 7),
    nc.Strata([10, 20, 10], [0.1, 0.5, 0.9]),
    nc.Tabulated(np.full(41, 1 / 41)),
]


NOISES = [
    *[
        nc.Laplace(0.5),
        nc.Laplace(30.0),
        nc.DiscreteLaplace(2),
        nc.DiscreteLaplace(50),
        nc.Gaussian(0.5),
        nc.Gaussian(40.0),
    ],
    *[
        nc.DiscreteGaussian(0.7),
        nc.DiscreteGaussian(6),
        nc.NoiseSum([nc.Gaussian(3.0), nc.Gaussian(4.0)]),
        nc.NoiseSum([nc.Laplace(7.0)] * 2),
    ],
]


@pytest.mark.parametrize("population", POPULATIONS, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("noise", NOISES, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("answer", [12, -60, 160])
def test_surprise_is_the_two_sided_predictive_probability(
    population: nc.Population, noise: nc.Mechanism, answer: int
) -> None:
    """min(1, 2·min(Σ P[k]·P[Z >= y−k], Σ P[k]·P[Z >= k−y])), to 1e-9 at any smallness."""
    prior = population.law().pmf(range(41)).tolist()
    sides = (
        float(sum(p * exceedance(noise, Fraction(sign * (answer - k))) for k, p in enumerate(prior)))
        for sign in (1, -1)
    )
    exact = min(1.0, 2 * min(sides))
    assert posterior(answer, population, noise).surprise == pytest.approx(exact, rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("population", [*POPULATIONS, nc.Binomial(10**10, 0.3)], ids=lambda one: type(one).__name__)
@pytest.mark.parametrize(
    "noise", [nc.Laplace(2), nc.DiscreteLaplace(3), nc.Gaussian(2), nc.DiscreteGaussian(2)], ids=repr
)
def test_a_column_has_the_surprise_of_each_answer(population: nc.Population, noise: AdditiveNoise) -> None:
    """Equal ones too, near what is expected and far from it."""
    answers = np.round(population.law().mean) + np.array([0.0, 7, -12, 7, 60])
    alone = [posterior_of(answer, population, noise).surprise for answer in answers.tolist()]
    assert surprises(answers, population, noise) == pytest.approx(np.array(alone), rel=1e-9, abs=1e-13)


@pytest.mark.few(1)
@pytest.mark.parametrize("answer", [0, 3, 12])
def test_exact_and_sampled_counts_surprise_by_their_own_law(answer: int) -> None:
    """The count of a sample of 12 of 40 binomial records is Bin(12, rate)."""
    population, sample = nc.Binomial(40, 0.3), nc.Binomial(12, 0.3).law()
    of_sample = posterior(answer, population, nc.Subsample(12)).surprise
    tails = sample.probability(answer, 12), sample.probability(0, answer)
    assert of_sample == pytest.approx(min(1.0, 2 * min(tails)), rel=1e-10)
    of_count = posterior(answer, nc.Binomial(12, 0.3), nc.Exact()).surprise
    assert of_count == pytest.approx(of_sample, rel=1e-10)


@pytest.mark.parametrize("answers", [[40, -9, 12, 33, 12], [12, 13, 90, 14], [12]])
def test_the_farthest_answers_are_the_least_likely(answers: list[int]) -> None:
    """Of answers with one noise the smallest of all, to the last digit; so with several noises."""
    population, noises = nc.Binomial(40, 0.3), [nc.DiscreteLaplace(2), nc.DiscreteGaussian(6)]
    pairs = [(answer, noise) for answer in answers for noise in noises]
    alone = [posterior(answer, population, noise).surprise for answer, noise in pairs]
    told = posterior([answer for answer, _ in pairs], population, [noise for _, noise in pairs])
    assert told.surprise == min(1.0, len(pairs) * min(alone))


LIKELY, ODD = (100.0, 97.0, 120.0), (1081.0, -60.0)
HEALTH, PRICED = nc.Binomial(5912, 0.017), nc.DiscreteLaplace.for_epsilon("0.15")


@pytest.mark.parametrize("answer", [ODD[0], [*LIKELY, ODD[1]], nc.below(-50)], ids=repr)
def test_an_answer_that_contradicts_the_population_warns_once(answer: Any) -> None:  # noqa: ANN401
    """The warning points at the caller, and the result shows it in its text, HTML and dict."""
    laws = [PRICED] * len(answer) if isinstance(answer, list) else PRICED
    with pytest.warns(UserWarning, match="this far from the 101 expected has a prob") as caught:
        told = nc.posterior(answer, HEALTH, laws)
    assert [one.filename for one in caught] == [__file__]
    assert told.surprise < 1e-3
    assert repr(told).startswith(f"Posterior(warning='surprise {told.surprise:.0e}', mean=")
    assert str(caught[0].message) == told.to_dict()["warning"] == told.warning
    assert str(told.warning) in told._repr_html_()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert nc.difference(told, told).mean == pytest.approx(0)
        assert nc.probability_greater(told, told) < 0.5


@pytest.mark.parametrize("answer", LIKELY)
def test_an_answer_as_expected_says_nothing(answer: float) -> None:
    """Neither at once nor in what the result shows of itself."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        told = nc.posterior(answer, HEALTH, PRICED)
    assert told.warning is None
    assert "warning" not in told.to_dict()
    assert "warning" not in repr(told)


def test_refining_warns_once_of_all_answers_that_contradict() -> None:
    """With their number, also beside missing ones; of none it says nothing."""
    answers = np.array([*LIKELY, *ODD, np.nan, -61.0])
    with pytest.warns(UserWarning, match="3 of 6 answers contradict the population") as caught:
        nc.refine(answers, HEALTH, PRICED)
    assert [one.filename for one in caught] == [__file__]
    with pytest.warns(UserWarning, match="1 of 1 answers contradicts the population"):
        nc.refine(1081, HEALTH, PRICED, by="median")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nc.refine(np.array([*LIKELY, np.nan]), HEALTH, PRICED)


@pytest.mark.parametrize("size", [100, 10**6])
def test_the_warning_counts_the_answers_of_a_long_column(size: int) -> None:
    """It states as many as have a small surprise, each computed by itself."""
    population, noise, generator = nc.Binomial(size, 0.3), nc.Laplace(10), np.random.default_rng(1)
    spread = generator.laplace(0, 30, 40_000) + generator.normal(0, (0.21 * size) ** 0.5, 40_000)
    answers = np.append(0.3 * size + spread, [np.nan] * 20_000)
    number = (surprises(answers[:40_000], population, noise) < SURPRISING).sum()
    with pytest.warns(UserWarning, match=f"^{number:,} of 40,000 answers contradict"):
        nc.refine(answers, population, noise)


def test_refining_warns_of_samples_by_the_distribution_of_the_sample() -> None:
    """9 of 10 records are surprising at the rate 0.3, though 9 of the 40 records of the population are not."""
    with pytest.warns(UserWarning, match="2 of 4 answers contradict the population"):
        nc.refine([0, 3, 9, 10], nc.Binomial(40, 0.3), nc.Subsample(10))


@pytest.mark.parametrize("noise", [nc.Laplace(2), nc.DiscreteLaplace(200), nc.Gaussian(30)], ids=repr)
def test_a_usual_answer_is_expected_without_a_sum(noise: nc.Mechanism, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two moments decide, both for noise narrower and for noise wider than the population."""
    population = nc.Strata([10**5] * 2, [0.1, 0.3])
    monkeypatch.delattr(nc.Strata, "table")
    assert is_expected(population, 40_250, noise)
    assert is_expected(population, 39_750, noise)


@pytest.mark.thorough
@pytest.mark.parametrize("noise", [nc.Laplace(3), nc.DiscreteLaplace(0.3), nc.Gaussian(40)], ids=repr)
@pytest.mark.parametrize("population", [HEALTH, nc.BetaBinomial(60, 0.3, 2)], ids=repr)
def test_a_warning_is_there_where_the_surprise_is_small(noise: nc.Mechanism, population: nc.Population) -> None:
    """The quick test overlooks no answer whose surprise is below the threshold."""
    for answer in range(-40, 260, 7):
        told = posterior_of(answer, population, noise)
        assert (told.warning is not None) == (told.surprise < SURPRISING)


@pytest.mark.thorough
@pytest.mark.parametrize("answer", [29_500.0, 31_000.0, 0.0])
@pytest.mark.parametrize("sample", [10**5, 10**6])
def test_a_large_sample_surprises_as_its_own_records_do(answer: float, sample: int) -> None:
    """Records outside the sample do not change the surprise, and take no time."""
    noise = nc.DiscreteLaplace(5)
    told = posterior_of(answer, nc.Binomial(10**6, 0.3), nc.Subsample(sample, noise))
    alone = posterior_of(answer, nc.Binomial(sample, 0.3), noise)
    assert told.surprise == alone.surprise
    assert (told.warning is None) == (alone.warning is None)


@pytest.mark.thorough
@pytest.mark.parametrize("population", POPULATIONS, ids=repr)
@pytest.mark.parametrize(
    "mechanism",
    [
        nc.Exact(),
        nc.Laplace(2),
        nc.DiscreteGaussian(3),
        nc.Subsample(7),
        nc.Subsample(40),
        nc.Subsample(9, nc.Laplace(1)),
    ],
    ids=repr,
)
def test_what_is_quickly_found_expected_is_no_surprise(population: nc.Population, mechanism: nc.Mechanism) -> None:
    """For every answer; and at least one answer is found so."""
    last = mechanism.sample_size if isinstance(mechanism, nc.Subsample) else 40
    found = [y for y in range(last + 1) if is_expected(population, float(y), mechanism)]
    assert found
    for answer in found:
        assert posterior_of(float(answer), population, mechanism).surprise >= SURPRISING


TABLE = {"mechanism": nc.DiscreteLaplace(5), "tree": nc.Tree.flat(["Bonn", "Köln", "Trier"])}
HALVES = nc.Splits.multinomial([0.5, 0.5])
CONTRADICTIONS = {
    "a share that the prior leaves to nobody": (
        [52, 11, -94],
        {**TABLE, "total": 60, "prior": nc.Splits(1)},
        "20 expected .* under the stated prior: check the answer of Trier, the prior and the noise",
    ),
    "rates that are others, with a total that nobody stated": (
        [1000, 10],
        {"mechanism": nc.Laplace(5), "prior": HALVES},
        "750 expected .* under the stated prior: check the answer of [01], the prior and the noise",
    ),
    "a suppressed cell that holds most": (
        [nc.below(20), 60, 40],
        {**TABLE, "total": 1000, "prior": nc.Splits([90, 5, 5])},
        "900 expected .* under the stated prior: check the answer of Bonn, the prior and",
    ),
    "an answer below every count, under a learned prior": (
        [52, 11, -94],
        TABLE,
        "0.00 expected .* whatever the counts are: check the answer of Trier, what is known of its",
    ),
    "an answer above the public total": (
        [52, 11, 300],
        {**TABLE, "total": 60},
        "60 expected .* whatever the counts are: check the answer of Trier, what is known of its",
    ),
    "cells that add up to more than the public total": (
        [600, 700],
        {"mechanism": nc.Gaussian(5), "total": 1000},
        "1,000 expected .* under the stated total: check the total and the noise",
    ),
    "a total that its law excludes": (
        {0: [9000], -1: [600, 8400]},
        {"mechanism": nc.DiscreteLaplace(5), "total": HEALTH, "tree": nc.Tree.flat(2)},
        "101 expected .* under the stated total: check the total and the noise",
    ),
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_a_table_that_contradicts_what_was_stated_warns_once(name: str) -> None:
    """The warning points at the caller, and the result shows it in its text, HTML and dict."""
    answers, given, words = CONTRADICTIONS[name]
    with pytest.warns(UserWarning, match=f"answers this far from the {words}") as caught:
        told = nc.table_posterior(answers, **given)
    assert [one.filename for one in caught] == [__file__]
    assert told.surprise < SURPRISING
    assert repr(told).startswith(f"TablePosterior(warning='surprise {told.surprise:.0e}', cells=")
    assert str(caught[0].message) == told.to_dict()["warning"] == told.warning
    assert str(told.warning) in told._repr_html_()


@pytest.mark.parametrize(
    ("answers", "given"),
    [
        ([52, 11, -4], {**TABLE, "total": 60, "prior": nc.Splits(1)}),
        ([52, 11, -4], TABLE),
        ([1000, 10], {"mechanism": nc.Laplace(5), "prior": nc.Splits(1)}),
        ([nc.below(20), 60, 900], {**TABLE, "total": 1000, "prior": nc.Splits([5, 5, 90])}),
        ({0: [110], -1: [60, 70]}, {"mechanism": nc.Gaussian(20), "total": HEALTH}),
    ],
    ids=repr,
)
def test_a_table_as_expected_says_nothing(answers: Any, given: dict[str, Any]) -> None:  # noqa: ANN401
    """Neither at once nor in what the result shows of itself."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        told = nc.table_posterior(answers, **given)
    assert told.warning is None
    assert told.surprise >= SURPRISING
    assert "warning" not in told.to_dict()
    assert "warning" not in repr(told)


@pytest.mark.parametrize("answer", [30, 97, 160, 260, 330])
def test_a_cell_surprises_as_a_count_of_its_share(answer: int) -> None:
    """The count of one of ten cells of 1,000 records is beta-binomial, and there is one answer."""
    noise, answers = nc.DiscreteLaplace(5), [answer, *[np.nan] * 9]
    cell = posterior_of(answer, nc.BetaBinomial(1000, 4, 36), noise)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        told = nc.table_posterior(answers, noise, total=1000, prior=nc.Splits(4))
    assert told.surprise == pytest.approx(cell.surprise, rel=1e-12)
    assert (told.warning is None) == (cell.warning is None)


@pytest.mark.thorough
def test_tables_drawn_from_their_prior_hardly_ever_warn() -> None:
    """Of 30, with and without their total, in a tree: two have 0.04 % if each has 1e-3."""
    random, noise, tree = np.random.default_rng(7), nc.DiscreteLaplace(4), nc.Tree.binary(4)
    warned = 0
    for place in range(30):
        cells = random.multinomial(800, random.dirichlet(np.full(4, 2.0)))
        counts = [cells, [cells[:2].sum(), cells[2:].sum()]]
        leaves, halves = (np.array(part) + noise.draws(len(part), random) for part in counts)
        given = nc.table_posterior(
            {1: halves, 2: leaves}, noise, tree, 800 if place % 2 else None, [nc.Splits(4), nc.Splits(2)]
        )
        warned += given.warning is not None
    assert warned <= 1


def test_a_surprise_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """However often a result is looked at."""
    asked: list[object] = []
    module = "noisycount.analysis.posterior.posterior.two_sided_probability"
    monkeypatch.setattr(module, lambda *pair: asked.append(pair) or 1e-9)
    told = posterior_of(ODD[0], HEALTH, PRICED)
    assert "surprise 1e-09" in f"{told!r}{told!r}{told.to_dict()}{told.warning}"
    assert len(asked) == 1
