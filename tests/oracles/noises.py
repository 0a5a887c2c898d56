"""Laws of noises in 80 digits: densities and tails by closed forms, tables and convolutions.

Each number is a ball, so that what is computed from it proves its own digits.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import accumulate, repeat
from operator import mul

from flint import arb, arb_poly, ctx

from noisycount import DiscreteLaplace, Gaussian, Laplace, Mechanism, NoiseSum
from tests.oracles.balls import ball, floor, normal_density, normal_tail, total

DEEPEST = 900  # nepers by which a law has fallen where it is taken to end


@dataclass(frozen=True)
class Noise:
    """A symmetric noise."""

    density: Callable[[arb], arb]  # of the noise, or its probability at an integer
    exceedance: Callable[[arb], arb]  # P[Z >= error]
    width: arb  # A length in which the law hardly changes, for bisection
    reach: arb  # beyond that error the density is below e^−900 of its peak
    # of a law that falls like e^(−steepness·z) in the end; None: of one that falls faster
    steepness: arb | None = None
    is_discrete: bool = False  # whether it lives on the integers
    # the densities at error, error − 1, ... and so on, if there is a fast way
    run: Callable[[arb, int], list[arb]] | None = None
    is_published_table: bool = False  # whether it is taken to end at its reach


def noise_of(mechanism: Mechanism) -> Noise:
    """The law of one noise, or of a sum that has a closed form."""
    if isinstance(mechanism, NoiseSum):
        first, *others = mechanism.noises
        if isinstance(first, DiscreteLaplace) and others == [first]:
            return _twice_discrete_laplace(ball(first.exact_scale))
        return _sum_of_continuous(mechanism.noises)
    scale = ball(mechanism.exact_scale)
    if isinstance(mechanism, Laplace):
        return laplace(scale)
    if isinstance(mechanism, Gaussian):
        return gaussian(scale)
    if isinstance(mechanism, DiscreteLaplace):
        return discrete_laplace(scale)
    return discrete_gaussian(mechanism.exact_scale, ctx.prec)


def laplace(scale: arb) -> Noise:
    """Density e^(−|z|/b)/(2b)."""

    def exceedance(error: arb) -> arb:
        far = (-abs(error) / scale).exp() / 2
        return far if error >= 0 else 1 - far

    ratio = (-1 / scale).exp()

    def run(error: arb, length: int) -> list[arb]:
        ahead = max(0, min(length, floor(error) + 1))
        rising = _geometric(abs(error - ahead + 1), ahead)[::-1]
        return rising + _geometric(abs(error - ahead), length - ahead)

    def _geometric(nearest: arb, length: int) -> list[arb]:
        start = (-nearest / scale).exp() / (2 * scale)
        return list(accumulate(repeat(ratio, length - 1), mul, initial=start)) if length else []

    return Noise(
        lambda error: (-abs(error) / scale).exp() / (2 * scale),
        exceedance,
        width=scale,
        reach=DEEPEST * scale,
        steepness=1 / scale,
        run=run,
    )


def gaussian(scale: arb) -> Noise:
    """Density e^(−z²/(2σ²))/(σ√(2π))."""
    bend = (-1 / scale**2).exp()

    def run(error: arb, length: int) -> list[arb]:
        value, values = normal_density(error, scale), []
        step = ((2 * error - 1) / (2 * scale**2)).exp()
        for _ in range(length):
            values.append(value)
            value, step = value * step, step * bend
        return values

    return Noise(
        lambda error: normal_density(error, scale),
        lambda error: normal_tail(error / scale),
        width=scale,
        reach=arb(2 * DEEPEST).sqrt() * scale,
        run=run,
    )


def discrete_laplace(scale: arb) -> Noise:
    """P[Z = z] = tanh(1/(2b))·e^(−|z|/b)."""

    def exceedance(error: arb) -> arb:
        if error < 1:
            return 1 - exceedance(1 - error)
        return (-error / scale).exp() / (1 + (-1 / scale).exp())

    continuous = laplace(scale)
    peak = (1 / (2 * scale)).tanh() * 2 * scale
    return Noise(
        lambda error: (1 / (2 * scale)).tanh() * (-abs(error) / scale).exp(),
        exceedance,
        width=scale,
        reach=DEEPEST * scale,
        steepness=1 / scale,
        is_discrete=True,
        run=lambda error, length: [peak * value for value in continuous.run(error, length)],  # type: ignore[misc]  # it has one
    )


def _twice_discrete_laplace(scale: arb) -> Noise:
    """P[Z = z] = (1 − q)²/(1 + q)²·q^|z|·(|z| + (1 + q²)/(1 − q²)) with q = e^(−1/b), of two equal ones."""
    q = (-1 / scale).exp()
    share, constant = ((1 - q) / (1 + q)) ** 2, (1 + q * q) / (1 - q * q)

    def exceedance(error: arb) -> arb:
        if error < 1:
            return 1 - exceedance(1 - error)
        return share * (-error / scale).exp() * ((error + constant) / (1 - q) + q / (1 - q) ** 2)

    return Noise(
        lambda error: share * (-abs(error) / scale).exp() * (abs(error) + constant),
        exceedance,
        width=scale,
        reach=DEEPEST * scale,
        steepness=1 / scale,
        is_discrete=True,
    )


@cache
def discrete_gaussian(exact_scale: Fraction, _: int) -> Noise:
    """P[Z = z] ∝ e^(−z²/(2σ²)), summed to e^−900 of the peak, in the digits of now."""
    scale = ball(exact_scale)
    reach = floor(arb(2 * DEEPEST).sqrt() * scale) + 2
    weights = gaussian(scale).run(arb(0), reach + 1)  # type: ignore[misc]  # it has one
    return _tabled(weights, scale)


def _tabled(weights: Sequence[arb], width: arb) -> Noise:
    """The noise with these weights at 0, 1, ..., and at −1, −2, ..."""
    tails = list(accumulate(reversed(weights)))[::-1]
    whole = 2 * tails[0] - weights[0]
    table = [*(weight / whole for weight in weights), arb(0)]
    beyond = [*(tail / whole for tail in tails), arb(0)]
    end = len(weights)

    def exceedance(error: arb) -> arb:
        place = floor(error)
        return beyond[min(place, end)] if place > 0 else 1 - beyond[min(1 - place, end)]

    return Noise(
        lambda error: table[min(abs(floor(error)), end)],
        exceedance,
        width=width,
        reach=arb(end),
        is_discrete=True,
        is_published_table=True,
    )


def sum_of_discrete(noises: Sequence[Mechanism]) -> Noise:
    """The convolution of discrete noises, term by term as far as e^−130 of the widest one."""
    reach = 130 * math.ceil(max(noise.exact_scale for noise in noises)) + 20
    law = [arb(1)]
    for noise in map(noise_of, noises):
        own = [noise.density(arb(z)) for z in range(-reach, reach + 1)]
        law = convolved(law, own)
    middle = len(law) // 2
    return _tabled(law[middle : middle + reach + 1], arb(1))


def convolved(left: Sequence[arb], right: Sequence[arb]) -> list[arb]:
    """The law of a sum of two independent counts: the product of their polynomials."""
    law: list[arb] = (arb_poly(left) * arb_poly(right)).coeffs()
    return law + [arb(0)] * (len(left) + len(right) - 1 - len(law))


def _sum_of_continuous(noises: Sequence[Mechanism]) -> Noise:
    """The sum of Gaussian noises, of two Laplace noises, or of one Laplace and Gaussian noises."""
    variance = total(ball(n.exact_scale) ** 2 for n in noises if isinstance(n, Gaussian))
    scales = sorted(n.exact_scale for n in noises if isinstance(n, Laplace))
    if not scales:
        return gaussian(variance.sqrt())
    if len(scales) == 1:
        scale = ball(scales[0])
        return _laplace_and_gaussian(scale, variance.sqrt()) if variance > 0 else laplace(scale)
    if variance > 0 or len(scales) > 2:
        raise ValueError(f"noises must have a closed form, got {noises!r}")
    return _two_laplace(*map(ball, scales), are_equal=scales[0] == scales[1])


def _two_laplace(small: arb, large: arb, *, are_equal: bool) -> Noise:
    """The difference of two exponentials, or (1 + |z|/b)·e^(−|z|/b)/(4b) for equal scales."""
    b, c = large, small

    def density(error: arb) -> arb:
        x = abs(error)
        if are_equal:
            return (1 + x / b) * (-x / b).exp() / (4 * b)
        return (b * (-x / b).exp() - c * (-x / c).exp()) / (2 * (b**2 - c**2))

    def exceedance(error: arb) -> arb:
        if error < 0:
            return 1 - exceedance(-error)
        if are_equal:
            return (2 + error / b) * (-error / b).exp() / 4
        far = b**2 * (-error / b).exp() - c**2 * (-error / c).exp()
        return far / (2 * (b**2 - c**2))

    return Noise(density, exceedance, width=c, reach=DEEPEST * b, steepness=1 / b)


def _laplace_and_gaussian(scale: arb, deviation: arb) -> Noise:
    """Both sides of the Laplace law rounded by the Gaussian one."""
    b, s = scale, deviation

    def side(error: arb) -> arb:
        return ((s / b) ** 2 / 2 - error / b).exp() * normal_tail(s / b - error / s)

    return Noise(
        lambda error: (side(error) + side(-error)) / (2 * b),
        lambda error: normal_tail(error / s) + (side(error) - side(-error)) / 2,
        width=min(b, s),
        reach=DEEPEST * b + arb(2 * DEEPEST).sqrt() * s,
        steepness=1 / b,
    )
