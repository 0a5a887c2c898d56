"""What counts of nodes can be, as exact answers and sums leave them."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisycount.analysis.tables.level_answers import LevelAnswers
from noisycount.model.populations.population import Population
from noisycount.model.tables.tree import Tree

__all__ = ["NO_END", "Bounds", "count_bounds"]

NO_END = 2**62
"""The upper bound of a count that has none, in records."""

Counts = NDArray[np.int64]


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
