"""Nodes of a level that are computed together, with their children."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from noisycount.analysis.tables.count_bounds import Bounds
from noisycount.analysis.tables.model import Counts, Divisions, Model, Settings
from noisycount.analysis.tables.split import Split
from noisycount.model.laws.expansion import Reals

__all__ = ["Branches", "Message", "branches"]

_TOGETHER = 1 << 20  # weights that are computed at a time
_CHEAP = 30_000  # multiplications, below which positive sums are as fast as transforms
_BEARABLE = 3e7  # the same where transforms need several zones
_MOST_WORK = 3e8  # the same of several zones of positive sums


@dataclass(frozen=True, slots=True, eq=False)
class Message:
    """The likelihood of the counts of a node.

    Attributes:
        low: The first count.
        logs: Its logarithm from there on; the largest is 0.
        constant: What was taken from the logarithms, here and below.
    """

    low: int
    logs: Reals
    constant: float


@dataclass(frozen=True, slots=True, eq=False)
class Branches:
    """Some nodes of a level with as many children each.

    Attributes:
        level: Of the nodes.
        nodes: Their positions, shape (nodes,).
        children: The positions of their children in the level below, shape (nodes, children).
    """

    level: int
    nodes: Counts
    children: Counts

    def split(
        self,
        model: Model,
        settings: Settings,
        divisions: Divisions,
        cells: Bounds,
        below: Sequence[Message],
    ) -> Split:
        """The nodes with what is told of their children.

        Args:
            model: The table.
            settings: How sums are computed.
            divisions: How counts divide.
            cells: Where the counts of the cells are.
            below: The messages of the level below; none if those are the cells.
        """
        if below:
            lows, logs = _together([below[child] for child in self.children.ravel().tolist()])
        else:
            lows, logs = _likelihoods(model, cells, self.children.ravel())
        shape = self.children.shape
        lows, division = lows.reshape(shape), divisions(self.level, self.nodes, self.children)
        targets = settings.zoned(self.level, self.nodes)
        zones, places = targets.shape[1], shape[1] * (logs.shape[1] - 1) + 1
        work = (shape[1] * logs.shape[1]) ** 2
        is_positive = work < (_CHEAP if zones == 1 else _BEARABLE)
        is_small = work * places < _BEARABLE
        if is_positive and is_small and zones > 1:
            targets = lows.sum(axis=1)[:, None] + np.arange(places, dtype=np.float64)
        elif is_positive and work * zones > _MOST_WORK:
            targets = targets[:, zones // 2, None]
        tilts = None
        if settings.tilts is not None:
            kinds = division.log_chances.size * targets.shape[1]
            known = [settings.tilts[self.level][node] for node in self.nodes.tolist()]
            tilts = np.array(known) if all(one.size == kinds for one in known) else None
        is_bounded = settings.is_bounded or (is_positive and is_small)
        logs = logs.reshape(*shape, -1)
        return Split(lows, logs, division, targets, is_positive, tilts, is_bounded)


def branches(model: Model, settings: Settings, level: int, widths: Counts) -> Iterator[Branches]:
    """The nodes of a level, those with as many children and about as wide ones together.

    Args:
        model: The table.
        settings: How sums are computed.
        level: Of the nodes, above the cells.
        widths: How many counts each node of the level below may have.
    """
    numbers = model.family_sizes(level)
    widest = np.zeros(numbers.size, np.int64)
    np.maximum.at(widest, model.tree.parents(level + 1), widths)
    order = np.lexsort((widest, settings.zones[level], numbers))
    kinds = np.stack([numbers, settings.zones[level]], axis=1)[order]
    starts = [0, *(np.flatnonzero((np.diff(kinds, axis=0) != 0).any(axis=1)) + 1), order.size]
    for start, stop in pairwise(starts):
        for nodes in _chunks(order[start:stop], numbers * widest * settings.zones[level]):
            children = np.stack([model.children(level, int(node)) for node in nodes])
            yield Branches(level, nodes, children)


def _chunks(nodes: Counts, sizes: Counts) -> Iterator[Counts]:
    """Nodes, the smallest first, in runs that are not too large for all to be as the last."""
    start = 0
    while start < nodes.size:
        together = np.arange(1, nodes.size - start + 1) * sizes[nodes[start:]]
        stop = start + max(1, int(np.searchsorted(together, _TOGETHER, "right")))
        yield nodes[start:stop]
        start = stop


def _likelihoods(model: Model, cells: Bounds, nodes: Counts) -> tuple[Counts, Reals]:
    """The logarithms of likelihoods of the counts of cells, −inf beyond their windows."""
    lows, highs = cells.low[nodes], cells.high[nodes]
    width = int((highs - lows).max()) + 1
    logs = model.levels[-1].logs(nodes, lows, width)
    return lows, np.where(np.arange(width) <= (highs - lows)[:, None], logs, -np.inf)


def _together(messages: Sequence[Message]) -> tuple[Counts, Reals]:
    """Messages as one array, −inf where one has no count."""
    width = max(message.logs.size for message in messages)
    logs = np.full((len(messages), width), -np.inf)
    for row, message in zip(logs, messages, strict=True):
        row[: message.logs.size] = message.logs
    return np.array([message.low for message in messages]), logs
