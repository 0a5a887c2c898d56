"""Answers about a table: reading them with their nodes and mechanisms, and the bounds that exact answers imply.

`resolve_inputs` completes the arguments of the caller, `read_answers` reads the answers. `likelihoods` has their
likelihoods.
"""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from numbers import Integral
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray

from noisycount.analysis.tables.likelihoods import NO_END, Bounds, Counts, LevelAnswers
from noisycount.display.texts import OTHER_KEYS, label_text
from noisycount.display.values import shortened_repr
from noisycount.model.exact import Below, Exact
from noisycount.model.laws.gamma import Reals
from noisycount.model.mechanism import Mechanism
from noisycount.model.noises.additive import SymmetricNoise
from noisycount.model.populations.population import Population
from noisycount.model.subsampling import Subsample
from noisycount.model.tables.levels import Level
from noisycount.model.tables.tree import Tree, TreeLevel, is_nested, longest_chain, tree_of
from noisycount.validation import whole_number

_LARGEST_ANSWER = 2.0**53  # records: floats represent every whole number up to here
Flags = NDArray[np.bool_]
# Numbers and `below`s of the cells, or a mapping from levels and nodes to theirs; nan: no answer.
TableAnswers: TypeAlias = Any
# One mechanism for all answers, one a level from the root, or a mapping with the keys of the answers.
TableMechanisms: TypeAlias = (
    Mechanism | Sequence[Mechanism | None] | Mapping[Any, Mechanism | Sequence[Mechanism]] | None
)


class ReleasedTable(Protocol):
    """A table released by a desk, with its levels, the cells first, and their mechanisms."""

    answers: Sequence[NDArray[np.int64]]
    means: Sequence[Reals]  # the answers, or means of several draws
    plan: Any  # noise of each level
    levels: Sequence[Level]
    labels: Any  # keys of the nodes of each level
    is_additive: bool  # True if margins are sums of cells


class TableInputs(NamedTuple):
    """Arguments of a table posterior, completed."""

    answers: Any  # as `read_answers` reads them
    mechanism: TableMechanisms  # mechanisms, as `read_answers` reads them
    tree: Tree  # tree with the nodes that the answers are about


def is_released_table(answers: object) -> TypeGuard[ReleasedTable]:
    """Return True if answers carry their levels and mechanisms."""
    names = ("answers", "plan", "levels", "labels", "is_additive")
    return all(hasattr(answers, name) for name in names)


def resolve_inputs(
    answers: Any,  # noqa: ANN401  (whatever `read_answers` reads)
    mechanism: TableMechanisms,
    tree: Tree | None,
) -> TableInputs:
    """Return the answers, the mechanisms and the tree, completed if some are not given.

    A released table has all three. Its levels are the longest chain that nests. Margins that cross this chain are left
    out with a warning, as no tree has both. A table with hidden keys has only the cells that it shows. A distribution
    that is learned from them describes cells above the threshold.

    Raises:
        ValueError: If the tree is missing or no tree, or a released table is not additive.
    """
    if isinstance(answers, (list, tuple)) and answers and all(map(is_released_table, answers)):
        answers = _newest_table(answers)
    if is_released_table(answers):
        inputs = _released_inputs(answers)
        return TableInputs(inputs.answers, mechanism or inputs.mechanism, inputs.tree)
    if tree is not None:
        if not isinstance(tree, Tree):
            raise ValueError(f"tree must be a noisycount.Tree, got {tree!r}: build it by Tree.of_keys")
        return TableInputs(answers, mechanism, tree)
    cells: Any = answers
    if isinstance(answers, Mapping):
        cells = next((answers[key] for key in (-1, 1) if key in answers), None)
    if cells is None or np.ndim(cells) != 1 or not len(cells):
        raise ValueError(
            "tree must be given unless answers are those of the cells: "
            "build it by noisycount.Tree.of_keys, Tree.binary or Tree.flat"
        )
    return TableInputs(answers, mechanism, Tree.flat(len(cells)))


