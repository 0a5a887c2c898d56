"""Sums of independent counts: where they lie, under which tilt, term by term and by Fourier transforms."""

import math
from collections.abc import Callable
from functools import cached_property
from typing import ClassVar, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from noisycount.frozen import frozen
from noisycount.model.laws.gamma import Reals

Complexes = NDArray[np.complex128]


class LeaveOneOutSums(NamedTuple):
    """For each summand, Σ_k outside(k)·P[the other summands add up to k − j] at its counts j."""

    values: Reals  # shape (nodes, sets, summands, width)
    rounding: Reals  # a bound of their absolute error, shape (nodes, sets)


_NATS = 48.0  # what is left out on each side has at most e^−48 = 1.4e−21 of the mass
# how steeply tails are weighed, over the standard deviation of the sum: about √(2·48) suits a
# normal law, less the tails of a few geometric ones
_STEEPNESS = np.array([0.7, 1.0, 1.4, 2.0, 2.8, 4.0, 5.7, 8.0, 11.0, 16.0])
_FINE = np.geomspace(1.0, 50.0, 15)  # 30 % apart, so that bounds far out are near the truth
_STEEP = np.geomspace(0.5, 2000.0, 60)  # 15 % apart
_STEEPEST = 600.0  # nats over the window of a summand, so that exponentials do not overflow


class SumMoments(NamedTuple):
    """Means and variances of the places of weights along the last axis."""

    mean: Reals
    variance: Reals


def moments(weights: Reals) -> SumMoments:
    """The means and variances of the places 0, 1, and so on, of weights that add up to 1."""
    places = np.arange(weights.shape[-1], dtype=np.float64)
    mean = weights @ places
    spread = (weights @ places**2) - mean**2
    return SumMoments(mean, np.maximum(spread, 0.0))


def sum_bounds(weights: Reals, known: SumMoments) -> tuple[Reals, Reals]:
    """The places between which the sum of summands lies, but for e^−48 on each side.

    With M the product of the moment generating functions, P[S >= b] <= M(t)·e^(−t·b) for t > 0.
    Shapes: weights (..., summands, width); result (...).
    """
    width = weights.shape[-1]
    most = np.full(known.mean.shape[:-1], float(weights.shape[-2] * (width - 1)))
    if width == 1:
        return np.zeros_like(most), most
    tilts, generated = _generated(weights, known, _STEEPNESS)
    reaches = (generated + _NATS) / tilts
    middle = most / 2
    low = middle + reaches[..., tilts < 0].max(axis=-1)
    high = middle + reaches[..., tilts > 0].min(axis=-1)
    return np.clip(np.floor(low), 0, most), np.clip(np.ceil(high), 0, most)


def log_bounds(weights: Reals, known: SumMoments, places: Reals) -> Reals:
    """Upper bounds of the logarithms of the probabilities of a sum, by Chernoff's bound.

    Shapes: weights (..., summands, width), places (..., places); result (..., places).
    """
    if weights.shape[-1] == 1:
        return np.zeros_like(places)
    middle = weights.shape[-2] * (weights.shape[-1] - 1) / 2
    bounds = np.zeros_like(places)
    tilts, generated = _generated(weights, known, _FINE)
    for number, tilt in enumerate(tilts.tolist()):
        np.minimum(bounds, generated[..., number, None] - tilt * (places - middle), out=bounds)
    return bounds


def steep_bounds(logs: Reals, known: SumMoments, places: Reals) -> Reals:
    """The same as `log_bounds` far out too, where exponentials would overflow.

    Shapes: logs (..., summands, width), places (..., places).
    """
    own = np.arange(logs.shape[-1], dtype=np.float64)
    whole = sum_of_logs(logs, axis=-1).sum(axis=-1)
    deviation = np.maximum(np.sqrt(known.variance.sum(axis=-1)), 1e-3)
    bounds = np.zeros_like(places)
    for steepness in (*-_STEEP, *_STEEP):
        tilts = steepness / deviation
        leaning = sum_of_logs(logs + tilts[..., None, None] * own, axis=-1).sum(axis=-1)
        np.minimum(bounds, (leaning - whole)[..., None] - tilts[..., None] * places, out=bounds)
    return bounds


