"""Distributions of counts too wide for a table: in blocks, at every h-th count, and of rounded counts.

`wide_law` is one wide count, `lattice_sum` a sum of counts. `packed_answers` rounds the answers of a tree under wide
noise to multiples of a number of records, a pack.
"""

import math
from collections.abc import Iterable, Sequence
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from noisycount.analysis.tables.likelihoods import LevelAnswers
from noisycount.analysis.tables.sums import transform_length
from noisycount.model.laws.count_law import CountDistribution, TableLaw
from noisycount.model.laws.gamma import Expansion, Reals
from noisycount.model.laws.smooth_law import POINTS, LogWeight, SmoothLaw, blocks_between
from noisycount.model.mechanism import Mechanism
from noisycount.model.noises.discrete_gaussian import DiscreteGaussian
from noisycount.model.noises.gaussian import Gaussian
from noisycount.model.noises.laplace import DiscreteLaplace, Laplace
from noisycount.model.noises.noise_sum import NoiseSum
from noisycount.model.tables.cells import interpolate_cubic

_STEPS = 64  # number of counts of a search step
_LEAST = 1e-250  # share of the largest probability that stands for 0
_SLACK = 1.1  # factor by which a peak within a block may exceed the largest of its 24 points


def wide_law(log_weight: LogWeight, ends: tuple[int, int], bends: Sequence[float], longest: float) -> SmoothLaw:
    """Return the distribution of a count whose weight may have several peaks.

    Blocks are shorter than their distance to each bend and to the ends, and not longer than `longest`.
    """
    low, high = ends
    cuts = sorted({math.floor(bend) + side for bend in bends for side in (-1, 0, 1, 2)})
    cuts = [cut for cut in cuts if low <= cut <= high]
    start = _centred_law(log_weight, ends, low, cuts, longest)
    points = np.unique(np.floor(start.points(None, high).offsets))
    centre = _likeliest_count(log_weight, np.clip(points, low, high))
    return _centred_law(log_weight, ends, centre, cuts, longest)


def _centred_law(
    log_weight: LogWeight, ends: tuple[int, int], centre: int, cuts: Iterable[int], longest: float
) -> SmoothLaw:
    """Return the distribution with weights relative to that of a centre."""
    at_centre = float(log_weight(np.array([float(centre)]))[0])
    change = Expansion(Decimal(0), lambda offsets: _logs_at(log_weight, offsets + centre) - at_centre)
    offsets = tuple(cut - centre for cut in cuts)
    return SmoothLaw(ends, centre, change, offsets, longest=longest)


def _logs_at(log_weight: LogWeight, counts: Reals) -> Reals:
    """Return the logarithms of the weights of counts of any shape."""
    return log_weight(np.ravel(counts)).reshape(np.shape(counts))


def _likeliest_count(log_weight: LogWeight, counts: Reals) -> int:
    """Return the count with the largest weight, searched ever more finely around the best of some ascending counts."""
    while True:
        best = int(np.argmax(log_weight(counts)))
        low, high = counts[max(0, best - 1)], counts[min(counts.size - 1, best + 1)]
        if high <= counts[best] + 1 and low >= counts[best] - 1:
            return int(counts[best])
        counts = np.unique(np.append(np.round(np.linspace(low, high, _STEPS)), counts[best]))


def wide_draws(law: SmoothLaw, number: int, random: np.random.Generator) -> NDArray[np.int64]:
    """Draw counts from a distribution: a block by its probability, then a count in the block by rejection."""
    blocks = law.blocks
    masses = blocks.weights.sum(axis=1)
    lasts = blocks.starts + blocks.lengths - 1
    points = np.clip(blocks.offsets, blocks.starts[:, None], lasts[:, None])
    candidates = np.column_stack([blocks.starts, points, lasts])
    tops = law.log_weight(candidates).max(axis=1) + math.log(_SLACK)
    block_of_draw = random.choice(masses.size, number, p=masses / masses.sum())
    draws, remaining = np.empty(number, np.int64), np.arange(number)
    while remaining.size:
        block_of_remaining = block_of_draw[remaining]
        offsets = blocks.starts[block_of_remaining] + np.floor(
            random.random(remaining.size) * blocks.lengths[block_of_remaining]
        )
        is_accepted = np.log(random.random(remaining.size)) <= law.log_weight(offsets) - tops[block_of_remaining]
        draws[remaining[is_accepted]] = law.centre + offsets[is_accepted].astype(np.int64)
        remaining = remaining[~is_accepted]
    return draws


