"""Sums of independent counts by Fourier transforms, in groups of groups.

A law on integers by its characteristic function, which soon vanishes where the law is wide.
"""

import math
from collections.abc import Callable
from functools import cached_property
from typing import ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from noisycount.analysis.tables.sums import Rests, moments, sum_bounds
from noisycount.frozen import frozen
from noisycount.model.laws.gamma import Reals

_GROUP = 32  # summands of one transform: more would have windows wider than the sum needs
_CHUNK = 1 << 22  # numbers that are transformed at a time

# Of a transform there and back, over the roots of summed squares and the logarithm of the length:
# four units in the last place, where one to two are met.
ERROR = 2.0**-50
Places = NDArray[np.int64]
_Part = tuple[slice, slice]
Number = TypeVar("Number", np.float64, np.complex128)


@frozen(eq=False, slots=False)
class FastSum:
    """The laws of sums of independent counts, for several nodes and several sets of weights each.

    Errors are absolute: about 2^−52 of the largest probability, wherever that is.
    """

    # the laws of the summands on 0, 1, and so on; each adds up to 1; shape (nodes, sets, summands, width)
    weights: Reals

    @cached_property
    def _groups(self) -> "_Groups":
        """The summands in groups, each of which is summed by one transform."""
        return _Groups.of(self.weights)

    @cached_property
    def _upper(self) -> "FastSum | None":
        """The sum of the groups; None: there is one group."""
        return FastSum(self._groups.laws) if self._groups.count > 1 else None

    floor: ClassVar[float] = 2.0**-46
    """The part of the largest probability below which others are left out: they may be rounding."""

    @property
    def first(self) -> Places:
        """The first place of `law`, shape (nodes,)."""
        own: Places = self._groups.first.sum(axis=1)
        return own if self._upper is None else own + self._upper.first

    @cached_property
    def law(self) -> Reals:
        """The probabilities of the sum from `first` on, shape (nodes, sets, places)."""
        law = self._groups.laws[:, :, 0] if self._upper is None else self._upper.law
        return np.where(law >= self.floor * law.max(axis=-1, keepdims=True), law, 0.0)

    def rests(self, outside: Reals) -> Rests:
        """For each summand, Σ_k outside(k)·P[the other summands add up to k − j] at its places j.

        Shapes: outside (nodes, sets, places).
        """
        if self._upper is None:
            return self._groups.rests(outside[:, :, None])
        above = self._upper.rests(outside)
        own = self._groups.rests(above.values)
        return Rests(own.values, own.rounding + above.rounding)