def _newest_table(tables: Sequence[Any]) -> ReleasedTable:
    """Return the table that tops up all other tables; raise ValueError if there is no such table."""
    replaced = {(table.dataset, key) for table in tables for key in table.replaces}
    newest = {(table.dataset, table.key): table for table in tables if (table.dataset, table.key) not in replaced}
    if len(newest) != 1:
        raise ValueError(
            f"answers must be one table, or a table with those that it tops up, got {len(newest)}: give one of them"
        )
    return next(iter(newest.values()))


def _released_inputs(table: ReleasedTable) -> TableInputs:
    """Return the answers and the tree of a released table, from the total to the cells."""
    if len(table.levels) > 1 and not table.is_additive:
        raise ValueError(
            "answers must be a table whose margins are sums of its cells, but a unit may be in "
            "several cells or in hidden ones: give answers[0] alone, with their mechanism"
        )
    levels = [_tree_level(table, level) for level in table.levels]
    coarser = sorted(range(1, len(levels)), key=lambda index: int(levels[index].of_cell.max()))
    chain = [*longest_chain(coarser, lambda coarse, fine: is_nested(levels[fine], levels[coarse])), 0]
    left_out = [level.name for index, level in enumerate(levels) if index not in chain]
    if left_out:
        warnings.warn(f"margins that cross the others are left out: {'; '.join(left_out)}", stacklevel=4)
    tree, first = tree_of([levels[index] for index in chain])
    answers, mechanisms = {}, {}
    for depth, index in enumerate(chain, start=first):
        answers[depth] = np.full(tree.sizes[depth], np.nan)  # a node of other keys has no answer of its own
        answers[depth][: len(table.means[index])] = table.means[index]
        mechanisms[depth] = table.plan.levels[index].mechanism
    return TableInputs(answers, mechanisms, tree)


def _tree_level(table: ReleasedTable, level: Level) -> TreeLevel:
    """Return a level with the keys of its nodes. The node of the other keys has a single text."""
    nodes = level.of_cell.astype(np.int64)
    of_cell = np.where(nodes < 0, level.size, nodes)
    with_keys, columns = level.size, None
    if level.codes is not None:
        with_keys = len(level.codes)
        columns = tuple(np.flatnonzero((level.codes >= 0).any(axis=0)).tolist())
    keys = [
        tuple(map(label_text, labels if node < with_keys else (OTHER_KEYS,) * len(labels)))
        for node, labels in enumerate(table.labels.node_labels(level))
    ]
    return TreeLevel(level.name, of_cell, columns, keys)


class _AnswerGroup(NamedTuple):
    """Answers about different nodes of one level, without those that are nan."""

    level: int
    nodes: Counts
    answers: Reals  # answers in records; of a suppressed answer the threshold
    suppressed: Flags
    number: int = 0  # index of an answer within its argument; 0 for a level
    rank: int = -1  # index over all arguments about the node, −1 for a level: answers of one rank differ in node


def read_answers(
    answers: TableAnswers, mechanism: TableMechanisms, tree: Tree, total: int | Population | None
) -> tuple[LevelAnswers, ...]:
    """Return the answers about a table, level by level, each with its mechanism. Shapes: answers (cells,).

    Raises:
        ValueError: If there is no answer, or an answer or its mechanism is invalid.
    """
    mechanisms = _mechanisms_by_place(mechanism, tree)
    groups: dict[tuple[int, int, str], tuple[Mechanism, list[_AnswerGroup]]] = {}
    for group in _answer_groups(answers, tree):
        if group.nodes.size:
            group_mechanism = _mechanism_of_group(group, mechanisms, tree)
            groups.setdefault((group.level, group.rank, repr(group_mechanism)), (group_mechanism, []))[1].append(group)
    if not groups:
        raise ValueError("answers must hold at least one number, got nan everywhere")
    answer_levels = tuple(_level_answers(parts, group_mechanism, tree) for group_mechanism, parts in groups.values())
    if total is None and all(group.suppressed.all() for group in answer_levels):
        raise ValueError("answers must hold at least one number, got suppressed ones everywhere: give the total")
    return answer_levels


