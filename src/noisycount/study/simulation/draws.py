"""Noise drawn from a seed, for simulations; real answers come from `release`."""

import numpy as np

from noisycount.model.drawing.many import discrete_gaussian_array, discrete_laplace_array
from noisycount.model.laws.expansion import Reals
from noisycount.model.mechanism import Mechanism
from noisycount.model.noises.gaussian import DiscreteGaussian, Gaussian
from noisycount.model.noises.laplace import DiscreteLaplace, Laplace
from noisycount.model.noises.noise_sum import NoiseSum

__all__ = ["drawn_noise"]


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
