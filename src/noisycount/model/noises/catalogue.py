"""The kinds of noise that have one scale, as a list for error messages, forms and tests.

`NOISES` has the classes; each class is documented in its own file.
"""

from noisycount.model.noises.additive import AdditiveNoise
from noisycount.model.noises.discrete_gaussian import DiscreteGaussian
from noisycount.model.noises.gaussian import Gaussian
from noisycount.model.noises.laplace import DiscreteLaplace, Laplace

NoiseClass = type[AdditiveNoise]  # a class that builds noise from a scale
NOISES: tuple[NoiseClass, ...] = (Laplace, Gaussian, DiscreteLaplace, DiscreteGaussian)


def noise_class(noise: object) -> NoiseClass:
    """Return the argument if it is a class of noise; raise ValueError otherwise."""
    if isinstance(noise, type) and issubclass(noise, AdditiveNoise):
        return noise
    *names, last = (kind.__name__ for kind in NOISES)
    raise ValueError(f"noise must be {', '.join(names)} or {last}, the class itself, got {noise!r}")
