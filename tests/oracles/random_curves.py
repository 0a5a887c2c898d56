"""Random privacy curves, where they are hard: small, rare, near the largest loss, and at jumps."""

import math
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flint import arb, arb_poly, ctx

import noisycount as nc
from tests.oracles.balls import ball
from tests.oracles.enclosed import NEGLIGIBLE, RELATIVE_BITS, delta, told_pairs
from tests.oracles.noises import DEEPEST, noise_of
from tests.oracles.pairs import Outsider, Pair

if TYPE_CHECKING:
    from collections.abc import Callable

LARGEST = 24  # records of most databases
WIDEST_TABLE = 20.0  # records, the scale of discrete Gaussian noise
MOST_EPSILON = 600.0
MARGIN = 20.0  # nepers
LEAST_KNOWN = 1e-250  # δ above which balls judge brackets: far above what underflows


@dataclass(frozen=True)
class Setting:
    """Curve and ε at which it is compared."""

    mechanism: nc.Mechanism  # how answers are made
    outsider: Outsider  # what is known
    epsilon: float  # ε

    @property
    def fault(self) -> str:
        """Description of the error of the curve; empty if its bracket holds δ."""
        curve = self.outsider.curve(self.mechanism)
        value, (lower, upper) = curve.delta(self.epsilon), curve.bracket(self.epsilon)
        exact = delta(self.mechanism, self.outsider, self.epsilon)
        holds = arb(lower) <= exact.upper() and arb(upper) >= exact.lower()
        least = max(LEAST_KNOWN, math.exp(self.epsilon - DEEPEST + MARGIN))
        is_known = exact > NEGLIGIBLE or lower > NEGLIGIBLE
        if exact.rel_accuracy_bits() > RELATIVE_BITS:  # known far below, but for noise left out
            is_known = is_known or exact > least or lower > least
        if lower <= value <= upper and (holds or not is_known):
            return ""
        return f"{self}: {value!r} in {lower!r} .. {upper!r}, exactly {exact.str(17, radius=False)}"


def random_setting(source: random.Random) -> Setting:
    """Of any population and mechanism, at an ε that is hard more often than not."""
    outsider = random_outsider(source)
    mechanism = random_mechanism(source, outsider)
    return Setting(mechanism, outsider, random_epsilon(source, mechanism, outsider))


def log_uniform(source: random.Random, low: float, high: float) -> float:
    """A number between two others, of any order of magnitude."""
    return math.exp(source.uniform(math.log(low), math.log(high)))


def random_rate(source: random.Random) -> float:
    """Anywhere in (0, 1), or next to an end."""
    rare = log_uniform(source, 10.0 ** -source.choice([2, 6, 15, 40]), 0.5)
    return source.choice([source.uniform(0.01, 0.99), rare, min(1 - rare, 1 - 2.0**-53)])


def random_outsider(source: random.Random) -> Outsider:
    """Somebody who knows a population, and some of its records."""
    size = source.choice([source.randint(1, 5), source.randint(1, LARGEST)])
    makers: list[Callable[[random.Random, int], Outsider]] = [
        _binomial, _beta_binomial, _strata, _tabulated, _known
    ]  # fmt: skip
    return source.choice(makers)(source, size)


def _held(source: random.Random, size: int) -> tuple[int, int]:
    """No records, or some but not all."""
    known = source.choice([0, 0, source.randint(0, size - 1)])
    return known, source.randint(0, known)


def _binomial(source: random.Random, size: int) -> Outsider:
    return Outsider(nc.Binomial(size, random_rate(source)), *_held(source, size))


def _beta_binomial(source: random.Random, size: int) -> Outsider:
    widest = source.choice([2, 4, 13])
    shapes = [log_uniform(source, 10.0 ** -min(widest, 4), 10.0**widest) for _ in range(2)]
    return Outsider(nc.BetaBinomial(size, *shapes), *_held(source, size))


