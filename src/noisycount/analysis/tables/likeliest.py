"""Estimates of a table by least squares, and the likeliest table, relative to which logarithms keep their digits.

If answers of narrow noise contradict each other or the total, the logarithms of likelihoods are huge, and nearly cancel
in the differences between tables. A multiplier for each sum of counts moves a part of a logarithm between a node and
its children, which changes no product. With the multipliers of the likeliest table, every likelihood is largest at its
count of that table, and nothing cancels.
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

_UNKNOWN_VARIANCE = 1e30  # records²: variance of a count without any answer
_SMALLEST_DEVIATION = 0.01  # records
_LARGEST_KNOWN_VARIANCE = 1e25  # records²: larger than the variance of any noise
_SMALLEST_SHARE = 1 / 8  # share of a positive part that a correction leaves


class LeastSquares(NamedTuple):
    """Estimates of the counts from the answers at and below each node, level by level."""

    value: tuple[Reals, ...]  # estimate, in records
    deviation: tuple[Reals, ...]  # standard deviation, in records
    is_known: tuple[NDArray[np.bool_], ...]  # True if there is an answer at or below the node


def least_squares(model: Model, *, is_positive: bool) -> LeastSquares:
    """Return estimates from answers and sums of answers, weighted by their variances."""
    tree = model.tree
    levels = [_mean_answers(level_likelihood, is_positive=is_positive) for level_likelihood in model.levels]
    for level in range(tree.depth - 2, -1, -1):
        parents, size = tree.parents(level + 1), tree.sizes[level]
        value, variance = levels[level + 1]
        if is_positive:
            value = _made_positive(value, variance)
            levels[level + 1] = value, variance
        total = np.bincount(parents, value, size)
        spread = np.minimum(np.bincount(parents, variance, size), _UNKNOWN_VARIANCE)
        answer_precision, sum_precision = 1 / np.maximum(levels[level][1], 1e-12), 1 / np.maximum(spread, 1e-12)
        levels[level] = (
            (answer_precision * levels[level][0] + sum_precision * total) / (answer_precision + sum_precision),
            1 / (answer_precision + sum_precision),
        )
    values, variances = zip(*levels, strict=True)
    is_known = tuple(variance < _LARGEST_KNOWN_VARIANCE for variance in variances)
    return LeastSquares(values, tuple(map(np.sqrt, variances)), is_known)


def _first_estimates(model: Model) -> list[Reals]:
    """Return an estimate of each count from all answers, on which no distribution depends.

    The difference between a sum and its parts is divided among them in proportion to their variances. No total exceeds
    its largest value.
    """
    tree, estimates = model.tree, least_squares(model, is_positive=True)
    root = model.levels[0].bounds
    counts = [np.clip(estimates.value[0], root.low, np.minimum(root.high, NO_END))]
    for level in range(1, tree.depth):
        parents, size = tree.parents(level), tree.sizes[level - 1]
        value, variance = estimates.value[level], estimates.deviation[level] ** 2
        missing = counts[-1] - np.bincount(parents, value, size)
        shares = variance / np.maximum(np.bincount(parents, variance, size), 1e-300)[parents]
        parts = _made_positive(value + shares * missing[parents], variance)
        # Uncertain parts that were made positive may add up to far more than their sum.
        excess = np.maximum(np.bincount(parents, parts, size) - counts[-1], 0.0)
        counts.append(np.maximum(parts - shares * excess[parents], _SMALLEST_SHARE * parts))
    return counts


def _made_positive(values: Reals, variances: Reals) -> Reals:
    """Return values made positive within about one standard deviation of 0."""
    spread = np.clip(np.sqrt(variances) / 2, 1e-3, np.abs(values) + 1.0)
    return spread * np.logaddexp(0.0, values / spread)


def _mean_answers(level: LevelLikelihood, *, is_positive: bool) -> tuple[Reals, Reals]:
    """Return the weighted mean of the answers of each node, and its variance."""
    size = level.bounds.low.size
    value, precision = np.zeros(size), np.full(size, 1 / _UNKNOWN_VARIANCE)
    for group in level.answers:
        middle = np.where(group.suppressed, group.answers / 2, group.answers)
        spread = np.where(group.suppressed, np.abs(middle) / 2, 0.0) + _standard_deviation(group.mechanism)
        value[group.nodes] += (np.maximum(middle, 0.0) if is_positive else middle) / spread**2
        precision[group.nodes] += 1 / spread**2
    low, high = level.bounds
    value /= precision
    is_known = low == high
    if is_positive:
        value = np.clip(value, low, np.minimum(high, NO_END))
    return np.where(is_known, low, value), np.where(is_known, 1e-9, 1 / precision)


def _standard_deviation(mechanism: Mechanism) -> float:
    """Return the standard deviation of noise, and a small number without noise."""
    if isinstance(mechanism, SymmetricNoise) and math.isfinite(mechanism.variance):
        return max(math.sqrt(mechanism.variance), _SMALLEST_DEVIATION)
    return _SMALLEST_DEVIATION


_STEEP_FALL = 8.0  # nats between an answer and the next count under narrow noise
_DEEP_FALL = 300.0  # nats below its peak, from which on a likelihood needs an anchor
_LOST_FALL = 1e6  # nats: larger sums have an error of 1e-10 or more
_MOST_NODES = 10_000  # largest tree whose likeliest table is searched
_ROUNDED_FALL = 1e5  # nats under a sum of noises, whose logarithms have a relative error of 1e-15
Gains = NDArray[Any]
Node = tuple[int, int]
Step = tuple[int, int, int]  # level and position of a node, and −1 for fewer records or 1 for more
_TOO_LARGE = (
    "answers contradict each other, or the total, too much for so large a table, so that digits "
    "would be lost: check the mechanisms, or ask for a part of at most {:,} nodes, got {:,}"
)
_GAIN = Fraction(1, 10**9)  # nats: smallest gain
_COUNTS = 1 << 17  # largest number of counts of all ranges of a tree in the first pass
_SWEEPS = 8


def add_anchors(model: Model) -> Model:
    """Return the model with estimates of its counts, and with anchors if logarithms would be too large."""
    model = replace(model, guesses=tuple(_first_estimates(model)))
    drop = _largest_drop(model)
    if drop <= _DEEP_FALL and not _is_steep(model):
        return model
    if sum(model.tree.sizes) > _MOST_NODES:
        if drop > _LOST_FALL:
            raise ValueError(_TOO_LARGE.format(_MOST_NODES, sum(model.tree.sizes)))
        return model
    search = _Search(model, _possible_table(model))
    search.climb()
    _check_rest(model, search)
    return search.model_with_anchors()


def _is_steep(model: Model) -> bool:
    """Return True if a noise is so narrow that one count is far likelier than its neighbours."""
    answers = (group for level in model.levels for group in level.answers)
    return any(group.distance(_STEEP_FALL) <= 1 for group in answers if not group.is_exact)


def _largest_drop(model: Model) -> float:
    """Return the largest difference in nats between a likelihood's peak and its value near the estimated count."""
    largest = 0.0
    for level, guess in zip(model.levels, model.guesses, strict=True):
        for group in level.answers:
            if group.is_exact:
                continue
            estimates = np.minimum(guess[group.nodes], float(NO_END))
            peaks = np.where(group.suppressed, 0.0, np.maximum(group.answers, 0.0))
            drops = _log_likelihoods_of_neighbours(group, peaks) - _log_likelihoods_of_neighbours(group, estimates)
            largest = max(largest, float(drops.max()))
    return largest


