"""Independent counts given what they add up to: averages of weights on them, and draws; laws of sums."""

import math
import operator
from collections.abc import Callable, Sequence
from functools import reduce
from itertools import product
from typing import Self

import numpy as np
from numpy.typing import NDArray

from noisycount.analysis.tables.sums import ERROR, Complexes, Places, folded, row_by_row, transform_length
from noisycount.frozen import frozen
from noisycount.model.laws.gamma import Reals

_HARMLESS = 1e-12  # that rounding moves an average at most, which transforms may do at any length
_BEARABLE = 1e-9  # the same where sums term by term take longer
_LEAST = 1e-290  # of a denominator: below it numbers lose their digits
_QUICK = 1 << 17  # products of one angle, term by term, that take no longer than transforms
_CHEAP = 1 << 23  # that take longer, but not much


@frozen(eq=False)
class Crossing:
    """E[w_1·w_2···| the sum], w_p a function of part p of modulus 1 at most.

    Given a sum it is a convex combination: (Π law_p·w_p)(k)/(Π law_p)(k), Π a convolution. Term by term no rounding
    takes it beyond 1, however small the denominator is. By transforms numerators are off by a part of their largest, so
    that they are used only where the counts at which this matters have next to no probability.
    """

    # the probability of each set of parameters given the sum, over the denominator, shape (sets, counts); 0 where
    # rounding is all that is known of the denominator
    ratios: Reals
    first: int  # the place of the first count in a convolution of the parts
    length: int  # of transforms; 0: sums are taken term by term

    @classmethod
    def of(cls, law: Reals, shares: Reals, first: int, parts: Sequence[Reals], laws: Reals) -> "Crossing":
        """Return that of parts, by transforms where these do no harm.

        Shapes: law (sets, counts), shares alike, parts (sets, width), laws (counts,).
        """
        widths = [part.shape[-1] for part in parts]
        full, counts = sum(widths) - len(widths) + 1, law.shape[-1]
        length = transform_length(min(full, counts + max(widths)))
        weights = [part[None].astype(np.complex128) for part in parts]
        fast = cls(law, first, length)
        off = fast._errors(weights, law)
        harm = float((np.minimum(off, 2.0) * shares * laws).sum())
        work = law.shape[0] * min(widths) * full
        if work > _QUICK and (harm <= _HARMLESS or (harm <= _BEARABLE and work > _CHEAP)):
            return cls(_ratios(shares, law, off < 1), first, length)
        slow = cls(law, first, 0)
        whole = slow._numerators(weights)[0].real
        return cls(_ratios(shares, whole, whole > _LEAST), first, 0)

    def averages(self, weighed: Sequence[Complexes]) -> Complexes:
        """Return the averages at the counts, over the sets of parameters too, shape (angles, counts).

        Shapes: weighed (angles, sets, width).
        """
        found: Complexes = (self._numerators(weighed) * self.ratios).sum(axis=1)
        found /= np.maximum(np.abs(found), 1.0)
        return found

    def _numerators(self, weighed: Sequence[Complexes]) -> Complexes:
        """The convolutions of the parts at the counts, shape (angles, sets, counts)."""
        places = self.first + np.arange(self.ratios.shape[-1])
        if not self.length:
            return _convolved(weighed, places)
        spectra = (np.fft.fft(folded(part, self.length), self.length) for part in weighed)
        return np.fft.ifft(reduce(operator.mul, spectra))[..., places % self.length]

    def _errors(self, parts: Sequence[Complexes], law: Reals) -> Reals:
        """Return bounds of the errors of transforms over the denominators, 2 where these are 0.

        The error at angle 0, where averages are 1, is met as it is. Shapes: parts (1, sets, width), law (sets, counts).
        """
        norms = np.sqrt([(np.abs(part[0]) ** 2).sum(axis=-1) for part in parts])
        rounding = len(parts) * ERROR * np.log2(self.length) * norms.max(axis=0) * norms.min(axis=0)
        errors = np.maximum(np.abs(self._numerators(parts)[0] - law), 2 * rounding[:, None])
        off = np.full_like(law, 2.0)
        np.divide(errors, law, out=off, where=law > 0)
        return off


def _ratios(shares: Reals, law: Reals, is_known: NDArray[np.bool_]) -> Reals:
    """Return shares over denominators, 0 where these are not known."""
    ratios = np.zeros_like(law)
    np.divide(shares, law, out=ratios, where=is_known)
    return ratios


def _convolved(weighed: Sequence[Complexes], places: NDArray[np.int64]) -> Complexes:
    """Convolutions term by term, at places that may lie beyond them, where they are 0."""
    angles, sets = weighed[0].shape[:2]
    found = np.zeros((angles, sets, places.size), dtype=np.complex128)
    for angle, one in product(range(angles), range(sets)):
        row = reduce(np.convolve, (part[angle, one] for part in weighed))
        inside = (places >= 0) & (places < row.size)
        found[angle, one, inside] = row[places[inside]]
    return found


