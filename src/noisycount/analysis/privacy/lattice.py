"""Distribution of several noisy counts on a lattice of answers, with bounds for continuous noise.

`noise_on_grid` puts the noise of one answer on a grid in two ways: rounded, which lowers δ, and split, which raises δ.
`Lattice` computes the distribution of all answers with either.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, reduce
from itertools import product

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from noisycount.analysis.tables.sums import transform_length
from noisycount.frozen import frozen
from noisycount.model.exact import Exact
from noisycount.model.laws.gamma import Reals
from noisycount.model.noises.additive import SymmetricNoise
from noisycount.model.noises.gaussian import Gaussian
from noisycount.model.noises.laplace import Laplace
from noisycount.model.noises.noise_sum import NoiseSum
from noisycount.model.populations.binomial import Binomial

LOST = 1e-13  # largest probability that is left out on each side of a distribution
_HALF_WAY = 0.5  # share for bounds that differ by rounding only
_LEAST_BLUR = 1.0  # steps², of 1/(1/σ₁² + 1/τ²): then a grid changes a density by at most 2·e^(−2π²) = 5e-9, relative
_BLURRED = 1.1e-8  # twice that, plus a tenth for all smaller terms
_NARROW = 4.0  # smallest variance of noise that can be split, in units of `_LEAST_BLUR`


@frozen(eq=False)
class Kernel:
    """Noise on a grid with some steps for each record, from −reach to reach records.

    An answer that is rounded to the grid is a function of the answer, so that rounding can only lower δ. The noise may
    also be split into a sum D + R of independent parts with D on the grid. An adversary who gets the answer with D
    alone learns at least as much, so that splitting can only raise δ.
    """

    reach: int  # largest distance of the noise from 0, in records
    steps: int  # number of steps for each record
    rounded: Reals  # probabilities of the rounded noise, shape (2·reach·steps + 1,)
    split: Reals  # probabilities of D, same shape
    error: float  # largest error of D + R as a replacement of the noise, relative to its density
    share: float  # variance that rounding adds, as a share of that plus the variance of R

    def offsets(self) -> Iterator[tuple[Reals, Reals]]:
        """Yield both distributions at the integers plus 0, 1, … steps, in this order, shape (2·reach + 1,) each."""
        width = 2 * self.reach + 1
        for start in range(self.steps):
            pair = np.zeros((2, width))
            for row, law in zip(pair, (self.rounded, self.split), strict=True):
                part = law[start :: self.steps]
                row[: part.size] = part
            yield pair[0], pair[1]


def is_continuous(mechanism: Exact | SymmetricNoise) -> bool:
    """Return True if answers may lie between the integers."""
    return isinstance(mechanism, SymmetricNoise) and not mechanism.is_discrete


def noise_on_grid(mechanism: Exact | SymmetricNoise, steps: int) -> Kernel:
    """Return the noise of a mechanism on a grid with so many steps for each record."""
    if not isinstance(mechanism, SymmetricNoise):
        return Kernel(0, 1, np.ones(1), np.ones(1), 0.0, _HALF_WAY)
    reach = _noise_reach(mechanism)
    if mechanism.is_discrete:
        law = np.exp(mechanism.errors.log_heights(np.arange(-reach, reach + 1.0)))
        return Kernel(reach, 1, law, law, 0.0, _HALF_WAY)
    grid = np.arange(-reach * steps, reach * steps + 1.0) / steps
    rounded = mechanism.errors.between(grid - 0.5 / steps, np.full(grid.size, 1 / steps))
    summands = mechanism.noises if isinstance(mechanism, NoiseSum) else [mechanism]
    parts = [_split_noise(one, grid, steps) for one in summands]
    split = reduce(lambda one, other: np.convolve(one, other, "same"), [law for law, _, _ in parts])
    hidden = sum(variance for _, _, variance in parts)
    error = sum(error for _, error, _ in parts)
    return Kernel(reach, steps, rounded, split, error, 1 / (1 + 12 * hidden))


def _noise_reach(noise: SymmetricNoise) -> int:
    """Return the distance in records beyond which noise has a probability of at most `LOST`."""
    return max(1, math.ceil(noise.error_with_tail(math.log(LOST))))


def _split_noise(noise: SymmetricNoise, grid: Reals, steps: int) -> tuple[Reals, float, float]:
    """Return the noise as independent parts D + R with D on the grid: probabilities of D, error, and variance of R.

    The error is relative, the variance in steps².
    """
    if isinstance(noise, Laplace):
        return _split_laplace(noise.scale * steps, grid * steps)
    if isinstance(noise, Gaussian):
        return _split_gaussian(noise.scale * steps, grid * steps)
    raise ValueError(
        f"mechanism must be Laplace, Gaussian, discrete noise or none in a list of questions, got {noise!r}"
    )


def _split_laplace(scale: float, grid: Reals) -> tuple[Reals, float, float]:
    """Split Laplace noise into independent discrete Laplace noise D and a remainder R, without error.

    Laplace noise is the difference of two exponential variables. The integer part and the remainder of an exponential
    variable are independent, as it is memoryless.
    """
    law = math.tanh(1 / (2 * scale)) * np.exp(-np.abs(grid) / scale)
    ratio = math.exp(-1 / scale)
    return law, 0.0, max(0.0, 2 * scale**2 - 2 * ratio / (1 - ratio) ** 2)


def _split_gaussian(scale: float, grid: Reals) -> tuple[Reals, float, float]:
    """Split Gaussian noise into discrete Gaussian noise D and Gaussian noise R, up to a relative error of 1.1e-8.

    With the variances σ₁² of D and τ² of R, the density of D + R is the Gaussian density of variance σ₁² + τ², times
    1 + 2·Σ_{m >= 1} e^(−2π²m²s²)·cos(…) with s² = σ₁²τ²/(σ₁² + τ²) in steps², by Poisson's summation formula. If the
    variance of the noise is at most 4 steps², D is 0.
    """
    variance = scale**2
    if variance <= _NARROW * _LEAST_BLUR:
        return (grid == 0).astype(np.float64), 0.0, variance
    root = math.sqrt(1 - _NARROW * _LEAST_BLUR / variance)
    hidden = 2 * _LEAST_BLUR / (1 + root)
    weights = np.exp(-(grid**2) / (2 * (variance - hidden)))
    return weights / weights.sum(), _BLURRED, hidden


Complexes = NDArray[np.complex128]
_UNIT = 2.0**-53
_PER_RECORD = 8.0  # rounding errors of a power for each record: of the sum and of its logarithm
_PER_LEVEL = 16.0  # rounding errors of a transform for each doubling of its length, in the mean square
_BEYOND = 1  # empty place on each side of the answers, so that one record can be added
_FAINT = 1e-18  # absolute value of a frequency that is left out; the largest one is 1
_SLAB = 2**21  # largest number of lattice points that are computed at once
_PMF_ROUNDING = 1e-12  # relative error of the probabilities of a count


@frozen(eq=False, slots=False)
class Lattice:
    """Distribution of one or more counts of independent records with independent noises.

    The Fourier transform of the distribution is a power of the transform of one record, times the transforms of the
    noises. High frequencies of wide distributions are so small that they are left out.
    """

    records: int  # number of records
    # Rate of each pattern: a row of ones and zeros, one for each count, that states whether a record is counted.
    rates: Mapping[tuple[int, ...], float]
    kernels: Sequence[Kernel]  # the noise of each count

    def slabs(self) -> Iterator[tuple[Reals, Reals]]:
        """Yield slabs of the distribution of the answers with rounded noise and with split noise, in pairs.

        If both noises are equal, the two are the same object. There are slabs at each offset of the grid from the
        integers. They follow each other along the first count; the last row of one slab is the first row of the next.
        """
        for offsets in product(*(kernel.offsets() for kernel in self.kernels)):
            rounded, split = zip(*offsets, strict=True)
            if all(np.array_equal(one, other) for one, other in zip(rounded, split, strict=True)):
                yield from ((slab, slab) for slab in self._slabs_with_noises(rounded))
            else:
                yield from zip(self._slabs_with_noises(rounded), self._slabs_with_noises(split), strict=True)

    @property
    def shortest(self) -> "Lattice":
        """The lattice with the fewest points among those with the same divergences."""
        if len(self.kernels) == 1 or any(len(set(pattern)) > 1 for pattern in self.rates):
            return self
        common = SameQuestionLattice(self.records, self.rates, sorted(self.kernels, key=lambda one: one.reach))
        return min(self, common, key=lambda one: one.places)

    @property
    def moves(self) -> list[tuple[int, ...]]:
        """Changes of the counts by a change of one record, without the reversed ones: the first change is upwards."""
        patterns = list(self.rates)
        moves = {tuple(a - b for a, b in zip(one, other, strict=True)) for one in patterns for other in patterns}
        return sorted(move for move in moves if move > (0,) * len(move))

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Number of integers of each axis, rounded up to a length with a fast transform."""
        sizes = []
        for (low, high), kernel in zip(self._count_spans, self.kernels, strict=True):
            sizes.append(transform_length(high - low + 1 + 2 * (kernel.reach + _BEYOND)))
        return tuple(sizes)

    @property
    def places(self) -> int:
        """Number of integer answers on the lattice."""
        return math.prod(self.shape)

    @property
    def frequencies(self) -> int:
        """Number of frequencies that are kept."""
        return math.prod(kept.size for kept in self._kept_frequencies)

    @cached_property
    def error(self) -> float:
        """Upper bound of the sum of the absolute errors of all probabilities.

        The bound covers three errors:

        1. The probability outside of the axes: that of counts on both sides, and twice that of noise, which is wrapped
        around to other points.

        2. The frequencies that are left out.

        3. Rounding: of transforms and of sums along the first axis, bounded in the mean square, and of the power, with
        some rounding errors for each record.
        """
        outside = 6 * LOST * len(self.kernels)
        levels = sum(math.log2(size) for size in self.shape)
        roundings = _PER_RECORD * (self.records + 1) + _PER_LEVEL * levels + self._kept_frequencies[0].size
        length = math.sqrt(2 * float(np.sum(np.abs(self._transform_of_counts) ** 2)))
        return outside + _UNIT * roundings * length + _FAINT * math.sqrt(self.places)

    def _slabs_with_noises(self, noises: Sequence[Reals]) -> Iterator[Reals]:
        """Yield slabs of the distribution of the counts plus these noises. The arrays of the noises begin at −reach."""
        transform = self._transform_of_counts
        for axis, noise in enumerate(noises):
            padded = np.zeros(self.shape[axis])
            padded[_BEYOND : _BEYOND + noise.size] = noise
            factor = np.fft.fft(padded)[self._kept_frequencies[axis]]
            transform = transform * self._broadcast_along(factor, axis)
        first, *others = self.shape
        rows = max(1, _SLAB // math.prod(others))
        if rows + 1 >= first:
            yield self._invert_axes(transform, 0)
            return
        for start in range(0, first - 1, rows):
            places = np.arange(start, min(first, start + rows + 1))
            turns = np.exp(2j * np.pi * (np.outer(places, self._kept_frequencies[0]) % first) / first) / first
            yield self._invert_axes(np.tensordot(turns, transform, 1), 1)

    def _invert_axes(self, rows: Complexes, start: int) -> Reals:
        """Return the distribution from its Fourier transform along all axes from `start` on."""
        for axis in range(start, len(self.shape) - 1):
            whole = np.zeros((*rows.shape[:axis], self.shape[axis], *rows.shape[axis + 1 :]), complex)
            whole[(slice(None),) * axis + (self._kept_frequencies[axis],)] = rows
            rows = np.fft.ifft(whole, axis=axis)
        law: Reals = np.fft.irfft(rows, self.shape[-1])
        return np.maximum(law, 0.0, out=law)

    @cached_property
    def _transform_of_counts(self) -> Complexes:
        """Fourier transform of the distribution of the counts, where each count is reduced by its smallest value."""
        turns = [self._axis_phases(axis, 1) for axis in range(len(self.shape))]
        total = sum(
            rate * reduce(np.multiply, [one**bit for one, bit in zip(turns, pattern, strict=True)])
            for pattern, rate in self.rates.items()
        )
        power: Complexes = np.power(total, self.records)
        for axis, (low, _) in enumerate(self._count_spans):
            power = power * self._axis_phases(axis, -low)
        return power

    def _axis_phases(self, axis: int, count: int) -> Complexes:
        """Return e^(−i·frequency·count) for the kept frequencies of an axis."""
        size = self.shape[axis]
        angles = (self._kept_frequencies[axis] * count) % size
        return self._broadcast_along(np.exp(-2j * np.pi * angles / size), axis)

    def _broadcast_along(self, values: Complexes, axis: int) -> Complexes:
        """Return a row of values as an array that broadcasts along an axis."""
        return values.reshape([-1 if one == axis else 1 for one in range(len(self.shape))])

    @cached_property
    def _kept_frequencies(self) -> list[NDArray[np.intp]]:
        """Frequencies of each axis that are kept: from 0 on, and negative ones except on the last axis.

        Let p and p* be the rates of two patterns that differ in one count only. Then the transform of a record at the
        frequency θ of that count is at most 1 − Σ (p + p* − |p + p*·e^iθ|), with a sum over all such pairs.
        """
        kept = []
        for axis, size in enumerate(self.shape):
            half = np.arange(size // 2 + 1)
            turn = np.exp(2j * np.pi * half / size)
            faint = [p + q - np.abs(p + q * turn) for p, q in self._rate_pairs(axis)]
            sizes = np.ones(half.size) - sum(faint)
            bright = np.flatnonzero(np.maximum(sizes, 0.0) ** self.records > _FAINT)
            last = int(bright[-1])
            is_last = axis == len(self.shape) - 1
            everything = is_last or 2 * last + 1 >= size
            kept.append(
                np.arange(last + 1 if is_last else size)
                if everything
                else np.concatenate([np.arange(last + 1), np.arange(-last, 0)])
            )
        return kept

    def _rate_pairs(self, axis: int) -> Iterator[tuple[float, float]]:
        """Yield the rates of each two patterns that differ in the count of this axis only."""
        for pattern, rate in self.rates.items():
            other = (*pattern[:axis], 1, *pattern[axis + 1 :])
            if not pattern[axis] and other in self.rates:
                yield rate, self.rates[other]

    @cached_property
    def _count_spans(self) -> list[tuple[int, int]]:
        """Smallest and largest value of each count; see `count_span`."""
        rates = [
            math.fsum(rate for pattern, rate in self.rates.items() if pattern[axis])
            for axis in range(len(self.kernels))
        ]
        return [count_span(self.records, min(1.0, rate)) for rate in rates]


@frozen(eq=False, slots=False)
class SameQuestionLattice(Lattice):
    """Distribution of two or more answers with independent noises to the same question.

    The axes are the first answer, and the differences of the other answers from it. At given differences, the first
    answer is distributed as a convolution of the count's distribution and a product of noises. The differences are as
    small as the noise for any number of records, and no record changes them.
    """

    @property
    def moves(self) -> list[tuple[int, ...]]:
        """Change of the first answer and of the differences by a change of one record."""
        return [(1, 0)]

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Number of integers of the first answer, rounded up to a fast transform length, and of each difference."""
        (low, high), *_ = self._count_spans
        first, *others = (2 * kernel.reach + 1 for kernel in self.kernels)
        return (transform_length(high - low + first + 2 * _BEYOND), *(first + width - 1 for width in others))

    @cached_property
    def error(self) -> float:
        """Upper bound of the sum of the absolute errors of all probabilities.

        It covers counts and noise that are left out, the probabilities of the count, and the transforms, in the mean
        square.
        """
        outside = 6 * LOST * len(self.kernels)
        places = self.places * math.prod(kernel.steps for kernel in self.kernels)
        length = float(np.linalg.norm(self._counts))
        for kernel in self.kernels:
            length *= max(float(np.linalg.norm(law)) for law in (kernel.rounded, kernel.split))
        roundings = _PER_LEVEL * math.log2(self.shape[0])
        return outside + _PMF_ROUNDING + _UNIT * roundings * length * math.sqrt(places)

    def _slabs_with_noises(self, noises: Sequence[Reals]) -> Iterator[Reals]:
        """Yield slabs of the distribution: all first answers and some differences, shape (answers, differences)."""
        size = self.shape[0]
        counts = np.fft.rfft(self._counts, size)
        first, *others = noises
        moved = [sliding_window_view(np.pad(one, first.size - 1), first.size) for one in others]
        rows = max(1, _SLAB // size)
        for rest in product(*moved[:-1]):
            noise = reduce(np.multiply, rest, first)
            for start in range(0, len(moved[-1]), rows):
                products = np.fft.rfft(noise * moved[-1][start : start + rows], size)
                law = np.fft.irfft(products * counts, size).T
                yield np.maximum(law, 0.0, out=law)

    @cached_property
    def _counts(self) -> Reals:
        """Probabilities of the counts, after one 0: from the count below the smallest possible one on."""
        (low, high), *_ = self._count_spans
        rate = math.fsum(rate for pattern, rate in self.rates.items() if pattern[0])
        law = Binomial(self.records, min(1.0, rate)).law().pmf(np.arange(low, high + 1.0)) if self.records else [1.0]
        return np.concatenate([np.zeros(_BEYOND), law])


def count_span(records: int, rate: float) -> tuple[int, int]:
    """Return the smallest and the largest count of independent records that is not negligible.

    The probability that is left out on each side is at most `LOST`, by Bernstein's inequality.
    """
    mean, variance = records * rate, records * rate * (1 - rate)
    depth = -math.log(LOST)
    reach = depth / 3 + math.sqrt(depth**2 / 9 + 2 * variance * depth)
    return max(0, math.floor(mean - reach)), min(records, math.ceil(mean + reach))