def _log_likelihoods_of_neighbours(answers: LevelAnswers, numbers: Reals) -> Reals:
    """Return the larger log likelihood of the counts below and above each number."""
    neighbours = np.floor(numbers).astype(np.int64)[:, None] + np.arange(2)
    return answers.log_likelihood(np.arange(answers.nodes.size), neighbours).max(axis=1)


def _possible_table(model: Model) -> list[Counts]:
    """Return a table near the estimates that satisfies all bounds and sums, level by level."""
    guesses, root = model.guesses, model.levels[0].bounds
    table = [np.clip(np.rint(guesses[0]), root.low, root.high).astype(np.int64)]
    for level in range(1, model.tree.depth):
        bounds = model.levels[level].bounds
        counts = np.clip(np.rint(guesses[level]), bounds.low, bounds.high).astype(np.int64)
        for parent, parent_count in enumerate(table[-1].tolist()):
            children = model.children(level - 1, parent)
            missing = parent_count - int(counts[children].sum())
            for child in children.tolist():
                bound = bounds.high[child] if missing > 0 else bounds.low[child]
                change = int(bound) - int(counts[child])
                change = min(change, missing) if missing > 0 else max(change, missing)
                counts[child] += change
                missing -= change
                if not missing:
                    break
        table.append(counts)
    return table


