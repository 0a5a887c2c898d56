"""The table under which the answers are likeliest, relative to which logarithms keep their digits.

Where answers of narrow noise contradict each other or the total, the logarithms of likelihoods are
huge and all but cancel in what tells one table from another. A multiplier for each sum of counts
moves a part of them between a node and its children, which changes no product. With those of the
likeliest table every likelihood is largest at its count of that table: nothing cancels any more.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisycount.analysis.tables.likelihoods import DEPTH, NO_END, Anchor, Counts, LevelAnswers, LevelLikelihood, Model
from noisycount.model.laws.gamma import Reals
from noisycount.model.mechanism import Mechanism
from noisycount.model.noises.additive import SymmetricNoise
from noisycount.model.searches import first_true_beyond

_WIDE = 1e30  # records²: the variance of a count of which nothing is told
_LITTLE = 0.01  # records
_TOLD = 1e25  # records²: less than that, and more than that of any noise
_LEAST = 1 / 8  # of a part that was made positive: so much of it is left


class LeastSquares(NamedTuple):
    """What is told of each count by its own answers and those below, level by level."""

    value: tuple[Reals, ...]  # about where it lies, in records
    deviation: tuple[Reals, ...]  # a standard deviation, in records
    is_told: tuple[NDArray[np.bool_], ...]  # whether anything is told of it


def least_squares(model: Model, *, is_positive: bool) -> LeastSquares:
    """Answers and sums of answers, weighed by their variances."""
    tree = model.tree
    up = [_answers_of(one, is_positive=is_positive) for one in model.levels]
    for level in range(tree.depth - 2, -1, -1):
        parents, size = tree.parents(level + 1), tree.sizes[level]
        value, variance = up[level + 1]
        if is_positive:
            value = _positive(value, variance)
            up[level + 1] = value, variance
        total = np.bincount(parents, value, size)
        spread = np.minimum(np.bincount(parents, variance, size), _WIDE)
        own, below = 1 / np.maximum(up[level][1], 1e-12), 1 / np.maximum(spread, 1e-12)
        up[level] = (own * up[level][0] + below * total) / (own + below), 1 / (own + below)
    values, variances = zip(*up, strict=True)
    told = tuple(variance < _TOLD for variance in variances)
    return LeastSquares(values, tuple(map(np.sqrt, variances)), told)


def _guesses(model: Model) -> list[Reals]:
    """Return an estimate of each count from all answers, on which no distribution rests.

    What is missing or too much in a sum is shared in proportion to variances; no total exceeds its largest value.
    """
    tree, told = model.tree, least_squares(model, is_positive=True)
    root = model.levels[0].bounds
    found = [np.clip(told.value[0], root.low, np.minimum(root.high, NO_END))]
    for level in range(1, tree.depth):
        parents, size = tree.parents(level), tree.sizes[level - 1]
        value, variance = told.value[level], told.deviation[level] ** 2
        missing = found[-1] - np.bincount(parents, value, size)
        shares = variance / np.maximum(np.bincount(parents, variance, size), 1e-300)[parents]
        parts = _positive(value + shares * missing[parents], variance)
        # made positive, parts of which little is told may add up to far more than their sum
        excess = np.maximum(np.bincount(parents, parts, size) - found[-1], 0.0)
        found.append(np.maximum(parts - shares * excess[parents], _LEAST * parts))
    return found


def _positive(values: Reals, variances: Reals) -> Reals:
    """Values made positive within about one standard deviation of 0."""
    spread = np.clip(np.sqrt(variances) / 2, 1e-3, np.abs(values) + 1.0)
    return spread * np.logaddexp(0.0, values / spread)


def _answers_of(level: LevelLikelihood, *, is_positive: bool) -> tuple[Reals, Reals]:
    """The answers of each node as one number and its variance."""
    size = level.bounds.low.size
    value, precision = np.zeros(size), np.full(size, 1 / _WIDE)
    for one in level.answers:
        middle = np.where(one.suppressed, one.answers / 2, one.answers)
        spread = np.where(one.suppressed, np.abs(middle) / 2, 0.0) + _deviation(one.mechanism)
        value[one.nodes] += (np.maximum(middle, 0.0) if is_positive else middle) / spread**2
        precision[one.nodes] += 1 / spread**2
    low, high = level.bounds
    value /= precision
    is_known = low == high
    if is_positive:
        value = np.clip(value, low, np.minimum(high, NO_END))
    return np.where(is_known, low, value), np.where(is_known, 1e-9, 1 / precision)


def _deviation(mechanism: Mechanism) -> float:
    """The standard deviation of noise, and little where there is none."""
    if isinstance(mechanism, SymmetricNoise) and math.isfinite(mechanism.variance):
        return max(math.sqrt(mechanism.variance), _LITTLE)
    return _LITTLE


_STEEP = 8.0  # nats: what the first record next to an answer costs under narrow noise
_DEEP = 300.0  # nats below its peak, from which on a likelihood is told relative to an anchor
_LOST = 1e6  # nats: sums of more than that are 1e-10 off or more
_MOST_NODES = 10_000  # of a tree whose likeliest table is looked for
_ROUNDED = 1e5  # nats of a law of a sum of noises, whose logarithms are no more exact than 1e-15
Gains = NDArray[Any]
Node = tuple[int, int]
Step = tuple[int, int, int]  # a node by level and position, and whether it has less, −1, or more, 1
_TOO_LARGE = (
    "answers contradict each other, or the total, too much for so large a table, so that digits "
    "would be lost: check the mechanisms, or ask for a part of at most {:,} nodes, got {:,}"
)
_GAIN = Fraction(1, 10**9)  # nats: less makes no table likelier
_COUNTS = 1 << 17  # that all windows of a tree may have together before laws are known
_SWEEPS = 8


def anchored(model: Model) -> Model:
    """The model with logarithms relative to the likeliest table, where they would be too large."""
    model = replace(model, guesses=tuple(_guesses(model)))
    fallen = _fallen(model)
    if fallen <= _DEEP and not _is_steep(model):
        return model
    if sum(model.tree.sizes) > _MOST_NODES:
        if fallen > _LOST:
            raise ValueError(_TOO_LARGE.format(_MOST_NODES, sum(model.tree.sizes)))
        return model
    search = _Search(model, _start(model))
    search.climb()
    _check_rest(model, search)
    return search.told()


def _is_steep(model: Model) -> bool:
    """Whether any noise is so narrow that single counts stand far above those next to them."""
    answers = [one for level in model.levels for one in level.answers if not one.is_exact]
    return any(one.distance(_STEEP) <= 1 for one in answers)


def _fallen(model: Model) -> float:
    """By how many nats any likelihood lies below its peak about where counts are guessed."""
    most = 0.0
    for level, guess in zip(model.levels, model.guesses, strict=True):
        for one in level.answers:
            if one.is_exact:
                continue
            about = np.minimum(guess[one.nodes], float(NO_END))
            fitting = np.where(one.suppressed, 0.0, np.maximum(one.answers, 0.0))
            most = max(most, float((_logs_beside(one, fitting) - _logs_beside(one, about)).max()))
    return most


def _logs_beside(one: LevelAnswers, numbers: Reals) -> Reals:
    """The larger logarithm of the likelihoods of the counts below and above each number."""
    beside = np.floor(numbers).astype(np.int64)[:, None] + np.arange(2)
    return one.log_likelihood(np.arange(one.nodes.size), beside).max(axis=1)


def _start(model: Model) -> list[Counts]:
    """A possible table near the guesses, level by level."""
    told, root = model.guesses, model.levels[0].bounds
    found = [np.clip(np.rint(told[0]), root.low, root.high).astype(np.int64)]
    for level in range(1, model.tree.depth):
        bounds = model.levels[level].bounds
        counts = np.clip(np.rint(told[level]), bounds.low, bounds.high).astype(np.int64)
        for parent, whole in enumerate(found[-1].tolist()):
            children = model.children(level - 1, parent)
            missing = whole - int(counts[children].sum())
            for child in children.tolist():
                room = bounds.high[child] if missing > 0 else bounds.low[child]
                moved = int(room) - int(counts[child])
                moved = min(moved, missing) if missing > 0 else max(moved, missing)
                counts[child] += moved
                missing -= moved
                if not missing:
                    break
        found.append(counts)
    return found


def _check_rest(model: Model, search: "_Search") -> None:
    """Refuse sums of noises of which an answer is so far away that their laws lose digits."""
    for number, level in enumerate(model.levels):
        for one in level.answers:
            rest = one.log_rest(np.arange(one.nodes.size), search.counts[number][one.nodes, None])
            if not one.is_exact and float(rest.min()) < -_ROUNDED:
                place = int(np.argmin(rest))
                raise ValueError(
                    f"answers must not contradict each other, or the total, by {_ROUNDED:g} nats "
                    f"under a sum of noises, got {float(one.answers[place])!r}"
                )


class _Search:
    """The search of the likeliest table: records are moved along the tree while that gains."""

    def __init__(self, model: Model, counts: list[Counts]) -> None:
        self.model = model
        self.counts = counts
        self._told: dict[Node, list[tuple[LevelAnswers, int]]] = {}
        for number, level in enumerate(model.levels):
            for one in level.answers:
                if not one.is_exact:
                    for place, node in enumerate(one.nodes.tolist()):
                        self._told.setdefault((number, node), []).append((one, place))
        self._has_rest = {
            node
            for node, told in self._told.items()
            if any(one.suppressed[place] or not one.main_log(place, -1) for one, place in told)
        }

    def logarithm(self, node: Node, count: int) -> Fraction:
        """That of the likelihood of a count, up to a constant."""
        told = self._told.get(node, ())
        total = sum((one.main_log(place, count) for one, place in told), Fraction(0))
        if node in self._has_rest:
            for one, place in told:
                rest = one.log_rest(np.array([place]), np.array([[count]]))
                total += Fraction(float(rest[0, 0]))
        return total

    def gain(self, node: Node, change: int) -> Fraction | None:
        """What more records in a node gain; None: there cannot be so many."""
        level, place = node
        bounds, count = self.model.levels[level].bounds, int(self.counts[level][place])
        if not bounds.low[place] <= count + change <= bounds.high[place]:
            return None
        if node not in self._told:
            return Fraction(0)
        return self.logarithm(node, count + change) - self.logarithm(node, count)

    def climb(self) -> None:
        """Move ever fewer records together, to the likeliest table."""
        far = max(
            (
                abs(float(one.answers[place]) - float(self.counts[level][node]))
                for (level, node), told in self._told.items()
                for one, place in told
            ),
            default=1.0,
        )
        for power in range(math.frexp(max(1.0, far))[1], -1, -1):
            self._climb(1 << power, np.float64)
        self._climb(1, np.object_)

    def _climb(self, records: int, kind: type) -> None:
        """Move so many records together, or a multiple, until no move gains."""
        model = self.model
        gains = [
            [self._gains(level, range(size), sign * records, kind) for sign in (-1, 1)]
            for level, size in enumerate(model.tree.sizes)
        ]
        while True:
            steps = _best(model, gains)
            if not self._move(steps, records):
                return
            for level, place, _ in steps:
                for row, sign in zip(gains[level], (-1, 1), strict=True):
                    row[place] = self._gains(level, [place], sign * records, kind)[0]

    def _gains(self, level: int, places: Iterable[int], change: int, kind: type) -> Gains:
        """What more records in some nodes of a level gain; −inf: there cannot be so many."""
        found = [self.gain((level, place), change) for place in places]
        return np.array([-math.inf if one is None else one for one in found], dtype=kind)

    def _move(self, steps: Sequence[Step], records: int) -> bool:
        """Move records along the steps, ever more as long as that gains; whether it did."""
        moved = False
        while True:
            gains = [self.gain((level, place), sign * records) for level, place, sign in steps]
            if None in gains or sum(map(Fraction, gains)) <= _GAIN:  # type: ignore[arg-type]  # none is None
                return moved
            for level, place, sign in steps:
                self.counts[level][place] += sign * records
            moved, records = True, 2 * records

    def told(self) -> Model:
        """The model with anchors at the likeliest table."""
        potentials = self._potentials()
        budget = _COUNTS // sum(self.model.tree.sizes)
        levels, offset = [], Fraction(0)
        for number, level in enumerate(self.model.levels):
            anchors = []
            for place, count in enumerate(self.counts[number].tolist()):
                node = number, place
                tilt = potentials[self._head(node)] - potentials[self._tail(node)]
                told = self._told.get(node, [])
                offset += _main(told, Fraction(0), count)
                anchors.append(self._anchor(node, tilt, budget))
            levels.append(replace(level, anchors=tuple(anchors)))
        guesses = tuple(counts.astype(np.float64) for counts in self.counts)
        return replace(self.model, levels=tuple(levels), guesses=guesses, is_anchored=True, offset=float(offset))

    def _anchor(self, node: Node, tilt: Fraction, budget: int) -> Anchor:
        """The logarithm of a node relative to its count, and where its count lies."""
        level, place = node
        told, count = self._told.get(node, []), int(self.counts[level][place])
        bends = [bend for one, number in told for bend in one.bends(number)]
        anchor = Anchor.of(count, partial(_main, told, tilt), bends)
        bounds = self.model.levels[level].bounds
        low, high = int(bounds.low[place]), int(bounds.high[place])
        if told or tilt:
            most = max([budget, *(2 * one.distance(DEPTH) for one, _ in told)])
            ends = [self._end(node, anchor, sign, most) for sign in (-1, 1)]
            low, high = max(low, count - ends[0]), min(high, count + ends[1])
        return replace(anchor, reach=(low, high))

    def _end(self, node: Node, anchor: Anchor, sign: int, most: int) -> int:
        """How far from its count a node may be, within so many records."""
        level, place = node
        bounds = self.model.levels[level].bounds[sign > 0]
        room = abs(int(bounds[place]) - anchor.centre)

        def log(far: int) -> float:
            count = anchor.centre + sign * far
            found = float(anchor(count, 1)[0])
            if node in self._has_rest:
                for one, number in self._told[node]:
                    counts = np.array([[count, anchor.centre]])
                    rest = one.log_rest(np.array([number]), counts)[0]
                    found += float(rest[0] - rest[1])
            return found

        end = min(room, most) + 1
        return first_true_beyond(lambda far: far >= end or log(far) < -DEPTH, 1, 1) - 1

    def _tail(self, node: Node) -> Node | None:
        """The node whose sum holds the count of this one; None: of the root."""
        level, place = node
        return (level - 1, int(self.model.tree.parents(level)[place])) if level else None

    def _head(self, node: Node) -> Node | None:
        """The node itself, whose count is the sum of its children; None: of a cell."""
        return node if node[0] < self.model.tree.depth - 1 else None

    def _potentials(self) -> dict[Node | None, Fraction]:
        """Multipliers of the sums: by moves of a record no sum can be passed that gains."""
        nodes = [
            (level, place)
            for level in range(self.model.tree.depth - 1, -1, -1)
            for place in range(self.model.tree.sizes[level])
        ]
        arcs = [(self._tail(node), self._head(node), self.gain(node, 1), self.gain(node, -1)) for node in nodes]
        found: dict[Node | None, Fraction] = {None: Fraction(0)}
        found |= dict.fromkeys(nodes, Fraction(0))
        for sweep in range(_SWEEPS):
            is_settled = True
            for tail, head, more, less in arcs if sweep % 2 == 0 else reversed(arcs):
                if more is not None and found[tail] - more < found[head]:
                    found[head], is_settled = found[tail] - more, False
                if less is not None and found[head] - less < found[tail]:
                    found[tail], is_settled = found[head] - less, False
            if is_settled:
                break
        return found


def _main(told: Sequence[tuple[LevelAnswers, int]], tilt: Fraction, count: int) -> Fraction:
    """The lines and parabolas of the likelihoods of a count, tilted."""
    return sum((one.main_log(place, count) for one, place in told), tilt * count)


def _best(model: Model, gains: Sequence[Sequence[Gains]]) -> list[Step]:
    """The nodes, with the signs, of the best move: between two cells, or between one and the total."""
    ways: list[tuple[Counts, Counts]] = []
    below, top = gains[-1], -math.inf
    steps: list[Step] = []
    for level in range(model.tree.depth - 2, -1, -1):
        (less, other_less, second_less), (more, other_more, second_more) = (
            _two_largest(below[sign], *model.families[level]) for sign in range(2)
        )
        first_less, first_more = below[0][less], below[1][more]
        by_less, by_more = second_less + first_more, first_less + second_more
        moved = np.where(less == more, np.maximum(by_less, by_more), first_less + first_more)
        node = int(np.argmax(moved))
        if moved[node] > top:
            top, pair = moved[node], [int(less[node]), int(more[node])]
            if pair[0] == pair[1]:
                is_less = by_less[node] > by_more[node]
                pair[1 - is_less] = int((other_less if is_less else other_more)[node])
            steps = [
                step for sign, child in zip((-1, 1), pair, strict=True) for step in _path(ways, level + 1, child, sign)
            ]
        ways.insert(0, (less, more))
        below = [gains[level][0] + first_less, gains[level][1] + first_more]
    for sign, (gain,) in zip((-1, 1), below, strict=True):
        if gain > top:
            top, steps = gain, _path(ways, 0, 0, sign)
    return steps


def _path(ways: Sequence[tuple[Counts, Counts]], level: int, place: int, sign: int) -> list[Step]:
    """The steps from a node down to the best cell; `ways` begin at the level of the first ones."""
    found = [(level, place, sign)]
    for way in ways:
        place = int(way[sign > 0][place])
        level += 1
        found.append((level, place, sign))
    return found


def _two_largest(values: Gains, order: Counts, starts: Counts) -> tuple[Counts, Counts, Gains]:
    """The places of the largest two values of each family, and the second; −inf if there is none."""
    first = _largest(values, order, starts)
    others = values.copy()
    others[first] = -math.inf
    second = _largest(others, order, starts)
    return first, second, others[second]


def _largest(values: Gains, order: Counts, starts: Counts) -> Counts:
    """The place of the largest value of each family."""
    sorted_values = values[order]
    peaks = np.repeat(np.maximum.reduceat(sorted_values, starts[:-1]), np.diff(starts))
    places = np.where(sorted_values == peaks, np.arange(order.size), order.size)
    return order[np.minimum.reduceat(places, starts[:-1])]
