"""Laws of noise at any error and scale, as balls: deep tails and wide noise too."""

from fractions import Fraction
from functools import lru_cache
from itertools import accumulate

from flint import arb, arb_poly, ctx

import noisycount as nc
from tests.oracles.balls import ball, floor
from tests.oracles.noises import Noise, noise_of

__all__ = ["absolute_mean", "density", "exceedance", "reaching", "variance"]

_WIDE = 200  # records: from there on sums over integers are integrals but for derivatives
_ORDER = 60  # derivatives of odd order: what they leave out is below 1e-270 of the peak
_FALLEN = arb(2) ** -400  # of a sum: what later terms add to it
_SUMMED = 130  # scales at which discrete noises in a sum end: e^−70 of what is asked at 60
_RECORDS = 120  # beside them, where the noise is narrower than a count


def density(noise: nc.Mechanism, error: Fraction) -> arb:
    """The density of a noise, or its probability at a whole error."""
    if isinstance(noise, nc.DiscreteGaussian):
        scale = ball(noise.exact_scale)
        return _bell(ball(error), scale) / _whole(noise.exact_scale)
    return _law(noise).density(ball(error))


def exceedance(noise: nc.Mechanism, error: Fraction) -> arb:
    """P[Z >= error]; of discrete noise the error is whole."""
    if not isinstance(noise, nc.DiscreteGaussian):
        return _law(noise).exceedance(ball(error))
    scale = ball(noise.exact_scale)
    if error <= 0:
        return 1 - exceedance(noise, 1 - error)
    return _from(int(error), scale) / _whole(noise.exact_scale)