def _check_rest(model: Model, search: "_Search") -> None:
    """Raise ValueError if an answer under a sum of noises lies so far away that its logarithm loses digits."""
    for number, level in enumerate(model.levels):
        for group in level.answers:
            logs = group.log_rest(np.arange(group.nodes.size), search.counts[number][group.nodes, None])
            if not group.is_exact and float(logs.min()) < -_ROUNDED_FALL:
                index = int(np.argmin(logs))
                raise ValueError(
                    f"answers must not contradict each other, or the total, by {_ROUNDED_FALL:g} nats "
                    f"under a sum of noises, got {float(group.answers[index])!r}"
                )


class _Search:
    """Search for the likeliest table, which moves records along the tree as long as that raises the likelihood."""

    def __init__(self, model: Model, counts: list[Counts]) -> None:
        self.model = model
        self.counts = counts
        self._answers: dict[Node, list[tuple[LevelAnswers, int]]] = {}
        for number, level in enumerate(model.levels):
            for group in level.answers:
                if not group.is_exact:
                    for index, node in enumerate(group.nodes.tolist()):
                        self._answers.setdefault((number, node), []).append((group, index))
        self._has_rest = {
            node
            for node, answers in self._answers.items()
            if any(group.suppressed[index] or not group.main_log(index, -1) for group, index in answers)
        }

    def logarithm(self, node: Node, count: int) -> Fraction:
        """Return the log likelihood of a count, up to a constant."""
        answers = self._answers.get(node, ())
        total = sum((group.main_log(index, count) for group, index in answers), Fraction(0))
        if node in self._has_rest:
            for group, index in answers:
                log = group.log_rest(np.array([index]), np.array([[count]]))
                total += Fraction(float(log[0, 0]))
        return total

    def gain(self, node: Node, change: int) -> Fraction | None:
        """Return the change of the log likelihood from more records in a node; None if its bounds do not allow them."""
        level, index = node
        bounds, count = self.model.levels[level].bounds, int(self.counts[level][index])
        if not bounds.low[index] <= count + change <= bounds.high[index]:
            return None
        if node not in self._answers:
            return Fraction(0)
        return self.logarithm(node, count + change) - self.logarithm(node, count)

    def climb(self) -> None:
        """Move records, from many at once down to single ones, to the likeliest table."""
        distance = max(
            (
                abs(float(group.answers[index]) - float(self.counts[level][node]))
                for (level, node), answers in self._answers.items()
                for group, index in answers
            ),
            default=1.0,
        )
        for power in range(math.frexp(max(1.0, distance))[1], -1, -1):
            self._move_records_by(1 << power, np.float64)
        self._move_records_by(1, np.object_)

    def _move_records_by(self, records: int, kind: type) -> None:
        """Move this number of records at once, or a multiple, until no move gains."""
        model = self.model
        gains = [
            [self._gains(level, range(size), sign * records, kind) for sign in (-1, 1)]
            for level, size in enumerate(model.tree.sizes)
        ]
        while True:
            steps = _best_move(model, gains)
            if not self._move_along_path(steps, records):
                return
            for level, index, _ in steps:
                for row, sign in zip(gains[level], (-1, 1), strict=True):
                    row[index] = self._gains(level, [index], sign * records, kind)[0]

    def _gains(self, level: int, places: Iterable[int], change: int, kind: type) -> Gains:
        """Return the change of the log likelihood of some nodes of a level if each gets `change` more records.

        It is −inf if the bounds of a node do not allow that.
        """
        gains = [self.gain((level, index), change) for index in places]
        return np.array([-math.inf if gain is None else gain for gain in gains], dtype=kind)

    def _move_along_path(self, steps: Sequence[Step], records: int) -> bool:
        """Move records along a path, twice as many each time as long as the likelihood rises.

        Return True if any were moved.
        """
        moved = False
        while True:
            gains = [self.gain((level, index), sign * records) for level, index, sign in steps]
            if None in gains or sum(map(Fraction, gains)) <= _GAIN:  # type: ignore[arg-type]  # none is None
                return moved
            for level, index, sign in steps:
                self.counts[level][index] += sign * records
            moved, records = True, 2 * records

    def model_with_anchors(self) -> Model:
        """Return the model with anchors at the likeliest table."""
        potentials = self._multipliers()
        budget = _COUNTS // sum(self.model.tree.sizes)
        levels, offset = [], Fraction(0)
        for number, level in enumerate(self.model.levels):
            anchors = []
            for index, count in enumerate(self.counts[number].tolist()):
                node = number, index
                tilt = potentials[self._node_with_children(node)] - potentials[self._node_of_sum(node)]
                answers = self._answers.get(node, [])
                offset += _exact_log(answers, Fraction(0), count)
                anchors.append(self._anchor(node, tilt, budget))
            levels.append(replace(level, anchors=tuple(anchors)))
        guesses = tuple(counts.astype(np.float64) for counts in self.counts)
        return replace(self.model, levels=tuple(levels), guesses=guesses, is_anchored=True, offset=float(offset))

    def _anchor(self, node: Node, tilt: Fraction, budget: int) -> Anchor:
        """Return the logarithm of a node relative to its count, and the range of the count."""
        level, index = node
        answers, count = self._answers.get(node, []), int(self.counts[level][index])
        bends = [bend for group, number in answers for bend in group.bends(number)]
        anchor = Anchor.from_logarithm(count, partial(_exact_log, answers, tilt), bends)
        bounds = self.model.levels[level].bounds
        low, high = int(bounds.low[index]), int(bounds.high[index])
        if answers or tilt:
            farthest = max([budget, *(2 * group.distance(DEPTH) for group, _ in answers)])
            ends = [self._farthest_distance(node, anchor, sign, farthest) for sign in (-1, 1)]
            low, high = max(low, count - ends[0]), min(high, count + ends[1])
        return replace(anchor, reach=(low, high))

    def _farthest_distance(self, node: Node, anchor: Anchor, sign: int, farthest: int) -> int:
        """Return the largest distance from a node's count at which its count may lie, at most `farthest` records."""
        level, index = node
        bounds = self.model.levels[level].bounds[sign > 0]
        room = abs(int(bounds[index]) - anchor.centre)

        def log(far: int) -> float:
            count = anchor.centre + sign * far
            total = float(anchor(count, 1)[0])
            if node in self._has_rest:
                for group, number in self._answers[node]:
                    counts = np.array([[count, anchor.centre]])
                    logs = group.log_rest(np.array([number]), counts)[0]
                    total += float(logs[0] - logs[1])
            return total

        end = min(room, farthest) + 1
        return first_true_beyond(lambda far: far >= end or log(far) < -DEPTH, 1, 1) - 1

    def _node_of_sum(self, node: Node) -> Node | None:
        """Return the node whose sum contains this node; None for the root."""
        level, index = node
        return (level - 1, int(self.model.tree.parents(level)[index])) if level else None

    def _node_with_children(self, node: Node) -> Node | None:
        """Return the node itself if its count is the sum of its children; None for a cell."""
        return node if node[0] < self.model.tree.depth - 1 else None

    def _multipliers(self) -> dict[Node | None, Fraction]:
        """Return a multiplier for each sum of counts: added to a count, subtracted from its children.

        At the likeliest table no move of a record gains. With these multipliers, no single node gains from one record
        more or less either. So each tilted likelihood has its maximum there. Found as shortest paths (Bellman-Ford).
        """
        nodes = [
            (level, index)
            for level in range(self.model.tree.depth - 1, -1, -1)
            for index in range(self.model.tree.sizes[level])
        ]
        arcs = [
            (self._node_of_sum(node), self._node_with_children(node), self.gain(node, 1), self.gain(node, -1))
            for node in nodes
        ]
        multipliers: dict[Node | None, Fraction] = {None: Fraction(0)}
        multipliers |= dict.fromkeys(nodes, Fraction(0))
        for sweep in range(_SWEEPS):
            is_settled = True
            for tail, head, more, less in arcs if sweep % 2 == 0 else reversed(arcs):
                if more is not None and multipliers[tail] - more < multipliers[head]:
                    multipliers[head], is_settled = multipliers[tail] - more, False
                if less is not None and multipliers[head] - less < multipliers[tail]:
                    multipliers[tail], is_settled = multipliers[head] - less, False
            if is_settled:
                break
        return multipliers


