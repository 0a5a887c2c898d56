"""Independent counts given their sum: conditional averages and draws; distributions from characteristic functions.

`ConditionalAverages` averages, `draw_summands` draws, `law_by_characteristic` inverts. `tree_solution` uses all three.
"""

import math
import operator
from collections.abc import Callable, Sequence
from functools import reduce
from itertools import product
from typing import Self

import numpy as np
from numpy.typing import NDArray

from noisycount.analysis.tables.sums import (
    ERROR,
    Complexes,
    FastSum,
    Places,
    PositiveSum,
    fold,
    row_by_row,
    transform_length,
)
from noisycount.frozen import frozen
from noisycount.model.laws.gamma import Reals

_HARMLESS = 1e-12  # error of an average that transforms may always have
_BEARABLE = 1e-9  # the same under a learned prior, or where sums term by term take much longer
_SMALLEST_DENOMINATOR = 1e-290  # smallest denominator with full precision
_QUICK = 1 << 14  # number of products of one angle that take no longer than transforms
_CHEAP = 1 << 23  # number of products that take little longer


@frozen(eq=False)
class ConditionalAverages:
    """Conditional averages E[w_1·w_2···| the sum] of functions w_p of the parts p, of modulus 1 at most.

    The functions are e^(i·t·count) for several angles t, so that the averages are conditional characteristic functions.
    An average given the sum k is (Π law_p·w_p)(k)/(Π law_p)(k), where Π is a convolution: a convex combination. If sums
    are added up term by term, rounding takes no average beyond 1, however small the denominator is. Transforms have an
    absolute error, so they are used only if the counts at which that error matters have a negligible probability.
    """

    # probability of each set of parameters given the sum, divided by the denominator, shape (sets, counts); 0 where the
    # denominator may be a rounding error
    ratios: Reals
    first: int  # position of the lowest count in a convolution of the parts
    length: int  # length of transforms; 0: sums are added up term by term

    @classmethod
    def from_parts(
        cls,
        whole: FastSum | PositiveSum,
        shares: Reals,
        parts: Sequence[tuple[int, Reals]],
        laws: Reals,
        *,
        is_rough: bool,
    ) -> "ConditionalAverages":
        """Return the averages for the parts of a sum. The parts are summed by transforms if the error is negligible.

        Args:
            whole: The sum of all parts.
            shares: The probability of each set of parameters given the sum, shape (sets, counts).
            parts: The lowest count of each part, and its distribution from there on, shape (sets, width).
            laws: The distribution of the sum given all answers, shape (counts,).
            is_rough: True if the prior is learned, which tolerates a larger error.
        """
        law, first = whole.law[0], int(whole.first[0]) - sum(start for start, _ in parts)
        widths = [part.shape[-1] for _, part in parts]
        full = sum(widths) - len(widths) + 1
        length = transform_length(min(full, max(whole.length, *widths)))
        weights = [part[None].astype(np.complex128) for _, part in parts]
        transformed = cls(law, first, length)
        relative_errors = transformed._transform_errors(weights, law)
        error = float((np.minimum(relative_errors, 2.0) * shares * laws).sum())
        work = law.shape[0] * min(widths) * full
        largest_error = _BEARABLE if is_rough or work > _CHEAP else _HARMLESS
        if work > _QUICK and error <= largest_error:
            return cls(_shares_over_denominators(shares, law, relative_errors < 1), first, length)
        direct = cls(law, first, 0)
        denominators = direct._convolved_parts(weights)[0].real
        return cls(_shares_over_denominators(shares, denominators, denominators > _SMALLEST_DENOMINATOR), first, 0)

    def averages(self, weighed: Sequence[Complexes]) -> Complexes:
        """Return the averages at the counts, summed over the sets of parameters, shape (angles, counts).

        `weighed` has the distribution of each part times its function, shape (angles, sets, width), or (1, sets, width)
        for a part that is the same at all angles.
        """
        averages: Complexes = (self._convolved_parts(weighed) * self.ratios).sum(axis=1)
        averages /= np.maximum(np.abs(averages), 1.0)
        return averages

    def _convolved_parts(self, weighed: Sequence[Complexes]) -> Complexes:
        """Return the convolutions of the parts at the counts, shape (angles, sets, counts)."""
        places = self.first + np.arange(self.ratios.shape[-1])
        if not self.length:
            return _convolve(weighed, places)
        spectra = (np.fft.fft(fold(part, self.length), self.length) for part in weighed)
        return np.fft.ifft(reduce(operator.mul, spectra))[..., places % self.length]

    def _transform_errors(self, parts: Sequence[Complexes], law: Reals) -> Reals:
        """Return bounds of the relative errors of transforms, 2 where the denominator is 0.

        At angle 0, where averages are 1, the error is known exactly. Shapes: parts (1, sets, width), law (sets,
        counts).
        """
        norms = np.sqrt([(np.abs(part[0]) ** 2).sum(axis=-1) for part in parts])
        rounding = len(parts) * ERROR * np.log2(self.length) * norms.max(axis=0) * norms.min(axis=0)
        errors = np.maximum(np.abs(self._convolved_parts(parts)[0] - law), 2 * rounding[:, None])
        relative = np.full_like(law, 2.0)
        np.divide(errors, law, out=relative, where=law > 0)
        return relative


