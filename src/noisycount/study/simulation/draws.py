"""Counts and noise drawn from a seed, for simulations; real answers come from `release`."""

import numpy as np

from noisycount.model.drawing.many import discrete_gaussian_array, discrete_laplace_array
from noisycount.model.laws.expansion import Reals
from noisycount.model.mechanism import Mechanism
from noisycount.model.noises.gaussian import DiscreteGaussian, Gaussian
from noisycount.model.noises.laplace import DiscreteLaplace, Laplace
from noisycount.model.noises.noise_sum import NoiseSum
from noisycount.model.populations.exchangeable import BetaBinomial, Binomial
from noisycount.model.populations.population import Informed, Population
from noisycount.model.populations.strata import Strata
from noisycount.model.populations.tabulated import Tabulated

__all__ = ["drawn_counts", "drawn_noise"]


def drawn_counts(population: Population, runs: int, generator: np.random.Generator) -> Reals:
    """Counts of a population, shape (runs,).

    Raises:
        ValueError: If the population is not one of this package that gives the count a law.
    """
    match population:
        case Binomial(size=size, rate=rate):
            counts = generator.binomial(size, rate, runs)
        case BetaBinomial(size=size, alpha=alpha, beta=beta):
            counts = generator.binomial(size, generator.beta(alpha, beta, runs))
        case Strata():
            kinds = zip(population.sizes.tolist(), population.rates.tolist(), strict=True)
            counts = np.zeros(runs, dtype=np.int64)
            for size, rate in kinds:
                counts += generator.binomial(size, rate, runs)
        case Tabulated():
            below = np.cumsum(np.exp(population.log_probabilities))
            counts = np.searchsorted(below, generator.random(runs) * below[-1], side="right")
        case Informed(rest=rest, positives=positives):
            return drawn_counts(rest, runs, generator) + positives
        case _:
            raise ValueError(
                "population must be Binomial, BetaBinomial, Strata or Tabulated, or one of them "
                f"with some records known, got {population!r}"
            )
    return np.asarray(counts, dtype=np.float64)


def drawn_noise(mechanism: Mechanism, runs: int, generator: np.random.Generator) -> Reals:
    """Noise in records, shape (runs,): continuous as floats, discrete by the exact sampler.

    Raises:
        ValueError: If the mechanism is not noise that is added to the count.
    """
    match mechanism:
        case Laplace(scale=scale):
            return generator.laplace(0.0, scale, runs)
        case Gaussian(scale=scale):
            return generator.normal(0.0, scale, runs)
        case DiscreteLaplace(scale=exact):
            draws = discrete_laplace_array(exact, runs, generator.bytes)
        case DiscreteGaussian(scale=exact):
            draws = discrete_gaussian_array(exact, runs, generator.bytes)
        case NoiseSum(noises=noises):
            total = np.zeros(runs)
            for noise in noises:
                total += drawn_noise(noise, runs, generator)
            return total
        case _:
            raise ValueError(f"mechanism must be noise that is added, got {mechanism!r}")
    return draws.astype(np.float64)
