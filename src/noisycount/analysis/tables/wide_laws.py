"""Counts so wide that they are no table: in runs, on every h-th count, and in packs of records."""

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
from noisycount.model.tables.cells import cubic

_STEPS = 64  # of a search, in one evaluation
_LEAST = 1e-250  # of the largest probability: stands for 0
_SLACK = 1.1  # by which a peak within a block may exceed the largest of its 24 points


def wide_law(log_weight: LogWeight, ends: tuple[int, int], bends: Sequence[float], longest: float) -> SmoothLaw:
    """The law of a count whose weight may turn several times.

    Blocks are shorter than their distance to each bend and to the ends, and not longer than what
    moves the logarithm by little.
    """
    low, high = ends
    cuts = sorted({math.floor(bend) + side for bend in bends for side in (-1, 0, 1, 2)})
    cuts = [cut for cut in cuts if low <= cut <= high]
    start = _law(log_weight, ends, low, cuts, longest)
    points = np.unique(np.floor(start.points(None, high).offsets))
    centre = _peak(log_weight, np.clip(points, low, high))
    return _law(log_weight, ends, centre, cuts, longest)


def _law(log_weight: LogWeight, ends: tuple[int, int], centre: int, cuts: Iterable[int], longest: float) -> SmoothLaw:
    """That about a centre."""
    at_centre = float(log_weight(np.array([float(centre)]))[0])
    change = Expansion(Decimal(0), lambda offsets: _at(log_weight, offsets + centre) - at_centre)
    offsets = tuple(cut - centre for cut in cuts)
    return SmoothLaw(ends, centre, change, offsets, longest=longest)


def _at(log_weight: LogWeight, counts: Reals) -> Reals:
    """The logarithms at an array of any shape."""
    return log_weight(np.ravel(counts)).reshape(np.shape(counts))


def _peak(log_weight: LogWeight, counts: Reals) -> int:
    """The count with the largest weight, next to the largest of some, which are rising."""
    while True:
        best = int(np.argmax(log_weight(counts)))
        low, high = counts[max(0, best - 1)], counts[min(counts.size - 1, best + 1)]
        if high <= counts[best] + 1 and low >= counts[best] - 1:
            return int(counts[best])
        counts = np.unique(np.append(np.round(np.linspace(low, high, _STEPS)), counts[best]))


def wide_draws(law: SmoothLaw, number: int, random: np.random.Generator) -> NDArray[np.int64]:
    """Counts drawn from a law: a block by its mass, and a count of it by rejection."""
    blocks = law.blocks
    masses = blocks.weights.sum(axis=1)
    lasts = blocks.starts + blocks.lengths - 1
    points = np.clip(blocks.offsets, blocks.starts[:, None], lasts[:, None])
    tried = np.column_stack([blocks.starts, points, lasts])
    tops = law.log_weight(tried).max(axis=1) + math.log(_SLACK)
    own = random.choice(masses.size, number, p=masses / masses.sum())
    drawn, waiting = np.empty(number, np.int64), np.arange(number)
    while waiting.size:
        block = own[waiting]
        offsets = blocks.starts[block] + np.floor(random.random(waiting.size) * blocks.lengths[block])
        kept = np.log(random.random(waiting.size)) <= law.log_weight(offsets) - tops[block]
        drawn[waiting[kept]] = law.centre + offsets[kept].astype(np.int64)
        waiting = waiting[~kept]
    return drawn


