"""Likelihoods of the counts of a tree's nodes, given their answers.

`LevelAnswers` has the answers of one level under one mechanism, `LevelLikelihood` all answers of a level, `Model` those
of the whole tree. `likeliest` anchors logarithms that would be too large.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import field
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from noisycount.frozen import frozen
from noisycount.model.exact import Exact
from noisycount.model.laws.gamma import Reals
from noisycount.model.laws.normal import erfcx
from noisycount.model.mechanism import Mechanism
from noisycount.model.noises.additive import AdditiveNoise, ErrorLaw, SymmetricNoise
from noisycount.model.noises.discrete_gaussian import DiscreteGaussianErrors, log_sum_from, log_sum_of_all
from noisycount.model.noises.gaussian import GaussianShape
from noisycount.model.noises.laplace import LaplaceErrors
from noisycount.model.noises.noise_sum import NoiseSum
from noisycount.model.populations.population import Population
from noisycount.model.tables.tree import Tree

Counts = NDArray[np.int64]
NO_END = 2**62  # upper bound of a count that is not bounded, in records


class Bounds(NamedTuple):
    """Smallest and largest count of each node of a level."""

    low: Counts
    high: Counts


# Nats below the peak of a likelihood beyond which counts are negligible: e^−42 is below 1e-18.
DEPTH = 42.0
_LARGEST = 2**60  # records: more than the scale of any noise times DEPTH
_FARTHEST = 16  # times the depth: answers farther below 0 are outside of a table of sums


@frozen(eq=False)
class LevelAnswers:
    """Answers y to different nodes of one level, all under one mechanism, with their likelihoods f(y | k).

    Additive noise has f(y | k) = P[Z = y − k], or the density of Z there. A suppressed answer has P[Y < t | k] for its
    threshold t. An exact answer allows the count y alone.
    """

    level: int  # of the tree, from 0
    nodes: Counts  # nodes that they are about, each once
    answers: Reals  # answers in records; of a suppressed answer the threshold
    suppressed: NDArray[np.bool_]  # True for answers of which only that they are below a threshold is known
    mechanism: Mechanism  # additive noise, or `Exact`
    _errors: ErrorLaw | None = field(init=False, repr=False)
    _depth: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        errors: ErrorLaw | None = None
        depth = 0
        if isinstance(self.mechanism, SymmetricNoise):
            law = self.mechanism.errors
            # The tail of log-concave noise falls at least as fast as its density, P[Z >= z] <= f(z)/f(0).
            depth = self.distance(DEPTH)
            farthest = float(np.abs(self.answers).max(initial=0.0))
            errors = law.tabulated(depth * 2.0 + min(farthest, depth * _FARTHEST))
        object.__setattr__(self, "_errors", errors)
        object.__setattr__(self, "_depth", depth)

    @property
    def is_exact(self) -> bool:
        """True if the answers are the counts themselves."""
        return isinstance(self.mechanism, Exact)

    @property
    def variance(self) -> float:
        """Variance of the noise of each answer, in records²; 0 without noise."""
        return self.mechanism.variance if isinstance(self.mechanism, SymmetricNoise) else 0.0

    def log_likelihood(self, which: slice | NDArray[np.integer], counts: Counts) -> Reals:
        """Return log likelihoods of counts k: ln f(y | k) of an answer y, ln P[Y < t | k] if suppressed below t.

        Shapes: counts (answers, width); result alike.
        """
        answers, suppressed = self.answers[which][:, None], self.suppressed[which]
        if self._errors is None:
            possible = np.where(suppressed[:, None], counts < answers, counts == answers)
            return np.where(possible, 0.0, -math.inf)
        law = self._errors
        if not suppressed.any():
            return law.log_heights(answers - counts.astype(np.float64))
        rows = np.broadcast_to(counts, (answers.size, counts.shape[1])).astype(np.float64)
        logs = np.empty(rows.shape)
        answered = ~suppressed
        if answered.any():
            logs[answered] = law.log_heights(answers[answered] - rows[answered])
        logs[suppressed] = _log_below(law, rows[suppressed] - answers[suppressed])
        return logs

    @property
    def is_smooth(self) -> bool:
        """True if likelihoods have a smooth continuation between the counts, except at the answers."""
        law = self._errors
        is_sum = isinstance(law, DiscreteGaussianErrors) and bool(self.suppressed.any())
        return isinstance(law, LaplaceErrors | GaussianShape) and not is_sum

    @property
    def spread(self) -> float:
        """Typical size of the noise, in records; 0 without noise."""
        return self._errors.spread if self._errors is not None else 0.0

    def log_likelihood_at_reals(self, index: int, counts: Reals) -> Reals:
        """Return the log likelihood of one answer at real numbers, not only at whole counts.

        The noise must be Laplace or Gaussian, discrete or continuous; TypeError otherwise.
        """
        answer = float(self.answers[index])
        if not isinstance(law := self._errors, LaplaceErrors | GaussianShape):
            raise TypeError(f"noise must be smooth between counts, got {self.mechanism!r}")
        if not self.suppressed[index]:
            return law.log_heights(answer - counts)
        threshold = math.ceil(answer) if law.is_discrete else answer
        return law.log_exceedance(law.first + counts - threshold)

    def main_log(self, index: int, count: int) -> Fraction:
        """Return the exact part of a log likelihood: a line or a parabola.

        It is −z/scale or −z²/(2·scale²), where z is the distance from the answer. For a suppressed answer, z is the
        distance beyond the threshold, and 0 below it. The part is 0 under a sum of several noises.
        """
        law = self._errors
        if not isinstance(law, LaplaceErrors | GaussianShape):
            return Fraction(0)
        excess = count - Fraction(float(self.answers[index]))
        distance = max(excess + int(law.first), Fraction(0)) if self.suppressed[index] else excess
        units = abs(distance) / _exact_scale(self.mechanism, law)
        return -units if isinstance(law, LaplaceErrors) else -units * units / 2

    def bends(self, index: int) -> tuple[int, ...]:
        """Return the counts at which the exact part of the likelihood changes from one line or parabola to another."""
        law = self._errors
        if isinstance(law, GaussianShape) and not self.suppressed[index]:
            return ()
        first = law.first if law is not None and self.suppressed[index] else 0.0
        count_before = math.floor(float(self.answers[index]) - first)
        return count_before, count_before + 1

    def log_rest(self, which: NDArray[np.integer], counts: Counts) -> Reals:
        """Return log likelihoods without the exact part. Shapes: counts (answers, width); result alike."""
        law = self._errors
        if law is None or not isinstance(law, LaplaceErrors | GaussianShape):
            return self.log_likelihood(which, counts)
        logs = np.full(counts.shape, math.log(law.peak))
        suppressed = self.suppressed[which]
        if suppressed.any():
            excess = counts[suppressed] - self.answers[which][suppressed][:, None] + law.first
            tails = np.maximum(excess, law.first)
            below_threshold = law.log_exceedance(np.minimum(excess, law.first))
            logs[suppressed] = np.where(excess > 0, _log_hazard(law, tails), below_threshold)
        return logs

    def distance(self, depth: float) -> int:
        """Return the distance from an answer, in records, at which the likelihood has fallen by so many nats."""
        if not isinstance(self.mechanism, SymmetricNoise):
            return 0
        return min(math.ceil(self.mechanism.errors.distance_at_depth(depth)), _LARGEST)

    def reach(self) -> tuple[Counts, Counts]:
        """Return the first and the last count within 42 nats of the likeliest count, for each answer.

        Under log-concave noise, the range may be a few counts too wide, but never too narrow.
        """
        answers = self.answers
        if self._errors is None:
            last = np.where(self.suppressed, np.ceil(answers) - 1, answers).astype(np.int64)
            return np.where(self.suppressed, 0, last), last
        nearest = np.maximum(answers, 0.0)
        first = np.maximum(np.ceil(nearest - self._depth), 0.0)
        last = np.floor(nearest + self._depth)
        return np.where(self.suppressed, 0.0, first).astype(np.int64), last.astype(np.int64)


def _exact_scale(mechanism: Mechanism, law: LaplaceErrors | GaussianShape) -> Fraction:
    """Return the scale of a noise as an exact fraction."""
    if isinstance(mechanism, NoiseSum) and len(mechanism.noises) == 1:
        mechanism = mechanism.noises[0]
    return Fraction(mechanism.exact_scale if isinstance(mechanism, AdditiveNoise) else law.scale)


def _log_hazard(law: LaplaceErrors | GaussianShape, distances: Reals) -> Reals:
    """Return ln P[Z >= z] plus z/scale or z²/(2·scale²), for z from `first` on."""
    if isinstance(law, DiscreteGaussianErrors):
        whole, scale = log_sum_of_all(law.scale), law.scale
        hazards = [
            log_sum_from(distance, scale) + (distance / scale) * (distance / scale) / 2 - whole
            for distance in distances.ravel().tolist()
        ]
        return np.reshape(hazards, distances.shape)
    if isinstance(law, LaplaceErrors):
        unit = 1 / float(law.scale)
        at_first = -math.log1p(math.exp(-unit)) if law.is_discrete else -math.log(2)
        return np.full(distances.shape, at_first)
    return np.log(erfcx(distances / (law.scale * math.sqrt(2))) / 2)


def _log_below(law: ErrorLaw, excess: Reals) -> Reals:
    """Return ln P[Y < t | k] = ln P[Z >= k − t + first] for distances of counts beyond thresholds.

    Integer noise uses one table if that is shorter than the distances.
    """
    distances = law.first + (np.floor(excess) if law.is_discrete else excess)
    low, high = float(distances.min()), float(distances.max())
    if not law.is_discrete or high - low >= distances.size:
        return law.log_exceedance(distances)
    table = law.log_exceedance(np.arange(low, high + 1))
    return table[(distances - low).astype(np.int64)]


# A function of answers, their positions and counts that returns logarithms, shape (answers, counts).
Logs = Callable[[LevelAnswers, Counts, Counts], Reals]


def answer_positions(answers: Sequence[LevelAnswers], size: int) -> Counts:
    """Return the position of each node among the answers of each mechanism, shape (mechanisms, nodes); −1: none."""
    positions = np.full((len(answers), size), -1)
    for row, group in zip(positions, answers, strict=True):
        row[group.nodes] = np.arange(group.nodes.size)
    return positions


def add_logs(
    total: Reals,
    answers: Sequence[LevelAnswers],
    positions_of_mechanisms: Counts,
    counts: Counts,
    logs: Logs = LevelAnswers.log_likelihood,
) -> None:
    """Add the log likelihoods of counts to totals, shape (nodes, counts).

    Shapes: positions_of_mechanisms (mechanisms, nodes).
    """
    for group, positions in zip(answers, positions_of_mechanisms, strict=True):
        answered = positions >= 0
        if answered.all():
            total += logs(group, positions, counts)
        elif answered.any():
            total[answered] += logs(group, positions[answered], counts[answered])


@frozen(eq=False)
class Anchor:
    """Logarithm of a likelihood of lines and parabolas, relative to one count, and exact before it is rounded.

    It never rises with the distance from that count, so that its pieces are added up without cancellation.
    """

    centre: int  # count to which logarithms are relative
    sides: tuple["_Side", "_Side"]  # logarithms below and above it, by the distance
    reach: tuple[int, int]  # range of the count, given the answers

    @classmethod
    def from_logarithm(cls, centre: int, logarithm: Callable[[int], Fraction], bends: Sequence[int]) -> Self:
        """Return the anchor of a logarithm that bends only at or next to some counts."""

        def side(sign: int) -> _Side:
            largest, starts = logarithm(centre), {max(sign * (bend - centre), 0) for bend in bends}
            return _Side.from_logarithm(
                lambda distance: logarithm(centre + sign * distance) - largest, sorted({0, *starts})
            )

        return cls(centre, (side(-1), side(1)), (centre, centre))

    def __call__(self, low: int, width: int) -> Reals:
        """Return the logarithms of `width` counts from `low` on."""
        offsets = np.arange(low - self.centre, low - self.centre + width)
        below, above = self.sides
        return np.where(offsets < 0, below(-offsets), above(offsets))


@frozen(eq=False)
class _Side:
    """Logarithm of a likelihood on one side of a count, as a function of the distance: consecutive parabolas."""

    starts: Reals  # distances at which the parabolas begin, from 0
    # value at the start, first step, and half the change from each step to the next, shape (3, parabolas)
    terms: Reals

    @classmethod
    def from_logarithm(cls, logarithm: Callable[[int], Fraction], starts: Sequence[int]) -> Self:
        """Return a parabola for each start, through the values of the logarithm at three distances from there on."""
        terms = []
        for start in starts:
            first, second, third = (logarithm(start + step) for step in range(3))
            bend = (third - 2 * second + first) / 2
            terms.append([float(first), float(second - first), float(bend)])
        return cls(np.array(starts, dtype=np.float64), np.array(terms).T)

    def __call__(self, distances: NDArray[np.integer]) -> Reals:
        """Return the logarithms at distances from 0 on, by the parabola in which each distance lies."""
        piece = np.maximum(np.searchsorted(self.starts, distances, "right") - 1, 0)
        base, step, bend = self.terms[:, piece]
        steps_beyond = distances - self.starts[piece]
        return base + steps_beyond * (step + (steps_beyond - 1) * bend)


@frozen(eq=False)
class LevelLikelihood:
    """Likelihoods of the counts of a level, given all answers about it. A node may have no answer or several."""

    answers: tuple[LevelAnswers, ...]  # answers about the level
    bounds: Bounds  # certain bounds of the counts
    # counts to which logarithms are relative, for each node; None: logarithms are absolute
    anchors: tuple[Anchor, ...] | None = None
    _positions: Counts = field(init=False, repr=False)
    is_answered: NDArray[np.bool_] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        positions = answer_positions(self.answers, self.bounds.low.size)
        object.__setattr__(self, "_positions", positions)
        object.__setattr__(self, "is_answered", (positions >= 0).any(axis=0))

    def reach(self, extra_widths: Counts) -> Bounds:
        """Return the range of each answered node, outside of which its likelihood is below e^−42 of its maximum."""
        if self.anchors is not None:
            ends = zip(*(group.reach for group in self.anchors), strict=True)
            low, high = (np.array(end) for end in ends)
            extra = (high - low + 1) * extra_widths
            first = np.maximum(low - extra, self.bounds.low)
            return Bounds(first, np.minimum(high + extra, self.bounds.high))
        low = np.full(self.bounds.low.size, NO_END)
        high = np.full(self.bounds.low.size, -1)
        for group in self.answers:
            first, last = group.reach()
            low[group.nodes] = np.minimum(low[group.nodes], first)
            high[group.nodes] = np.maximum(high[group.nodes], last)
        extra = np.where(self.is_answered, (high - low + 1) * extra_widths, 0)
        low, high = np.maximum(low - extra, 0), high + extra
        # The range is cut off at the bounds, and moved to them if answers lie beyond.
        width = high - low
        first = np.minimum(low, np.maximum(self.bounds.high - width, self.bounds.low))
        last = np.maximum(high, np.minimum(self.bounds.low + width, self.bounds.high))
        first = np.where(self.is_answered, np.maximum(first, self.bounds.low), self.bounds.low)
        last = np.where(self.is_answered, np.minimum(last, self.bounds.high), self.bounds.high)
        return Bounds(first, last)

    def logs(self, nodes: Counts, lows: Counts, width: int) -> Reals:
        """Return the log likelihoods of `width` counts of some nodes, relative to anchors if there are any.

        Shapes: result (nodes, width).
        """
        if self.anchors is None:
            return self.own_logs(nodes, lows, width)
        total = self._sums_of_logs(nodes, lows, width, LevelAnswers.log_rest)
        for row, (node, low) in enumerate(zip(nodes.tolist(), lows.tolist(), strict=True)):
            total[row] += self.anchors[node](low, width)
        return total

    def own_logs(self, nodes: Counts, lows: Counts, width: int) -> Reals:
        """Return the log likelihoods of `width` counts of some nodes without anchors."""
        return self._sums_of_logs(nodes, lows, width, LevelAnswers.log_likelihood)

    def _sums_of_logs(self, nodes: Counts, lows: Counts, width: int, logs: Logs) -> Reals:
        """Return the sums of logarithms over the answers of each node."""
        total = np.zeros((nodes.size, width))
        counts = lows[:, None] + np.arange(width)
        add_logs(total, self.answers, self._positions[:, nodes], counts, logs)
        return total


def likelihoods(answers: Sequence[LevelAnswers], bounds: Sequence[Bounds]) -> tuple[LevelLikelihood, ...]:
    """Return the likelihood of each level."""
    return tuple(
        LevelLikelihood(tuple(group for group in answers if group.level == level), level_bounds)
        for level, level_bounds in enumerate(bounds)
    )


@frozen(eq=False, slots=False)
class Model:
    """A table: its tree, its answers, and the distribution of its total."""

    tree: Tree  # the tree
    levels: tuple[LevelLikelihood, ...]  # likelihood of each level
    total: Population | None  # distribution of the root's count; None: unknown, or known by its bounds
    guesses: tuple[Reals, ...] = ()  # an estimate of each count, level by level, on which no distribution depends
    is_anchored: bool = False  # True if logarithms are relative to those of the likeliest table, which are the guesses
    offset: float = 0.0  # the logarithm of the likelihood of that table

    def children(self, level: int, position: int) -> Counts:
        """Return the positions of a node's children in the level below."""
        order, starts = self.families[level]
        return order[starts[position] : starts[position + 1]]

    def family_sizes(self, level: int) -> Counts:
        """Return the number of children of each node of a level."""
        return np.diff(self.families[level][1])

    @cached_property
    def families(self) -> list[tuple[Counts, Counts]]:
        """The nodes below each level above the cells, parent by parent, and the start of each parent's nodes."""
        families = []
        for level in range(1, self.tree.depth):
            parents = self.tree.parents(level)
            starts = np.searchsorted(np.sort(parents), np.arange(self.tree.sizes[level - 1] + 1))
            families.append((np.argsort(parents, kind="stable"), starts))
        return families
