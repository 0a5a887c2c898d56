"""Contract of all populations, against sums term by term."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from mpmath import mp, mpf

import noisycount as nc
from noisycount.model.populations.population import Exchangeable
from tests.helpers.curve_checks import assert_exact as assert_exact_curve
from tests.oracles.balls import ball, total
from tests.oracles.evaluation import Density, Oracle
from tests.oracles.noises import noise_of
from tests.oracles.pairs import Pair
from tests.oracles.posterior import Law, assert_exact, reweighted, sample_likelihood

NOISES = [nc.Laplace(1.7), nc.Gaussian(1.3), nc.DiscreteLaplace(1.7), nc.DiscreteGaussian(1.3)]
ANSWERS = [-3.0, 0.0, 2.0, 40.0]
ESTIMATES = ["rounded", "mean", "median", "mode"]
DRAWS = 20_000


@dataclass(frozen=True)
class PopulationCase:
    """A population, and what it is by definition."""

    population: nc.Population  # with at most a dozen records, of which at least two are not known
    law: Law  # the law of its count
    pairs: Sequence[Pair]  # the laws of the count for each kind of record that is positive, and negative


def named(noise: nc.Mechanism) -> str:
    """The name of a kind of noise."""
    return type(noise).__name__


class PopulationContract:
    """Derive a class with the `cases` of a population from it, and all tests run."""

    cases: ClassVar[Sequence[PopulationCase]]

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Run each test for each case, named by its population."""
        if "case" in metafunc.fixturenames:
            metafunc.parametrize("case", self.cases, ids=lambda case: named(case.population))

    def test_law_adds_up_to_1(self, case: PopulationCase) -> None:
        """Every probability is exact, and there is nothing beyond 0..size."""
        law, size = case.population.law(), case.population.size
        assert case.population.records == size
        expected = [float(case.law.pmf(count)) for count in range(size + 1)]
        assert law.pmf(range(size + 1)) == pytest.approx(expected, rel=1e-12, abs=1e-300)
        assert law.probability(0, size) == pytest.approx(1, rel=1e-13)
        assert law.pmf([-1, size + 1, 0.5]).tolist() == [0, 0, 0]
        assert law.mean == pytest.approx(float(case.law.mean), rel=1e-12)
        assert case.population.deep_prior().pmf(range(size + 1)) == pytest.approx(expected, rel=1e-11)

    @pytest.mark.parametrize("noise", NOISES, ids=named)
    def test_posterior_is_exact(self, case: PopulationCase, noise: nc.Mechanism) -> None:
        """Every estimate, with whole columns of answers as with one."""
        size, density = case.population.size, noise_of(noise).density
        for answer in ANSWERS:
            exact = reweighted(case.law, lambda count, y=answer: density(ball(y) - count))
            assert_exact(nc.posterior(answer, case.population, noise), exact)
        told = [nc.posterior(answer, case.population, noise) for answer in ANSWERS]
        means = nc.refine(ANSWERS, case.population, noise)
        assert means == pytest.approx([one.mean for one in told], rel=1e-10, abs=1e-12 * size)
        medians = nc.refine(ANSWERS, case.population, noise, "median")
        assert medians.tolist() == [one.median for one in told]

    def test_posterior_without_noise_is_exact(self, case: PopulationCase) -> None:
        """The count itself, and the positives of a sample."""
        population = case.population
        mode = population.law().mode
        assert nc.posterior(mode, population, nc.Exact()).interval() == (mode, mode)
        seen = sample_likelihood(1, 2, population.size)
        assert_exact(nc.posterior(1, population, nc.Subsample(2)), reweighted(case.law, seen))

    @pytest.mark.parametrize("noise", NOISES, ids=named)
    def test_surprise_is_exact(self, case: PopulationCase, noise: nc.Mechanism) -> None:
        """Twice the smaller tail of the answer, over all counts."""
        told = noise_of(noise)
        for answer in ANSWERS:
            up, down = (
                total(
                    chance * told.exceedance(side * (ball(answer) - count))
                    for count, chance in zip(case.law.counts, case.law.probabilities, strict=True)
                )
                for side in (1, -1)
            )
            exact = min(1.0, 2 * float(min(up, down)))
            found = nc.posterior(answer, case.population, noise).surprise
            assert found == pytest.approx(exact, rel=1e-9)

    def test_known_records_follow_bayes_theorem(self, case: PopulationCase) -> None:
        """Of records that can be exchanged `given` weighs each count by what a sample tells."""
        population = case.population
        if not isinstance(population, Exchangeable):
            return
        for known, positives in ((1, 0), (2, 1), (2, 2)):
            seen = sample_likelihood(positives, known, population.size)
            exact = reweighted(case.law, seen)
            expected = [float(exact.pmf(count)) for count in range(population.size + 1)]
            told = population.given(known, positives)
            assert told.size == population.size
            found = told.law().pmf(range(population.size + 1))
            assert found == pytest.approx(expected, rel=1e-11, abs=1e-300)

    def test_neighbours_are_those_of_the_definition(self, case: PopulationCase) -> None:
        """For each kind of record the law of the count if it is positive, and if negative."""
        size = case.population.size
        found = list(case.population.neighbours())
        assert len(found) == len(case.pairs)
        for neighbours, pair in zip(found, case.pairs, strict=True):
            for side, weights in zip(neighbours, (pair.positive, pair.negative), strict=True):
                exact = Law(pair.first, weights)
                expected = [float(exact.pmf(count)) for count in range(size + 1)]
                assert side.size == size
                assert side.law().pmf(range(size + 1)) == pytest.approx(expected, rel=1e-11, abs=1e-300)

    @pytest.mark.parametrize("mechanism", [nc.Exact(), *NOISES], ids=named)
    def test_privacy_curve_is_exact(self, case: PopulationCase, mechanism: nc.Mechanism) -> None:
        """Both directions and their bracket, from 0 to beyond the loss of the worst case."""
        curve = nc.privacy_curve(mechanism, case.population)
        assert_exact_curve(curve, case.pairs, [0.0, 0.1, 0.7, 2.0])

    @pytest.mark.parametrize("noise", [None, *NOISES], ids=named)
    def test_privacy_curve_of_a_sample_is_exact(self, case: PopulationCase, noise: nc.Mechanism | None) -> None:
        """Also where the record may not be drawn."""
        mechanism = nc.Subsample(2, noise)
        curve = nc.privacy_curve(mechanism, case.population)
        assert_exact_curve(curve, case.pairs, [0.0, 0.1, 0.7])

    @pytest.mark.parametrize("by", ESTIMATES)
    @pytest.mark.parametrize("noise", NOISES[2:], ids=named)
    def test_errors_under_discrete_noise_are_exact(self, case: PopulationCase, noise: nc.Mechanism, by: str) -> None:
        """The error, the improvement and the tie, over all counts and answers."""
        density = midpoints(noise)
        oracle = Oracle(case.law, case.law, density, by, case.population.size)
        error, better, equal = oracle.of_whole_answers(45)
        told = (case.population, noise, by)
        assert nc.mean_absolute_error(*told) == pytest.approx(float(error), rel=1e-9)  # type: ignore[arg-type]
        found = nc.improvement_probability(*told), nc.tie_probability(*told)  # type: ignore[arg-type]
        assert found == pytest.approx((float(better), float(equal)), abs=1e-9)

    @pytest.mark.parametrize(("noise", "by"), [(NOISES[0], "mean"), (NOISES[1], "median")], ids=str)
    def test_errors_under_continuous_noise_are_exact(self, case: PopulationCase, noise: nc.Mechanism, by: str) -> None:
        """The error by a Riemann sum over answers, which of a smooth tail misses little."""
        density, step = midpoints(noise), mpf(1) / 8
        oracle = Oracle(case.law, case.law, density, by, case.population.size)
        exact = riemann_error(oracle, step, 20)
        found = nc.mean_absolute_error(case.population, noise, by)  # type: ignore[arg-type]
        assert found == pytest.approx(exact, rel=3e-3)

    def test_loss_of_a_sample_is_exact(self, case: PopulationCase) -> None:
        """E[(S/m − K/n)²] over the counts, with and without noise."""
        population, drawn = case.population, 2
        size = population.size
        pairs = total(k * (size - k) * case.law.pmf(k) for k in case.law.counts)
        loss = (ball(1) / drawn - ball(1) / size) * pairs / (size * (size - 1))
        found = nc.utility_loss(nc.Subsample(drawn), population)
        assert found == pytest.approx(float(loss), rel=1e-12)
        noisy = nc.utility_loss(nc.Subsample(drawn, nc.Laplace(3)), population)
        assert noisy == pytest.approx(float(loss + ball(18) / drawn**2), rel=1e-12)

    def test_draws_have_the_law(self, case: PopulationCase) -> None:
        """The share of each count among many draws lies within five standard errors."""
        draws = case.population.draws(DRAWS, np.random.default_rng(7))
        assert draws.shape == (DRAWS,)
        for count in range(case.population.size + 1):
            chance = float(case.law.pmf(count))
            share = float((draws == count).mean())
            assert abs(share - chance) <= 5 * (chance * (1 - chance) / DRAWS) ** 0.5


def midpoints(noise: nc.Mechanism) -> Density:
    """The density of a noise, in numbers of mpmath."""
    density = noise_of(noise).density
    return lambda error: mpf(density(ball(error)))


def riemann_error(oracle: Oracle, step: mpf, reach: int) -> float:
    """E|K − estimate| from answers that are a step apart."""
    steps = int((oracle.size + 2 * reach) / step)
    places = [mpf(-reach) + step * (j + mpf("0.37")) for j in range(steps)]
    terms = [
        mpf(weight) * oracle.density(place - count) * abs(count - estimate)
        for place, estimate in zip(places, map(oracle.estimate, places), strict=True)
        for count, weight in zip(oracle.truth.counts, oracle.truth.weights, strict=True)
    ]
    return float(step * mp.fsum(terms) / mpf(oracle.truth.total))
