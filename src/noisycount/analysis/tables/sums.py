"""Sums of independent counts: their bounds, and two ways to convolve them.

`PositiveSum` adds terms one by one, `FastSum` uses Fourier transforms. `passes` decides which of them is used, and
`tilt_to_mean` of `split` moves the mean of a sum to the counts that matter.
"""

import math
from collections.abc import Callable
from functools import cached_property
from typing import ClassVar, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from noisycount.frozen import frozen
from noisycount.model.laws.gamma import Reals

Complexes = NDArray[np.complex128]


class LeaveOneOutSums(NamedTuple):
    """For each summand, Σ_k outside(k)·P[the other summands add up to k − j] at its counts j."""

    values: Reals  # shape (nodes, sets, summands, width)
    rounding: Reals  # bound of their absolute error, shape (nodes, sets)


_DEPTH = 48.0  # nats: e^−48 = 1.4e−21 of the probability is neglected on each side
# Tilts over the standard deviation of the sum: about √(2·48) suits a normal distribution, or less.
_STEEPNESS = np.array([0.7, 1.0, 1.4, 2.0, 2.8, 4.0, 5.7, 8.0, 11.0, 16.0])
_FINE = np.geomspace(1.0, 50.0, 15)  # 30 % apart, so that bounds far out are near the truth
_STEEPEST = 600.0  # nats over the window of a summand, so that exponentials do not overflow


class SumMoments(NamedTuple):
    """Means and variances of positions, weighted along the last axis."""

    mean: Reals
    variance: Reals


def moments(weights: Reals) -> SumMoments:
    """Return the mean and the variance of the positions 0, 1, … under weights that add up to 1."""
    positions = np.arange(weights.shape[-1], dtype=np.float64)
    mean = weights @ positions
    variance = (weights @ positions**2) - mean**2
    return SumMoments(mean, np.maximum(variance, 0.0))


def sum_bounds(weights: Reals, summand_moments: SumMoments) -> tuple[Reals, Reals]:
    """Return the smallest and the largest sum, except for sums of a probability of at most e^−48 on each side.

    Chernoff's bound: P[S >= b] <= M(t)·e^(−t·b) for t > 0, with M the product of the moment generating functions.
    Shapes: weights (..., summands, width); result (...).
    """
    width = weights.shape[-1]
    largest = np.full(summand_moments.mean.shape[:-1], float(weights.shape[-2] * (width - 1)))
    if width == 1:
        return np.zeros_like(largest), largest
    tilts, log_functions = _log_generating_functions(weights, summand_moments, _STEEPNESS)
    reaches = (log_functions + _DEPTH) / tilts
    middle = largest / 2
    low = middle + reaches[..., tilts < 0].max(axis=-1)
    high = middle + reaches[..., tilts > 0].min(axis=-1)
    return np.clip(np.floor(low), 0, largest), np.clip(np.ceil(high), 0, largest)


def log_bounds(weights: Reals, summand_moments: SumMoments, sums: Reals) -> Reals:
    """Return upper bounds of the logarithms of the probabilities of sums, by Chernoff's bound.

    Shapes: weights (..., summands, width), sums (..., sums); result (..., sums).
    """
    if weights.shape[-1] == 1:
        return np.zeros_like(sums)
    middle = weights.shape[-2] * (weights.shape[-1] - 1) / 2
    bounds = np.zeros_like(sums)
    tilts, log_functions = _log_generating_functions(weights, summand_moments, _FINE)
    for number, tilt in enumerate(tilts.tolist()):
        np.minimum(bounds, log_functions[..., number, None] - tilt * (sums - middle), out=bounds)
    return bounds


