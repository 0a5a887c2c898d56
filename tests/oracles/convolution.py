"""Laws of sums of noises in 50 digits: by closed forms, and term by term."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from itertools import accumulate

from flint import arb
from mpmath import mp, mpf

import noisycount as nc
from tests.oracles.balls import dot

mp.dps = 50
TOLERANCE = 1e-11
DISCRETE = [
    [nc.DiscreteLaplace(1), nc.DiscreteLaplace(1)],
    [nc.DiscreteLaplace(Fraction(1, 100)), nc.DiscreteLaplace(Fraction(1, 50))],
    [nc.DiscreteLaplace(5), nc.DiscreteLaplace(Fraction(1, 4)), nc.DiscreteLaplace(2)],
    [nc.DiscreteGaussian(Fraction(1, 2)), nc.DiscreteGaussian(Fraction(1, 2))],
    [nc.DiscreteGaussian(Fraction(1, 10)), nc.DiscreteGaussian(Fraction(1, 5))],
    [nc.DiscreteGaussian(Fraction(1, 8)), nc.DiscreteGaussian(Fraction(1, 8))],
    [nc.DiscreteGaussian(Fraction(1, 16))] * 4,
    [nc.DiscreteGaussian(1), nc.DiscreteGaussian(3)],
    [nc.DiscreteLaplace(Fraction(1, 10)), nc.DiscreteGaussian(Fraction(1, 2))],
    [nc.DiscreteLaplace(6), nc.DiscreteGaussian(2)],
    [nc.DiscreteLaplace(6), nc.DiscreteGaussian(3)],
    [nc.DiscreteLaplace(2), nc.DiscreteGaussian(1), nc.DiscreteGaussian(Fraction(1, 3))],
]


def density(noise: nc.Mechanism) -> Callable[[mpf], mpf]:
    """The density of a noise, or its probabilities, in 50 digits."""
    scale = mpf(noise.exact_scale.numerator) / noise.exact_scale.denominator
    if isinstance(noise, nc.Laplace):
        return lambda error: mp.exp(-abs(error) / scale) / (2 * scale)
    if isinstance(noise, nc.DiscreteLaplace):
        top = mp.tanh(1 / (2 * scale))
        return lambda error: top * mp.exp(-abs(error) / scale)
    if isinstance(noise, nc.Gaussian):
        return lambda error: mp.npdf(error, 0, scale)
    reach = int(20 * scale) + 5
    total = mp.fsum(mp.exp(-(mpf(k) ** 2) / (2 * scale**2)) for k in range(-reach, reach + 1))
    return lambda error: mp.exp(-(error**2) / (2 * scale**2)) / total


def tail(noise: nc.Mechanism, error: mpf) -> mpf:
    """P[Z >= error] of a continuous noise."""
    scale = mpf(noise.exact_scale.numerator) / noise.exact_scale.denominator
    if isinstance(noise, nc.Gaussian):
        return mp.erfc(error / (scale * mp.sqrt(2))) / 2
    far = mp.exp(-abs(error) / scale) / 2
    return far if error >= 0 else 1 - far


@cache
def table(noise: nc.Mechanism, reach: int) -> list[arb]:
    """The probabilities of a discrete noise on −reach..reach, which are the same on both sides."""
    law = density(noise)
    half = [arb(law(mpf(k))) for k in range(reach + 1)]
    return half[:0:-1] + half


def convolved(noises: Sequence[nc.Mechanism], reach: int) -> list[mpf]:
    """The law of a sum of discrete noises on −reach..reach, term by term."""
    width = 3 * reach

    def join(left: list[arb], right: list[arb]) -> list[arb]:
        mirrored = right[::-1]
        half = [dot(left[k:], mirrored[: 2 * width + 1 - k]) for k in range(width + 1)]
        return half[:0:-1] + half

    *_, law = accumulate((table(noise, width) for noise in noises), join)
    return list(map(mpf, law[width - reach : width + reach + 1]))


def two_laplace(first: float, second: float, error: float) -> mpf:
    """The log-density of a sum of two Laplace noises in closed form."""
    b, c, x = mpf(first), mpf(second), abs(mpf(error))
    if b == c:
        return mp.log((1 + x / b) * mp.exp(-x / b) / (4 * b))
    return mp.log((b * mp.exp(-x / b) - c * mp.exp(-x / c)) / (2 * (b**2 - c**2)))


def equal_laplace(count: int, error: float) -> mpf:
    """The log-density of a sum of equal Laplace noises of scale 1: a Bessel function."""
    x, order = mpf(error), count - mpf(1) / 2
    if x == 0:
        return mp.log(mp.gamma(order) / (2 * mp.sqrt(mp.pi) * mp.gamma(count)))
    bessel = (x / 2) ** order * mp.besselk(order, x)
    return mp.log(bessel / (mp.sqrt(mp.pi) * mp.gamma(count)))


def laplace_and_gaussian(scale: float, deviation: float, error: float) -> mpf:
    """The log-density of Laplace plus Gaussian noise in closed form."""
    b, s = mpf(scale), mpf(deviation)
    sides = (
        mp.exp((s / b) ** 2 / 2 - x / b) * mp.erfc((s**2 / b - x) / (s * mp.sqrt(2))) for x in (mpf(error), -mpf(error))
    )
    return mp.log(mp.fsum(sides) / (4 * b))


def assert_close(found: Sequence[float], exact: Sequence[mpf]) -> None:
    """Within 1e-11 where the logarithm is above −2000, and 1e-14 relative beyond."""
    for value, goal in zip(found, exact, strict=True):
        assert abs(value - goal) <= TOLERANCE + max(0, -goal - 2000) * 1e-14, goal