def _exact_log(answers: Sequence[tuple[LevelAnswers, int]], tilt: Fraction, count: int) -> Fraction:
    """Return the exact part of the log likelihoods of a count, with a tilt."""
    return sum((group.main_log(index, count) for group, index in answers), tilt * count)


def _best_move(model: Model, gains: Sequence[Sequence[Gains]]) -> list[Step]:
    """Return the steps of the best move: between two cells, or between one cell and the total."""
    best_children: list[tuple[Counts, Counts]] = []
    branch_gains, best_gain = gains[-1], -math.inf
    steps: list[Step] = []
    for level in range(model.tree.depth - 2, -1, -1):
        (least_loss, other_less, second_less), (largest_gain, other_more, second_more) = (
            _two_best(branch_gains[sign], *model.families[level]) for sign in range(2)
        )
        first_less, first_more = branch_gains[0][least_loss], branch_gains[1][largest_gain]
        by_less, by_more = second_less + first_more, first_less + second_more
        move_gain = np.where(least_loss == largest_gain, np.maximum(by_less, by_more), first_less + first_more)
        node = int(np.argmax(move_gain))
        if move_gain[node] > best_gain:
            best_gain, pair = move_gain[node], [int(least_loss[node]), int(largest_gain[node])]
            if pair[0] == pair[1]:
                is_less = by_less[node] > by_more[node]
                pair[1 - is_less] = int((other_less if is_less else other_more)[node])
            steps = [
                step
                for sign, child in zip((-1, 1), pair, strict=True)
                for step in _steps_to_cell(best_children, level + 1, child, sign)
            ]
        best_children.insert(0, (least_loss, largest_gain))
        branch_gains = [gains[level][0] + first_less, gains[level][1] + first_more]
    for sign, (gain,) in zip((-1, 1), branch_gains, strict=True):
        if gain > best_gain:
            best_gain, steps = gain, _steps_to_cell(best_children, 0, 0, sign)
    return steps


def _steps_to_cell(best_children: Sequence[tuple[Counts, Counts]], level: int, position: int, sign: int) -> list[Step]:
    """Return the steps from a node down to the best cell below it.

    `best_children` begin at the level of the first step.
    """
    steps = [(level, position, sign)]
    for children in best_children:
        position = int(children[sign > 0][position])
        level += 1
        steps.append((level, position, sign))
    return steps


def _two_best(values: Gains, order: Counts, starts: Counts) -> tuple[Counts, Counts, Gains]:
    """Return the positions of the two largest values of each family, and the second value; −inf if there is none."""
    first = _best_positions(values, order, starts)
    without_first = values.copy()
    without_first[first] = -math.inf
    second = _best_positions(without_first, order, starts)
    return first, second, without_first[second]


def _best_positions(values: Gains, order: Counts, starts: Counts) -> Counts:
    """Return the position of the largest value of each family."""
    sorted_values = values[order]
    peaks = np.repeat(np.maximum.reduceat(sorted_values, starts[:-1]), np.diff(starts))
    positions = np.where(sorted_values == peaks, np.arange(order.size), order.size)
    return order[np.minimum.reduceat(positions, starts[:-1])]
