"""Sums of wide noises, whose tails cancel to one part in their scale, against closed forms."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from mpmath import erfc, exp, log, mp, mpf, sqrt

import noisycount as nc

SHARES = [0.0, 0.3, 0.8, 0.95]
"""ε in units of the largest rate of the noise."""


@dataclass(frozen=True)
class Law:
    """A law of noise: its density or probability, and P[Z >= z], at z > −10."""

    density: Callable[[mpf], mpf]
    tail: Callable[[mpf], mpf]
    reach: mpf
    is_discrete: bool = False

    def delta(self, epsilon: float) -> mpf:
        """P[Z >= t − 1] − e^ε·P[Z >= t] at the t from which on the densities' ratio exceeds e^ε."""
        low, high = mpf(-10), mpf(int(self.reach))

        def is_passed(t: mpf) -> bool:
            return bool(log(self.density(t - 1)) - log(self.density(t)) >= mpf(epsilon))

        assert is_passed(high)
        while high - low > (1 if self.is_discrete else mpf(10) ** -35):
            middle = (low + high) // 2 if self.is_discrete else (low + high) / 2
            low, high = (low, middle) if is_passed(middle) else (middle, high)
        return self.tail(high - 1) - exp(mpf(epsilon)) * self.tail(high)


def mirrored(tail: Callable[[mpf], mpf], first: int = 0) -> Callable[[mpf], mpf]:
    """The tail on both sides of 0."""
    return lambda z: tail(z) if z >= first else 1 - tail(first - z)


def twice_discrete_laplace(scale: float) -> tuple[nc.NoiseSum, Law]:
    """Two equal discrete Laplace noises."""
    q = exp(-1 / mpf(scale))
    share, constant = ((1 - q) / (1 + q)) ** 2, (1 + q * q) / (1 - q * q)
    law = Law(
        lambda z: share * q ** abs(z) * (abs(z) + constant),
        mirrored(lambda z: share * q**z * ((z + constant) / (1 - q) + q / (1 - q) ** 2), 1),
        10**4 * mpf(scale),
        is_discrete=True,
    )
    return nc.NoiseSum([nc.DiscreteLaplace(scale)] * 2), law


def twice_laplace(scale: float) -> tuple[nc.NoiseSum, Law]:
    """Two equal Laplace noises."""
    b = mpf(scale)
    law = Law(
        lambda z: (1 + abs(z) / b) * exp(-abs(z) / b) / (4 * b),
        mirrored(lambda z: (2 + z / b) * exp(-z / b) / 4),
        10**4 * b,
    )
    return nc.NoiseSum([nc.Laplace(scale)] * 2), law


def two_laplaces(scale: float) -> tuple[nc.NoiseSum, Law]:
    """Two Laplace noises, of which one is a third as wide."""
    scales = [mpf(scale), mpf(scale / 3)]
    squares = [one * one for one in scales]
    shares = [squares[0] / (squares[0] - squares[1]), squares[1] / (squares[1] - squares[0])]
    parts = list(zip(shares, scales, strict=True))
    law = Law(
        lambda z: sum(share * exp(-abs(z) / b) / (2 * b) for share, b in parts),
        mirrored(lambda z: sum(share * exp(-z / b) / 2 for share, b in parts)),
        10**3 * scales[0],
    )
    return nc.NoiseSum([nc.Laplace(scale), nc.Laplace(scale / 3)]), law


def laplace_and_gaussian(scale: float) -> tuple[nc.NoiseSum, Law]:
    """Laplace and Gaussian noise of one scale."""
    b = mpf(scale)

    def beyond(x: mpf) -> mpf:
        return erfc(x / sqrt(2)) / 2

    def parts(z: mpf) -> tuple[mpf, mpf]:
        u = z / b
        return exp(mpf(1) / 2 - u) * beyond(1 - u), exp(mpf(1) / 2 + u) * beyond(1 + u)

    law = Law(
        lambda z: sum(parts(z)) / (2 * b),
        lambda z: beyond(z / b) + parts(z)[0] / 2 - parts(z)[1] / 2,
        60 * b,
    )
    return nc.NoiseSum([nc.Laplace(scale), nc.Gaussian(scale)]), law


@pytest.mark.few(1)
@pytest.mark.parametrize("scale", [3.0, 1e3, 1e7, 1e9])
@pytest.mark.parametrize(
    "made", [twice_discrete_laplace, twice_laplace, two_laplaces, laplace_and_gaussian]
)
def test_the_worst_case_of_a_wide_sum_is_exact(
    made: Callable[[float], tuple[nc.NoiseSum, Law]], scale: float
) -> None:
    """δ to 1e-10, in a bracket of 1e-8, up to a twentieth below the ε at which it ends."""
    with mp.workdps(60):
        noise, law = made(scale)
        curve = nc.privacy_curve(noise)
        for share in SHARES:
            epsilon = share / scale
            delta = law.delta(epsilon)
            low, high = curve.bracket(epsilon)
            assert mpf(low) <= delta <= mpf(high)
            assert high - low < 1e-8 * low
            assert abs(curve.delta(epsilon) / delta - 1) < 1e-10
