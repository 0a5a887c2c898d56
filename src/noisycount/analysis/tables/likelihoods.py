"""Between which counts the nodes of a tree lie, and what the answers of a level say of them."""

from collections.abc import Callable, Sequence
from dataclasses import field
from fractions import Fraction
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from noisycount.analysis.tables.answers import LevelAnswers
from noisycount.frozen import frozen
from noisycount.model.laws.gamma import Reals
from noisycount.model.populations.population import Population
from noisycount.model.tables.tree import Tree

Counts = NDArray[np.int64]

# Of some answers, the logarithms of something at counts, shape (answers, counts).
Logs = Callable[[LevelAnswers, Counts, Counts], Reals]

NO_END = 2**62  # the upper bound of a count that has none, in records


class Bounds(NamedTuple):
    """The smallest and the largest count of each node of a level."""

    low: Counts
    high: Counts


def count_bounds(answers: Sequence[LevelAnswers], tree: Tree, total: int | Population | None) -> tuple[Bounds, ...]:
    """Between which counts each node lies, given exact answers and the sums above and below it.

    Bounds of a sum are sums of bounds, so one pass up and one down find them exactly.
    """
    own = _own_bounds(answers, tree, total)
    found = [own[-1]]
    _check(own[-1], tree, tree.depth - 1)
    for level in range(tree.depth - 2, -1, -1):
        low, high, is_open = _sums(found[0], tree.parents(level + 1), tree.sizes[level])
        sums = Bounds(low, np.where(is_open > 0, NO_END, high))
        _check_sums(own[level], sums, tree, level)
        held = np.maximum(own[level].low, low), np.minimum(own[level].high, sums.high)
        found.insert(0, Bounds(*held))
    for level in range(1, tree.depth):
        found[level] = _narrowed(found[level], found[level - 1], tree.parents(level))
    return tuple(found)


def _own_bounds(answers: Sequence[LevelAnswers], tree: Tree, total: int | Population | None) -> list[Bounds]:
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


def _sums(parts: Bounds, parents: Counts, size: int) -> tuple[Counts, Counts, Counts]:
    """The sums of both bounds over the children of each node, and how many have no upper one."""
    low, high, is_open = (np.zeros(size, np.int64) for _ in range(3))  # exact, unlike `bincount`
    np.add.at(low, parents, parts.low)
    np.add.at(high, parents, np.where(parts.high >= NO_END, 0, parts.high))
    np.add.at(is_open, parents, parts.high >= NO_END)
    return low, high, is_open


def _narrowed(parts: Bounds, above: Bounds, parents: Counts) -> Bounds:
    """The bounds of children, given those of their parents."""
    low, high, is_open = (each[parents] for each in _sums(parts, parents, above.low.size))
    is_own_open = parts.high >= NO_END
    room = above.high[parents] - (low - parts.low)
    others = high - np.where(is_own_open, 0, parts.high)
    needed = np.where(is_open - is_own_open > 0, 0, above.low[parents] - others)
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


@frozen(eq=False)
class Anchor:
    """A logarithm of lines and parabolas relative to one count, exact before it is rounded.

    It never rises with the distance from that count, so that its pieces add up without loss.
    """

    centre: int  # the count
    sides: tuple["_Side", "_Side"]  # below and above it, by the distance
    reach: tuple[int, int]  # where the count lies, as far as the answers tell

    @classmethod
    def of(cls, centre: int, logarithm: Callable[[int], Fraction], bends: Sequence[int]) -> Self:
        """That of a logarithm that bends at some counts alone, or next to them."""

        def side(sign: int) -> _Side:
            largest, starts = logarithm(centre), {max(sign * (bend - centre), 0) for bend in bends}
            return _Side.of(lambda far: logarithm(centre + sign * far) - largest, sorted({0, *starts}))

        return cls(centre, (side(-1), side(1)), (centre, centre))

    def __call__(self, low: int, width: int) -> Reals:
        """The logarithms of so many counts."""
        offsets = np.arange(low - self.centre, low - self.centre + width)
        below, above = self.sides
        return np.where(offsets < 0, below(-offsets), above(offsets))


@frozen(eq=False)
class _Side:
    """A logarithm by the distance from a count, as parabolas."""

    starts: Reals  # the distances from which on they hold, from 0
    # the value at the start, the first step and half the change from each step to the next, shape (3, parabolas)
    terms: Reals

    @classmethod
    def of(cls, logarithm: Callable[[int], Fraction], starts: Sequence[int]) -> Self:
        """That of a logarithm, from three of its values each."""
        terms = []
        for start in starts:
            first, second, third = (logarithm(start + step) for step in range(3))
            bend = (third - 2 * second + first) / 2
            terms.append([float(first), float(second - first), float(bend)])
        return cls(np.array(starts, dtype=np.float64), np.array(terms).T)

    def __call__(self, distances: NDArray[np.integer]) -> Reals:
        """The logarithms at distances; at negative ones anything."""
        piece = np.maximum(np.searchsorted(self.starts, distances, "right") - 1, 0)
        base, step, bend = self.terms[:, piece]
        beyond = distances - self.starts[piece]
        logs: Reals = base + beyond * (step + (beyond - 1) * bend)
        return logs


