"""Privacy curves at random settings: consistent with themselves, and their brackets true."""

import math
import random

import numpy as np
import pytest
from tests.oracles.random_curves import random_setting as random_hard_setting

import noisycount as nc

ENCLOSED = 20_000  # settings that are compared with sums of another make
RUNS = 20
SETTINGS = 750
SEEDS = range(4)
TABLES = 300_000  # records up to which a second way of computing is quick


def uniform_in_logarithm(source: random.Random, low: float, high: float) -> float:
    """A number between two others."""
    return math.exp(source.uniform(math.log(low), math.log(high)))


def random_rate(source: random.Random) -> float:
    """Anywhere, or near 0 or 1."""
    rare = uniform_in_logarithm(source, 1e-9, 0.5)
    return source.choice([source.random(), rare, 1 - rare])


def random_noise(source: random.Random) -> nc.Mechanism:
    """Of any kind and scale, or none."""
    scale = uniform_in_logarithm(source, 1e-4, 1e8)
    rounded = round(scale, 6)
    kinds = [nc.Laplace(scale), nc.Gaussian(scale), nc.DiscreteLaplace(rounded)]
    return source.choice([*kinds, nc.DiscreteGaussian(rounded), nc.Exact()])


def random_setting(source: random.Random) -> tuple[nc.Mechanism, nc.Population, list[float]]:
    """A mechanism, a population, and ε from 0 to where δ is about e^−18 without noise."""
    size, rate, noise = (
        int(uniform_in_logarithm(source, 2, 1e9)),
        random_rate(source),
        random_noise(source),
    )
    population: nc.Population = nc.Binomial(size, rate)
    if source.random() < 0.2:
        shapes = [uniform_in_logarithm(source, 0.01, 1e4) for _ in range(2)]
        population = nc.BetaBinomial(size, *shapes)
    if source.random() < 0.25:
        drawn = source.randint(1, min(size, 10**6))
        noise = nc.Subsample(drawn, None if isinstance(noise, nc.Exact) else noise)
    top = min(6 / max(math.sqrt(size * rate * (1 - rate)), 0.3), 50.0)
    if isinstance(noise, nc.Laplace | nc.DiscreteLaplace) and source.random() < 0.5:
        top = min(top, float(noise.epsilon))
    epsilons = [0.0, *(uniform_in_logarithm(source, 1e-3, 1.0) * top for _ in range(3))]
    return noise, population, sorted(epsilons)


@pytest.mark.parametrize("seed", SEEDS)
def test_curves_agree_with_themselves(seed: int) -> None:
    """They fall; brackets are narrow; a point is that of a curve; groups are as one population."""
    source = random.Random(seed)  # noqa: S311  (settings of a test)
    for _ in range(SETTINGS):
        noise, population, epsilons = random_setting(source)
        setting = f"{noise} {population} {epsilons}"
        curve = nc.privacy_curve(noise, population)
        deltas = curve.delta(epsilons)
        lower, upper = curve.bracket(epsilons)
        assert (deltas[1:] <= deltas[:-1] * (1 + 1e-9) + 1e-300).all(), setting
        assert (upper - lower <= 1e-8 * upper + 1e-200).all(), setting  # below, terms underflow
        assert curve.delta(epsilons[2]) == pytest.approx(deltas[2], rel=1e-9, abs=1e-60), setting
        is_plain = isinstance(population, nc.Binomial) and not isinstance(noise, nc.Subsample)
        if is_plain and population.size < TABLES:
            groups = nc.Strata([population.size], [population.rate])
            told = nc.privacy_curve(noise, groups).delta(epsilons)
            assert np.allclose(told, deltas, rtol=2e-9, atol=1e-60), setting


@pytest.mark.parametrize("run", range(RUNS))
def test_brackets_hold_the_definition(run: int) -> None:
    """For all populations, mechanisms and samples, mostly where curves have corners or end."""
    settings = range(run, ENCLOSED, RUNS)
    faults = {seed: random_hard_setting(random.Random(seed)).fault for seed in settings}  # noqa: S311  (settings of a test)
    wrong = [f"setting {seed}: {fault}" for seed, fault in faults.items() if fault]
    assert not wrong, "\n".join(wrong)