def _log_generating_functions(weights: Reals, summand_moments: SumMoments, steepness: Reals) -> tuple[Reals, Reals]:
    """Return tilts, and the logarithms of the moment generating function of the sum about the middle of its range."""
    width = weights.shape[-1]
    deviations = np.sort(np.sqrt(summand_moments.variance.sum(axis=-1)), axis=None)
    typical = max(float(deviations[deviations.size // 2]), 1e-3)
    steepness = np.minimum(steepness / typical, _STEEPEST / width)
    tilts = np.concatenate([-steepness, steepness])
    positions = np.arange(width) - (width - 1) / 2
    log_functions: Reals = np.log(weights @ np.exp(positions[:, None] * tilts)).sum(axis=-2)
    return tilts, log_functions


def sum_of_logs(logs: Reals, axis: int) -> Reals:
    """Return ln Σ e^logs along an axis; −inf where all terms are 0."""
    peak = logs.max(axis=axis, keepdims=True)
    peak = np.where(np.isfinite(peak), peak, 0.0)
    with np.errstate(divide="ignore"):
        total: Reals = np.log(np.exp(logs - peak).sum(axis=axis)) + np.squeeze(peak, axis)
    return total


@frozen(eq=False, slots=False)
class PositiveSum:
    """Distributions of sums of independent counts, as sums of positive terms.

    Errors are relative: a few units in the last place for each summand, in the tails too.
    """

    weights: Reals  # distributions of the summands on 0, 1, …, shape (nodes, sets, summands, width)

    @cached_property
    def _halves(self) -> "tuple[PositiveSum, PositiveSum] | None":
        """The two halves of the summands; None if there is one summand."""
        middle = self.weights.shape[2] // 2
        if middle == 0:
            return None
        return PositiveSum(self.weights[:, :, :middle]), PositiveSum(self.weights[:, :, middle:])

    floor: ClassVar[float] = 1e-280
    """Share of the largest probability below which probabilities are set to 0, as they may underflow."""

    @cached_property
    def smallest(self) -> Reals:
        """Smallest probability that cannot underflow; smaller ones are set to 0. Shape (nodes, sets, 1)."""
        return self.floor * self._unrounded_law.max(axis=-1, keepdims=True)

    @property
    def first(self) -> NDArray[np.int64]:
        """First sum of `law` for each node: 0. Shape (nodes,)."""
        return np.zeros(self.weights.shape[0], np.int64)

    @property
    def length(self) -> int:
        """Number of sums."""
        return self.weights.shape[2] * (self.weights.shape[3] - 1) + 1

    @cached_property
    def law(self) -> Reals:
        """Probabilities of the sum, shape (nodes, sets, sums)."""
        law = self._unrounded_law
        return np.where(law >= self.smallest, law, 0.0)

    @cached_property
    def _unrounded_law(self) -> Reals:
        """Probabilities of the sum before those that may underflow are set to 0."""
        if self._halves is None:
            return self.weights[:, :, 0]
        return row_by_row(np.convolve, *(half._unrounded_law for half in self._halves))  # noqa: SLF001  (of this class)

    def leave_one_out(self, outside: Reals) -> LeaveOneOutSums:
        """Return Σ_k outside(k)·P[the other summands add up to k − j] for each summand at its counts j.

        Shapes: outside (nodes, sets, sums).
        """
        return LeaveOneOutSums(self._correlations(outside), np.zeros(outside.shape[:2]))

    def _correlations(self, outside: Reals) -> Reals:
        """Return the values of `leave_one_out`, shape (nodes, sets, summands, width)."""
        if self._halves is None:
            return outside[:, :, None]
        first, second = self._halves
        parts = (
            half._correlations(row_by_row(_correlate, outside, other._unrounded_law))  # noqa: SLF001  (of this class)
            for half, other in ((first, second), (second, first))
        )
        return np.concatenate(list(parts), axis=2)


def _correlate(outside: Reals, law: Reals) -> Reals:
    """Return Σ_i outside(j + i)·law(i) for each position j."""
    return np.convolve(outside, law[::-1], "valid")


def row_by_row(function: Callable[[Reals, Reals], Reals], first: Reals, second: Reals) -> Reals:
    """Apply a function of two rows to the last axis of two arrays."""
    leading = first.shape[:-1]
    pairs = zip(first.reshape(-1, first.shape[-1]), second.reshape(-1, second.shape[-1]), strict=True)
    return np.array([function(*pair) for pair in pairs]).reshape(*leading, -1)


_GROUP = 32  # largest number of summands of one transform; more would have windows wider than the sum needs
_CHUNK = 1 << 22  # numbers transformed at once
_KEPT = 1 << 16  # numbers whose transforms are kept for the downward pass
# Error of a transform and its inverse, relative to the root of the summed squares times the logarithm of the length.
# This is four units in the last place; one or two occur.
ERROR = 2.0**-50
Places = NDArray[np.int64]
_Block = tuple[slice, slice]
Number = TypeVar("Number", np.float64, np.complex128)


class _Groups(NamedTuple):
    """Summands in groups of equal size; one transform adds up each group."""

    weights: Reals  # distributions, shape (nodes, sets, groups, members, width); fillers at the end are surely 0
    first: Places  # first kept sum of each group, shape (nodes, groups)
    kept_count: int  # number of kept sums
    length: int  # length of the transforms

    @classmethod
    def from_weights(cls, weights: Reals, wanted: tuple[Places, Places] | None) -> Self:
        """Return summands in groups of at most 32.

        If there is one group, only the wanted sums are kept. A transform adds up all sums that differ by its length.
        It is so long that the sum k of all members, and the sum k − j of all members but one, stands alone for each
        kept k and each count j of that member. Sums of all members but one end a mean count before those of all.
        """
        nodes, sets, summands, width = weights.shape
        count = -(-summands // _GROUP)
        members = -(-summands // count)
        filler = np.zeros((nodes, sets, count * members - summands, width))
        filler[..., 0] = 1.0
        grouped = np.concatenate([weights, filler], axis=2).reshape(nodes, sets, count, members, width)
        member_moments = moments(grouped)
        low, high = sum_bounds(grouped, member_moments)
        lowest, highest = low.min(axis=1).astype(np.int64), high.max(axis=1).astype(np.int64)
        first, last = lowest, highest
        if wanted is not None and count == 1:
            first = np.maximum(lowest, wanted[0][:, None])
            last = np.minimum(highest, wanted[1][:, None])
            is_disjoint = first > last
            first, last = np.where(is_disjoint, lowest, first), np.where(is_disjoint, highest, last)
        full = members * (width - 1) + 1
        kept_count = min(int((last - first).max()) + 1, full)
        first = np.minimum(first, full - kept_count)
        means = member_moments.mean
        length_above = highest - first + (width - 1 - means.min(axis=(1, 3)))
        length_below = first + kept_count - 1 - lowest + means.max(axis=(1, 3))
        length = transform_length(
            min(full, math.ceil(max(float(length_above.max()), float(length_below.max()), kept_count - 1)) + 1)
        )
        return cls(grouped, first, kept_count, length)


@frozen(eq=False, slots=False)
class FastSum:
    """Distributions of sums of independent counts, by Fourier transforms.

    Errors are absolute: about 2^−52 of the largest probability. Many summands form groups, each with a transform of its
    own, and another `FastSum` adds up the groups.
    """

    weights: Reals  # distributions of the summands on 0, 1, …, shape (nodes, sets, summands, width)
    # smallest and largest sum of each node whose probability is wanted, shapes (nodes,); None: all sums
    wanted: tuple[Places, Places] | None = None

    floor: ClassVar[float] = 2.0**-46
    """Share of the largest probability below which probabilities are set to 0, as they may be rounding errors."""

    @cached_property
    def _groups(self) -> _Groups:
        """The summands in groups."""
        return _Groups.from_weights(self.weights, self.wanted)

    @cached_property
    def _sum_of_groups(self) -> "FastSum | None":
        """The sum of the groups; None if there is one group."""
        if self._groups.first.shape[1] == 1:
            return None
        first = self._groups.first.sum(axis=1)
        return FastSum(self._laws_and_peaks[0], self.wanted and (self.wanted[0] - first, self.wanted[1] - first))

    @property
    def first(self) -> Places:
        """First sum of `law` for each node, shape (nodes,)."""
        first: Places = self._groups.first.sum(axis=1)
        return first if self._sum_of_groups is None else first + self._sum_of_groups.first

    @property
    def smallest(self) -> Reals:
        """Smallest probability that exceeds rounding errors; smaller ones are set to 0. Shape (nodes, sets, 1)."""
        if self._sum_of_groups is not None:
            return self._sum_of_groups.smallest
        return self.floor * self._laws_and_peaks[1][:, :, 0]

    @cached_property
    def law(self) -> Reals:
        """Probabilities of the sum from `first` on, shape (nodes, sets, sums)."""
        if self._sum_of_groups is not None:
            return self._sum_of_groups.law
        law = self._laws_and_peaks[0][:, :, 0]
        return np.where(law >= self.smallest, law, 0.0)

    @property
    def length(self) -> int:
        """Length of a transform at which no other sum falls on a wanted one."""
        return self._groups.length if self._sum_of_groups is None else self._sum_of_groups.length

    def leave_one_out(self, outside: Reals) -> LeaveOneOutSums:
        """Return Σ_k outside(k)·P[the other summands add up to k − j] for each summand at its counts j.

        Shapes: outside (nodes, sets, sums).
        """
        above = LeaveOneOutSums(outside[:, :, None], np.zeros(outside.shape[:2]))
        if self._sum_of_groups is not None:
            above = self._sum_of_groups.leave_one_out(outside)
        weights, length = self._groups.weights, self._groups.length
        (nodes, sets), (summands, width) = weights.shape[:2], self.weights.shape[2:]
        values, squares = np.empty(weights.shape), np.zeros((nodes, sets))
        for block in self._blocks:
            outside_of_block = above.values[block[0], :, block[1]]
            circular = np.zeros((*outside_of_block.shape[:-1], length))
            np.put_along_axis(circular, self._kept_positions(block), outside_of_block, axis=-1)
            products_of_others = _products_without_one(self._spectra(block))
            energy = _squares(products_of_others, length).max(axis=-1) * (outside_of_block**2).sum(axis=-1)
            np.maximum(squares[block[0]], energy.max(axis=-1), out=squares[block[0]])
            products = np.conj(products_of_others, out=products_of_others)
            products *= np.fft.rfft(circular, axis=-1)[..., None, :]
            sequences = np.fft.irfft(products, length, axis=-1)
            values[block[0], :, block[1]] = np.maximum(sequences[..., np.arange(width) % length], 0.0)
        rounding = ERROR * math.log2(length) * np.sqrt(squares)
        return LeaveOneOutSums(values.reshape(nodes, sets, -1, width)[:, :, :summands], rounding + above.rounding)

    def _kept_positions(self, block: _Block) -> Places:
        """Return the positions of the kept sums in a transform, shape (nodes, 1, groups, kept_count)."""
        positions = self._groups.first[block][:, None, :, None] + np.arange(self._groups.kept_count)
        return positions % self._groups.length

    @property
    def _blocks(self) -> list[_Block]:
        """Slices of nodes and groups that are transformed together."""
        nodes, sets, count, members, _ = self._groups.weights.shape
        numbers = sets * members * self._groups.length
        groups = min(count, max(1, _CHUNK // numbers))
        rows = max(1, _CHUNK // (numbers * groups))
        return [
            (slice(row, row + rows), slice(group, group + groups))
            for row in range(0, nodes, rows)
            for group in range(0, count, groups)
        ]

    def _spectra(self, block: _Block) -> NDArray[np.complex128]:
        """Return the transforms of the members of some groups; those of a small table are computed once."""
        if self._groups.weights[..., 0].size * self._groups.length <= _KEPT:
            return self._all_spectra
        return _transformed(self._groups.weights[block[0], :, block[1]], self._groups.length)

    @cached_property
    def _all_spectra(self) -> NDArray[np.complex128]:
        """Transforms of the distributions of all members."""
        return _transformed(self._groups.weights, self._groups.length)

    @cached_property
    def _laws_and_peaks(self) -> tuple[Reals, Reals]:
        """Probabilities of the kept sums of each group, and the largest probability of any sum, shape (…, sums)."""
        shape = self._groups.weights.shape[:3]
        laws, peaks = (np.empty((*shape, size)) for size in (self._groups.kept_count, 1))
        for block in self._blocks:
            sums = np.fft.irfft(self._spectra(block).prod(axis=3), self._groups.length, axis=-1)
            kept_sums = np.take_along_axis(sums, self._kept_positions(block), axis=-1)
            laws[block[0], :, block[1]] = np.maximum(kept_sums, 0.0)
            peaks[block[0], :, block[1]] = sums.max(axis=-1, keepdims=True)
        return laws, peaks


def _transformed(weights: Reals, length: int) -> NDArray[np.complex128]:
    """Return the transforms of distributions, on positions modulo the length."""
    return np.fft.rfft(fold(weights, length), length, axis=-1)


def _squares(spectra: NDArray[np.complex128], length: int) -> Reals:
    """Return Σ x² of the sequences with these transforms, by Parseval's theorem."""
    parts = spectra.view(np.float64)
    energy = np.einsum("...i,...i->...", parts, parts)
    squares: Reals = (2 * energy - np.abs(spectra[..., 0]) ** 2) / length
    return squares


def _products_without_one(spectra: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """Return, for each member on the last axis but one, the product of the transforms of all other members."""
    members = spectra.shape[-2]
    products = np.empty_like(spectra)
    products[..., 0, :] = 1.0
    for member in range(1, members):
        np.multiply(products[..., member - 1, :], spectra[..., member - 1, :], out=products[..., member, :])
    running = spectra[..., members - 1, :].copy()
    for member in reversed(range(members - 1)):
        products[..., member, :] *= running
        running *= spectra[..., member, :]
    return products


def fold(weights: NDArray[Number], length: int) -> NDArray[Number]:
    """Return weights on positions modulo a length: those of positions that differ by a multiple of it are added up."""
    if weights.shape[-1] <= length:
        return weights
    folded = weights[..., :length].copy()
    for start in range(length, weights.shape[-1], length):
        chunk = weights[..., start : start + length]
        folded[..., : chunk.shape[-1]] += chunk
    return folded


def transform_length(smallest: int) -> int:
    """Return the smallest even number of at least this size without a prime factor above 5."""
    best = 1 << max(1, (smallest - 1).bit_length())
    fives = 1
    while fives < best:
        threes = fives
        while threes < best:
            twos = 1 << max(1, (-(-smallest // threes) - 1).bit_length())
            if smallest <= threes * twos < best:
                best = threes * twos
            threes *= 3
        fives *= 5
    return best