def _shares_over_denominators(shares: Reals, law: Reals, is_known: NDArray[np.bool_]) -> Reals:
    """Return the shares divided by the denominators; 0 where the denominator is unknown."""
    ratios = np.zeros_like(law)
    np.divide(shares, law, out=ratios, where=is_known)
    return ratios


def _convolve(weighed: Sequence[Complexes], places: NDArray[np.int64]) -> Complexes:
    """Return the convolution of all parts at some positions, added up term by term.

    Beyond the ends of the convolution it is 0.
    """
    angles, sets = max(len(part) for part in weighed), weighed[0].shape[1]
    sums = np.zeros((angles, sets, places.size), dtype=np.complex128)
    for angle, parameters in product(range(angles), range(sets)):
        convolution = reduce(np.convolve, (part[angle % len(part), parameters] for part in weighed))
        inside = (places >= 0) & (places < convolution.size)
        sums[angle, parameters, inside] = convolution[places[inside]]
    return sums


def draw_places(weights: Reals, rows: Places, random: np.random.Generator) -> Places:
    """Draw a place for each row index, by one uniform number each: never a place of weight 0.

    Shapes: weights (distributions, width); rows and result alike.

    Raises:
        ValueError: If a distribution that is drawn from has no weight.
    """
    sums = np.cumsum(weights, axis=1)
    totals = sums[rows, -1]
    if not (totals > 0).all():
        raise ValueError("draws cannot be computed: answers and prior contradict each other by more than floats hold")
    goals = np.minimum(random.random(rows.shape) * totals, np.nextafter(totals, 0))
    low, high = np.zeros(rows.shape, np.int64), np.full(rows.shape, weights.shape[1] - 1)
    for _ in range((weights.shape[1] - 1).bit_length()):
        middle = (low + high) // 2
        is_beyond = sums[rows, middle] > goals
        low, high = np.where(is_beyond, low, middle + 1), np.where(is_beyond, middle, high)
    return high


_SHORT = 2_000  # positions of all summands of a family, up to which no transform is needed
_DIRECT = 64  # positions of a summand, up to which no transform is quicker
_FLOOR = 2.0**-50  # share of the largest probability below which a result of a transform may be a rounding error
_CHUNK = 1 << 21  # numbers computed at once


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
    used, row = np.unique(family, return_inverse=True)
    layers = [_SummandLayer(np.zeros((used.size, laws.shape[1]), np.int64), laws[used]).with_even_members]
    is_direct = is_positive or laws.shape[1] * laws.shape[2] <= _SHORT
    while layers[-1].pairs > 1:
        layers.append(layers[-1].sums(is_direct=is_direct).with_even_members)
    counts = sums[:, None]
    for layer in reversed(layers):
        counts = layer.draw_members(row, counts[:, : layer.pairs], random)
    return counts[:, : laws.shape[1]]