def draw_places(weights: Reals, rows: Places, random: np.random.Generator) -> Places:
    """Draw a place for each row index, by one uniform number each: never a place of weight 0.

    Shapes: weights (distributions, width); rows and result alike.

    Raises:
        ValueError: If a distribution that is drawn from has no weight.
    """
    sums = np.cumsum(weights, axis=1)
    whole = sums[rows, -1]
    if not (whole > 0).all():
        raise ValueError("draws cannot be computed: answers and prior contradict each other by more than floats hold")
    goals = np.minimum(random.random(rows.shape) * whole, np.nextafter(whole, 0))
    low, high = np.zeros(rows.shape, np.int64), np.full(rows.shape, weights.shape[1] - 1)
    for _ in range((weights.shape[1] - 1).bit_length()):
        middle = (low + high) // 2
        is_beyond = sums[rows, middle] > goals
        low, high = np.where(is_beyond, low, middle + 1), np.where(is_beyond, middle, high)
    return high


_SHORT = 2_000  # places of all summands of a family, for which no transform is needed
_DIRECT = 64  # places of a summand, for which none is quicker
_FLOOR = 2.0**-50  # of the largest probability, below which that of a transform may be rounding
_CHUNK = 1 << 21  # numbers that are computed at a time


def draw_summands(
    laws: Reals, family: Places, sums: Places, random: np.random.Generator, *, is_positive: bool
) -> Places:
    """Draw summands given their sum, shape (draws, summands).

    P[left half = j | sum = k] is in proportion to P[left half = j]·P[right half = k − j].
    Shapes: laws (families, summands, width), family (draws,), sums (draws,).

    Args:
        laws: The distributions of the summands.
        family: The row of `laws` that each draw is from.
        sums: The sum that the summands of each draw add up to.
        random: Source of randomness.
        is_positive: True if sums may be so rare that a Fourier transform would round them to 0.
    """
    used, own = np.unique(family, return_inverse=True)
    layers = [_Layer(np.zeros((used.size, laws.shape[1]), np.int64), laws[used]).padded]
    is_direct = is_positive or laws.shape[1] * laws.shape[2] <= _SHORT
    while layers[-1].pairs > 1:
        layers.append(layers[-1].sums(is_direct=is_direct).padded)
    counts = sums[:, None]
    for layer in reversed(layers):
        counts = layer.draw_members(own, counts[:, : layer.pairs], random)
    return counts[:, : laws.shape[1]]