def stride_within(length: float) -> int:
    """Return a stride (at least 1) that whole blocks fill, and that is at most `length` but not much shorter."""
    part = _longest_block(POINTS << max(0, int(math.log2(max(length / POINTS, 1.0))) - 2))
    return max(1, int(length // part * part if length >= POINTS else length))


def _longest_block(stride: int) -> int:
    """Return the longest block that divides a stride; the shortest block for short strides."""
    times = stride // POINTS
    return POINTS * (times & -times) if times else POINTS


def lattice_law(first: int, chances: Reals, stride: int) -> SmoothLaw:
    """Return a distribution that is known at the multiples of a stride, and linear between them.

    With the stride h and a number J from the known probabilities, it is the distribution of |h·J + T|, T triangular on
    ±h. Its mean is that of h·J, except for the part that is reflected at 0.
    """
    places = stride * np.arange(first - 1, first + chances.size + 1, dtype=np.float64)
    values = np.concatenate([[0.0], chances, [0.0]])
    if not first:
        places, values = places[1:], values[1:]
        values[0] *= 2 * stride / (stride + 1)
    values = np.maximum(values, _LEAST * values.max())
    ends = int(places[0]) + bool(first), int(places[-1]) - 1

    def log_weight(counts: Reals) -> Reals:
        return np.log(np.interp(counts, places, values))

    return _centred_law(log_weight, ends, int(places[np.argmax(values)]), (), _longest_block(stride))


_PART = 128  # share of a standard deviation that is the stride of a sum, as a divisor
_NARROW = 1 << 13  # records: largest standard deviation with a stride of 1
_NEAR = 32  # number of strides below which sums are computed at every count
_BROAD = 4.0  # divisor of a standard deviation: the longest block
_FLOOR = 1e-15  # share of the largest probability: less may be a rounding error of a transform
_FAR = 40.0  # standard deviations: half of the range of a sum
Kinds = Sequence[tuple[int, CountDistribution]]


def lattice_sum(kinds: Kinds, mean: float, deviation: float) -> TableLaw | SmoothLaw:
    """Return the distribution of a sum of independent counts; of a wide sum from its values at every h-th count.

    Each count is replaced by a distribution on four multiples of the stride h with the same first three moments. Sums
    then have their mean, variance and third moment. Sums below 32·h are computed at every count. h is 1 up to a
    standard deviation of 8,192 records, then at most 1/128 of it.

    Numerical error: 1e-6 in the probability of up to a count; 1e-14 where h is 1.
    """
    stride = stride_within(deviation / _PART) if deviation > _NARROW else 1
    centre, half = round(mean / stride), math.ceil(_FAR * deviation / stride)
    largest = sum(number * law.support[1] for number, law in kinds)
    low, high = max(0, centre - half), min(largest // stride + 4 * (stride > 1), centre + half)
    length = transform_length(high - low + 1)
    spectrum = np.ones(length // 2 + 1, dtype=np.complex128)
    for number, law in kinds:
        remainders, shares = _shares_at_multiples(law, stride)
        spectrum *= np.fft.rfft(np.bincount(remainders % length, shares, length)) ** number
    chances = np.maximum(np.fft.irfft(spectrum, length)[np.arange(low, high + 1) % length], 0.0)
    if stride > 1:
        near = _first_sums(kinds, _NEAR * stride) if low < _NEAR else np.empty(0)
        return _graded_law(near, low, chances / stride, stride, deviation)
    chances = np.where(chances > _FLOOR * chances.max(), chances, 0.0)
    first, *_, last = np.flatnonzero(chances).tolist() * 2
    with np.errstate(divide="ignore"):
        return TableLaw(low + first, np.log(chances[first : last + 1]))


def _first_sums(kinds: Kinds, end: int) -> Reals:
    """Return the probabilities of the sums below an end. Only counts below the end contribute to them."""
    counts = np.arange(end)
    sums: Reals = (counts == 0).astype(np.float64)
    for number, law in kinds:
        power: Reals = law.pmf(counts)
        for digit in reversed(f"{number:b}"):
            sums = _convolve(sums, power) if digit == "1" else sums
            power = _convolve(power, power) if number > 1 else power
    return sums


def _convolve(first: Reals, second: Reals) -> Reals:
    """Return the probabilities of the lowest sums of two counts, as many as the distributions have values."""
    length = transform_length(2 * first.size)
    product = np.fft.rfft(first, length) * np.fft.rfft(second, length)
    sums: Reals = np.fft.irfft(product, length)[: first.size]
    return np.maximum(sums, 0.0)


def _graded_law(near: Reals, first: int, densities: Reals, stride: int, deviation: float) -> SmoothLaw:
    """Return a distribution that is known at its first counts, and then at the multiples of a stride."""
    smallest = math.log(_FLOOR * densities.max())
    with np.errstate(divide="ignore"):
        tables = [np.maximum(np.log(each), smallest) for each in (near, densities)]

    def log_weight(counts: Reals) -> Reals:
        logs = _cubic_values(tables[1], counts / stride - first)
        is_near = counts < near.size
        if is_near.any():
            logs[is_near] = _cubic_values(tables[0], counts[is_near])
        return logs

    ends = first * stride, (first + densities.size - 1) * stride
    counts = stride * np.arange(first, first + densities.size)
    peak = _likeliest_count(log_weight, np.union1d(counts, np.arange(near.size)).astype(np.float64))
    return _centred_law(log_weight, ends, peak, (), deviation / _BROAD)


def _cubic_values(values: Reals, positions: Reals) -> Reals:
    """Return values at positions between 0, 1, …, by cubics through the four nearest values."""
    start = np.clip(np.floor(positions), 1, values.size - 3).astype(np.int64)
    return interpolate_cubic(values, start, positions - start)


def _shares_at_multiples(law: CountDistribution, stride: int) -> tuple[NDArray[np.int64], Reals]:
    """Return multiples of a stride, and the parts of each count's probability that four of them receive."""
    counts, weights = _quadrature_points(law, stride)
    if stride == 1:
        return counts.astype(np.int64), weights
    first = np.maximum(np.floor(counts / stride) - 1, 0)
    nodes = np.arange(4)
    distance = (counts / stride - first)[:, None] - nodes
    shares = np.repeat(weights[:, None], nodes.size, axis=1)
    for node in nodes:
        for other_node in nodes[nodes != node]:
            shares[:, node] *= distance[:, other_node] / (node - other_node)
    places = first[:, None].astype(np.int64) + nodes
    return places.ravel(), shares.ravel()


def _quadrature_points(law: CountDistribution, stride: int) -> tuple[Reals, Reals]:
    """Return points x and weights w with Σ w·g(x) = E[g(K)] for g smooth between multiples of the stride.

    With stride 1, or for a distribution in a table, the points are all counts and the weights their probabilities.
    """
    low, high = law.support
    if not isinstance(law, SmoothLaw) or stride == 1:
        counts = np.arange(low, high + 1.0)
        return counts, law.pmf(counts)
    start = law.centre // stride * stride
    moved = start - law.centre
    cuts = [cut - moved for cut in law.cuts]
    ends = low - start, high - start
    blocks = blocks_between(lambda places: law.log_weight(places + moved), *ends, cuts, _longest_block(stride))
    is_used = blocks.weights > 0
    return start + blocks.offsets[is_used], blocks.weights[is_used] / blocks.mass


_PACKS, _FEWEST = (
    512,
    32,
)  # number of packs in the scale of the narrowest noise: of all cells together, and at least of each
_FEW = 4  # cells: fewer count as so many


def pack_size(answers: Sequence[LevelAnswers], cells: int) -> int:
    """Return the number of records to whose multiples counts are rounded under wide noise.

    It is 1, or a small part of the scale of the narrowest noise: 1/128 for a table of at most four cells, and 1/32 for
    a table of 16 or more.
    """
    parts = min(max(_PACKS / max(cells, _FEW), _FEWEST), _PACKS)
    return stride_within(min((group.spread for group in answers), default=0.0) / parts)


def packed_answers(answers: Sequence[LevelAnswers], size: int) -> tuple[LevelAnswers, ...]:
    """Return answers in units of `size` records. Noise much wider than that is practically continuous."""
    if size == 1:
        return tuple(answers)
    groups = []
    for group in answers:
        values = group.answers
        if getattr(group.mechanism, "is_discrete", False):
            values = np.where(group.suppressed, np.ceil(values) - 0.5, values)
        packed = _pack_noise(group.mechanism, size)
        groups.append(LevelAnswers(group.level, group.nodes, values / size, group.suppressed, packed))
    return tuple(groups)


def _pack_noise(mechanism: Mechanism, size: int) -> Mechanism:
    """Return the noise in units of a pack of `size` records."""
    if isinstance(mechanism, NoiseSum):
        return NoiseSum([_pack_noise(noise, size) for noise in mechanism.noises])
    if isinstance(mechanism, Laplace | DiscreteLaplace):
        return Laplace(float(mechanism.scale) / size)
    if isinstance(mechanism, Gaussian | DiscreteGaussian):
        return Gaussian(float(mechanism.scale) / size)
    raise TypeError(f"noise of a wide table must be Laplace, Gaussian or a sum of them, got {mechanism!r}")
