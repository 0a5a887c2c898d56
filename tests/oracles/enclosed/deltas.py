"""δ straight from its definition, ∫ max(0, f₊ − e^ε·f₋), in ball arithmetic.

No threshold is assumed where noise is discrete or Laplace noise: positive parts are added answer by answer, or cell by
cell between two integers, where a difference of two exponentials changes its sign at most once. For Gaussian noise
f₊ − e^ε·f₋ is, but for a positive factor, a polynomial in e^(answer/variance): by Descartes' rule it has at most as
many roots as P₊ − e^ε·P₋ has changes of sign.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from flint import arb, arb_poly, ctx

import noisycount as nc
from tests.oracles.enclosed.pairs import EnclosedPair, Outsider, exact, sampled

START_BITS, MOST_BITS = 256, 8192
RELATIVE_BITS = 50  # to which δ is known
NEGLIGIBLE = 1e-80  # δ below that need not be known
LEFT_OUT = 900  # nepers by which tabled noise has fallen where its table ends, e^ε times it too
STEPS = 160  # halvings in the search of a threshold


def delta(mechanism: nc.Mechanism, outsider: Outsider, epsilon: float) -> arb:
    """The larger of δ₊ and δ₋ over all kinds of records, to 50 bits or below 1e-80."""
    bits = START_BITS
    while True:
        with ctx.workprec(bits):
            found = _delta(mechanism, outsider, epsilon)
            if found.rel_accuracy_bits() > RELATIVE_BITS or found < NEGLIGIBLE:
                return found
        bits *= 2
        assert bits <= MOST_BITS, f"{mechanism} {outsider} at {epsilon!r}: {found}"


def _delta(mechanism: nc.Mechanism, outsider: Outsider, epsilon: float) -> arb:
    best = arb(0)
    factor = exact(epsilon).exp()
    noise, pairs = told_pairs(mechanism, outsider)
    for pair in pairs:
        for side in (pair, pair.mirrored):
            best = best.max(_plus(side, noise, factor))
    return best


def told_pairs(mechanism: nc.Mechanism, outsider: Outsider) -> tuple[nc.Mechanism | None, list[EnclosedPair]]:
    """The noise, and the laws of what it is added to; None: there is no noise."""
    pairs, noise = outsider.pairs(), mechanism
    if isinstance(mechanism, nc.Subsample):
        assert outsider.population is not None
        records = outsider.population.records
        pairs = [sampled(pair, records, mechanism.sample_size) for pair in pairs]
        noise = mechanism.noise or nc.Exact()
    return (None if isinstance(noise, nc.Exact) else noise), pairs


def _plus(pair: EnclosedPair, noise: nc.Mechanism | None, factor: arb) -> arb:
    """∫ max(0, f₊ − e^ε·f₋)."""
    weights = [p - factor * q for p, q in zip(pair.positive, pair.negative, strict=True)]
    if noise is None:
        return _positive_sum(weights)
    parts = noise.noises if isinstance(noise, nc.NoiseSum) else (noise,)
    if len(parts) == 1 and isinstance(parts[0], nc.Laplace):
        return _with_laplace(weights, 1 / exact(parts[0].exact_scale))
    if len(parts) == 1 and isinstance(parts[0], nc.DiscreteLaplace):
        return _with_discrete_laplace(weights, 1 / exact(parts[0].exact_scale))
    if all(isinstance(part, nc.DiscreteLaplace | nc.DiscreteGaussian) for part in parts):
        table = arb_poly([1])
        for part in parts:
            table *= arb_poly(noise_table(part))
        return _positive_sum((arb_poly(weights) * table).coeffs())
    return _beyond_threshold(weights, continuous_law(parts))


def _positive_sum(values: Sequence[arb]) -> arb:
    return sum((value.nonnegative_part() for value in values), arb(0))


def noise_table(noise: nc.Mechanism) -> list[arb]:
    """The probabilities of a discrete noise, up to where they are negligible."""
    scale = exact(noise.exact_scale)
    size = float(noise.exact_scale)
    if isinstance(noise, nc.DiscreteLaplace):
        reach = int(LEFT_OUT * size) + 2
        half = [(-arb(z) / scale).exp() for z in range(reach + 1)]
    else:
        reach = int((2 * LEFT_OUT) ** 0.5 * size) + 2
        half = [(-arb(z * z) / (2 * scale * scale)).exp() for z in range(reach + 1)]
    whole = half[:0:-1] + half
    total = sum(whole, arb(0))
    return [weight / total for weight in whole]


def _sides(weights: list[arb], fall: arb) -> tuple[list[arb], list[arb]]:
    """Σ_{k <= c} w_k·fall^(c − k) and Σ_{k > c} w_k·fall^(k − c) for each count c."""
    left, right = [weights[0]], [arb(0)]
    for weight in weights[1:]:
        left.append(left[-1] * fall + weight)
    for weight in weights[:0:-1]:
        right.append((right[-1] + weight) * fall)
    return left, right[::-1]


def _with_discrete_laplace(weights: list[arb], rate: arb) -> arb:
    """Answer by answer, and one geometric sum beyond each end."""
    fall = (-rate).exp()
    left, right = _sides(weights, fall)
    inside = _positive_sum([a + b for a, b in zip(left, right, strict=True)])
    ends = _positive_sum([left[-1], weights[0] + right[0]]) * fall / (1 - fall)
    return (inside + ends) * (1 - fall) / (1 + fall)


def _with_laplace(weights: list[arb], rate: arb) -> arb:
    """Between two counts c and c + 1 the difference is r/2·(a·e^(−r·u) + b·e^(r·u))."""
    fall = (-rate).exp()
    left, right = _sides(weights, fall)
    total = _positive_sum([left[-1], weights[0] + right[0]])
    for a, b in zip(left[:-1], right[:-1], strict=True):
        starts, ends = a + b, a * fall + b / fall
        if starts >= 0 and ends >= 0:
            total += a * (1 - fall) + b * (1 / fall - 1)
        elif starts > 0 or ends > 0:
            root = (-a / b).sqrt()  # e^(r·u) where both are equal
            if starts > 0:
                total += a * (1 - 1 / root) + b * (root - 1)
            else:
                total += a * (1 / root - fall) + b * (1 / fall - root)
        elif not (starts <= 0 and ends <= 0):
            total += arb(0).union((starts.nonnegative_part() + ends.nonnegative_part()) / fall)
    return total / 2


@dataclass(frozen=True)
class ContinuousLaw:
    """A noise with a density."""

    density: Callable[[arb], arb]  # at an error
    exceedance: Callable[[arb], arb]  # P[Z >= error]
    length: float  # over which it changes by much, in records
    reach: float  # beyond which it is negligible


def continuous_law(parts: Sequence[nc.Mechanism]) -> ContinuousLaw:
    """The law of a Gaussian noise, of Laplace noises of different scales, or of both."""
    scales = [Fraction(part.exact_scale) for part in parts if isinstance(part, nc.Laplace)]
    gaussian = [Fraction(part.exact_scale) for part in parts if isinstance(part, nc.Gaussian)]
    assert len(gaussian) + len(scales) == len(parts)
    assert len(set(scales)) == len(scales)
    variance = sum((scale**2 for scale in gaussian), Fraction(0))
    length = float(max([*scales, *gaussian]))
    if not scales:
        density, tail = _gaussian(exact(variance).sqrt())
        return ContinuousLaw(density, tail, length, 40 * len(parts) * length)
    laws = []
    for scale in scales:
        share = Fraction(1)
        for other in scales:
            if other != scale:
                share *= scale**2 / (scale**2 - other**2)
        laws.append((exact(share), *_laplace_and_gaussian(1 / exact(scale), exact(variance))))
    return ContinuousLaw(
        lambda error: sum((share * density(error) for share, density, _ in laws), arb(0)),
        lambda error: sum((share * tail(error) for share, _, tail in laws), arb(0)),
        length,
        LEFT_OUT * length,
    )


def _gaussian(scale: arb) -> tuple[Callable[[arb], arb], Callable[[arb], arb]]:
    wide, norm = scale * arb(2).sqrt(), (2 * arb.pi()).sqrt() * scale
    return (lambda error: (-((error / wide) ** 2)).exp() / norm, lambda error: (error / wide).erfc() / 2)


def _laplace_and_gaussian(rate: arb, variance: arb) -> tuple[Callable[[arb], arb], Callable[[arb], arb]]:
    """The density and the tail of Laplace noise, with Gaussian noise of that variance added."""
    if variance == 0:
        return (
            lambda error: rate / 2 * (-rate * abs(error)).exp(),
            lambda error: (-rate * error).exp() / 2 if error >= 0 else 1 - (rate * error).exp() / 2,
        )
    wide = (2 * variance).sqrt()
    grown = (rate * rate * variance / 2).exp()

    def halves(error: arb) -> tuple[arb, arb]:
        falling = (-rate * error).exp() * ((rate * variance - error) / wide).erfc()
        rising = (rate * error).exp() * ((rate * variance + error) / wide).erfc()
        return grown * falling, grown * rising

    def density(error: arb) -> arb:
        falling, rising = halves(error)
        return rate / 4 * (falling + rising)

    def exceedance(error: arb) -> arb:
        falling, rising = halves(error)
        return (error / wide).erfc() / 2 + (falling - rising) / 4

    return density, exceedance


def _beyond_threshold(weights: list[arb], law: ContinuousLaw) -> arb:
    """Σ w·P[Z >= t − k] at the only answer t where Σ w·f(t − k) changes its sign."""
    signs = [weight > 0 for weight in weights if weight > 0 or weight < 0]
    changes = sum(a != b for a, b in pairwise(signs))
    if changes == 0:
        return sum(weights, arb(0)).nonnegative_part()
    assert changes == 1
    assert signs[-1]

    def difference(answer: arb) -> arb:
        return sum((w * law.density(answer - k) for k, w in enumerate(weights)), arb(0))

    size = len(weights)
    low, high = arb(-law.reach), arb(size + law.reach)
    if not difference(low) < 0:
        low = arb(-law.reach * 100)
    if difference(high) <= 0:
        return arb(0)
    if not difference(high) > 0:
        return arb(0).union(sum((w * law.exceedance(high - k) for k, w in enumerate(weights)), arb(0)))
    for _ in range(STEPS):
        middle = ((low + high) / 2).mid()
        at_middle = difference(middle)
        if at_middle > 0:
            high = middle
        elif at_middle < 0:
            low = middle
        else:  # its sign is lost: the place itself, as near as these bits tell
            high = middle
            break
    answer = high.mid()
    return sum((w * law.exceedance(answer - k) for k, w in enumerate(weights)), arb(0))