@frozen(eq=False)
class LevelLikelihood:
    """The answers of one level, of which a node may have none or several."""

    answers: tuple[LevelAnswers, ...]  # those of the level
    bounds: Bounds  # between which counts its nodes lie for certain
    # what the logarithms are told relative to, of each node; None: to nothing
    anchors: tuple[Anchor, ...] | None = None
    _places: Counts = field(init=False, repr=False)
    is_answered: NDArray[np.bool_] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        places = places_of(self.answers, self.bounds.low.size)
        object.__setattr__(self, "_places", places)
        object.__setattr__(self, "is_answered", (places >= 0).any(axis=0))

    def reach(self, widened: Counts) -> Bounds:
        """Where the counts of answered nodes lie, but for e^−42 of their likelihood."""
        if self.anchors is not None:
            ends = zip(*(one.reach for one in self.anchors), strict=True)
            low, high = (np.array(end) for end in ends)
            extra = (high - low + 1) * widened
            first = np.maximum(low - extra, self.bounds.low)
            return Bounds(first, np.minimum(high + extra, self.bounds.high))
        low = np.full(self.bounds.low.size, NO_END)
        high = np.full(self.bounds.low.size, -1)
        for one in self.answers:
            first, last = one.reach()
            low[one.nodes] = np.minimum(low[one.nodes], first)
            high[one.nodes] = np.maximum(high[one.nodes], last)
        extra = np.where(self.is_answered, (high - low + 1) * widened, 0)
        low, high = np.maximum(low - extra, 0), high + extra
        # cut off at the bounds, and moved to them where answers lie beyond
        width = high - low
        first = np.minimum(low, np.maximum(self.bounds.high - width, self.bounds.low))
        last = np.maximum(high, np.minimum(self.bounds.low + width, self.bounds.high))
        first = np.where(self.is_answered, np.maximum(first, self.bounds.low), self.bounds.low)
        last = np.where(self.is_answered, np.minimum(last, self.bounds.high), self.bounds.high)
        return Bounds(first, last)

    def logs(self, nodes: Counts, lows: Counts, width: int) -> Reals:
        """The logarithm of the likelihood of so many counts of some nodes, relative to anchors.

        Shapes: result (nodes, width).
        """
        if self.anchors is None:
            return self.own_logs(nodes, lows, width)
        total = self._added(nodes, lows, width, LevelAnswers.log_rest)
        for place, (node, low) in enumerate(zip(nodes.tolist(), lows.tolist(), strict=True)):
            total[place] += self.anchors[node](low, width)
        return total

    def own_logs(self, nodes: Counts, lows: Counts, width: int) -> Reals:
        """The same relative to nothing."""
        return self._added(nodes, lows, width, LevelAnswers.log_likelihood)

    def _added(self, nodes: Counts, lows: Counts, width: int, logs: Logs) -> Reals:
        """The sums of logarithms over the answers of each node."""
        total = np.zeros((nodes.size, width))
        counts = lows[:, None] + np.arange(width)
        add_logs(total, self.answers, self._places[:, nodes], counts, logs)
        return total


def likelihoods(answers: Sequence[LevelAnswers], bounds: Sequence[Bounds]) -> tuple[LevelLikelihood, ...]:
    """The answers of each level."""
    return tuple(
        LevelLikelihood(tuple(one for one in answers if one.level == level), held) for level, held in enumerate(bounds)
    )


def places_of(answers: Sequence[LevelAnswers], size: int) -> Counts:
    """The place of each of so many nodes among the answers of each mechanism, −1 for none."""
    places = np.full((len(answers), size), -1)
    for row, one in zip(places, answers, strict=True):
        row[one.nodes] = np.arange(one.nodes.size)
    return places


def add_logs(
    total: Reals,
    answers: Sequence[LevelAnswers],
    places: Counts,
    counts: Counts,
    logs: Logs = LevelAnswers.log_likelihood,
) -> None:
    """Add the logarithms of the likelihoods of counts, shape (nodes, counts), to others.

    Shapes: places (mechanisms, nodes).
    """
    for one, own in zip(answers, places, strict=True):
        told = own >= 0
        if told.all():
            total += logs(one, own, counts)
        elif told.any():
            total[told] += logs(one, own[told], counts[told])
