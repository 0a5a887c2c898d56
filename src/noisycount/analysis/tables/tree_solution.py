"""What a table's counts are, by two passes over its tree that are repeated until nothing is lost.

Laws of nodes, of sums of any cells, and whole tables drawn from the joint law of all counts.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from noisycount.analysis.tables.given_sums import Crossing, draw_places, draw_summands, law_by_characteristic
from noisycount.analysis.tables.likelihoods import Counts, LevelAnswers, Model
from noisycount.analysis.tables.passes import LevelLaws, NodeLaw, Settings, Summary, UpwardPass, downward, placed
from noisycount.analysis.tables.prior import CellLevel, PriorLevel
from noisycount.analysis.tables.split import Split
from noisycount.analysis.tables.sums import Complexes
from noisycount.analysis.tables.wide_laws import lattice_law
from noisycount.frozen import frozen
from noisycount.model.laws.count_law import TableLaw
from noisycount.model.laws.gamma import Reals
from noisycount.model.laws.smooth_law import SmoothLaw

EXACT = 5e-11  # total variation that transforms may move a law at a node where the prior is stated
# The same where it is learned: rare concentrations have laws of their own, far from the others.
LEARNED = 1e-3
_MOVES = 1  # times that a target is moved before counts are shared among zones
_MOST_ZONES = 33
_REPEATS = 5  # passes, of which two are usual
_MOST_REPEATS = 20  # the same where answers contradict each other, so that targets begin far away
_SURE = 1e-6  # total variation: with less than that a law is known well enough to end windows with it
_NARROW = 1 << 12  # counts of a window that positive sums take in milliseconds
_GROSS = 1e-3  # total variation: with more than that a law is not known yet
_SMALL = 0.1  # times the largest deviation that a sum can have: an angle that shows its deviation
_FINE, _ROUGH = 1e-15, 1e-9  # what vanishes of the law of a sum, under a stated and a learned prior
_AT_ONCE = 1 << 23  # counts of the cells that are drawn down a tree at a time
_TOGETHER = 1 << 21  # counts that are drawn of one level at a time


@frozen(eq=False)
class TreeSolution:
    """The laws of all counts of a tree, where noise is wide each a whole number of packs.

    A learned prior divides packs as it would records: by chance alone a child of a count k has a
    variance of records·k/4 at most, not of k/4. For a concentration A of all children that is at
    most A·records²/16 more than it would be.
    """

    up: UpwardPass  # over the tree and its answers, in packs
    down: tuple[LevelLaws, ...]  # level by level
    told: tuple[LevelAnswers, ...]  # the answers in records
    records: int  # of a pack

    @classmethod
    def of(
        cls,
        model: Model,
        levels: tuple[PriorLevel, ...],
        settings: Settings,
        told: tuple[LevelAnswers, ...],
        records: int = 1,
    ) -> Self:
        """Both passes, until no window is too short and no transform moved a law by too much.

        Where many passes do not reach that, what was reached is told in `rounding`.
        """
        aim = LEARNED if any(level.is_learned for level in levels) else EXACT
        evidence = math.nan
        for repeat in range(_MOST_REPEATS):
            up = UpwardPass(model, levels, settings)
            down = downward(up)
            wrong, is_shared = coarse(down, aim), repeat >= _MOVES
            # a law goes on beyond its window: sums are exact enough to show that, or a wider one held more
            is_shown = not any(own.rounding.any() for own in down) or abs(up.evidence - evidence) > aim
            is_cut, evidence = is_shown and any(own.short.any() for own in down), up.evidence
            is_late = repeat + 1 >= _REPEATS and not is_cut
            found = cls(up, down, told, records)
            if is_late or not any(map(np.any, (*wrong, down[-1].short))):
                found = found._bounded() if aim == EXACT else found
                wrong, is_shared = [own.rounding > aim for own in found.down[:-1]], True
                worst = max(float(own.rounding.max()) for own in found.down)
                is_over = is_late and (worst <= _GROSS or aim > EXACT)
                if is_over or not any(map(np.any, wrong)):
                    break
            worst = max(float(own.rounding.max()) for own in down)
            widest = max(message.logs.size for messages in up.messages for message in messages)
            is_first = settings.ends is None and not repeat and worst <= _SURE and widest <= _NARROW
            settings = mended(settings, down, wrong, is_shared=is_shared or is_first)
            if is_first:  # transforms cannot show where distributions end, but positive sums can
                settings = about(settings, down)
            elif aim == EXACT and worst > _SURE:
                settings = replace(settings, ends=None)
        else:  # windows still cut laws off, nobody knows by how much
            cut = (replace(own, rounding=np.where(own.short, 1.0, own.rounding)) for own in down)
            found = replace(found, down=tuple(cut))
        return found

    def _bounded(self) -> Self:
        """Return the solution with bounds of what transforms moved and left out at each node.

        Where upper bounds stand for what was left out all weights of tables are at least the true
        ones, so that the share of tables with such a count is at least what the distributions lack. If no
        message left out a count, the bounds of this solution hold already.
        """
        up = self.up
        is_whole = all(np.isfinite(message.logs).all() for level in up.messages for message in level)
        if is_whole and all((own.rounding <= EXACT).all() for own in self.down):
            return self
        bounds = downward(UpwardPass(up.model, up.levels, replace(up.settings, is_bounded=True)))
        pairs = zip(self.down, bounds, strict=True)
        return replace(self, down=tuple(replace(own, rounding=one.rounding) for own, one in pairs))

    @property
    def rounding(self) -> float:
        """A bound of the total variation by which rounding moved any law; see `TablePosterior`."""
        return math.fsum(float(own.rounding.sum()) for own in self.down)

    @property
    def evidence(self) -> float:
        """The logarithm of the probability, or the density, of the answers in records."""
        numbers = sum(int((~one.suppressed).sum()) for one in self.told)
        is_open = not any(isinstance(level, CellLevel) for level in self.up.levels)
        return self.up.evidence + (is_open - numbers) * math.log(self.records)

    def answers(self, level: int) -> tuple[LevelAnswers, ...]:
        """What was answered about a level, from 0, that of the root."""
        return tuple(one for one in self.told if one.level == level)

    def summary(self, level: int) -> Summary:
        """The estimates of a level; quantiles are whole packs."""
        own, size = self.down[level].summary, self.records
        if size == 1:
            return own
        return Summary(own.mean * size, own.std * size, own.median * size, own.low * size, own.high * size)

    def law(self, level: int, position: int) -> TableLaw | SmoothLaw:
        """The law of a node's count."""
        if level < len(self.up.levels):
            return self._in_records(self.down[level].laws[position])
        parent = int(self.up.model.tree.parents(level)[position])
        split, above, children = self.family(level - 1, parent)
        child = int(np.flatnonzero(children == position)[0])
        law = split.descent(above).laws[0, child]
        return self._in_records(NodeLaw(int(split.lows[0, child]), law))

    def _in_records(self, node: NodeLaw) -> TableLaw | SmoothLaw:
        """A law in packs, with lines between them."""
        law = node.table
        if self.records == 1:
            return law
        return lattice_law(law.first, np.exp(law.log_probabilities), self.records)

    def family(self, level: int, position: int) -> tuple[Split, Reals, Counts]:
        """A node above the cells with its children, its law at the counts of both, and the children's positions."""
        nodes, children = np.array([position]), self.up.model.children(level, position)
        split = self.up.split(level, nodes, children[None])
        return split, placed(self.down[level].laws, nodes, split), children

    def sum_law(self, is_in: NDArray[np.bool_]) -> TableLaw | SmoothLaw:
        """The law of the sum of some cells, shape (cells,), but not all.

        Its characteristic function is one pass up the tree: that of a node given its count is the
        average of the product of those of its children over how the count divides. Nodes of which
        all cells are in the sum, or none, need no pass.
        """
        tree, cells, root = self.up.model.tree, self.down[-1].summary, self.down[0].laws[0]
        mean = float(cells.mean[is_in].sum())
        centre = round(mean)
        shares = [np.bincount(level, is_in) / np.bincount(level) for level in tree.levels]
        top = _PartlySummed.of(self, shares, (0, 0))

        def characteristic(angles: Reals) -> Complexes:
            values = top.given_counts(angles, root.low, root.law.size) @ root.law
            return values * np.exp(1j * angles * (top.middle - centre))

        reach = -centre, root.low + root.law.size - 1 - centre
        angle = _SMALL / max(float(cells.std[is_in].sum()), 1.0)
        spread = math.sqrt(max(-2 * math.log(abs(characteristic(np.array([angle]))[0])), 0.0)) / angle
        least = _ROUGH if self.up.is_rough else _FINE
        low, law = law_by_characteristic(characteristic, mean - centre, spread, reach, least)
        return self._in_records(NodeLaw(centre + low, law))

    def draws(self, number: int, random: np.random.Generator) -> Counts:
        """Tables of counts of the cells, shape (number, cells).

        Down from the root each count divides among the children of its node: which set of
        parameters it does so by is drawn given the count, then the children given both.
        """
        tables = np.empty((number, self.up.model.tree.cells), np.int64)
        step = max(1, _AT_ONCE // tables.shape[1])
        for start in range(0, number, step):
            some = tables[start : start + step]
            some[:] = self._drawn(len(some), random)
        return tables * self.records

    def _drawn(self, number: int, random: np.random.Generator) -> Counts:
        """A few of them, in packs."""
        root = self.down[0].laws[0]
        counts = root.low + draw_places(root.law[None], np.zeros((number, 1), np.int64), random)
        for level, size in enumerate(self.up.model.tree.sizes[1:]):
            below = np.empty((number, size), np.int64)
            for nodes, children, split in self.up.splits(level):
                step = max(1, _TOGETHER // (number * children.shape[1]))
                messages = split.messages_of_sets
                for start in range(0, nodes.size, step):
                    part = np.arange(start, min(start + step, nodes.size))
                    drawn = _draw_children(split, messages, part, counts[:, nodes[part]], random)
                    below[:, children[part].ravel()] = drawn
            counts = below
        return counts


def coarse(down: Sequence[LevelLaws], aim: float) -> list[NDArray[np.bool_]]:
    """Whether transforms moved the laws of nodes above the cells by too much, or cut them off."""
    return [(own.rounding > aim) | own.short for own in down[:-1]]


def mended(
    settings: Settings, down: Sequence[LevelLaws], wrong: Sequence[NDArray[np.bool_]], *, is_shared: bool
) -> Settings:
    """Settings with other targets, or zones, where transforms moved laws, and wider windows."""
    targets, spreads = list(settings.targets), list(settings.spreads)
    zones = list(settings.zones)
    for level, (moved, found, own) in enumerate(zip(wrong, down, zones, strict=False)):
        told = found.summary
        targets[level] = np.where(moved, told.mean, targets[level])
        spreads[level] = np.where(moved, np.maximum(told.std, 0.5), spreads[level])
        if is_shared:
            more = np.minimum(np.maximum(found.zones, 2 * own + 1), _MOST_ZONES)
            zones[level] = np.where(moved, more, own)
    pairs = zip(settings.widened, down, strict=True)
    widened = tuple(np.where(found.short, 2 * wide + 1, wide) for wide, found in pairs)
    ends = None if settings.ends is None else tuple(own.likely_ends for own in down)
    return Settings(tuple(targets), tuple(spreads), tuple(zones), widened, ends)


def about(settings: Settings, down: Sequence[LevelLaws]) -> Settings:
    """Settings about the laws that were found, in windows that end with them."""
    return replace(
        settings,
        targets=tuple(own.summary.mean for own in down),
        spreads=tuple(own.summary.std for own in down),
        ends=tuple(own.likely_ends for own in down),
    )


def _draw_children(split: Split, messages: Reals, nodes: Counts, counts: Counts, random: np.random.Generator) -> Counts:
    """Draw the counts of children given those of their nodes, shape (draws, children).

    Shapes: messages (nodes, sets, counts), counts (draws, nodes).
    """
    logs = messages[nodes, :, counts - split.low[nodes]]
    peaks = logs.max(axis=-1, keepdims=True)
    weights = np.exp(logs - np.where(np.isfinite(peaks), peaks, 0.0)).reshape(counts.size, -1)
    own = draw_places(weights, np.arange(counts.size), random).reshape(counts.shape)
    targets = split.targets.reshape(len(split.lows), -1)[nodes]
    ends = (targets[:, 1:] + targets[:, :-1]) / 2
    zone = (counts[..., None] > ends).sum(axis=-1)
    laws, lows = split.laws[nodes], split.lows[nodes]
    family = np.arange(nodes.size) * laws.shape[1] + own * targets.shape[1] + zone
    sums = counts - lows.sum(axis=-1)
    laws = laws.reshape(-1, *laws.shape[2:])
    places = draw_summands(laws, family.ravel(), sums.ravel(), random, is_positive=split.is_positive)
    drawn: Counts = lows + places.reshape(*counts.shape, -1)
    return drawn.reshape(len(counts), -1)


class _Part(NamedTuple):
    """Some children of a node that is partly in the sum."""

    law: Reals  # of their sum, shape (sets, places)
    counts: Counts | None = None  # the counts of those places if all are in the sum, from the middle of their law
    inner: "_PartlySummed | None" = None  # the child if it is partly in the sum; else None, as counts are if none is

    def weighed(self, angles: Reals) -> Complexes:
        """The law times the characteristic function given the count."""
        if self.inner is not None:
            inner = self.inner.given_counts(angles, self.inner.lowest, self.law.shape[-1])
            return self.law * inner[:, None]
        turns = np.ones(1) if self.counts is None else np.exp(1j * angles[:, None] * self.counts)
        return np.broadcast_to(self.law * turns[..., None, :], (angles.size, *self.law.shape))


@frozen(eq=False)
class _PartlySummed:
    """A node of which some cells are in a sum, but not all."""

    lowest: int  # the lowest count in its parent's split; 0 for the root
    low: int  # the lowest count of its own
    parts: tuple[_Part, ...]  # of its children
    crossing: Crossing  # what averages over how its count divides
    middle: int  # what all counts of the sum are told from, so that angles times counts are small

    @classmethod
    def of(cls, solution: TreeSolution, shares: list[Reals], node: tuple[int, int], lowest: int = 0) -> Self:
        """A node by its level and position, with all below it that are partly in the sum."""
        level, position = node
        split, law_of_node, children = solution.family(level, position)
        own = shares[level + 1][children]
        parts, starts, middle = [], [], 0
        for whole in (False, True):
            alike = own == whole
            if alike.any():
                first, law = split.sum_of(alike)
                own_middle = round(float(law[0] @ np.arange(law.shape[-1])))
                parts.append(_Part(law, np.arange(law.shape[-1]) - own_middle if whole else None))
                starts.append(first)
                middle += whole * (int(split.lows[0, alike].sum()) + first + own_middle)
        for place in np.flatnonzero((own > 0) & (own < 1)).tolist():
            below = level + 1, int(children[place])
            inner = cls.of(solution, shares, below, int(split.lows[0, place]))
            parts.append(_Part(split.laws[0, :, place], inner=inner))
            starts.append(0)
            middle += inner.middle
        pairs = [(start, part.law) for start, part in zip(starts, parts, strict=True)]
        crossing = split.crossing(pairs, law_of_node[0])
        return cls(lowest, int(split.low[0]), tuple(parts), crossing, middle)

    def given_counts(self, angles: Reals, low: int, width: int) -> Complexes:
        """The characteristic function given each of so many counts from the lowest on.

        E[e^(i·t·S) | the count, the answers below], S the part of the sum that is in the node; its
        modulus is at most 1; 0 where there is no such count.
        """
        told = self.crossing.averages([one.weighed(angles) for one in self.parts])
        values = np.zeros((angles.size, width), dtype=np.complex128)
        first = max(low, self.low)
        after = max(first, min(low + width, self.low + told.shape[1]))
        values[:, first - low : after - low] = told[:, first - self.low : after - self.low]
        return values