def reaching(noise: nc.Mechanism, alpha: Fraction) -> arb:
    """P[|Z| >= alpha]."""
    if alpha <= 0:
        return arb(1)
    least = Fraction(-((-alpha) // 1)) if noise.is_discrete else alpha
    return 2 * exceedance(noise, least)


def variance(noise: nc.Mechanism) -> arb:
    """E[Z²]."""
    if isinstance(noise, nc.NoiseSum):
        return sum(map(variance, noise.noises), arb(0))
    scale = ball(noise.exact_scale)
    if isinstance(noise, nc.Laplace):
        return 2 * scale**2
    if isinstance(noise, nc.DiscreteLaplace):
        return 1 / (2 * (1 / (2 * scale)).sinh() ** 2)
    if isinstance(noise, nc.Gaussian) or scale > _WIDE:  # but for e^(−2π²·scale²)
        return scale**2
    return 2 * _summed(1, scale, 2) / _whole(noise.exact_scale)


def absolute_mean(noise: nc.Mechanism) -> arb:
    """E|Z|."""
    scale = ball(noise.exact_scale)
    if isinstance(noise, nc.Laplace):
        return scale
    if isinstance(noise, nc.Gaussian):
        return scale * (2 / arb.pi()).sqrt()
    if isinstance(noise, nc.DiscreteLaplace):
        return 1 / (1 / scale).sinh()
    if scale > _WIDE:  # Σ_{k≥1} k·f(k) = scale² − 1/12 − …, by the same sum
        return 2 * _odd_sum(scale) / _whole(noise.exact_scale)
    return 2 * _summed(1, scale, 1) / _whole(noise.exact_scale)


def _law(noise: nc.Mechanism) -> Noise:
    """The law of other noise."""
    if isinstance(noise, nc.NoiseSum) and noise.is_discrete:
        return _sum_of_discrete(noise, ctx.prec)
    return noise_of(noise)


@lru_cache(maxsize=8)
def _sum_of_discrete(noise: nc.NoiseSum, _: int) -> Noise:
    """The convolution of the tables of discrete noises, in the digits of now."""
    reach = int(_SUMMED * max(float(part.exact_scale) for part in noise.noises)) + _RECORDS
    product = arb_poly([1])
    for part in noise.noises:
        half = [density(part, Fraction(error)) for error in range(reach + 1)]
        product *= arb_poly(half[:0:-1] + half)
    law = product.coeffs()
    table = law[len(law) // 2 :][: reach + 1]
    beyond = [*accumulate(reversed(table))][::-1]

    def exceedance(error: arb) -> arb:
        first = floor(error)
        return beyond[first] if first > 0 else 1 - beyond[1 - first]

    return Noise(lambda error: table[abs(floor(error))], exceedance, arb(1), arb(reach))


def _bell(error: arb, scale: arb) -> arb:
    return (-((error / scale) ** 2) / 2).exp()


def _whole(exact_scale: Fraction) -> arb:
    """Σ_k e^(−k²/(2·scale²)) over all integers."""
    return _whole_in(exact_scale, ctx.prec)


@lru_cache(maxsize=16)
def _whole_in(exact_scale: Fraction, _: int) -> arb:
    """Return the normalising sum, in the current number of digits."""
    return 1 + 2 * _from(1, ball(exact_scale))


def _from(first: int, scale: arb) -> arb:
    """Σ_{k >= first} e^(−k²/(2·scale²)), first >= 0: term by term where few terms are left."""
    is_far = first > scale**2 / 100
    return _summed(first, scale, 0) if scale <= _WIDE or is_far else _euler_maclaurin(first, scale)


def _summed(first: int, scale: arb, power: int) -> arb:
    """Σ_{k >= first} k^power·e^(−k²/(2·scale²)), term by term and a geometric rest."""
    total, count = arb(0), first
    while True:
        term = arb(count) ** power * _bell(arb(count), scale)
        total += term
        count += 1
        ahead = arb(count) ** power * _bell(arb(count), scale)
        if ahead <= total * _FALLEN and count > scale:
            return total + arb(0, (2 * ahead * (1 + scale**2)).upper())


def _euler_maclaurin(first: int, scale: arb) -> arb:
    """Return the tail of wide noise: the integral, half of the first term, and odd derivatives.

    The rest is below 4·(2π)^(−2p)·∫|f^(2p)|, and |He_n(u)|·e^(−u²/4) <= 1.09·√(n!).
    """
    place = arb(first) / scale
    total = scale * (arb.pi() / 2).sqrt() * (place / arb(2).sqrt()).erfc()
    top = _bell(arb(first), scale)
    total += top / 2
    before, hermite, power = arb(1), place, 1
    for order in range(1, 2 * _ORDER):
        if order % 2:  # f^(order)(x) = −scale^(−order)·He_order(x/scale)·f(x) for odd orders
            bernoulli = arb(order + 1).fac() ** -1 * arb.bernoulli(order + 1)
            total += bernoulli * hermite * top / scale**order
        before, hermite, power = hermite, place * hermite - power * before, power + 1
    left = (-((place / 2) ** 2)).exp() * 2 * scale * arb.pi().sqrt()
    left *= arb(2 * _ORDER).fac().sqrt() * arb("4.4") / (2 * arb.pi() * scale) ** (2 * _ORDER)
    return total + arb(0, left.upper())


def _odd_sum(scale: arb) -> arb:
    """Σ_{k >= 1} k·e^(−k²/(2·scale²)) = Σ_j B_2j/(2j)!·… of wide noise, from its derivatives at 0.

    As x·f is −scale² times the derivative of f, the odd derivatives at 0 are −scale²·f^(even)(0).
    """
    total, hermite = scale**2, arb(1)
    for half in range(_ORDER):
        # f^(2j+2)(0) = scale^(−2j−2)·He_(2j+2)(0), He_(2j+2)(0) = −(2j + 1)·He_2j(0)
        hermite *= -(2 * half + 1)
        bernoulli = arb.bernoulli(2 * half + 2) / arb(2 * half + 2).fac()
        total += bernoulli * scale**2 * hermite / scale ** (2 * half + 2)
    left = arb(2 * _ORDER + 1).fac().sqrt() * 20 * scale**2
    return total + arb(0, (left / (2 * arb.pi() * scale) ** (2 * _ORDER)).upper())