def _strata(source: random.Random, size: int) -> Outsider:
    groups = source.randint(1, min(3, size))
    sizes = [max(1, size // groups) for _ in range(groups)]
    return Outsider(nc.Strata(sizes, [random_rate(source) for _ in sizes]))


def _tabulated(source: random.Random, size: int) -> Outsider:
    tiny = 10.0 ** -source.choice([0, 3, 12, 17])
    weights = [log_uniform(source, tiny, 1.0) * (source.random() < 0.8) for _ in range(size + 1)]
    weights[source.randrange(size + 1)] = 1.0
    if not any(weights[:-1]) or not any(weights[1:]):
        weights[0] = weights[-1] = 0.5
    total = math.fsum(weights)
    table = [weight / total for weight in weights]
    known, positives = _held(source, size)
    rest = table[positives : size - (known - positives) + 1]
    if not any(rest[1:]) or not any(rest[:-1]):
        known = positives = 0
    return Outsider.of_table(table, known, positives)


def _known(source: random.Random, size: int) -> Outsider:
    if source.random() < 0.3:
        return Outsider(None)
    return Outsider(nc.Known(size, source.choice([None, source.randrange(size)])))


def random_mechanism(source: random.Random, outsider: Outsider) -> nc.Mechanism:
    """No noise, noise, or a sample."""
    noise = source.choice([nc.Exact(), *(random_noise(source) for _ in range(5))])
    if outsider.population is None or source.random() < 0.5:
        return noise
    drawn = source.randint(1, outsider.population.records)
    return nc.Subsample(drawn, None if isinstance(noise, nc.Exact) else noise)


def random_noise(source: random.Random) -> nc.Mechanism:
    """Draw a noise, or a sum of discrete or of continuous noises."""
    widest = source.choice([1.0, 10.0, 1000.0])
    scales = [round(log_uniform(source, 0.02, widest), 4) for _ in range(2)]
    if scales[0] == scales[1]:
        scales[1] += 1
    narrow = [min(scale, WIDEST_TABLE) for scale in scales]
    makers: list[Callable[[], nc.Mechanism]] = [
        lambda: nc.Laplace(scales[0]),
        lambda: nc.Gaussian(scales[0]),
        lambda: nc.DiscreteLaplace(scales[0]),
        lambda: nc.DiscreteGaussian(narrow[0]),
    ]
    if source.random() < 0.95:
        return source.choice(makers)()
    fewer = [max(0.3, min(scale, 5.0)) for scale in scales]
    if fewer[0] == fewer[1]:
        fewer[1] += 0.7
    pairs = [
        [nc.DiscreteLaplace(fewer[0]), nc.DiscreteLaplace(fewer[1])],
        [nc.DiscreteLaplace(fewer[0]), nc.DiscreteGaussian(fewer[1])],
        [nc.DiscreteGaussian(fewer[0]), nc.DiscreteGaussian(fewer[1])],
        [nc.Laplace(fewer[0]), nc.Laplace(fewer[1])],
        [nc.Laplace(fewer[0]), nc.Gaussian(fewer[1])],
        [nc.Gaussian(fewer[0]), nc.Gaussian(fewer[1])],
    ]
    return nc.NoiseSum(source.choice(pairs))


def random_epsilon(source: random.Random, mechanism: nc.Mechanism, outsider: Outsider) -> float:
    """0, anywhere, or next to a privacy loss at which the curve has a corner or ends."""
    found = [loss for loss in losses(mechanism, outsider) if 0 < loss < MOST_EPSILON]
    most = max(found, default=5.0)
    loss = source.choice([most, source.choice(found)]) if found else source.uniform(0, 5)
    away = source.choice([-1.0, -1.0, 1.0]) * log_uniform(source, 1e-16, 0.1)
    return source.choice([0.0, log_uniform(source, 1e-4, 1.0) * most, loss, loss * (1 + away), loss * (1 + away)])


def losses(mechanism: nc.Mechanism, outsider: Outsider) -> list[float]:
    """Values of |ln(f₊/f₋)| at single answers: at those of discrete laws, and far out."""
    with ctx.workprec(256):
        noise, pairs = told_pairs(mechanism, outsider)
        found = []
        for pair in pairs[:3]:
            for side in (pair, pair.mirrored):
                found += _losses(noise, side)
    return found


def _losses(noise: nc.Mechanism | None, pair: Pair) -> list[float]:
    parts = noise.noises if isinstance(noise, nc.NoiseSum) else (noise,)
    laplace = [part for part in parts if isinstance(part, nc.Laplace | nc.DiscreteLaplace)]
    if laplace:
        rate = 1 / ball(max(part.exact_scale for part in laplace))
        tilts = [(rate * k).exp() for k in range(len(pair.positive))]
        ends = [
            sum((a * b for a, b in zip(side, tilts, strict=True)), arb(0)) for side in (pair.positive, pair.negative)
        ]
        found = [_log_ratio(*ends)]
        if not isinstance(laplace[0], nc.DiscreteLaplace) or len(parts) > 1:
            return found
    else:
        found = []
    sides = arb_poly(pair.positive), arb_poly(pair.negative)
    if noise is not None and noise.is_discrete:
        for part in map(noise_of, parts):
            near = arb_poly([part.density(arb(z)) for z in range(-60, 61)])
            sides = sides[0] * near, sides[1] * near
    elif noise is not None and len(parts) > 1:
        return found
    ratios = zip(sides[0].coeffs(), sides[1].coeffs(), strict=False)
    return found + [_log_ratio(plus, minus) for plus, minus in ratios]


def _log_ratio(plus: arb, minus: arb) -> float:
    """Ln of the ratio; 0 where it is not finite."""
    return float((plus / minus).log().mid()) if plus > 0 and minus > 0 else 0.0