@frozen(eq=False)
class _Layer:
    """The laws of counts of which each two neighbours are added up."""

    first: Places  # the first place of each law, shape (families, members)
    laws: Reals  # probabilities from there on, shape (families, members, width)

    @property
    def pairs(self) -> int:
        """How many pairs each family has."""
        return int(self.first.shape[1]) // 2

    @property
    def padded(self) -> Self:
        """The same with an even number of members: another one is 0 for certain."""
        families, members, width = self.laws.shape
        if members % 2 == 0:
            return self
        filler = np.zeros((families, 1, width))
        filler[..., 0] = 1.0
        first = np.append(self.first, np.zeros((families, 1), np.int64), axis=1)
        return type(self)(first, np.append(self.laws, filler, axis=1))

    def sums(self, *, is_direct: bool) -> Self:
        """Return the distributions of the sums of pairs, without the places that no pair reaches."""
        left, right = (self.laws[:, side::2] for side in (0, 1))
        first = self.first[:, ::2] + self.first[:, 1::2]
        is_direct = is_direct or self.laws.shape[2] <= _DIRECT
        laws = (_pairs_convolved if is_direct else _pairs_transformed)(left, right)
        possible = laws > 0
        start = possible.argmax(axis=-1)
        ends = laws.shape[-1] - possible[..., ::-1].argmax(axis=-1)
        kept = int((ends - start).max())
        start = np.minimum(start, laws.shape[-1] - kept)
        places = start[..., None] + np.arange(kept)
        return type(self)(first + start, np.take_along_axis(laws, places, axis=-1))

    def draw_members(self, family: Places, sums: Places, random: np.random.Generator) -> Places:
        """Draw members given the sums of pairs, shape (draws, members).

        Shapes: family (draws,), sums (draws, pairs).
        """
        pair = family[:, None] * self.pairs + np.arange(self.pairs)
        first, other = (self.first[:, side::2].ravel()[pair] for side in (0, 1))
        span = 2 * self.laws.shape[2] - 1
        codes, kind = np.unique(pair * span + sums - first - other, return_inverse=True)
        left = first + self._draw_left(codes, kind.ravel(), random).reshape(sums.shape)
        return np.stack([left, sums - left], axis=2).reshape(len(sums), -1)

    def _draw_left(self, codes: Places, kind: Places, random: np.random.Generator) -> Places:
        """Draw the places of left members; a code stands for a pair and the place of its sum.

        Shapes: kind (draws,).
        """
        width = self.laws.shape[2]
        left, right = (self.laws[:, side::2].reshape(-1, width) for side in (0, 1))
        order = np.argsort(kind, kind="stable")
        step = max(1, _CHUNK // width)
        starts = np.arange(0, codes.size, step)
        drawn = np.split(order, np.searchsorted(kind[order], starts[1:]))
        places = np.empty(kind.shape, np.int64)
        for start, draws in zip(starts.tolist(), drawn, strict=True):
            pair, place = np.divmod(codes[start : start + step], 2 * width - 1)
            rest = place[:, None] - np.arange(width)
            others = right[pair[:, None], np.clip(rest, 0, width - 1)]
            weights = np.where((rest >= 0) & (rest < width), left[pair] * others, 0.0)
            places[draws] = draw_places(weights, kind[draws] - start, random)
        return places


def _pairs_convolved(left: Reals, right: Reals) -> Reals:
    """Return the distributions of sums, added up term by term: exact to the rounding of each, however rare it is."""
    width = left.shape[-1]
    if left.size < width * width:  # fewer pairs than places
        return row_by_row(np.convolve, left, right)
    laws = np.zeros((*left.shape[:-1], 2 * width - 1))
    for place in range(width):
        laws[..., place : place + width] += left[..., place, None] * right
    return laws


def _pairs_transformed(left: Reals, right: Reals) -> Reals:
    """Return the distributions of sums by Fourier transforms, 0 where the transform may be rounding alone."""
    width = 2 * left.shape[-1] - 1
    length = transform_length(width)
    laws = np.empty((*left.shape[:-1], width))
    step = max(1, _CHUNK // length)
    rows = (each.reshape(-1, each.shape[-1]) for each in (left, right, laws))
    first, second, found = rows
    for start in range(0, len(found), step):
        some = slice(start, start + step)
        spectra = np.fft.rfft(first[some], length) * np.fft.rfft(second[some], length)
        found[some] = np.fft.irfft(spectra, length)[:, :width]
    return np.where(laws > _FLOOR * laws.max(axis=-1, keepdims=True), laws, 0.0)


# E[e^(i·t·(S − centre))] at angles t, shape (angles,).
Characteristic = Callable[[Reals], Complexes]
_AT_ONCE = 16  # angles
_VANISHED = 1e-15  # of a characteristic function, beyond which a law has nothing but rounding
_ROUNDING = 1e-6  # that may take a characteristic function beyond 1: of many million factors
_ENDED = 100  # times what vanishes: more near an end means that the law goes on
_END_PART = 64  # of a run, at either end of it
_MISSED = 1e-6  # standard deviations by which rounding moves a mean at most


def law_by_characteristic(
    characteristic: Characteristic, mean: float, deviation: float, reach: tuple[int, int], least: float = _VANISHED
) -> tuple[int, Reals]:
    """Return the probabilities of S − centre on a run of integers, which begins about as wide as a geometric law.

    P[S − centre = k] = Σ_j φ(t_j)·e^(−i·t_j·k)/N with t_j = 2π·j/N, exact but for mass that is N or more away: that
    would move the mean, or be seen at the ends of the run, which is then made longer, up to all that S can be.

    Numerical error: about `least` of the largest probability, absolute.
    """
    half = int(np.ceil(-math.log(least) * max(deviation, 1.0)))
    while True:
        low, high = max(reach[0], -half), min(reach[1], half)
        law = _inverted(characteristic, low, high, least)
        missed = abs(float(law @ np.arange(low, high + 1)) - mean)
        ends = law[: law.size // _END_PART + 1], law[-(law.size // _END_PART) - 1 :]
        is_cut = low > reach[0] and ends[0].max() > _ENDED * least * law.max()
        is_cut |= high < reach[1] and ends[1].max() > _ENDED * least * law.max()
        if (low, high) == reach or not (is_cut or missed > _MISSED * max(deviation, 1.0)):
            return low, law
        half *= 4  # ends with all that S can be


def _inverted(characteristic: Characteristic, low: int, high: int, least: float) -> Reals:
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
        if largest < least:
            break
    law = np.fft.irfft(np.conj(values), length)[np.arange(low, high + 1) % length]
    law = np.where(law > least * law.max(), law, 0.0)
    return law / law.sum()