@frozen(eq=False)
class _SummandLayer:
    """Distributions of counts of which each two neighbours are added up."""

    first: Places  # lowest count of each distribution, shape (families, members)
    laws: Reals  # probabilities from there on, shape (families, members, width)

    @property
    def pairs(self) -> int:
        """Number of pairs of each family."""
        return int(self.first.shape[1]) // 2

    @property
    def with_even_members(self) -> Self:
        """The layer with an even number of members; an added member is surely 0."""
        families, members, width = self.laws.shape
        if members % 2 == 0:
            return self
        filler = np.zeros((families, 1, width))
        filler[..., 0] = 1.0
        first = np.append(self.first, np.zeros((families, 1), np.int64), axis=1)
        return type(self)(first, np.append(self.laws, filler, axis=1))

    def sums(self, *, is_direct: bool) -> Self:
        """Return the distributions of the sums of pairs, over the sums with a positive probability."""
        left, right = (self.laws[:, side::2] for side in (0, 1))
        first = self.first[:, ::2] + self.first[:, 1::2]
        is_direct = is_direct or self.laws.shape[2] <= _DIRECT
        laws = (_sums_term_by_term if is_direct else _sums_by_transforms)(left, right)
        possible = laws > 0
        start = possible.argmax(axis=-1)
        ends = laws.shape[-1] - possible[..., ::-1].argmax(axis=-1)
        width = int((ends - start).max())
        start = np.minimum(start, laws.shape[-1] - width)
        places = start[..., None] + np.arange(width)
        return type(self)(first + start, np.take_along_axis(laws, places, axis=-1))

    def draw_members(self, family: Places, sums: Places, random: np.random.Generator) -> Places:
        """Draw the two counts of each pair given their sum, shape (draws, members).

        Args:
            family: The row of distributions that each draw is from, shape (draws,).
            sums: The sum of each pair, shape (draws, pairs).
            random: Source of randomness.
        """
        pair = family[:, None] * self.pairs + np.arange(self.pairs)
        left_first, right_first = (self.first[:, side::2].ravel()[pair] for side in (0, 1))
        span = 2 * self.laws.shape[2] - 1
        codes, kind = np.unique(pair * span + sums - left_first - right_first, return_inverse=True)
        left_counts = left_first + self._draw_left(codes, kind.ravel(), random).reshape(sums.shape)
        return np.stack([left_counts, sums - left_counts], axis=2).reshape(len(sums), -1)

    def _draw_left(self, codes: Places, kind: Places, random: np.random.Generator) -> Places:
        """Draw the left member of a pair given the sum of both, as a position in its distribution, shape (draws,).

        Args:
            codes: The distinct pairs and sums, each pair times the number of positions of a sum plus that position.
            kind: The index of the code of each draw, shape (draws,).
            random: Source of randomness.
        """
        width = self.laws.shape[2]
        left, right = (self.laws[:, side::2].reshape(-1, width) for side in (0, 1))
        order = np.argsort(kind, kind="stable")
        step = max(1, _CHUNK // width)
        starts = np.arange(0, codes.size, step)
        draws_of_chunk = np.split(order, np.searchsorted(kind[order], starts[1:]))
        positions = np.empty(kind.shape, np.int64)
        for start, draws in zip(starts.tolist(), draws_of_chunk, strict=True):
            pair, sum_place = np.divmod(codes[start : start + step], 2 * width - 1)
            right_place = sum_place[:, None] - np.arange(width)
            right_chances = right[pair[:, None], np.clip(right_place, 0, width - 1)]
            weights = np.where((right_place >= 0) & (right_place < width), left[pair] * right_chances, 0.0)
            positions[draws] = draw_places(weights, kind[draws] - start, random)
        return positions


def _sums_term_by_term(left: Reals, right: Reals) -> Reals:
    """Return the distributions of sums, added up term by term.

    Each probability is exact up to rounding, however small it is.
    """
    width = left.shape[-1]
    if left.size < width * width:  # fewer pairs than places
        return row_by_row(np.convolve, left, right)
    laws = np.zeros((*left.shape[:-1], 2 * width - 1))
    for place in range(width):
        laws[..., place : place + width] += left[..., place, None] * right
    return laws


def _sums_by_transforms(left: Reals, right: Reals) -> Reals:
    """Return the distributions of sums by Fourier transforms, 0 where the transform may be rounding alone."""
    width = 2 * left.shape[-1] - 1
    length = transform_length(width)
    laws = np.empty((*left.shape[:-1], width))
    step = max(1, _CHUNK // length)
    rows = (array.reshape(-1, array.shape[-1]) for array in (left, right, laws))
    first, second, sums = rows
    for start in range(0, len(sums), step):
        chunk = slice(start, start + step)
        spectra = np.fft.rfft(first[chunk], length) * np.fft.rfft(second[chunk], length)
        sums[chunk] = np.fft.irfft(spectra, length)[:, :width]
    return np.where(laws > _FLOOR * laws.max(axis=-1, keepdims=True), laws, 0.0)


# E[e^(i·t·(S − centre))] at angles t, shape (angles,).
Characteristic = Callable[[Reals], Complexes]
_AT_ONCE = 16  # angles computed at once
_VANISHED = 1e-15  # value of a characteristic function that is negligible
_ROUNDING = 1e-6  # rounding error of a characteristic function of many million factors
_ENDED = 4  # times the negligible value: a larger probability at an end means that the run is too short
_END_PART = 64  # share of a run that counts as its end, as a divisor
_MEAN_ERROR = 1e-6  # standard deviations: largest error of a mean from rounding


def law_by_characteristic(
    characteristic: Characteristic, mean: float, deviation: float, reach: tuple[int, int], smallest: float = _VANISHED
) -> tuple[int, Reals]:
    """Return the lowest value of S − centre and its probabilities, on a run of integers around the centre.

    P[S − centre = k] = Σ_j φ(t_j)·e^(−i·t_j·k)/N with t_j = 2π·j/N, exact except for the probability of values that are
    N or more away. Such a probability would move the mean, or would be seen at the ends of the run. The run is then
    made twice as long, up to all possible values; the angles of the shorter run are among those of the longer one.

    Args:
        characteristic: The function φ.
        mean: The mean of S − centre.
        deviation: The standard deviation of S, or nearly so. A geometric distribution with this deviation falls to the
            root of `smallest` within half of the first run.
        reach: The smallest and the largest possible value of S − centre.
        smallest: The share of the largest probability that is negligible.

    Numerical error: about `smallest` of the largest probability, absolute.
    """
    span, deviation = reach[1] - reach[0] + 1, max(deviation, 1.0)
    length = transform_length(min(span, math.ceil(-math.log(smallest) * deviation)))
    values = _values_at(characteristic, np.arange(length // 2 + 1, dtype=np.float64) * (2 * math.pi / length), smallest)
    if not abs(values[0] - 1) <= _ROUNDING:
        raise ArithmeticError(f"a characteristic function must be 1 at 0, got {values[0]}")
    while True:
        low = max(reach[0], min(-(length // 2), reach[1] - length + 1))
        high = min(reach[1], low + length - 1)
        law = _inverted_probabilities(values, length, low, high, smallest)
        mean_error = abs(float(law @ np.arange(low, high + 1)) - mean)
        end, largest_end = law.size // _END_PART + 1, _ENDED * smallest * law.max()
        is_cut = (low > reach[0] and law[:end].max() > largest_end) or (
            high < reach[1] and law[-end:].max() > largest_end
        )
        if (low, high) == reach or not (is_cut or mean_error > _MEAN_ERROR * deviation):
            return low, law
        odd = np.arange(1, length, 2, dtype=np.float64)
        values_between = _values_at(characteristic, odd * (math.pi / length), smallest)
        values, length = np.insert(values, np.arange(1, values.size), values_between), 2 * length


def _values_at(characteristic: Characteristic, angles: Reals, smallest: float) -> Complexes:
    """Return the values at ascending angles; 0 from where they are negligible on."""
    values = np.zeros(angles.size, dtype=np.complex128)
    for start in range(0, angles.size, _AT_ONCE):
        chunk = slice(start, start + _AT_ONCE)
        values[chunk] = characteristic(angles[chunk])
        largest = float(np.abs(values[chunk]).max())
        if not largest <= 1 + _ROUNDING:
            raise ArithmeticError(f"a characteristic function must be 1 at 0 and at most 1 elsewhere, got {largest}")
        if largest < smallest:
            break
    return values


def _inverted_probabilities(values: Complexes, length: int, low: int, high: int, smallest: float) -> Reals:
    """Return the probabilities of low..high from the values at multiples of 2π/length."""
    law = np.fft.irfft(np.conj(values), length)[np.arange(low, high + 1) % length]
    law = np.where(law > smallest * law.max(), law, 0.0)
    return law / law.sum()