@frozen(eq=False, slots=False)
class _Groups:
    """Summands in groups of at most 32, the last filled up with zeros that are certain."""

    weights: Reals  # the laws, shape (nodes, sets, groups, members, width)
    summands: int  # how many there are
    first: Places  # the first place of the law of each group that is kept, shape (nodes, groups)
    kept: int  # how many places of it are
    length: int  # that of the transforms

    @staticmethod
    def of(weights: Reals) -> "_Groups":
        """Groups of even size."""
        nodes, sets, summands, width = weights.shape
        count = -(-summands // _GROUP)
        members = -(-summands // count)
        missing = count * members - summands
        if missing:
            filler = np.zeros((nodes, sets, missing, width))
            filler[..., 0] = 1.0
            weights = np.concatenate([weights, filler], axis=2)
        grouped = weights.reshape(nodes, sets, count, members, width)
        low, high = sum_bounds(grouped, moments(grouped))
        first, last = low.min(axis=1).astype(np.int64), high.max(axis=1).astype(np.int64)
        full = members * (width - 1) + 1
        kept = min(int((last - first).max()) + 1, full)
        length = transform_length(min(full, kept + width))
        return _Groups(grouped, summands, np.minimum(first, full - kept), kept, length)

    @property
    def count(self) -> int:
        """How many groups there are."""
        return int(self.weights.shape[2])

    def _places(self, part: _Part, sets: int) -> Places:
        """Where kept places stand in a transform, shape (nodes, sets, groups, kept)."""
        places = (self.first[part][..., None] + np.arange(self.kept)) % self.length
        return np.broadcast_to(places[:, None], (len(places), sets, *places.shape[1:]))

    @property
    def _parts(self) -> list[_Part]:
        """Nodes and groups that are transformed together."""
        nodes, sets, count, members, _ = self.weights.shape
        groups = min(count, max(1, _CHUNK // (sets * members * self.length)))
        rows = max(1, _CHUNK // (sets * members * self.length * groups))
        return [
            (slice(row, row + rows), slice(group, group + groups))
            for row in range(0, nodes, rows)
            for group in range(0, count, groups)
        ]

    def _spectra(self, part: _Part) -> NDArray[np.complex128]:
        """The transforms of the laws of the members of some groups."""
        weights = self.weights[part[0], :, part[1]]
        return np.fft.rfft(folded(weights, self.length), self.length, axis=-1)

    @cached_property
    def laws(self) -> Reals:
        """The laws of the sums of groups, shape (nodes, sets, groups, kept)."""
        laws = np.empty((*self.weights.shape[:3], self.kept))
        for part in self._parts:
            sums = np.fft.irfft(self._spectra(part).prod(axis=3), self.length, axis=-1)
            places = self._places(part, sums.shape[1])
            laws[part[0], :, part[1]] = np.maximum(np.take_along_axis(sums, places, axis=-1), 0.0)
        return laws

    def rests(self, outside: Reals) -> Rests:
        """What stands outside each member, given what stands outside each group."""
        nodes, sets, count, members, width = self.weights.shape
        inside, squares = np.empty(self.weights.shape), np.zeros((nodes, sets))
        for part in self._parts:
            given = outside[part[0], :, part[1]]
            spread = np.zeros((*given.shape[:-1], self.length))
            np.put_along_axis(spread, self._places(part, sets), given, axis=-1)
            others = _without_each(self._spectra(part))
            energy = self._squares(others).max(axis=-1) * (given**2).sum(axis=-1)
            np.maximum(squares[part[0]], energy.max(axis=-1), out=squares[part[0]])
            turned = np.conj(others, out=others)
            turned *= np.fft.rfft(spread, axis=-1)[..., None, :]
            wide = np.fft.irfft(turned, self.length, axis=-1)
            inside[part[0], :, part[1]] = np.maximum(_unfolded(wide, width), 0.0)
        rounding = ERROR * math.log2(self.length) * np.sqrt(squares)
        values = inside.reshape(nodes, sets, count * members, width)[:, :, : self.summands]
        return Rests(values, rounding)

    def _squares(self, spectra: NDArray[np.complex128]) -> Reals:
        """The sums of the squares of what has these transforms, by Parseval's theorem."""
        parts = spectra.view(np.float64)
        energy = np.einsum("...i,...i->...", parts, parts)
        squares: Reals = (2 * energy - np.abs(spectra[..., 0]) ** 2) / self.length
        return squares


def _without_each(spectra: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """For each member, on the last axis but one, the product of the transforms of all others."""
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


def folded(weights: NDArray[Number], length: int) -> NDArray[Number]:
    """Weights modulo a length, on the last axis."""
    if weights.shape[-1] <= length:
        return weights
    folded = weights[..., :length].copy()
    for start in range(length, weights.shape[-1], length):
        part = weights[..., start : start + length]
        folded[..., : part.shape[-1]] += part
    return folded


def _unfolded(values: Reals, width: int) -> Reals:
    """Values of places modulo their number, at the first so many places."""
    if width <= values.shape[-1]:
        return values[..., :width]
    return values[..., np.arange(width) % values.shape[-1]]


def transform_length(least: int) -> int:
    """The smallest even number of that size at least without a prime factor above 5."""
    best = 1 << max(1, (least - 1).bit_length())
    fives = 1
    while fives < best:
        threes = fives
        while threes < best:
            twos = 1 << max(1, (-(-least // threes) - 1).bit_length())
            if least <= threes * twos < best:
                best = threes * twos
            threes *= 3
        fives *= 5
    return best


Complexes = NDArray[np.complex128]

# E[e^(i·t·(S − centre))] at angles t, shape (angles,).
Characteristic = Callable[[Reals], Complexes]
_AT_ONCE = 16  # angles
_VANISHED = 1e-15  # of a characteristic function, beyond which a law has nothing but rounding
_ROUNDING = 1e-6  # that may take a characteristic function beyond 1: of many million factors
_ENDED = 1e-13  # of the largest probability: more near an end means that the law goes on
_END_PART = 64  # of a run, at either end of it
_MISSED = 1e-6  # standard deviations by which rounding moves a mean at most
_REACH = 40.0  # standard deviations within which a law is that falls as a geometric one, to e^−40


def law_by_characteristic(
    characteristic: Characteristic, mean: float, deviation: float, reach: tuple[int, int]
) -> tuple[int, Reals]:
    """The probabilities of S − centre on a run of integers.

    P[S − centre = k] = Σ_j φ(t_j)·e^(−i·t_j·k)/N with t_j = 2π·j/N, exact but for mass that is N or
    more away: that would move the mean, or be seen at the ends of the run, which is then made
    longer, up to all that S can be.

    Numerical error: about 1e-15 of the largest probability, absolute.
    """
    half = int(np.ceil(_REACH * max(deviation, 1.0)))
    while True:
        low, high = max(reach[0], -half), min(reach[1], half)
        law = _inverted(characteristic, low, high)
        missed = abs(float(law @ np.arange(low, high + 1)) - mean)
        ends = law[: law.size // _END_PART + 1], law[-(law.size // _END_PART) - 1 :]
        is_cut = low > reach[0] and ends[0].max() > _ENDED * law.max()
        is_cut |= high < reach[1] and ends[1].max() > _ENDED * law.max()
        if (low, high) == reach or not (is_cut or missed > _MISSED * max(deviation, 1.0)):
            return low, law
        half *= 4  # ends with all that S can be


def _inverted(characteristic: Characteristic, low: int, high: int) -> Reals:
    """The probabilities from low to high of a law that lies between them."""
    length = transform_length(high - low + 1)
    values = np.zeros(length // 2 + 1, dtype=np.complex128)
    for start in range(0, values.size, _AT_ONCE):
        turns = np.arange(start, min(start + _AT_ONCE, values.size), dtype=np.float64)
        part = characteristic(turns * (2 * math.pi / length))
        largest = float(np.abs(part).max())
        if not largest <= 1 + _ROUNDING or (not start and not abs(part[0] - 1) <= _ROUNDING):
            raise ArithmeticError(f"a characteristic function must be 1 at 0, got {part[0]}")
        values[start : start + turns.size] = part
        if largest < _VANISHED:
            break
    law = np.fft.irfft(np.conj(values), length)[np.arange(low, high + 1) % length]
    law = np.where(law > _VANISHED * law.max(), law, 0.0)
    found: Reals = law / law.sum()
    return found
