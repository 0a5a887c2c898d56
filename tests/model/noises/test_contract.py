import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx
from mpmath import mp, mpf

import noisycount as nc
from noisycount.model.laws.gamma import Reals
from noisycount.model.noises.additive import AdditiveNoise
from noisycount.model.noises.catalogue import NOISES
from tests.model.noises.contract import NoiseCase, NoiseContract
from tests.oracles.balls import certified, normal_tail
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
    return NoiseCase(kind(scale), Definition(SHAPES[shape](scale), scale, bool(words), REACHES[shape]))


def two_laplace(wide: float, narrow: float) -> Shape:
    """The convolution of two Laplace densities, up to a constant."""
    return lambda z: wide * np.exp(-abs(z) / wide) - narrow * np.exp(-abs(z) / narrow)


class TestNoises(NoiseContract):
    """The noises of the package, each at a scale where nothing is negligible."""

    cases = [defined(kind, 1.75) for kind in NOISES]  # noqa: RUF012  (read only)


class TestSums(NoiseContract):
    """Two noises that are added have the convolution of their laws."""

    cases = [  # noqa: RUF012  (read only)
        NoiseCase(nc.NoiseSum([nc.Laplace(2.0), nc.Laplace(0.75)]), Definition(two_laplace(2, 0.75), 2.0)),
        NoiseCase(nc.NoiseSum([nc.Gaussian(0.75), nc.Gaussian(1.0)]), Definition(gaussian(1.25), 1.25, reach=16.0)),
    ]


def test_the_catalogue_is_what_is_public() -> None:
    """Every noise of one scale has a public name, and every public name of one is in the tuple."""
    public = {getattr(nc, name) for name in nc.__all__}
    kinds = {one for one in public if isinstance(one, type) and issubclass(one, AdditiveNoise)}
    assert kinds == set(NOISES)


mp.dps = 50
LAPLACES = [nc.Laplace(3.0), nc.Laplace(0.01), nc.Laplace(1e9)]
GAUSSIANS = [nc.Gaussian(3.0), nc.Gaussian(0.01), nc.Gaussian(1e9)]
DISCRETE_LAPLACES = [nc.DiscreteLaplace(scale) for scale in (3, Fraction(1, 7), 10**6)]
DISCRETE_GAUSSIANS = [nc.DiscreteGaussian(scale) for scale in (Fraction(3, 10), 3, 63, 64, 100)]
EXACT = 5e-12
SMALL = mpf("1e-290")


def masses_and_tails(noise: nc.Mechanism, last: int) -> tuple[list[mpf], list[mpf]]:
    """P[Z = z] and P[Z >= z] of discrete noise for z = −last..last, from the sum of all weights."""
    scale = mpf(noise.scale.numerator) / noise.scale.denominator
    far = last + math.ceil(60 * float(noise.scale)) + 2
    square = isinstance(noise, nc.DiscreteGaussian)
    weights = [mp.exp(-((z / scale) ** 2) / 2 if square else -abs(z) / scale) for z in range(-far, far + 1)]
    whole, tail, tails = mp.fsum(weights), mpf(0), {}
    for z in range(far, -last - 1, -1):
        tail += weights[z + far]
        tails[z] = tail / whole
    run = range(-last, last + 1)
    return [weights[z + far] / whole for z in run], [tails[z] for z in run]


def faults(found: Reals, exact: list[mpf]) -> list[str]:
    """Values above 1e-290 that are off by more than 5e-12 of themselves."""
    return [
        f"{index}: {value!r} for {mp.nstr(goal, 17)}"
        for index, (value, goal) in enumerate(zip(found.tolist(), exact, strict=True))
        if abs(value - goal) > EXACT * goal and goal > SMALL
    ]


@pytest.mark.parametrize("noise", [DISCRETE_LAPLACES[0], DISCRETE_LAPLACES[1], *DISCRETE_GAUSSIANS])
@pytest.mark.parametrize("width", [0, 2, 40])
def test_tails_and_masses_of_discrete_noise_are_sums(noise: nc.Mechanism, width: int) -> None:
    """On both sides of 0 and across it."""
    last = 60
    masses, tails = masses_and_tails(noise, last + width)
    law = noise.errors
    errors = np.arange(-last, last + 1, dtype=np.float64)
    assert not faults(law.exceedance(errors), tails[width : width + errors.size])
    exact = [mp.fsum(masses[width + k : 2 * width + k]) for k in range(errors.size)]
    found = law.between(errors, np.full_like(errors, width))
    assert not faults(found, exact)
    assert width > 0 or not found.any()