def validate_total(total: Any) -> int | Population | None:  # noqa: ANN401  (refused if it is none)
    """Return the total if it is a whole number, a population or None; raise ValueError for anything else."""
    if total is None or isinstance(total, Population):
        return total
    try:
        return whole_number(total, "total")
    except ValueError as error:
        raise ValueError(f"{error}: give a population where it is uncertain") from None


def is_whole(law: Mechanism) -> bool:
    """Return True if a mechanism gives whole answers."""
    return isinstance(law, Exact) or (isinstance(law, SymmetricNoise) and law.is_discrete)


def _answer_groups(answers: TableAnswers, tree: Tree) -> Iterator[_AnswerGroup]:
    """Yield the answers of the caller, one group for each level, and one for each answer to a single node."""
    if not isinstance(answers, Mapping):
        answers = {-1: answers}
    last_rank: dict[tuple[int, int], int] = {}
    for key, values in answers.items():
        if isinstance(key, Integral):
            level = tree.level(int(key))
            numbers, suppressed = _read_numbers(values, tree.sizes[level], tree.names[level])
            nodes = np.flatnonzero(~np.isnan(numbers))
            yield _AnswerGroup(level, nodes, numbers[nodes], suppressed[nodes])
            continue
        place = tree.place(key)
        listed = list(values) if isinstance(values, Sequence | np.ndarray) else [values]
        numbers, suppressed = _read_numbers(listed, len(listed), str(key))
        for index in range(numbers.size):
            last_rank[place] = last_rank.get(place, -1) + 1
            answered = slice(index, index + int(not np.isnan(numbers[index])))
            nodes = np.full(numbers[answered].size, place[1])
            yield _AnswerGroup(place[0], nodes, numbers[answered], suppressed[answered], index, last_rank[place])


def _read_numbers(values: Any, size: int, name: str) -> tuple[Reals, Flags]:  # noqa: ANN401  (arrays of every kind)
    """Return answers as numbers, with nan for missing ones, and a mask of the answers that are thresholds."""
    try:
        array = np.asarray(values)
    except ValueError:  # rows of different lengths
        raise ValueError(f"answers must be numbers, got {shortened_repr(values)} of {name!r}") from None
    if array.shape != (size,):
        raise ValueError(
            f"answers must be {size} of {name!r}, one for each node, got shape {array.shape}: "
            "give nan where there is none"
        )
    suppressed = np.zeros(size, dtype=np.bool_)
    if array.dtype.kind == "O":
        suppressed = np.array([isinstance(value, Below) for value in array.tolist()])
        array = np.array([_answer_as_number(value) for value in array.tolist()])
    elif array.dtype.kind not in "iuf":
        raise ValueError(f"answers must be numbers, got {array.dtype} of {name!r}")
    return array.astype(np.float64), suppressed


def _answer_as_number(value: object) -> float:
    """Return one answer as a number: the threshold of a suppressed one, nan for None."""
    if value is None:
        return np.nan
    if isinstance(value, Below):
        return value.threshold
    try:
        if not isinstance(value, bool | str | bytes):
            return float(value)  # type: ignore[arg-type]  # refused below
    except (TypeError, ValueError, OverflowError):
        pass
    raise ValueError(f"answers must be numbers, noisycount.below(t) or nan, got {value!r}")


