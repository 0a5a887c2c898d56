"""The answers of one level of a tree under one mechanism.

What counts of nodes can be, as exact answers and sums leave them.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import field
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisycount.frozen import frozen
from noisycount.model.exact import Exact
from noisycount.model.laws.gamma import Reals
from noisycount.model.laws.normal import erfcx
from noisycount.model.mechanism import Mechanism
from noisycount.model.noises.additive import AdditiveNoise, ErrorLaw, SymmetricNoise
from noisycount.model.noises.discrete_gaussian import (
    DiscreteGaussianErrors,
    log_sum_from,
    log_sum_of_all,
)
from noisycount.model.noises.gaussian import GaussianShape
from noisycount.model.noises.laplace import LaplaceShape
from noisycount.model.noises.noise_sum import NoiseSum
from noisycount.model.populations.population import Population
from noisycount.model.searches import first_true
from noisycount.model.tables.tree import Tree

__all__ = ["DEPTH", "NO_END", "Bounds", "LevelAnswers", "count_bounds"]

# Nats below the peak of a likelihood from which on counts do not matter: e^−42 is below 1e-18.
DEPTH = 42.0
_LARGEST = 2**60  # records: beyond any noise's scale times DEPTH
_FARTHEST = 16  # depths: answers so far below 0 are beyond a table of sums
_EXTRA = 1.7  # nats: the tail at an answer is at least half of the largest
Counts = NDArray[np.int64]


@frozen(eq=False)
class LevelAnswers:
    """Answers about different nodes of one level, under one mechanism.

    Attributes:
        level: Of the tree, from 0.
        nodes: Which nodes they are about, none twice.
        answers: In records; of a suppressed one the threshold.
        suppressed: Which were less than that threshold, and no more is known.
        mechanism: Additive noise, or `Exact`.
    """

    level: int
    nodes: Counts
    answers: Reals
    suppressed: NDArray[np.bool_]
    mechanism: Mechanism
    _errors: ErrorLaw | None = field(init=False, repr=False)
    _depth: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        errors: ErrorLaw | None = None
        depth = 0
        if isinstance(self.mechanism, SymmetricNoise):
            law = self.mechanism.errors
            tail = _first(lambda far: law.log_exceedance(np.array([far]))[0] <= -DEPTH - _EXTRA)
            depth = max(self.distance(DEPTH), tail)
            farthest = float(np.abs(self.answers).max(initial=0.0))
            errors = law.tabulated(depth * 2.0 + min(farthest, depth * _FARTHEST))
        object.__setattr__(self, "_errors", errors)
        object.__setattr__(self, "_depth", depth)

    @property
    def is_exact(self) -> bool:
        """Whether the answers are the counts themselves."""
        return isinstance(self.mechanism, Exact)

    def log_likelihood(self, which: slice | NDArray[np.integer], counts: Counts) -> Reals:
        """The logarithm of f(y | k), or of P[Y < t | k] of a suppressed answer.

        Args:
            which: Some of the answers, m of them.
            counts: Whole counts k for each, shape (m, w) or (1, w).

        Returns:
            Shape (m, w), −inf for 0; of continuous noise the logarithm of the density.
        """
        answers, suppressed = self.answers[which][:, None], self.suppressed[which]
        if self._errors is None:
            possible = np.where(suppressed[:, None], counts < answers, counts == answers)
            return np.where(possible, 0.0, -math.inf)
        law = self._errors
        if not suppressed.any():
            return _log_densities(law, answers - counts.astype(np.float64))
        rows = np.broadcast_to(counts, (answers.size, counts.shape[1])).astype(np.float64)
        logs = np.empty(rows.shape)
        told = ~suppressed
        if told.any():
            logs[told] = _log_densities(law, answers[told] - rows[told])
        logs[suppressed] = _log_below(law, rows[suppressed] - answers[suppressed])
        return logs

    @property
    def is_smooth(self) -> bool:
        """Whether likelihoods go on between the counts, without more bends than at answers."""
        law = self._errors
        is_sum = isinstance(law, DiscreteGaussianErrors) and bool(self.suppressed.any())
        return isinstance(law, LaplaceShape | GaussianShape) and not is_sum

    @property
    def spread(self) -> float:
        """A typical size of the noise, in records; 0 if there is none."""
        return self._errors.spread if self._errors is not None else 0.0

    def log_between(self, place: int, counts: Reals) -> Reals:
        """The logarithm of the likelihood of one answer, also between the counts.

        Args:
            place: Of the answer, which is `is_smooth`.
            counts: Real ones, from 0.
        """
        answer = float(self.answers[place])
        if not isinstance(law := self._errors, LaplaceShape | GaussianShape):
            raise TypeError(f"noise must be smooth between counts, got {self.mechanism!r}")
        if not self.suppressed[place]:
            return _log_densities(law, answer - counts)
        threshold = math.ceil(answer) if law.is_discrete else answer
        logs: Reals = law.log_exceedance(law.first + counts - threshold)
        return logs

    def main_log(self, place: int, count: int) -> Fraction:
        """The part of the logarithm of a likelihood that is a line or a parabola, exactly.

        It is −z/scale or −z²/(2·scale²) of the distance z from the answer, or from the threshold,
        below which it is 0; 0 of a sum of several noises.

        Args:
            place: Of the answer.
            count: The count k.
        """
        law = self._errors
        if not isinstance(law, LaplaceShape | GaussianShape):
            return Fraction(0)
        beyond = count - Fraction(float(self.answers[place]))
        distance = max(beyond + int(law.first), Fraction(0)) if self.suppressed[place] else beyond
        units = abs(distance) / _exact_scale(self.mechanism, law)
        return -units if isinstance(law, LaplaceShape) else -units * units / 2

    def bends(self, place: int) -> tuple[int, ...]:
        """The counts between and beside which the main part is no line and no parabola."""
        law = self._errors
        if isinstance(law, GaussianShape) and not self.suppressed[place]:
            return ()
        first = law.first if law is not None and self.suppressed[place] else 0.0
        before = math.floor(float(self.answers[place]) - first)
        return before, before + 1

    def log_rest(self, which: NDArray[np.integer], counts: Counts) -> Reals:
        """The logarithm of likelihoods without the main part, however large that is.

        Args:
            which: Some of the answers, m of them.
            counts: Whole counts k for each, shape (m, w).
        """
        law = self._errors
        if law is None or not isinstance(law, LaplaceShape | GaussianShape):
            return self.log_likelihood(which, counts)
        rest = np.full(counts.shape, math.log(law.peak))
        hidden = self.suppressed[which]
        if hidden.any():
            beyond = counts[hidden] - self.answers[which][hidden][:, None] + law.first
            tails = np.maximum(beyond, law.first)
            inside = law.log_exceedance(np.minimum(beyond, law.first))
            rest[hidden] = np.where(beyond > 0, _log_hazard(law, tails), inside)
        return rest

    def distance(self, depth: float) -> int:
        """How far from an answer the likelihood has fallen by so many nats, in records; 0 if exact.

        Args:
            depth: In nats.
        """
        if not isinstance(self.mechanism, SymmetricNoise):
            return 0
        law = self.mechanism.errors
        peak = float(law.log_density(np.zeros(1))[0])
        return _first(lambda far: peak - float(law.log_density(np.array([far]))[0]) >= depth)

    def reach(self) -> tuple[Counts, Counts]:
        """The first and the last count within 42 nats of the most likely one, for each answer.

        Where noise is log-concave a few more may be between them; none is left out.
        """
        answers = self.answers
        if self._errors is None:
            last = np.where(self.suppressed, np.ceil(answers) - 1, answers).astype(np.int64)
            return np.where(self.suppressed, 0, last), last
        nearest = np.maximum(answers, 0.0)
        first = np.maximum(np.ceil(nearest - self._depth), 0.0)
        last = np.floor(nearest + self._depth)
        return np.where(self.suppressed, 0.0, first).astype(np.int64), last.astype(np.int64)


def _log_densities(law: ErrorLaw, errors: Reals) -> Reals:
    """The logarithm of the density at errors."""
    at_zero = float(law.log_density(np.zeros(1))[0])
    logs: Reals = law.log_density(errors)
    return logs + (math.log(law.peak) - at_zero)


def _exact_scale(mechanism: Mechanism, law: LaplaceShape | GaussianShape) -> Fraction:
    """The scale of a noise as the rational that it stands for."""
    if isinstance(mechanism, NoiseSum) and len(mechanism.noises) == 1:
        mechanism = mechanism.noises[0]
    return Fraction(mechanism.exact_scale if isinstance(mechanism, AdditiveNoise) else law.scale)


def _log_hazard(law: LaplaceShape | GaussianShape, distances: Reals) -> Reals:
    """The logarithm of P[Z >= z] plus z/scale or z²/(2·scale²), for z from `first` on."""
    if isinstance(law, DiscreteGaussianErrors):
        whole, scale = log_sum_of_all(law.scale), law.scale
        found = [
            log_sum_from(distance, scale) + (distance / scale) * (distance / scale) / 2 - whole
            for distance in distances.ravel().tolist()
        ]
        return np.reshape(found, distances.shape)
    if isinstance(law, LaplaceShape):
        unit = 1 / float(law.scale)
        at_first = -math.log1p(math.exp(-unit)) if law.is_discrete else -math.log(2)
        return np.full(distances.shape, at_first)
    hazard: Reals = np.log(erfcx(distances / (law.scale * math.sqrt(2))) / 2)
    return hazard


def _log_below(law: ErrorLaw, beyond: Reals) -> Reals:
    """The logarithm of P[Y < t | k] = P[Z >= k − t + first], at counts beyond thresholds.

    Integers take one table where that is shorter than they are.
    """
    places = law.first + (np.floor(beyond) if law.is_discrete else beyond)
    low, high = float(places.min()), float(places.max())
    if not law.is_discrete or high - low >= places.size:
        return law.log_exceedance(places)
    table = law.log_exceedance(np.arange(low, high + 1))
    logs: Reals = table[(places - low).astype(np.int64)]
    return logs


def _first(holds: Callable[[float], bool]) -> int:
    """The first whole distance at which something holds that then holds on."""
    far = 1
    while far < _LARGEST and not holds(float(far)):
        far *= 2
    return first_true(lambda distance: holds(float(distance)), far // 2, far)


NO_END = 2**62  # the upper bound of a count that has none, in records


class Bounds(NamedTuple):
    """The smallest and the largest count of each node of a level."""

    low: Counts
    high: Counts


def count_bounds(
    answers: Sequence[LevelAnswers], tree: Tree, total: int | Population | None
) -> tuple[Bounds, ...]:
    """Between which counts each node lies, given exact answers and the sums above and below it.

    Bounds of a sum are sums of bounds, so one pass up and one down find them exactly.

    Args:
        answers: Of all levels; noisy ones bound nothing.
        tree: Whose nodes they are about.
        total: The count of the root, or its law; None: unknown.

    Raises:
        ValueError: If no table has these exact answers.
    """
    own = _own_bounds(answers, tree, total)
    found = [own[-1]]
    _check(own[-1], tree, tree.depth - 1)
    for level in range(tree.depth - 2, -1, -1):
        low, high = _sums(found[0], tree.parents(level + 1), tree.sizes[level])
        held = Bounds(np.maximum(own[level].low, low), np.minimum(own[level].high, high))
        _check_sums(own[level], Bounds(low, high), tree, level)
        found.insert(0, held)
    for level in range(1, tree.depth):
        found[level] = _narrowed(found[level], found[level - 1], tree.parents(level))
    return tuple(found)


def _own_bounds(
    answers: Sequence[LevelAnswers], tree: Tree, total: int | Population | None
) -> list[Bounds]:
    """The bounds that the exact answers of each node give by themselves."""
    own = [Bounds(np.zeros(size, np.int64), np.full(size, NO_END)) for size in tree.sizes]
    if isinstance(total, Population):
        first, last = total.law().support
        own[0] = Bounds(np.array([first]), np.array([last]))
    elif total is not None:
        own[0] = Bounds(np.array([total]), np.array([total]))
    for one in answers:
        if one.is_exact:
            least, most = one.reach()
            held = own[one.level]
            held.low[one.nodes] = np.maximum(held.low[one.nodes], least)
            held.high[one.nodes] = np.minimum(held.high[one.nodes], most)
            _check(held, tree, one.level)
    return own


def _sums(parts: Bounds, parents: Counts, size: int) -> Bounds:
    """The bounds of the sums of the children of each node; sums of int64, without rounding."""
    low, high = np.zeros(size, np.int64), np.zeros(size, np.int64)
    open_ended = np.zeros(size, dtype=np.bool_)
    np.add.at(low, parents, parts.low)
    np.add.at(high, parents, np.where(parts.high >= NO_END, 0, parts.high))
    open_ended[parents[parts.high >= NO_END]] = True
    return Bounds(low, np.where(open_ended, NO_END, high))


def _narrowed(parts: Bounds, above: Bounds, parents: Counts) -> Bounds:
    """The bounds of children, given those of their parents."""
    size = above.low.size
    low, _ = _sums(parts, parents, size)
    high = np.zeros(size, np.int64)
    open_children = parts.high >= NO_END
    np.add.at(high, parents, np.where(open_children, 0, parts.high))
    others_open = (np.bincount(parents[open_children], minlength=size)[parents] - open_children) > 0
    room = above.high[parents] - (low[parents] - parts.low)
    others = high[parents] - np.where(open_children, 0, parts.high)
    needed = np.where(others_open, 0, above.low[parents] - others)
    last = np.where(above.high[parents] >= NO_END, parts.high, np.minimum(parts.high, room))
    return Bounds(np.maximum(parts.low, needed), last)


def _check(held: Bounds, tree: Tree, level: int) -> None:
    """Refuse answers of one node that contradict each other, or the total."""
    wrong = np.flatnonzero(held.low > held.high)
    if wrong.size:
        node = int(wrong[0])
        raise ValueError(
            f"answers contradict each other: {_named(tree, level, node)} is at least "
            f"{held.low[node]} and at most {held.high[node]}: correct them, or their mechanism"
        )


def _check_sums(own: Bounds, sums: Bounds, tree: Tree, level: int) -> None:
    """Refuse exact answers that do not add up."""
    wrong = np.flatnonzero((sums.low > own.high) | (sums.high < own.low))
    if wrong.size:
        node = int(wrong[0])
        more = sums.low[node] > own.high[node]
        parts = f"at least {sums.low[node]}" if more else f"at most {sums.high[node]}"
        whole = own.high[node] if more else own.low[node]
        raise ValueError(
            f"answers and total contradict each other: {_named(tree, level, node)} is {whole}, but "
            f"its parts are {parts} together: correct them, or their mechanism"
        )


def _named(tree: Tree, level: int, node: int) -> str:
    """A node as a message tells of it."""
    label = tree.label(level, node)
    return f"{', '.join(label)} (level {level})" if label else "the total"
