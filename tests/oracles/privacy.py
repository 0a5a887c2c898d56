"""Privacy curves straight from their definition, what every curve is compared with.

δ₊(ε) = sup over sets S of P₊[Y ∈ S] − e^ε·P₋[Y ∈ S] = Σ over answers of max(0, P₊ − e^ε·P₋), and δ₋(ε) the other way
round.
"""

import math
from collections.abc import Sequence
from itertools import accumulate, repeat
from operator import mul

import numpy as np
from flint import arb
from mpmath import mpf

from noisycount import DiscreteGaussian, DiscreteLaplace, Exact, Mechanism, NoiseSum, Subsample
from tests.oracles.balls import DIGITS, ball, certified, dot, floor, total
from tests.oracles.noises import Noise, convolved, noise_of, sum_of_discrete
from tests.oracles.pairs import Pair, sampled

_FULL = 3000  # laws up to this length are summed whole
_TRANSPARENT = arb("1e-25")  # noise so narrow hides no count: e^(−10^24) is left out


def directions(mechanism: Mechanism, pairs: Sequence[Pair], epsilon: float) -> tuple[mpf, mpf]:
    """δ₊ and δ₋, each the largest over the kinds of records."""
    if isinstance(mechanism, Subsample):
        drawn = mechanism.sample_size
        inside = [pair if pair.records == drawn else sampled(pair, drawn) for pair in pairs]
        return directions(mechanism.noise or Exact(), inside, epsilon)
    both = []
    for pair in pairs:
        told, noise = _told(mechanism, pair)
        sides = (told, told.mirrored)
        both.append([certified(_plus(side, noise, ball(epsilon).exp())) for side in sides])
    plus, minus = (max(side) for side in zip(*both, strict=True))
    return plus, minus


def delta(mechanism: Mechanism, pairs: Sequence[Pair], epsilon: float) -> mpf:
    """The larger of δ₊ and δ₋."""
    return max(directions(mechanism, pairs, epsilon))


def _told(mechanism: Mechanism, pair: Pair) -> tuple[Pair, Noise | None]:
    """The pair with all noise added that is discrete, if other noise is to come; and that noise."""
    if isinstance(mechanism, Exact):
        return pair, None
    parts = mechanism.noises if isinstance(mechanism, NoiseSum) else (mechanism,)
    discrete = [part for part in parts if isinstance(part, DiscreteLaplace | DiscreteGaussian)]
    rest = [part for part in parts if part not in discrete]
    if not discrete or (not rest and len(discrete) == 1):
        return pair, noise_of(mechanism if rest else discrete[0])
    if not rest and isinstance(discrete[0], DiscreteLaplace) and discrete[1:] == discrete[:1]:
        return pair, noise_of(mechanism)
    summed = sum_of_discrete(discrete)
    if not rest:
        return pair, summed
    reach = floor(summed.reach)
    law = [summed.density(arb(z)) for z in range(-reach, reach + 1)]
    sides = (convolved(side, law) for side in (pair.positive, pair.negative))
    return Pair(pair.first - reach, *sides, pair.records), noise_of(NoiseSum(rest))


def _plus(pair: Pair, noise: Noise | None, factor: arb) -> arb:
    """P₊[Y >= t] − e^ε·P₋[Y >= t] at the threshold t from which on the answers favour P₊."""
    weights = [p - factor * q for p, q in zip(pair.positive, pair.negative, strict=True)]
    if noise is None or noise.width < _TRANSPARENT:
        return total(weight for weight in weights if weight > 0)
    if not _is_reached(weights, noise):
        return arb(0)
    threshold = _threshold(pair, weights, noise)
    if threshold is None:
        return arb(0)
    start, stop = _near(pair, noise, threshold)
    beyond = [noise.exceedance(threshold - k) for k in pair.counts[start:stop]]
    return dot(weights[start:stop], beyond) + total(weights[stop:])


def _near(pair: Pair, noise: Noise, answer: arb) -> tuple[int, int]:
    """The counts of a long law that are within the reach of noise from an answer; all of others."""
    stop = len(pair.positive)
    if stop <= _FULL:
        return 0, stop
    start = max(0, floor(answer - noise.reach) - pair.first)
    return start, min(stop, floor(answer + noise.reach) + 1 - pair.first + 1)


def _is_reached(weights: list[arb], noise: Noise) -> bool:
    """Return True if some answer favours P₊ by more than e^ε; very large answers decide."""
    if noise.steepness is None:
        return next(w for w in reversed(weights) if w != 0) > 0
    step = noise.steepness.exp()
    scaled = accumulate(repeat(step), mul, initial=arb(1))
    limit = [weight * power for weight, power in zip(weights, scaled, strict=False)]
    return total(limit) > arb(10) ** (10 - DIGITS) * total(map(abs, limit))


def _threshold(pair: Pair, weights: list[arb], noise: Noise) -> arb | None:
    """The smallest favourable answer: within 1e-16 widths or 1e-30, or among the integers."""
    step = 2 * noise.width + 2
    high, low = arb(pair.last), arb(pair.first - 1)
    while _excess(pair, weights, noise, high) <= 0:
        high, step = high + step, 2 * step
        if noise.is_published_table and high > pair.last + noise.reach:
            return None
    step = 2 * noise.width + 2
    while _excess(pair, weights, noise, low) > 0:
        low, step = low - step, 2 * step
    if noise.is_discrete:
        low, high = arb(floor(low)), arb(floor(high) + 1)
    smallest = arb(1) if noise.is_discrete else max(noise.width * arb(10) ** -16, arb("1e-30"))
    while high - low > smallest:
        middle = (low + high) / 2
        if noise.is_discrete:
            middle = arb(floor(middle))
        if _excess(pair, weights, noise, middle) > 0:
            high = middle
        else:
            low = middle
    return high


def _excess(pair: Pair, weights: list[arb], noise: Noise, answer: arb) -> arb:
    """P₊ − e^ε·P₋ at an answer: its density, or its probability."""
    start, stop = _near(pair, noise, answer)
    nearest = answer - (pair.first + start)
    if noise.run is not None:
        values = noise.run(nearest, stop - start)
    else:
        values = [noise.density(nearest - j) for j in range(stop - start)]
    return dot(weights[start:stop], values)


def delta_by_quadrature(mechanism: Mechanism, pair: Pair, epsilon: float, reach: int) -> tuple[float, float]:
    """∫ max(0, f₊ − e^ε·f₋) over first − reach .. last + reach, both ways, within 1e-5.

    No threshold is assumed: the integrand is summed by Gauss and Legendre's rule of 8 points on eighths of a record
    wherever it is positive.
    """
    nodes, node_weights = np.polynomial.legendre.leggauss(8)
    places = ((nodes + 1) / 16 + np.arange(8)[:, None] / 8).ravel()
    noise, length = noise_of(mechanism), len(pair.positive)
    units = range(-reach - length, reach + length)
    table = np.array([[float(noise.density(arb(u + x))) for x in places] for u in units])
    up, down = np.zeros((2, table.shape[0] - length + 1, places.size))
    for k in range(length):
        rows = table[length - 1 - k : table.shape[0] - k]
        up += float(pair.positive[k]) * rows
        down += float(pair.negative[k]) * rows
    factor, each = math.exp(epsilon), np.tile(node_weights / 16, 8)
    plus, minus = (np.maximum(0, a - factor * b) @ each for a, b in ((up, down), (down, up)))
    return float(plus.sum()), float(minus.sum())