def _level_answers(groups: Sequence[_AnswerGroup], mechanism: Mechanism, tree: Tree) -> LevelAnswers:
    """Return the answers of one mechanism about different nodes of a level."""
    level = groups[0].level
    nodes, answers, suppressed = (
        np.concatenate([getattr(group, name) for group in groups]) for name in ("nodes", "answers", "suppressed")
    )
    wrong, expected = ~(np.abs(answers) <= _LARGEST_ANSWER), "a finite number"
    if is_whole(mechanism):
        expected = "an integer"
        wrong |= ~suppressed & (answers != np.floor(answers))
    if isinstance(mechanism, Exact):
        expected = "a whole number from 0"
        wrong |= np.where(suppressed, answers <= 0, answers < 0)
    if wrong.any():
        index = int(np.argmax(wrong))
        answer = f"below {answers[index]:g}" if suppressed[index] else repr(float(answers[index]))
        node = ", ".join(tree.label(level, int(nodes[index]))) or "the total"
        raise ValueError(
            f"answers must each be {expected} up to 2**53 under {shortened_repr(mechanism)}, got {answer} for {node}"
        )
    if is_whole(mechanism):
        answers = np.ceil(answers)  # of thresholds alone, as all others are whole
    return LevelAnswers(level, nodes, answers, suppressed, mechanism)


def _mechanisms_by_place(mechanism: TableMechanisms, tree: Tree) -> Mapping[Any, Any]:
    """Return the mechanisms of a table by level, and by level and position."""
    if isinstance(mechanism, Mapping):
        return {
            tree.level(int(key)) if isinstance(key, Integral) else tree.place(key): value
            for key, value in mechanism.items()
        }
    if not isinstance(mechanism, Sequence):
        return dict.fromkeys(range(tree.depth), mechanism)
    if len(mechanism) != tree.depth:
        raise ValueError(
            f"mechanism must be one mechanism, or {tree.depth} mechanisms, one for each level from the root, got "
            f"{len(mechanism)}: give None where there is no answer"
        )
    return dict(enumerate(mechanism))


def _mechanism_of_group(group: _AnswerGroup, mechanism_of_place: Mapping[Any, Any], tree: Tree) -> Mechanism:
    """Return the mechanism of some answers; raise ValueError if it is missing or cannot be used in a table."""
    place = (group.level, int(group.nodes[0])) if group.rank >= 0 else group.level
    mechanism = mechanism_of_place.get(place, mechanism_of_place.get(group.level))
    if isinstance(mechanism, Sequence):
        mechanism = mechanism[group.number] if group.number < len(mechanism) else None
    if mechanism is None:
        where = f"{tree.names[group.level]!r} (level {group.level})"
        raise ValueError(
            f"mechanism must be given for each level with answers, got none for {where}: "
            "give one, such as noisycount.DiscreteLaplace(10)"
        )
    if isinstance(mechanism, Subsample):
        raise ValueError(  # noqa: TRY004  (a bad value of an argument, as everywhere)
            f"mechanism must be additive noise or Exact() in a table, got {mechanism!r}: the cells of "
            "one sample are not independent, so refine its counts one at a time with posterior"
        )
    if isinstance(mechanism, Exact) or (isinstance(mechanism, SymmetricNoise) and mechanism.is_log_concave):
        return mechanism
    raise ValueError(
        f"mechanism must be additive noise with a log-concave density, or Exact(), got {shortened_repr(mechanism)}"
    )


def count_bounds(answers: Sequence[LevelAnswers], tree: Tree, total: int | Population | None) -> tuple[Bounds, ...]:
    """Return the bounds of each node's count that exact answers and the sums above and below it imply.

    Bounds of a sum are sums of bounds, so one pass upwards and one downwards find them exactly.

    Raises:
        ValueError: If exact answers or the total contradict each other.
    """
    direct_bounds = _direct_bounds(answers, tree, total)
    bounds = [direct_bounds[-1]]
    _check_bounds(direct_bounds[-1], tree, tree.depth - 1)
    for level in range(tree.depth - 2, -1, -1):
        low, high, is_open = _sums_of_bounds(bounds[0], tree.parents(level + 1), tree.sizes[level])
        sums = Bounds(low, np.where(is_open > 0, NO_END, high))
        _check_sums(direct_bounds[level], sums, tree, level)
        joint = np.maximum(direct_bounds[level].low, low), np.minimum(direct_bounds[level].high, sums.high)
        bounds.insert(0, Bounds(*joint))
    for level in range(1, tree.depth):
        bounds[level] = _child_bounds(bounds[level], bounds[level - 1], tree.parents(level))
    return tuple(bounds)


