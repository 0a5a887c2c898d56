"""The way up: from the answers to the likelihood of every node's count."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from noisycount.analysis.tables.branches import Branches, Message, branches
from noisycount.analysis.tables.count_bounds import Bounds
from noisycount.analysis.tables.model import Divisions, Model, Settings
from noisycount.analysis.tables.split import Split
from noisycount.analysis.tables.windows import cell_windows, overlap
from noisycount.model.laws.expansion import Reals

__all__ = ["Up", "upward"]

_KEPT = 1 << 25  # numbers of splits that are not computed again on the way down

_IMPOSSIBLE = (
    "answers are impossible together: no table can have them under this prior and total, "
    "so check the answers, the mechanisms and the total"
)


@dataclass(frozen=True, slots=True, eq=False)
class Up:
    """What the way up tells.

    Attributes:
        cells: Where the counts of the cells are.
        messages: Those of the nodes of each level above the cells.
        branches: The nodes that were computed together, level by level, and what is kept of it.
        tilts: Those of the nodes of each level above the cells.
        law: The probabilities of the root's counts, from that of its message on.
        evidence: The logarithm of the probability of the answers.
    """

    cells: Bounds
    messages: tuple[tuple[Message, ...], ...]
    branches: tuple[tuple[tuple[Branches, Split | None], ...], ...]
    tilts: tuple[tuple[Reals, ...], ...]
    law: Reals
    evidence: float


def upward(model: Model, settings: Settings, divisions: Divisions) -> Up:
    """The likelihoods of all counts, and the law of the root's.

    Raises:
        ValueError: If a count may be one of too many, or no table has these answers.
    """
    cells = cell_windows(model, settings)
    widths, room = cells.high - cells.low + 1, _KEPT
    levels: list[_UpLevel] = []
    for level in range(model.tree.depth - 2, -1, -1):
        below = levels[0].messages if levels else ()
        reach = model.levels[level].reach(settings.widened[level])
        found = _UpLevel.empty(model.tree.sizes[level])
        for some in branches(model, settings, level, widths):
            split = some.split(model, settings, divisions, cells, below)
            told = _messages(model, some, split, reach, below)
            room -= split.logs.size * (2 + split.tilted.shape[1])
            found.add(some, split, told, is_kept=room > 0)
        widths = np.array([message.logs.size for message in found.messages])
        levels.insert(0, found)
    law, rest = _root(model, levels[0].messages[0])
    return Up(
        cells,
        tuple(tuple(level.messages) for level in levels),
        tuple(tuple(level.branches) for level in levels),
        tuple(tuple(level.tilts) for level in levels),
        law,
        rest,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _UpLevel:
    """What the way up tells of a level, by the positions of its nodes."""

    messages: list[Message]
    tilts: list[Reals]
    branches: list[tuple[Branches, Split | None]]

    @classmethod
    def empty(cls, size: int) -> Self:
        """Room for so many nodes."""
        none = Message(0, np.zeros(0), 0.0)
        return cls([none] * size, [none.logs] * size, [])

    def add(
        self, some: Branches, split: Split, messages: Sequence[Message], *, is_kept: bool
    ) -> None:
        """Write down what is told of some nodes."""
        self.branches.append((some, split if is_kept else None))
        for node, message, tilt in zip(some.nodes.tolist(), messages, split.tilted, strict=True):
            self.messages[node], self.tilts[node] = message, tilt


def _root(model: Model, root: Message) -> tuple[Reals, float]:
    """The law of the root's count, and the logarithm of the probability of the answers."""
    logs = root.logs + _log_prior(model, root)
    peak = float(logs.max())
    if not math.isfinite(peak):
        raise ValueError(_IMPOSSIBLE)
    weights = np.exp(logs - peak)
    total = float(weights.sum())
    return weights / total, math.fsum((model.offset, root.constant, peak, math.log(total)))


def _messages(
    model: Model, some: Branches, split: Split, reach: Bounds, below: Sequence[Message]
) -> list[Message]:
    """What is told of nodes from below and by their own answers.

    Where the answers of a node and those below lie far apart its window is not cut: then its count
    is somewhere between.
    """
    level, width = model.levels[some.level], split.messages.shape[1]
    logs = split.messages + level.logs(some.nodes, split.low, width)
    first, last = overlap(level, some.nodes, Bounds(split.low, split.low + width - 1), reach)
    messages = []
    for place, children in enumerate(some.children.tolist()):
        start = int(split.low[place])
        own = logs[place, first[place] - start : max(last[place] + 1 - start, 0)]
        peak = float(own.max(initial=-math.inf))
        if not math.isfinite(peak):
            raise ValueError(_IMPOSSIBLE)
        inner = [below[child].constant for child in children] if below else []
        constant = math.fsum((float(split.constants[place]), peak, *inner))
        messages.append(Message(int(first[place]), own - peak, constant))
    return messages


def _log_prior(model: Model, root: Message) -> Reals:
    """The logarithm of the probability of the root's counts before any answer."""
    if model.total is None:
        return np.zeros(root.logs.size)
    return model.total.law().log_pmf(root.low + np.arange(root.logs.size))