def exceedance(noise: nc.Mechanism, error: arb) -> arb:
    """P[Z >= z] of continuous noise."""
    units = error / arb(noise.scale)
    if isinstance(noise, nc.Gaussian):
        return normal_tail(units)
    tail = (-abs(units)).exp() / 2
    return tail if error >= 0 else 1 - tail


@pytest.mark.few(2)
@pytest.mark.parametrize("noise", [*LAPLACES, *GAUSSIANS], ids=str)
@pytest.mark.parametrize("width", [1e-9, 0.1, 0.99, 1.5, 40.0])
def test_tails_and_masses_of_continuous_noise_are_closed_forms(noise: nc.Mechanism, width: float) -> None:
    """Also of masses that are differences of nearly equal tails: the reference keeps 350 digits."""
    law = noise.errors
    units = np.linspace(-36, 36, 73)
    low, widths = units * noise.scale, np.full(units.size, width * noise.scale)
    with ctx.workdps(350):
        exact = [exceedance(noise, arb(error)) for error in low.tolist()]
        ends = [arb(error) + arb(wide) for error, wide in zip(low, widths, strict=True)]
        masses = [certified(tail - exceedance(noise, end)) for tail, end in zip(exact, ends, strict=True)]
    assert not faults(law.exceedance(low), [certified(tail) for tail in exact])
    assert not faults(law.between(low, widths), masses)


@pytest.mark.parametrize("noise", [*LAPLACES, *GAUSSIANS, *DISCRETE_LAPLACES, *DISCRETE_GAUSSIANS], ids=str)
def test_changes_of_the_logarithm_do_not_cancel(noise: nc.Mechanism) -> None:
    """Between errors that are near each other and far from 0."""
    law = noise.errors
    steps = np.array([-5.0, -1.0, 0.0, 1.0, 3.0, 2000.0])
    for error in (-1000.0, -2.0, 0.0, 2.0, 1000.0):
        scale = mpf(Fraction(noise.scale).numerator) / Fraction(noise.scale).denominator
        is_gaussian = isinstance(noise, nc.Gaussian | nc.DiscreteGaussian)
        for step, change in zip(steps.tolist(), law.log_change(error, steps).tolist(), strict=True):
            before, after = mpf(error) / scale, mpf(error - step) / scale
            exact = (before**2 - after**2) / 2 if is_gaussian else abs(before) - abs(after)
            assert abs(change - exact) <= 1e-14 * abs(exact)


@pytest.mark.parametrize("noise", [LAPLACES[0], GAUSSIANS[0], DISCRETE_LAPLACES[0]], ids=str)
def test_the_reach_is_where_the_density_has_fallen(noise: nc.Mechanism) -> None:
    """By e^depth."""
    law = noise.errors
    assert law.log_density(np.array([law.distance_at_depth(50.0)])) == pytest.approx([-50.0])


def test_sums_of_noises_agree_with_their_scalar_tails() -> None:
    """And with the noise itself if there is but one."""
    noise = nc.NoiseSum([nc.DiscreteLaplace(2), nc.DiscreteGaussian(3)])
    errors = np.arange(-20.0, 21.0)
    exact = [math.exp(noise.log_exceedance(error)) for error in errors.tolist()]
    assert noise.errors.exceedance(errors) == pytest.approx(exact, rel=1e-12)
    masses = noise.errors.between(errors, np.full_like(errors, 2.0))
    assert masses[10:31] == pytest.approx([exact[k] - exact[k + 2] for k in range(10, 31)], rel=1e-9)
    assert noise.errors.largest_log_change == Fraction(1, 2)
    assert nc.NoiseSum([nc.Laplace(3.0)]).errors == nc.Laplace(3.0).errors
    assert nc.NoiseSum([nc.Gaussian(3.0), nc.Gaussian(4.0)]).errors == nc.Gaussian(5.0).errors


def test_noise_of_any_small_scale_changes_no_integer() -> None:
    """Also where 1/scale is as large as a float can be."""
    law = nc.Laplace(1e-300).errors
    assert law.exceedance(np.array([-1.0, 0.0, 1.0])).tolist() == [1.0, 0.5, 0.0]
    assert law.between(np.array([-1.0, 0.0, 1.0]), np.ones(3)).tolist() == [0.5, 0.5, 0.0]
