"""Posterior of the counts of a tree: the passes are repeated until no range is too narrow and no error too large.

`TreeSolution` gives distributions of nodes, of sums of any cells, and draws of whole tables. See `passes`.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from noisycount.analysis.tables.given_sums import ConditionalAverages, draw_places, draw_summands, law_by_characteristic
from noisycount.analysis.tables.likelihoods import Counts, LevelAnswers, Model
from noisycount.analysis.tables.passes import (
    LevelLaws,
    NodeLaw,
    Settings,
    Summary,
    UpwardPass,
    aligned_laws,
    downward_pass,
)
from noisycount.analysis.tables.prior import CellLevel, PriorLevel
from noisycount.analysis.tables.split import Split
from noisycount.analysis.tables.sums import Complexes
from noisycount.analysis.tables.wide_laws import lattice_law
from noisycount.frozen import frozen
from noisycount.model.laws.count_law import TableLaw
from noisycount.model.laws.gamma import Reals
from noisycount.model.laws.smooth_law import SmoothLaw

EXACT = 5e-11  # largest error of a node's distribution under a stated prior, in total variation
# The same under a learned prior: the distributions of rare concentrations lie far from the others.
LEARNED = 1e-3
_MOVES = 1  # number of passes that move targets before counts get several zones
_MOST_ZONES = 33
_REPEATS = 5  # largest number of passes; two are usual
_MOST_REPEATS = 20  # the same if answers contradict each other, so that the first targets are far away
_SURE = 1e-6  # total variation: with a smaller error, ranges may end with the distribution
_NARROW = 1 << 12  # width of a range that positive sums take milliseconds for
_GROSS = 1e-3  # total variation: with a larger error, a distribution is still unknown
_SMALL = 0.1  # angle that shows the deviation of a sum, times its largest possible deviation
_FINE, _ROUGH = 1e-15, 1e-9  # negligible share of the distribution of a sum, under a stated and a learned prior
_AT_ONCE = 1 << 23  # number of counts of cells drawn at once
_TOGETHER = 1 << 21  # number of counts of a level drawn at once


@frozen(eq=False)
class TreeSolution:
    """Distributions of all counts of a tree, in packs of records: more than one record only under wide noise.

    A learned prior divides packs as it would divide records. By chance alone, a child of a count k then has a variance
    of at most records·k/4 instead of k/4. For a concentration A of all children that adds at most A·records²/16.
    """

    up: UpwardPass  # upward pass, in packs
    down: tuple[LevelLaws, ...]  # results of the downward pass, level by level
    record_answers: tuple[LevelAnswers, ...]  # answers, in records
    records: int  # number of records of a pack

    @classmethod
    def solve(
        cls,
        model: Model,
        levels: tuple[PriorLevel, ...],
        settings: Settings,
        answers: tuple[LevelAnswers, ...],
        records: int = 1,
    ) -> Self:
        """Return the solution after as many passes as are needed.

        If the largest number of passes does not reach the aim, `rounding` states the remaining error.
        """
        aim = LEARNED if any(level.is_learned for level in levels) else EXACT
        evidence = math.nan
        for repeat in range(_MOST_REPEATS):
            up = UpwardPass(model, levels, settings)
            down = downward_pass(up)
            imprecise, is_shared = imprecise_nodes(down, aim), repeat >= _MOVES
            # A range is too narrow if sums are exact enough to show that, or if a wider one held more.
            shows_cuts = not any(level.rounding.any() for level in down) or abs(up.evidence - evidence) > aim
            is_cut, evidence = shows_cuts and any(level.short.any() for level in down), up.evidence
            is_late = repeat + 1 >= _REPEATS and not is_cut
            solution = cls(up, down, answers, records)
            if is_late or not any(map(np.any, (*imprecise, down[-1].short))):
                solution = solution._with_rounding_bounds() if aim == EXACT else solution
                imprecise, is_shared = [level.rounding > aim for level in solution.down[:-1]], True
                worst = max(float(level.rounding.max()) for level in solution.down)
                is_over = is_late and (worst <= _GROSS or aim > EXACT)
                if is_over or not any(map(np.any, imprecise)):
                    break
            worst = max(float(level.rounding.max()) for level in down)
            widest = max(message.logs.size for messages in up.messages for message in messages)
            is_first = settings.ends is None and not repeat and worst <= _SURE and widest <= _NARROW
            settings = revised_settings(settings, down, imprecise, is_shared=is_shared or is_first)
            if is_first:  # transforms cannot show where distributions end, positive sums can
                settings = centred_settings(settings, down)
            elif aim == EXACT and worst > _SURE:
                settings = replace(settings, ends=None)
        else:  # ranges still cut off distributions by an unknown share
            cut = (replace(level, rounding=np.where(level.short, 1.0, level.rounding)) for level in down)
            solution = replace(solution, down=tuple(cut))
        return solution

    def _with_rounding_bounds(self) -> Self:
        """Return the solution with bounds of what transforms changed and neglected at each node.

        The passes are repeated with upper bounds in place of the neglected probabilities. The weight of each table is
        then at least the true one. So the probability of the tables with a neglected count bounds the error. If no
        message neglects a count, the bounds of this solution already hold, and no pass is repeated.
        """
        up = self.up
        is_whole = all(np.isfinite(message.logs).all() for level in up.messages for message in level)
        if is_whole and all((level.rounding <= EXACT).all() for level in self.down):
            return self
        bounds = downward_pass(UpwardPass(up.model, up.levels, replace(up.settings, is_bounded=True)))
        pairs = zip(self.down, bounds, strict=True)
        return replace(self, down=tuple(replace(level, rounding=bound.rounding) for level, bound in pairs))

    @property
    def rounding(self) -> float:
        """Bound of the error of any distribution by rounding, in total variation; see `TablePosterior`."""
        return math.fsum(float(level.rounding.sum()) for level in self.down)

    @property
    def evidence(self) -> float:
        """Logarithm of the probability, or the density, of the answers in records."""
        answered = sum(int((~group.suppressed).sum()) for group in self.record_answers)
        is_open = not any(isinstance(level, CellLevel) for level in self.up.levels)
        return self.up.evidence + (is_open - answered) * math.log(self.records)

    def answers(self, level: int) -> tuple[LevelAnswers, ...]:
        """Return the answers about a level, counted from 0 for the root."""
        return tuple(group for group in self.record_answers if group.level == level)

    def summary(self, level: int) -> Summary:
        """Return the estimates of a level; quantiles are whole packs."""
        packs, size = self.down[level].summary, self.records
        if size == 1:
            return packs
        return Summary(packs.mean * size, packs.std * size, packs.median * size, packs.low * size, packs.high * size)

    def law(self, level: int, position: int) -> TableLaw | SmoothLaw:
        """Return the distribution of a node's count."""
        if level < len(self.up.levels):
            return self._law_in_records(self.down[level].laws[position])
        parent = int(self.up.model.tree.parents(level)[position])
        split, above, children = self.family(level - 1, parent)
        position_in_family = int(np.flatnonzero(children == position)[0])
        law = split.child_distributions(above).laws[0, position_in_family]
        return self._law_in_records(NodeLaw(int(split.lows[0, position_in_family]), law))

    def _law_in_records(self, node: NodeLaw) -> TableLaw | SmoothLaw:
        """Return a distribution of packs as a distribution of records, linear between whole packs."""
        law = node.table
        if self.records == 1:
            return law
        return lattice_law(law.first, np.exp(law.log_probabilities), self.records)

    def family(self, level: int, position: int) -> tuple[Split, Reals, Counts]:
        """Return the division of a node, its distribution at the counts of the division, and its children."""
        nodes, children = np.array([position]), self.up.model.children(level, position)
        split = self.up.split(level, nodes, children[None])
        return split, aligned_laws(self.down[level].laws, nodes, split), children

    def sum_law(self, is_in: NDArray[np.bool_]) -> TableLaw | SmoothLaw:
        """Return the distribution of the sum of some but not all cells, shape (cells,).

        One pass up the tree computes its characteristic function. The function of a node given its count is an average
        over the divisions of the count: of the product of the functions of its children. Nodes with all or none of
        their cells in the sum need no pass.
        """
        tree, cells, root = self.up.model.tree, self.down[-1].summary, self.down[0].laws[0]
        mean = float(cells.mean[is_in].sum())
        centre = round(mean)
        shares = [np.bincount(level, is_in) / np.bincount(level) for level in tree.levels]
        top = _PartlySummedNode.from_node(self, shares, (0, 0))

        def characteristic(angles: Reals) -> Complexes:
            values = top.given_counts(angles, root.low, root.law.size) @ root.law
            return values * np.exp(1j * angles * (top.middle - centre))

        reach = -centre, root.low + root.law.size - 1 - centre
        angle = _SMALL / max(float(cells.std[is_in].sum()), 1.0)
        spread = math.sqrt(max(-2 * math.log(abs(characteristic(np.array([angle]))[0])), 0.0)) / angle
        negligible = _ROUGH if self.up.is_rough else _FINE
        low, law = law_by_characteristic(characteristic, mean - centre, spread, reach, negligible)
        return self._law_in_records(NodeLaw(centre + low, law))

    def draws(self, number: int, random: np.random.Generator) -> Counts:
        """Draw tables of counts of the cells, shape (number, cells).

        From the root downwards, each count is divided among the children of its node: first the set of parameters is
        drawn given the count, then the children given both.
        """
        tables = np.empty((number, self.up.model.tree.cells), np.int64)
        tables_at_once = max(1, _AT_ONCE // tables.shape[1])
        for start in range(0, number, tables_at_once):
            chunk = tables[start : start + tables_at_once]
            chunk[:] = self._draw_packs(len(chunk), random)
        return tables * self.records

    def _draw_packs(self, number: int, random: np.random.Generator) -> Counts:
        """Draw a few tables, in packs."""
        root = self.down[0].laws[0]
        counts = root.low + draw_places(root.law[None], np.zeros((number, 1), np.int64), random)
        for level, size in enumerate(self.up.model.tree.sizes[1:]):
            children_counts = np.empty((number, size), np.int64)
            for nodes, children, split in self.up.splits(level):
                step = max(1, _TOGETHER // (number * children.shape[1]))
                messages = split.messages_of_sets
                for start in range(0, nodes.size, step):
                    nodes_of_chunk = np.arange(start, min(start + step, nodes.size))
                    drawn = _draw_children(split, messages, nodes_of_chunk, counts[:, nodes[nodes_of_chunk]], random)
                    children_counts[:, children[nodes_of_chunk].ravel()] = drawn
            counts = children_counts
        return counts


def imprecise_nodes(down: Sequence[LevelLaws], aim: float) -> list[NDArray[np.bool_]]:
    """Return, for each level above the cells, a mask of the nodes with too large an error or too narrow a range."""
    return [(level.rounding > aim) | level.short for level in down[:-1]]


def revised_settings(
    settings: Settings, down: Sequence[LevelLaws], imprecise: Sequence[NDArray[np.bool_]], *, is_shared: bool
) -> Settings:
    """Return settings with other targets or more zones for imprecise nodes, and wider ranges for narrow ones."""
    targets, spreads = list(settings.targets), list(settings.spreads)
    zones = list(settings.zones)
    for level, (nodes, laws, level_zones) in enumerate(zip(imprecise, down, zones, strict=False)):
        summary = laws.summary
        targets[level] = np.where(nodes, summary.mean, targets[level])
        spreads[level] = np.where(nodes, np.maximum(summary.std, 0.5), spreads[level])
        if is_shared:
            more = np.minimum(np.maximum(laws.zones, 2 * level_zones + 1), _MOST_ZONES)
            zones[level] = np.where(nodes, more, level_zones)
    pairs = zip(settings.extra_widths, down, strict=True)
    widened = tuple(np.where(laws.short, 2 * times + 1, times) for times, laws in pairs)
    ends = None if settings.ends is None else tuple(laws.likely_ends for laws in down)
    return Settings(tuple(targets), tuple(spreads), tuple(zones), widened, ends)


def centred_settings(settings: Settings, down: Sequence[LevelLaws]) -> Settings:
    """Return settings with targets at the means of distributions, and ranges that end with the distributions."""
    return replace(
        settings,
        targets=tuple(laws.summary.mean for laws in down),
        spreads=tuple(laws.summary.std for laws in down),
        ends=tuple(laws.likely_ends for laws in down),
    )


def _draw_children(split: Split, messages: Reals, nodes: Counts, counts: Counts, random: np.random.Generator) -> Counts:
    """Draw the counts of children given those of their nodes, shape (draws, children).

    Shapes: messages (nodes, sets, counts), counts (draws, nodes).
    """
    logs = messages[nodes, :, counts - split.low[nodes]]
    peaks = logs.max(axis=-1, keepdims=True)
    weights = np.exp(logs - np.where(np.isfinite(peaks), peaks, 0.0)).reshape(counts.size, -1)
    sets = draw_places(weights, np.arange(counts.size), random).reshape(counts.shape)
    targets = split.targets.reshape(len(split.lows), -1)[nodes]
    ends = (targets[:, 1:] + targets[:, :-1]) / 2
    zone = (counts[..., None] > ends).sum(axis=-1)
    laws, lows = split.laws[nodes], split.lows[nodes]
    rows = np.arange(nodes.size) * laws.shape[1] + sets * targets.shape[1] + zone
    sums = counts - lows.sum(axis=-1)
    laws = laws.reshape(-1, *laws.shape[2:])
    places = draw_summands(laws, rows.ravel(), sums.ravel(), random, is_positive=split.is_positive)
    drawn: Counts = lows + places.reshape(*counts.shape, -1)
    return drawn.reshape(len(counts), -1)


class _PartOfSum(NamedTuple):
    """Some children of a node that is partly in the sum."""

    law: Reals  # distribution of their sum, shape (sets, sums)
    counts: Counts | None = None  # these sums minus their mean, if all children are in the sum; None if none is
    inner: "_PartlySummedNode | None" = None  # the child, if it is partly in the sum

    def weighted_law(self, angles: Reals) -> Complexes:
        """Return the distribution times the characteristic function given the count, shape (angles, sets, sums).

        A part without cells in the sum has the function 1, and the result has the shape (1, sets, sums).
        """
        if self.inner is not None:
            inner = self.inner.given_counts(angles, self.inner.lowest, self.law.shape[-1])
            return self.law * inner[:, None]
        if self.counts is None:
            return self.law[None].astype(np.complex128)
        return self.law * np.exp(1j * angles[:, None] * self.counts)[:, None]


@frozen(eq=False)
class _PartlySummedNode:
    """A node some but not all of whose cells are in a sum."""

    lowest: int  # lowest count in the division of its parent; 0 for the root
    low: int  # lowest count of its own division
    parts: tuple[_PartOfSum, ...]  # parts of its children
    crossing: ConditionalAverages  # averages over the divisions of its count
    middle: int  # count that is subtracted from the sum, so that angles times counts are small

    @classmethod
    def from_node(cls, solution: TreeSolution, shares: list[Reals], node: tuple[int, int], lowest: int = 0) -> Self:
        """Return the node at a level and position, with all nodes below it that are partly in the sum."""
        level, position = node
        split, law_of_node, children = solution.family(level, position)
        cell_shares = shares[level + 1][children]
        parts, starts, middle = [], [], 0
        for is_in in (False, True):
            children_in_part = cell_shares == is_in
            if children_in_part.any():
                first, law = split.sum_children(children_in_part)
                part_middle = round(float(law[0] @ np.arange(law.shape[-1])))
                parts.append(_PartOfSum(law, np.arange(law.shape[-1]) - part_middle if is_in else None))
                starts.append(first)
                middle += is_in * (int(split.lows[0, children_in_part].sum()) + first + part_middle)
        for child in np.flatnonzero((cell_shares > 0) & (cell_shares < 1)).tolist():
            child_node = level + 1, int(children[child])
            inner = cls.from_node(solution, shares, child_node, int(split.lows[0, child]))
            parts.append(_PartOfSum(split.laws[0, :, child], inner=inner))
            starts.append(0)
            middle += inner.middle
        pairs = [(start, part.law) for start, part in zip(starts, parts, strict=True)]
        crossing = split.conditional_averages(pairs, law_of_node[0])
        return cls(lowest, int(split.low[0]), tuple(parts), crossing, middle)

    def given_counts(self, angles: Reals, low: int, width: int) -> Complexes:
        """Return the characteristic function given each of `width` counts from `low` on.

        It is E[e^(i·t·S) | the count, the answers below], where S is the part of the sum that is in the node. Its
        modulus is at most 1. It is 0 for impossible counts.
        """
        averages = self.crossing.averages([part.weighted_law(angles) for part in self.parts])
        values = np.zeros((angles.size, width), dtype=np.complex128)
        first = max(low, self.low)
        after = max(first, min(low + width, self.low + averages.shape[1]))
        values[:, first - low : after - low] = averages[:, first - self.low : after - self.low]
        return values
