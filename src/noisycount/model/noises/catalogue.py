"""The noises of one kind and one scale: whoever lists them reads them here."""

from noisycount.model.noises.additive import AdditiveNoise
from noisycount.model.noises.discrete_gaussian import DiscreteGaussian
from noisycount.model.noises.gaussian import Gaussian
from noisycount.model.noises.laplace import DiscreteLaplace, Laplace

NoiseClass = type[AdditiveNoise]  # a class of noise, which makes noise of a scale
NOISES: tuple[NoiseClass, ...] = (Laplace, Gaussian, DiscreteLaplace, DiscreteGaussian)


def noise_class(noise: object) -> NoiseClass:
    """The class of noise that was given."""
    if isinstance(noise, type) and issubclass(noise, AdditiveNoise):
        return noise
    *names, last = (kind.__name__ for kind in NOISES)
    raise ValueError(f"noise must be {', '.join(names)} or {last}, the class itself, got {noise!r}")
