from collections.abc import Callable

import numpy as np

import noisycount as nc
from noisycount.model.noises.additive import AdditiveNoise
from noisycount.model.noises.catalogue import NOISES
from tests.model.noises.contract import NoiseCase, NoiseContract
from tests.oracles.noise_definition import Definition, Shape


def laplace(scale: float) -> Shape:
    """e^(−|z|/scale)."""
    return lambda z: np.exp(-abs(z) / scale)


def gaussian(scale: float) -> Shape:
    """e^(−z²/(2·scale²))."""
    return lambda z: np.exp(-((z / scale) ** 2) / 2)


SHAPES: dict[str, Callable[[float], Shape]] = {"laplace": laplace, "gaussian": gaussian}


REACHES = {"laplace": 50.0, "gaussian": 16.0}


def defined(kind: type[AdditiveNoise], scale: float) -> NoiseCase:
    """A noise of the package beside the shape that its name tells."""
    *words, shape = str(kind.name).lower().split()
    return NoiseCase(
        kind(scale), Definition(SHAPES[shape](scale), scale, bool(words), REACHES[shape])
    )


def two_laplace(wide: float, narrow: float) -> Shape:
    """The convolution of two Laplace densities, up to a constant."""
    return lambda z: wide * np.exp(-abs(z) / wide) - narrow * np.exp(-abs(z) / narrow)


class TestNoises(NoiseContract):
    """The noises of the package, each at a scale where nothing is negligible."""

    cases = [defined(kind, 1.75) for kind in NOISES]  # noqa: RUF012  (read only)


class TestSums(NoiseContract):
    """Two noises that are added have the convolution of their laws."""

    cases = [  # noqa: RUF012  (read only)
        NoiseCase(
            nc.NoiseSum([nc.Laplace(2.0), nc.Laplace(0.75)]), Definition(two_laplace(2, 0.75), 2.0)
        ),
        NoiseCase(
            nc.NoiseSum([nc.Gaussian(0.75), nc.Gaussian(1.0)]),
            Definition(gaussian(1.25), 1.25, reach=16.0),
        ),
    ]


def test_the_catalogue_is_what_is_public() -> None:
    """Every noise of one scale has a public name, and every public name of one is in the tuple."""
    public = {getattr(nc, name) for name in nc.__all__}
    kinds = {one for one in public if isinstance(one, type) and issubclass(one, AdditiveNoise)}
    assert kinds == set(NOISES)
