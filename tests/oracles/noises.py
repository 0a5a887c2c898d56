"""Laws of noises in 80 digits: densities and tails by closed forms, tables and convolutions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, repeat
from operator import mul

from mpmath import mp, mpf

from noisycount.model.mechanism import Mechanism
from noisycount.model.noises.gaussian import Gaussian
from noisycount.model.noises.laplace import DiscreteLaplace, Laplace
from noisycount.model.noises.noise_sum import NoiseSum
from tests.oracles.pairs import DIGITS

DEEPEST = 800  # e^−800 < 1e-347: what is left out beyond that many scales, or √(2·800) deviations


@dataclass(frozen=True)
class Noise:
    """A symmetric noise.

    Attributes:
        density: Of the noise, or its probability at an integer.
        exceedance: P[Z >= error].
        width: A length in which the law hardly changes, for bisection.
        reach: Beyond that error the density is below e^−800 of its peak.
        steepness: Of a law that falls like e^(−steepness·z) in the end; None: of one that falls
            faster.
        is_discrete: Whether it lives on the integers.
        run: The densities at error, error − 1, ... and so on, if there is a fast way.
        is_tabled: Whether it is taken to end at its reach.
    """

    density: Callable[[mpf], mpf]
    exceedance: Callable[[mpf], mpf]
    width: mpf
    reach: mpf
    steepness: mpf | None = None
    is_discrete: bool = False
    run: Callable[[mpf, int], list[mpf]] | None = None
    is_tabled: bool = False


def noise_of(mechanism: Mechanism) -> Noise:
    """The law of one noise, or of a sum that has a closed form."""
    with mp.workdps(DIGITS):
        if isinstance(mechanism, NoiseSum):
            return _sum_of_continuous(mechanism.noises)
        scale = mpf(mechanism.exact_scale.numerator) / mechanism.exact_scale.denominator
        if isinstance(mechanism, Laplace):
            return laplace(scale)
        if isinstance(mechanism, Gaussian):
            return gaussian(scale)
        if isinstance(mechanism, DiscreteLaplace):
            return discrete_laplace(scale)
        return discrete_gaussian(scale)


def laplace(scale: mpf) -> Noise:
    """Density e^(−|z|/b)/(2b)."""

    def exceedance(error: mpf) -> mpf:
        far = mp.exp(-abs(error) / scale) / 2
        return far if error >= 0 else 1 - far

    ratio = mp.exp(-1 / scale)

    def run(error: mpf, length: int) -> list[mpf]:
        ahead = max(0, min(length, int(mp.floor(error)) + 1))
        rising = _geometric(abs(error - ahead + 1), ahead)[::-1]
        return rising + _geometric(abs(error - ahead), length - ahead)

    def _geometric(nearest: mpf, length: int) -> list[mpf]:
        start = mp.exp(-nearest / scale) / (2 * scale)
        return list(accumulate(repeat(ratio, length - 1), mul, initial=start)) if length else []

    return Noise(
        lambda error: mp.exp(-abs(error) / scale) / (2 * scale),
        exceedance,
        width=scale,
        reach=DEEPEST * scale,
        steepness=1 / scale,
        run=run,
    )


def gaussian(scale: mpf) -> Noise:
    """Density e^(−z²/(2σ²))/(σ√(2π))."""
    bend = mp.exp(-1 / scale**2)

    def run(error: mpf, length: int) -> list[mpf]:
        value, values = mp.npdf(error, 0, scale), []
        step = mp.exp((2 * error - 1) / (2 * scale**2))
        for _ in range(length):
            values.append(value)
            value, step = value * step, step * bend
        return values

    return Noise(
        lambda error: mp.npdf(error, 0, scale),
        lambda error: mp.erfc(error / (scale * mp.sqrt(2))) / 2,
        width=scale,
        reach=mp.sqrt(2 * DEEPEST) * scale,
        run=run,
    )


def discrete_laplace(scale: mpf) -> Noise:
    """P[Z = z] = tanh(1/(2b))·e^(−|z|/b)."""

    def exceedance(error: mpf) -> mpf:
        if error < 1:
            return 1 - exceedance(1 - error)
        return mp.exp(-error / scale) / (1 + mp.exp(-1 / scale))

    continuous = laplace(scale)
    peak = mp.tanh(1 / (2 * scale)) * 2 * scale
    return Noise(
        lambda error: mp.tanh(1 / (2 * scale)) * mp.exp(-abs(error) / scale),
        exceedance,
        width=scale,
        reach=DEEPEST * scale,
        steepness=1 / scale,
        is_discrete=True,
        run=lambda error, length: [peak * value for value in continuous.run(error, length)],  # type: ignore[misc]  # it has one
    )


@cache
def discrete_gaussian(scale: mpf) -> Noise:
    """P[Z = z] ∝ e^(−z²/(2σ²)), summed to e^−800 of the peak and one more term."""
    with mp.workdps(DIGITS):
        reach = int(mp.ceil(mp.sqrt(2 * DEEPEST) * scale)) + 2
        weights = gaussian(scale).run(mpf(0), reach + 1)  # type: ignore[misc]  # it has one
        tails = list(accumulate(reversed(weights)))[::-1]
        total = 2 * tails[0] - weights[0]
        table = [*(w / total for w in weights), mpf(0)]
        beyond = [*(tail / total for tail in tails), mpf(0)]
        return _tabled(table, beyond, mpf(scale))


def _tabled(table: list[mpf], beyond: list[mpf], width: mpf) -> Noise:
    """The noise with these probabilities at 0, 1, ..., and these of at least as much."""
    end = len(table) - 1

    def exceedance(error: mpf) -> mpf:
        place = int(error)
        return beyond[min(place, end)] if place > 0 else 1 - beyond[min(1 - place, end)]

    return Noise(
        lambda error: table[min(abs(int(error)), end)],
        exceedance,
        width=width,
        reach=mpf(end),
        is_discrete=True,
        is_tabled=True,
    )


def sum_of_discrete(noises: Sequence[Mechanism], reach: int) -> Noise:
    """The convolution of discrete noises, term by term on −reach..reach, which must hold all."""
    with mp.workdps(DIGITS):
        law = [mpf(1)]
        for noise in map(noise_of, noises):
            own = [noise.density(mpf(z)) for z in range(-reach, reach + 1)]
            law = convolved(law, own)
        middle = len(law) // 2
        table = law[middle : middle + reach + 1]
        total = 2 * mp.fsum(table) - table[0]
        tails = list(accumulate(reversed(table)))[::-1]
        beyond = [*(tail / total for tail in tails), mpf(0)]
        return _tabled([*(w / total for w in table), mpf(0)], beyond, mpf(1))


def convolved(left: Sequence[mpf], right: Sequence[mpf]) -> list[mpf]:
    """The law of a sum of two independent counts."""
    reverse = list(right)[::-1]
    size, other = len(left), len(right)
    return [
        mp.fdot(
            left[max(0, k - other + 1) : min(size, k + 1)],
            reverse[max(0, other - 1 - k) : other - 1 - k + min(size, k + 1)],
        )
        for k in range(size + other - 1)
    ]


def _sum_of_continuous(noises: Sequence[Mechanism]) -> Noise:
    """The sum of Gaussian noises, of two Laplace noises, or of one Laplace and Gaussian noises."""
    variance = mp.fsum(mpf(n.scale) ** 2 for n in noises if isinstance(n, Gaussian))
    scales = sorted(mpf(n.scale) for n in noises if isinstance(n, Laplace))
    if not scales:
        return gaussian(mp.sqrt(variance))
    if len(scales) == 1:
        return _laplace_and_gaussian(scales[0], mp.sqrt(variance)) if variance else laplace(*scales)
    if variance or len(scales) > 2:
        raise ValueError(f"noises must have a closed form, got {noises!r}")
    return _two_laplace(*scales)


def _two_laplace(small: mpf, large: mpf) -> Noise:
    """The difference of two exponentials, or (1 + |z|/b)·e^(−|z|/b)/(4b) for equal scales."""
    b, c = large, small

    def density(error: mpf) -> mpf:
        x = abs(error)
        if b == c:
            return (1 + x / b) * mp.exp(-x / b) / (4 * b)
        return (b * mp.exp(-x / b) - c * mp.exp(-x / c)) / (2 * (b**2 - c**2))

    def exceedance(error: mpf) -> mpf:
        if error < 0:
            return 1 - exceedance(-error)
        if b == c:
            return (2 + error / b) * mp.exp(-error / b) / 4
        far = b**2 * mp.exp(-error / b) - c**2 * mp.exp(-error / c)
        return far / (2 * (b**2 - c**2))

    return Noise(density, exceedance, width=c, reach=DEEPEST * b, steepness=1 / b)


def _laplace_and_gaussian(scale: mpf, deviation: mpf) -> Noise:
    """Both sides of the Laplace law rounded by the Gaussian one."""
    b, s = scale, deviation

    def side(error: mpf) -> mpf:
        return mp.exp((s / b) ** 2 / 2 - error / b) * mp.ncdf(error / s - s / b)

    return Noise(
        lambda error: (side(error) + side(-error)) / (2 * b),
        lambda error: mp.ncdf(-error / s) + (side(error) - side(-error)) / 2,
        width=min(b, s),
        reach=DEEPEST * b + 40 * s,
        steepness=1 / b,
    )