def _generated(weights: Reals, known: SumMoments, steepness: Reals) -> tuple[Reals, Reals]:
    """Tilts, and the logarithms of moment generating functions of the sum about its middle."""
    width = weights.shape[-1]
    deviations = np.sort(np.sqrt(known.variance.sum(axis=-1)), axis=None)
    typical = max(float(deviations[deviations.size // 2]), 1e-3)
    steepness = np.minimum(steepness / typical, _STEEPEST / width)
    tilts = np.concatenate([-steepness, steepness])
    places = np.arange(width) - (width - 1) / 2
    generated: Reals = np.log(weights @ np.exp(places[:, None] * tilts)).sum(axis=-2)
    return tilts, generated


def sum_of_logs(logs: Reals, axis: int) -> Reals:
    """The logarithm of the sum of exponentials along an axis; −inf where all are."""
    peak = logs.max(axis=axis, keepdims=True)
    peak = np.where(np.isfinite(peak), peak, 0.0)
    with np.errstate(divide="ignore"):
        total: Reals = np.log(np.exp(logs - peak).sum(axis=axis)) + np.squeeze(peak, axis)
    return total


_STEPS = 80
_QUICK = 12  # of Newton's steps, which are enough where laws are smooth
_NEAR = 0.2  # standard deviations of the sum: what the error of a transform hardly notices
_ROUGHLY = 2.0  # the same for positive sums, which only must not underflow
_ROOM = 0.25  # records that the wanted sum keeps from the ends, where tilts are infinite


class Tilted(NamedTuple):
    """Weights times e^(tilt·place), as laws."""

    tilts: Reals  # in nats a place, shape (nodes, sets)
    laws: Reals  # shape (nodes, sets, summands, width); each adds up to 1
    # the logarithms of what the weights were divided by, added up over the summands, shape (nodes, sets)
    constants: Reals
    least: Reals  # the smallest sum of places that is possible, shape (nodes, sets)
    most: Reals  # the largest


def tilted_to(logs: Reals, wanted: Reals, start: Reals, *, is_positive: bool) -> Tilted:
    """Return weights tilted so that the mean sum of places is about a wanted one, more roughly for positive sums.

    Newton's steps, kept within what is known to be too low and too high. None is longer than what
    moves the widest summand by about a standard deviation.
    Shapes: logs (nodes, sets, summands, width), wanted (nodes, sets), start (nodes, sets).
    """
    least, most = _ends(logs)
    room = np.minimum(_ROOM, (most - least) / 4)
    goal = np.clip(wanted, least + room, most - room).ravel()
    near = _ROUGHLY if is_positive else _NEAR
    rows = logs.reshape(-1, *logs.shape[2:])
    laws, constants, tilts = np.empty_like(rows), np.empty(len(rows)), np.empty(len(rows))
    low, high = np.full(len(rows), -np.inf), np.full(len(rows), np.inf)
    left, leaning = np.arange(len(rows)), start.ravel()  # the rows whose tilts are not near yet, and tilts to try
    for step in range(_STEPS):
        tilts[left] = leaning
        own, constants[left] = _tilted(rows[left], leaning)
        laws[left] = own
        known = moments(own)
        missing = goal[left] - known.mean.sum(axis=-1)
        variance = known.variance.sum(axis=-1)
        is_far = np.abs(missing) > near * np.sqrt(variance) + 1e-6
        if not is_far.any():
            break
        if not is_positive:  # the error of a transform falls further while other tilts are found
            is_far[:] = True
        low[left] = np.where(missing > 0, np.maximum(low[left], leaning), low[left])
        high[left] = np.where(missing < 0, np.minimum(high[left], leaning), high[left])
        widest = known.variance.max(axis=-1)
        reach = 1 / np.sqrt(np.maximum(widest, 1e-6))
        steps = np.clip(missing / np.maximum(variance, 1e-12), -reach, reach)
        if step > _QUICK and step % 2:  # between jumps of a mean Newton's steps lead nowhere
            steps = np.where(np.isfinite((high - low)[left]), np.inf, steps)
        leaning, left = _next(leaning, steps, low[left], high[left])[is_far], left[is_far]
    return Tilted(tilts.reshape(start.shape), laws.reshape(logs.shape), constants.reshape(start.shape), least, most)


def _ends(logs: Reals) -> tuple[Reals, Reals]:
    """The smallest and the largest sum of places, shape (nodes, sets)."""
    possible = logs > -np.inf
    least = possible.argmax(axis=-1).sum(axis=-1)
    most = (logs.shape[-1] - 1 - possible[..., ::-1].argmax(axis=-1)).sum(axis=-1)
    return least, most


def _tilted(logs: Reals, tilts: Reals) -> tuple[Reals, Reals]:
    """Return weights under given tilts as distributions, and the logarithms of what they were divided by.

    Shapes: logs (rows, summands, width), tilts (rows,); results (rows, summands, width) and (rows,).
    """
    leaning = logs + tilts[:, None, None] * np.arange(logs.shape[-1])
    peaks = leaning.max(axis=-1, keepdims=True)
    leaning -= peaks
    np.exp(leaning, out=leaning)
    sums = leaning.sum(axis=-1, keepdims=True)
    leaning /= sums
    return leaning, (peaks + np.log(sums))[..., 0].sum(axis=-1)


def _next(tilts: Reals, steps: Reals, low: Reals, high: Reals) -> Reals:
    """A step, or the middle of the bracket where it leads out of it."""
    stepped = tilts + steps
    is_held = np.isfinite(low) & np.isfinite(high)
    middle = np.where(is_held, (np.where(is_held, low, 0) + np.where(is_held, high, 0)) / 2, stepped)
    return np.where((stepped > low) & (stepped < high), stepped, middle)


@frozen(eq=False, slots=False)
class PositiveSum:
    """The laws of sums of independent counts, for several nodes and several sets of weights each.

    Errors are relative: a few units in the last place for each summand, in the tails too.
    """

    weights: Reals  # the laws of the summands on 0, 1, and so on, shape (nodes, sets, summands, width)

    @cached_property
    def _halves(self) -> "tuple[PositiveSum, PositiveSum] | None":
        """The two halves of the summands; None: there is one."""
        middle = self.weights.shape[2] // 2
        if middle == 0:
            return None
        return PositiveSum(self.weights[:, :, :middle]), PositiveSum(self.weights[:, :, middle:])

    floor: ClassVar[float] = 1e-280
    """The part of the largest probability below which others are left out: they may underflow."""

    @property
    def first(self) -> NDArray[np.int64]:
        """The first place of `law`, shape (nodes,): 0."""
        return np.zeros(self.weights.shape[0], np.int64)

    @cached_property
    def law(self) -> Reals:
        """The probabilities of the sum, shape (nodes, sets, places)."""
        law = self._complete
        return np.where(law >= self.floor * law.max(axis=-1, keepdims=True), law, 0.0)

    @cached_property
    def _complete(self) -> Reals:
        """The same with what may underflow."""
        if self._halves is None:
            return self.weights[:, :, 0]
        return row_by_row(np.convolve, *(half._complete for half in self._halves))  # noqa: SLF001  (of this class)

    def rests(self, outside: Reals) -> LeaveOneOutSums:
        """For each summand, Σ_k outside(k)·P[the other summands add up to k − j] at its places j.

        Shapes: outside (nodes, sets, places).
        """
        return LeaveOneOutSums(self._inside(outside), np.zeros(outside.shape[:2]))

    def _inside(self, outside: Reals) -> Reals:
        """The same without its error, which is relative."""
        if self._halves is None:
            return outside[:, :, None]
        first, second = self._halves
        parts = (
            half._inside(row_by_row(_correlated, outside, other._complete))  # noqa: SLF001  (of this class)
            for half, other in ((first, second), (second, first))
        )
        return np.concatenate(list(parts), axis=2)


def _correlated(outside: Reals, law: Reals) -> Reals:
    """Σ_i outside(j + i)·law(i) for each place j."""
    return np.convolve(outside, law[::-1], "valid")


def row_by_row(function: Callable[[Reals, Reals], Reals], first: Reals, second: Reals) -> Reals:
    """Apply a function of two rows to the last axis of two arrays."""
    leading = first.shape[:-1]
    pairs = zip(first.reshape(-1, first.shape[-1]), second.reshape(-1, second.shape[-1]), strict=True)
    return np.array([function(*pair) for pair in pairs]).reshape(*leading, -1)


_GROUP = 32  # summands of one transform: more would have windows wider than the sum needs
_CHUNK = 1 << 22  # numbers that are transformed at a time
_KEPT = 1 << 16  # numbers whose transforms are kept for the way down
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

    def rests(self, outside: Reals) -> LeaveOneOutSums:
        """For each summand, Σ_k outside(k)·P[the other summands add up to k − j] at its places j.

        Shapes: outside (nodes, sets, places).
        """
        if self._upper is None:
            return self._groups.rests(outside[:, :, None])
        above = self._upper.rests(outside)
        own = self._groups.rests(above.values)
        return LeaveOneOutSums(own.values, own.rounding + above.rounding)


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
        """Return the transforms of the distributions of the members of some groups."""
        if self.weights.size * self.length > _KEPT * self.weights.shape[-1]:
            return self._transformed(self.weights[part[0], :, part[1]])
        return self._all_spectra

    @cached_property
    def _all_spectra(self) -> NDArray[np.complex128]:
        """The transforms of the distributions of all members, in a small table."""
        return self._transformed(self.weights)

    def _transformed(self, weights: Reals) -> NDArray[np.complex128]:
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

    def rests(self, outside: Reals) -> LeaveOneOutSums:
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
        return LeaveOneOutSums(values, rounding)

    def _squares(self, spectra: NDArray[np.complex128]) -> Reals:
        """The sums of the squares of what has these transforms, by Parseval's theorem."""
        parts = spectra.view(np.float64)
        energy = np.einsum("...i,...i->...", parts, parts)
        return (2 * energy - np.abs(spectra[..., 0]) ** 2) / self.length


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