def _direct_bounds(answers: Sequence[LevelAnswers], tree: Tree, total: int | Population | None) -> list[Bounds]:
    """Return the bounds from the exact answers of each node alone, and from the total."""
    bounds = [Bounds(np.zeros(size, np.int64), np.full(size, NO_END)) for size in tree.sizes]
    if isinstance(total, Population):
        first, last = total.law().support
        bounds[0] = Bounds(np.array([first]), np.array([last]))
    elif total is not None:
        bounds[0] = Bounds(np.array([total]), np.array([total]))
    for group in answers:
        if group.is_exact:
            smallest, largest = group.reach()
            level_bounds = bounds[group.level]
            level_bounds.low[group.nodes] = np.maximum(level_bounds.low[group.nodes], smallest)
            level_bounds.high[group.nodes] = np.minimum(level_bounds.high[group.nodes], largest)
            _check_bounds(level_bounds, tree, group.level)
    return bounds


def _sums_of_bounds(bounds: Bounds, parents: Counts, size: int) -> tuple[Counts, Counts, Counts]:
    """Return the sums of both bounds over the children of each node, and the number of children with no upper bound."""
    low, high, is_open = (np.zeros(size, np.int64) for _ in range(3))  # exact, unlike `bincount`
    np.add.at(low, parents, bounds.low)
    np.add.at(high, parents, np.where(bounds.high >= NO_END, 0, bounds.high))
    np.add.at(is_open, parents, bounds.high >= NO_END)
    return low, high, is_open


def _child_bounds(bounds: Bounds, parent_bounds: Bounds, parents: Counts) -> Bounds:
    """Return the bounds of children given those of their parents."""
    low, high, is_open = (values[parents] for values in _sums_of_bounds(bounds, parents, parent_bounds.low.size))
    is_own_open = bounds.high >= NO_END
    room = parent_bounds.high[parents] - (low - bounds.low)
    others_high = high - np.where(is_own_open, 0, bounds.high)
    needed = np.where(is_open - is_own_open > 0, 0, parent_bounds.low[parents] - others_high)
    last = np.where(parent_bounds.high[parents] >= NO_END, bounds.high, np.minimum(bounds.high, room))
    return Bounds(np.maximum(bounds.low, needed), last)


def _check_bounds(bounds: Bounds, tree: Tree, level: int) -> None:
    """Raise ValueError if the answers of one node contradict each other, or the total."""
    wrong = np.flatnonzero(bounds.low > bounds.high)
    if wrong.size:
        node = int(wrong[0])
        raise ValueError(
            f"answers contradict each other: {_node_name(tree, level, node)} is at least "
            f"{bounds.low[node]} and at most {bounds.high[node]}: correct them, or their mechanism"
        )


def _check_sums(bounds: Bounds, sums: Bounds, tree: Tree, level: int) -> None:
    """Raise ValueError if exact answers do not add up."""
    wrong = np.flatnonzero((sums.low > bounds.high) | (sums.high < bounds.low))
    if wrong.size:
        node = int(wrong[0])
        is_above = sums.low[node] > bounds.high[node]
        sum_text = f"at least {sums.low[node]}" if is_above else f"at most {sums.high[node]}"
        bound = bounds.high[node] if is_above else bounds.low[node]
        raise ValueError(
            f"answers and total contradict each other: {_node_name(tree, level, node)} is {bound}, but "
            f"its parts are {sum_text} together: correct them, or their mechanism"
        )


def _node_name(tree: Tree, level: int, node: int) -> str:
    """Return the name of a node for a message."""
    label = tree.label(level, node)
    return f"{', '.join(label)} (level {level})" if label else "the total"
