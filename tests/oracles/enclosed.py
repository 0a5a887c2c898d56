"""δ straight from its definition, ∫ max(0, f₊ − e^ε·f₋), in ball arithmetic.

No threshold is assumed where noise is discrete or Laplace noise: positive parts are added answer by answer, or cell by
cell between two integers, where a difference of two exponentials changes its sign at most once. For Gaussian noise
f₊ − e^ε·f₋ is, but for a positive factor, a polynomial in e^(answer/variance): by Descartes' rule it has at most as
many roots as P₊ − e^ε·P₋ has changes of sign.
"""

from collections.abc import Sequence
from itertools import pairwise

from flint import arb, arb_poly, ctx

import noisycount as nc
from tests.oracles.balls import ball, floor, total
from tests.oracles.noises import Noise, noise_of
from tests.oracles.pairs import Outsider, Pair, sampled

START_BITS, MOST_BITS = 256, 8192
RELATIVE_BITS = 50  # to which δ is known
NEGLIGIBLE = 1e-80  # δ below that need not be known
STEPS = 160  # halvings in the search of a threshold


def delta(mechanism: nc.Mechanism, outsider: Outsider, epsilon: float) -> arb:
    """The larger of δ₊ and δ₋ over all kinds of records, to 50 bits or below 1e-80."""
    bits = START_BITS
    while True:
        with ctx.workprec(bits):
            found = directions(mechanism, outsider, epsilon)
            largest = found[0].max(found[1])
            if largest.rel_accuracy_bits() > RELATIVE_BITS or largest < NEGLIGIBLE:
                return largest
        bits *= 2
        assert bits <= MOST_BITS, f"{mechanism} {outsider} at {epsilon!r}: {largest}"


def directions(mechanism: nc.Mechanism, outsider: Outsider, epsilon: float) -> tuple[arb, arb]:
    """δ₊ and δ₋ over all kinds of records, in the digits of now."""
    plus, minus = arb(0), arb(0)
    factor = ball(epsilon).exp()
    noise, pairs = told_pairs(mechanism, outsider)
    for pair in pairs:
        plus, minus = plus.max(_plus(pair, noise, factor)), minus.max(_plus(pair.mirrored, noise, factor))
    return plus, minus


def told_pairs(mechanism: nc.Mechanism, outsider: Outsider) -> tuple[nc.Mechanism | None, list[Pair]]:
    """The noise, and the laws of what it is added to; None: there is no noise."""
    pairs, noise = outsider.pairs(), mechanism
    if isinstance(mechanism, nc.Subsample):
        pairs = [sampled(pair, mechanism.sample_size) for pair in pairs]
        noise = mechanism.noise or nc.Exact()
    return (None if isinstance(noise, nc.Exact) else noise), pairs


def _plus(pair: Pair, noise: nc.Mechanism | None, factor: arb) -> arb:
    """∫ max(0, f₊ − e^ε·f₋)."""
    weights = [p - factor * q for p, q in zip(pair.positive, pair.negative, strict=True)]
    if noise is None:
        return _positive_sum(weights)
    parts = noise.noises if isinstance(noise, nc.NoiseSum) else (noise,)
    if len(parts) == 1 and isinstance(parts[0], nc.Laplace):
        return _with_laplace(weights, 1 / ball(parts[0].exact_scale))
    if len(parts) == 1 and isinstance(parts[0], nc.DiscreteLaplace):
        return _with_discrete_laplace(weights, 1 / ball(parts[0].exact_scale))
    if noise.is_discrete:
        table = arb_poly([1])
        for part in map(noise_of, parts):
            reach = floor(part.reach)
            half = [part.density(arb(z)) for z in range(reach + 1)]
            table *= arb_poly(half[:0:-1] + half)
        return _positive_sum((arb_poly(weights) * table).coeffs())
    return _beyond_threshold(weights, noise_of(noise))


def _positive_sum(values: Sequence[arb]) -> arb:
    return total(value.nonnegative_part() for value in values)


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
    found = _positive_sum([left[-1], weights[0] + right[0]])
    for a, b in zip(left[:-1], right[:-1], strict=True):
        starts, ends = a + b, a * fall + b / fall
        if starts >= 0 and ends >= 0:
            found += a * (1 - fall) + b * (1 / fall - 1)
        elif starts > 0 or ends > 0:
            root = (-a / b).sqrt()  # e^(r·u) where both are equal
            if starts > 0:
                found += a * (1 - 1 / root) + b * (root - 1)
            else:
                found += a * (1 / root - fall) + b * (1 / fall - root)
        elif not (starts <= 0 and ends <= 0):
            found += arb(0).union((starts.nonnegative_part() + ends.nonnegative_part()) / fall)
    return found / 2


def _beyond_threshold(weights: list[arb], noise: Noise) -> arb:
    """Σ w·P[Z >= t − k] at the only answer t where Σ w·f(t − k) changes its sign."""
    signs = [weight > 0 for weight in weights if weight > 0 or weight < 0]
    changes = sum(a != b for a, b in pairwise(signs))
    if changes == 0:
        return total(weights).nonnegative_part()
    assert changes == 1
    assert signs[-1]

    def difference(answer: arb) -> arb:
        return total(w * noise.density(answer - k) for k, w in enumerate(weights))

    low, high = -noise.reach, len(weights) + noise.reach
    if not difference(low) < 0:
        low *= 100
    if difference(high) <= 0:
        return arb(0)
    if not difference(high) > 0:
        return arb(0).union(total(w * noise.exceedance(high - k) for k, w in enumerate(weights)))
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
    return total(w * noise.exceedance(answer - k) for k, w in enumerate(weights))
