"""Contract of all noises, against slow sums over their densities."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import noisycount as nc
from noisycount.model.noises.additive import SymmetricNoise
from tests.oracles.noise_definition import Averages, Definition, binomial, delta

ANSWERS = [-3.0, 0.0, 2.0, 40.0]
ESTIMATES = ["answer", "rounded", "mean", "median", "mode"]
SIZE, RATE = 4, 0.3
BETAS = [1e-12, 0.05, 0.5, 0.9]
PLACES = [0.0, 1.0, 2.0, 7.0, 30.0]
DRAWS, RELEASES = 20_000, 400
EXACT = 5e-12


@dataclass(frozen=True)
class NoiseCase:
    """A noise, and what it is by definition."""

    noise: SymmetricNoise
    definition: Definition


class NoiseContract:
    """Derive a class with the `cases` of a noise from it, and all tests run."""

    cases: ClassVar[Sequence[NoiseCase]]

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Run each test for each case, named by its noise."""
        if "case" in metafunc.fixturenames:
            metafunc.parametrize("case", self.cases, ids=lambda case: str(case.noise))

    def test_densities_are_exact(self, case: NoiseCase) -> None:
        """At 0 and up to a constant, which the peak tells."""
        errors, told = case.noise.errors, case.definition
        assert errors.is_discrete == case.noise.is_discrete == told.is_discrete
        assert errors.peak == pytest.approx(float(told.density(0)), rel=1e-11)
        places = np.array([-5.0, *PLACES])
        logs = errors.log_density(places) - errors.log_density(np.zeros(1))
        exact = np.log(told.density(places) / told.density(0))
        assert logs == pytest.approx(exact, rel=1e-11, abs=1e-11)
        for error in (-5.0, 0.0, 12.0):
            steps = np.array([-4.0, -1.0, 0.0, 1.0, 12.0])
            exact = np.log(told.density(error - steps) / told.density(error))
            assert errors.log_change(error, steps) == pytest.approx(exact, abs=1e-11)

    def test_likelihoods_of_counts_are_exact(self, case: NoiseCase) -> None:
        """With their constant, at counts of any shape; a number for a number."""
        counts = np.array([[0, 1, 2], [7, 20, 30]])
        for answer in ANSWERS:
            exact = np.log(case.definition.density(answer - counts))
            found = case.noise.logpmf(answer, counts)
            assert found.shape == counts.shape
            assert found == pytest.approx(exact, rel=1e-11, abs=1e-11)
        assert float(case.noise.logpmf(2, 2)) == pytest.approx(math.log(case.noise.errors.peak))
        if case.noise.is_discrete:
            with pytest.raises(ValueError, match="integer under discrete noise"):
                case.noise.logpmf(0.5, counts)

    def test_likelihoods_of_counts_in_a_sample_are_exact(self, case: NoiseCase) -> None:
        """A sum over what may have been drawn; no count outside 0..size can be."""
        sample, size = nc.Subsample(2, case.noise), 5
        weights = [
            [math.comb(k, s) * math.comb(size - k, 2 - s) / math.comb(size, 2) for s in range(3)]
            for k in range(size + 1)
        ]
        for answer in (-1.0, 2.0):
            exact = np.log(np.array(weights) @ case.definition.density(answer - np.arange(3)))
            found = sample.logpmf(answer, np.arange(-1, size + 2), size)
            assert found[1:-1] == pytest.approx(exact, rel=1e-10, abs=1e-10)
            assert found[[0, -1]].tolist() == [-math.inf, -math.inf]

    def test_tails_and_masses_are_exact(self, case: NoiseCase) -> None:
        """On both sides of 0 and across it, and in logarithms."""
        errors, told = case.noise.errors, case.definition
        places = np.array([-20.0, -3.0, -1.0, *PLACES])
        tails = [told.tail(place) for place in places.tolist()]
        assert errors.exceedance(places) == pytest.approx(tails, rel=EXACT)
        logs = errors.log_exceedance(places)
        assert logs == pytest.approx(np.log(tails), rel=1e-11, abs=1e-12)
        for width in (1.0, 3.0, 20.0):
            masses = [told.mass(place, width) for place in places.tolist()]
            found = errors.between(places, np.full(places.size, width))
            assert found == pytest.approx(masses, rel=1e-10)

    def test_moments_are_exact(self, case: NoiseCase) -> None:
        """The variance, E|Z|, and the loss of utility."""
        noise, told = case.noise, case.definition
        assert noise.mean_absolute == pytest.approx(told.mean_of(abs), rel=1e-10)
        if math.isfinite(noise.variance):
            variance = told.mean_of(np.square)
            assert noise.variance == pytest.approx(variance, rel=1e-11)
            loss = nc.utility_loss(noise, nc.Binomial(10, 0.3))
            assert loss == pytest.approx(variance / 100, rel=1e-11)

    def test_concavity_is_told_truly(self, case: NoiseCase) -> None:
        """The steps of the logarithm fall, or do not."""
        logs = case.noise.errors.log_density(np.arange(60.0) * max(1, round(case.definition.scale)))
        grows = np.diff(logs, 2) > 1e-9 * np.abs(logs[1:-1])
        assert case.noise.is_log_concave == (not grows.any())

    def test_posterior_is_exact(self, case: NoiseCase) -> None:
        """Means by one and by columns, medians and modes, below, inside and above 0..size."""
        population, prior = nc.Binomial(12, RATE), binomial(12, RATE)
        means = Averages(case.definition, prior, "mean").estimates(np.array(ANSWERS))
        told = [nc.posterior(y, population, case.noise) for y in ANSWERS]
        assert [one.mean for one in told] == pytest.approx(means, rel=1e-10)
        assert nc.refine(ANSWERS, population, case.noise) == pytest.approx(means, rel=1e-10)
        for by in ("median", "mode"):
            exact = Averages(case.definition, prior, by).estimates(np.array(ANSWERS))
            assert nc.refine(ANSWERS, population, case.noise, by).tolist() == exact.tolist()  # type: ignore[call-overload]
            assert [getattr(one, by) for one in told] == exact.tolist()

    def test_surprise_is_exact(self, case: NoiseCase) -> None:
        """Twice the smaller tail of the answer."""
        population, prior = nc.Binomial(6, RATE), binomial(6, RATE)
        for answer in (-3.0, 40.0):
            sides = [
                sum(p * case.definition.tail(side * (answer - k)) for k, p in enumerate(prior)) for side in (1, -1)
            ]
            found = nc.posterior(answer, population, case.noise).surprise
            assert found == pytest.approx(2 * min(sides), rel=1e-9)

    @pytest.mark.few(0)
    def test_many_answers_are_refined_like_single_ones(self, case: NoiseCase) -> None:
        """The short cuts for columns are exact."""
        population = nc.Binomial(200, RATE)
        answers = np.round(np.linspace(-20, 240, 14))
        told = [nc.posterior(y, population, case.noise).mean for y in answers.tolist()]
        assert nc.refine(answers, population, case.noise) == pytest.approx(told, rel=1e-10)

    def test_the_answer_alone_is_told_by_its_noise(self, case: NoiseCase) -> None:
        """The posterior of a sample is a sum over what may have been drawn."""
        population, prior = nc.Binomial(5, RATE), binomial(5, RATE)
        pairs = np.array([[math.comb(k, s) * math.comb(5 - k, 2 - s) for s in range(3)] for k in range(6)])
        for answer in (-1.0, 2.0):
            weights = prior * (pairs @ case.definition.density(answer - np.arange(3)))
            mean = (weights @ np.arange(6)) / weights.sum()
            found = nc.posterior(answer, population, nc.Subsample(2, case.noise)).mean
            assert found == pytest.approx(mean, rel=1e-10)

    @pytest.mark.parametrize("beta", BETAS)
    def test_accuracy_inverts_the_tail(self, case: NoiseCase, beta: float) -> None:
        """To 1e-10 of beta, or by the smallest integer."""
        noise, told = case.noise, case.definition
        alpha = nc.accuracy(noise, beta)
        tail = 2 * told.tail(alpha)
        assert nc.failure_probability(noise, alpha) == pytest.approx(tail, rel=1e-9)
        if noise.is_discrete:
            assert isinstance(alpha, int)
            assert tail <= beta * (1 + 1e-10) < 2 * told.tail(alpha - 1) * (1 + 2e-10)
        else:
            assert tail == pytest.approx(beta, rel=1e-9)
        assert nc.accuracy(noise, beta, queries=3) >= alpha

    def test_answers_out_of_range_are_as_likely_as_the_tails_tell(self, case: NoiseCase) -> None:
        """Below 0 and above the size, the least and the most of all counts."""
        gap = 1 if case.noise.is_discrete else 0
        exact = [case.definition.tail(k + gap) + case.definition.tail(9 - k + gap) for k in range(10)]
        found = [nc.out_of_range_probability(k, 9, case.noise) for k in range(10)]
        assert found == pytest.approx(exact, rel=1e-10)
        bounds = nc.out_of_range_bounds(9, case.noise)
        assert bounds == pytest.approx((min(exact), max(exact)), rel=1e-10)

    def test_draws_and_releases_have_the_law(self, case: NoiseCase) -> None:
        """The share of errors within alpha lies within six standard errors: 2e-9 by chance."""
        noise = case.noise
        draws = noise.draws(DRAWS, np.random.default_rng(11))
        released = np.array([noise.release(1) for _ in range(RELEASES)], dtype=np.float64) - 1
        assert draws.shape == (DRAWS,)
        for beta in (0.1, 0.5, 0.9):
            alpha = nc.accuracy(noise, beta)
            chance = 2 * case.definition.tail(alpha)
            for some in (draws, released):
                away = np.abs(some) >= alpha
                assert abs(away.mean() - chance) <= 6 * (chance * (1 - chance) / away.size) ** 0.5
                above = (some > 0).mean() - (some < 0).mean()
                assert abs(above) <= 6 / away.size**0.5
        if noise.is_discrete:
            assert (draws == np.round(draws)).all()
            assert isinstance(noise.release(0), int)
            with pytest.raises(ValueError, match="integer under discrete noise"):
                noise.likelihood(0.5, 10)

    @pytest.mark.parametrize("population", [None, nc.Binomial(SIZE, RATE)], ids=str)
    def test_privacy_curves_are_exact(self, case: NoiseCase, population: nc.Binomial | None) -> None:
        """The worst case and somebody who knows the law, or a refusal by name."""
        if not case.noise.is_log_concave:
            with pytest.raises(ValueError, match="log-concave density for a privacy curve"):
                nc.privacy_curve(case.noise, population)
            return
        curve = nc.privacy_curve(case.noise, population)
        others = np.ones(1) if population is None else binomial(SIZE - 1, RATE)
        plus, minus = np.append(0.0, others), np.append(others, 0.0)
        for epsilon in (0.0, 0.1, 0.4):
            exact = max(
                delta(case.definition, plus, minus, epsilon), delta(case.definition, minus[::-1], plus[::-1], epsilon)
            )
            assert curve.delta(epsilon) == pytest.approx(exact, rel=1e-9, abs=1e-14)
            lower, upper = curve.bracket(epsilon)
            assert lower * (1 - 1e-11) <= exact <= upper * (1 + 1e-11)
        if case.noise.epsilon is not None:
            assert curve.delta(float(case.noise.epsilon) * (1 + 1e-12)) == 0 or population

    @pytest.mark.parametrize("by", ESTIMATES)
    def test_averages_are_exact(self, case: NoiseCase, by: str) -> None:
        """The mean absolute error of every estimate and how often it is better than the answer."""
        told = (nc.Binomial(SIZE, RATE), case.noise, by)
        if not case.noise.is_log_concave and by in {"mean", "median", "mode"}:
            for average in (nc.mean_absolute_error, nc.improvement_probability):
                with pytest.raises(ValueError, match=f"log-concave density for .* by '{by}'"):
                    average(*told)  # type: ignore[arg-type]
            return
        if not case.noise.is_log_concave:
            return
        error, better = Averages(case.definition, binomial(SIZE, RATE), by).found
        assert nc.mean_absolute_error(*told) == pytest.approx(error, rel=1e-8)  # type: ignore[arg-type]
        assert nc.improvement_probability(*told) == pytest.approx(better, abs=1e-8)  # type: ignore[arg-type]