def stride_within(length: float) -> int:
    """A stride up to a length, and not much shorter, that whole blocks fill; 1 at least."""
    part = _block(POINTS << max(0, int(math.log2(max(length / POINTS, 1.0))) - 2))
    return max(1, int(length // part * part if length >= POINTS else length))


def _block(stride: int) -> int:
    """The longest block of which strides hold a whole number; the shortest for short ones."""
    times = stride // POINTS
    return POINTS * (times & -times) if times else POINTS


def lattice_law(first: int, chances: Reals, stride: int) -> SmoothLaw:
    """A law that is known at the multiples of a stride, by lines between them.

    It is the law of |h·J + T|, T triangular on ±h: the mean is kept but for what is turned at 0.
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

    return _law(log_weight, ends, int(places[np.argmax(values)]), (), _block(stride))


_PART = 128  # of a standard deviation: the stride of the law of a sum
_NARROW = 1 << 13  # records: a standard deviation up to which the stride is 1
_NEAR = 32  # strides: sums of so few are computed at every count
_BROAD = 4.0  # the part of a standard deviation that a block has at most
_FLOOR = 1e-15  # of the largest probability: less may be the rounding of a transform
_FAR = 40.0  # standard deviations
Kinds = Sequence[tuple[int, CountDistribution]]


def lattice_sum(kinds: Kinds, mean: float, deviation: float) -> TableLaw | SmoothLaw:
    """The law of a sum of independent counts; of a wide one by what it is at every h-th count.

    Each count is shared among four multiples of h so that its first three powers are kept: sums
    have their mean, variance and third moment. Sums below 32·h are of counts below: each is
    computed. h is 1 up to a standard deviation of 8,192 records, then 1/128 of it, or less.

    Numerical error: 1e-6 in the probability of up to a count; 1e-14 where h is 1.
    """
    stride = stride_within(deviation / _PART) if deviation > _NARROW else 1
    centre, half = round(mean / stride), math.ceil(_FAR * deviation / stride)
    most = sum(number * law.support[1] for number, law in kinds)
    low, high = max(0, centre - half), min(most // stride + 4 * (stride > 1), centre + half)
    length = transform_length(high - low + 1)
    spectrum = np.ones(length // 2 + 1, dtype=np.complex128)
    for number, law in kinds:
        places, shares = _shared(law, stride)
        spectrum *= np.fft.rfft(np.bincount(places % length, shares, length)) ** number
    chances = np.maximum(np.fft.irfft(spectrum, length)[np.arange(low, high + 1) % length], 0.0)
    if stride > 1:
        near = _first_sums(kinds, _NEAR * stride) if low < _NEAR else np.empty(0)
        return _graded_law(near, low, chances / stride, stride, deviation)
    chances = np.where(chances > _FLOOR * chances.max(), chances, 0.0)
    first, *_, last = np.flatnonzero(chances).tolist() * 2
    with np.errstate(divide="ignore"):
        return TableLaw(low + first, np.log(chances[first : last + 1]))


def _first_sums(kinds: Kinds, end: int) -> Reals:
    """The probabilities of the sums below an end, which are of counts below it."""
    counts = np.arange(end)
    found: Reals = (counts == 0).astype(np.float64)
    for number, law in kinds:
        power: Reals = law.pmf(counts)
        for digit in reversed(f"{number:b}"):
            found = _convolved(found, power) if digit == "1" else found
            power = _convolved(power, power) if number > 1 else power
    return found


def _convolved(one: Reals, other: Reals) -> Reals:
    """The first of the sums of two counts, as many as either law has."""
    length = transform_length(2 * one.size)
    product = np.fft.rfft(one, length) * np.fft.rfft(other, length)
    sums: Reals = np.fft.irfft(product, length)[: one.size]
    return np.maximum(sums, 0.0)


def _graded_law(near: Reals, first: int, densities: Reals, stride: int, deviation: float) -> SmoothLaw:
    """A law that is known at its first counts, and then at the multiples of a stride."""
    least = math.log(_FLOOR * densities.max())
    with np.errstate(divide="ignore"):
        tables = [np.maximum(np.log(each), least) for each in (near, densities)]

    def log_weight(counts: Reals) -> Reals:
        logs = _cubic(tables[1], counts / stride - first)
        is_near = counts < near.size
        if is_near.any():
            logs[is_near] = _cubic(tables[0], counts[is_near])
        return logs

    ends = first * stride, (first + densities.size - 1) * stride
    counts = stride * np.arange(first, first + densities.size)
    peak = _peak(log_weight, np.union1d(counts, np.arange(near.size)).astype(np.float64))
    return _law(log_weight, ends, peak, (), deviation / _BROAD)


def _cubic(values: Reals, places: Reals) -> Reals:
    """Values at 0, 1, and so on, between which cubics go through the nearest four."""
    start = np.clip(np.floor(places), 1, values.size - 3).astype(np.int64)
    return cubic(values, start, places - start)


def _shared(law: CountDistribution, stride: int) -> tuple[NDArray[np.int64], Reals]:
    """On which multiples of a stride the probabilities of counts are, and how much of them."""
    counts, weights = _points(law, stride)
    if stride == 1:
        return counts.astype(np.int64), weights
    first = np.maximum(np.floor(counts / stride) - 1, 0)
    nodes = np.arange(4)
    apart = (counts / stride - first)[:, None] - nodes
    shares = np.repeat(weights[:, None], nodes.size, axis=1)
    for node in nodes:
        for other in nodes[nodes != node]:
            shares[:, node] *= apart[:, other] / (node - other)
    places = first[:, None].astype(np.int64) + nodes
    return places.ravel(), shares.ravel()


def _points(law: CountDistribution, stride: int) -> tuple[Reals, Reals]:
    """Points that sum over counts what is smooth from each multiple of a stride to the next."""
    low, high = law.support
    if not isinstance(law, SmoothLaw) or stride == 1:
        counts = np.arange(low, high + 1.0)
        return counts, law.pmf(counts)
    start = law.centre // stride * stride
    moved = start - law.centre
    cuts = [cut - moved for cut in law.cuts]
    ends = low - start, high - start
    blocks = blocks_between(lambda places: law.log_weight(places + moved), *ends, cuts, _block(stride))
    kept = blocks.weights > 0
    return start + blocks.offsets[kept], blocks.weights[kept] / blocks.mass


_PACKS, _FEWEST = 512, 32  # in the scale of the narrowest noise: of all cells, and at least
_FEW = 4  # cells


def pack_size(answers: Sequence[LevelAnswers], cells: int) -> int:
    """How many records a pack has: 1, or a small part of the scale of the narrowest noise.

    That is 1/128 for a table of four cells or fewer, 1/32 for one of 16 or more.
    """
    parts = min(max(_PACKS / max(cells, _FEW), _FEWEST), _PACKS)
    return stride_within(min((one.spread for one in answers), default=0.0) / parts)


def packed_answers(answers: Sequence[LevelAnswers], size: int) -> tuple[LevelAnswers, ...]:
    """Noisy answers in packs; noise so wide is as good as continuous."""
    if size == 1:
        return tuple(answers)
    found = []
    for one in answers:
        values = one.answers
        if getattr(one.mechanism, "is_discrete", False):
            values = np.where(one.suppressed, np.ceil(values) - 0.5, values)
        packed = _packed(one.mechanism, size)
        found.append(LevelAnswers(one.level, one.nodes, values / size, one.suppressed, packed))
    return tuple(found)


def _packed(mechanism: Mechanism, size: int) -> Mechanism:
    """Noise in packs."""
    if isinstance(mechanism, NoiseSum):
        return NoiseSum([_packed(noise, size) for noise in mechanism.noises])
    if isinstance(mechanism, Laplace | DiscreteLaplace):
        return Laplace(float(mechanism.scale) / size)
    if isinstance(mechanism, Gaussian | DiscreteGaussian):
        return Gaussian(float(mechanism.scale) / size)
    raise TypeError(f"noise must be known to be told in packs, got {mechanism!r}")
