"""What was answered about a table: every number with its node and its mechanism, and what that makes certain."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from numbers import Integral
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray

from noisycount.analysis.tables.likelihoods import NO_END, Bounds, Counts, LevelAnswers
from noisycount.display.texts import OTHER_KEYS, label_text
from noisycount.display.values import short
from noisycount.model.exact import Below, Exact
from noisycount.model.laws.gamma import Reals
from noisycount.model.mechanism import Mechanism
from noisycount.model.noises.additive import SymmetricNoise
from noisycount.model.populations.population import Population
from noisycount.model.subsampling import Subsample
from noisycount.model.tables.levels import Level
from noisycount.model.tables.tree import Tree, TreeLevel, longest_chain, nests, tree_of
from noisycount.validation import whole_number

_LARGEST_ANSWER = 2.0**53  # records: beyond, a float is not every whole number
Flags = NDArray[np.bool_]
# Numbers and `below`s of the cells, or a mapping of levels and nodes to theirs; nan: none.
TableAnswers: TypeAlias = Any
# One for all answers, one a level from the root, or by the keys of the answers.
TableMechanisms: TypeAlias = (
    Mechanism | Sequence[Mechanism | None] | Mapping[Any, Mechanism | Sequence[Mechanism]] | None
)


class ReleasedTable(Protocol):
    """A table of a desk, which carries its levels, the cells first, and their mechanisms."""

    answers: Sequence[NDArray[np.int64]]
    means: Sequence[Reals]  # the same, or the means of all draws that they combine
    plan: Any  # has the noise of each level
    levels: Sequence[Level]
    labels: Any  # has the keys of the nodes of each level
    is_additive: bool  # margins are sums of cells


class Asked(NamedTuple):
    """What a table posterior is asked about."""

    answers: Any  # as `answered` reads them
    mechanism: TableMechanisms  # the same
    tree: Tree  # whose nodes they are about


def is_released_table(answers: object) -> TypeGuard[ReleasedTable]:
    """Whether answers carry their levels and mechanisms."""
    names = ("answers", "plan", "levels", "labels", "is_additive")
    return all(hasattr(answers, name) for name in names)


def asked(
    answers: Any,  # noqa: ANN401  (whatever `answered` reads)
    mechanism: TableMechanisms,
    tree: Tree | None,
) -> Asked:
    """The answers, the mechanisms and the tree, where some of them go without saying.

    A published table brings all three. Its levels are the longest chain that nests; margins that
    cross it are left out, with a warning, as no tree holds both.
    Of a table with hidden keys only the cells that it shows are told of; a law that is learned from
    them is that of cells which exceeded the threshold.
    """
    if isinstance(answers, (list, tuple)) and answers and all(map(is_released_table, answers)):
        answers = _finest(answers)
    if is_released_table(answers):
        found = _released(answers)
        return Asked(found.answers, mechanism or found.mechanism, found.tree)
    if tree is not None:
        if not isinstance(tree, Tree):
            raise ValueError(f"tree must be a noisycount.Tree, got {tree!r}: build it by Tree.of_keys")
        return Asked(answers, mechanism, tree)
    cells: Any = answers
    if isinstance(answers, Mapping):
        cells = next((answers[key] for key in (-1, 1) if key in answers), None)
    if cells is None or np.ndim(cells) != 1 or not len(cells):
        raise ValueError(
            "tree must be given unless answers are those of the cells: "
            "build it by noisycount.Tree.of_keys, Tree.binary or Tree.flat"
        )
    return Asked(answers, mechanism, Tree.flat(len(cells)))


def _finest(tables: Sequence[Any]) -> ReleasedTable:
    """The one of several tables that rests on all others, or is the same; else they are refused."""
    replaced = {(one.dataset, key) for one in tables for key in one.replaces}
    kept = {(one.dataset, one.key): one for one in tables if (one.dataset, one.key) not in replaced}
    if len(kept) != 1:
        raise ValueError(
            f"answers must be one table, or one with those that it replaces, got {len(kept)}: ask one by one"
        )
    return next(iter(kept.values()))


def _released(table: ReleasedTable) -> Asked:
    """The tree of a table of a desk, from the total to the cells."""
    if len(table.levels) > 1 and not table.is_additive:
        raise ValueError(
            "answers must be a table whose margins are sums of its cells, but a unit may be in "
            "several cells or in hidden ones: give answers[0] alone, with their mechanism"
        )
    levels = [_tree_level(table, level) for level in table.levels]
    others = sorted(range(1, len(levels)), key=lambda place: int(levels[place].of_cell.max()))
    chain = [*longest_chain(others, lambda up, low: nests(levels[low], levels[up])), 0]
    left_out = [level.name for place, level in enumerate(levels) if place not in chain]
    if left_out:
        warnings.warn(f"margins that cross the others are left out: {'; '.join(left_out)}", stacklevel=4)
    tree, first = tree_of([levels[place] for place in chain])
    answers, laws = {}, {}
    for depth, place in enumerate(chain, start=first):
        answers[depth] = np.full(tree.sizes[depth], np.nan)  # a node of other keys has no answer
        answers[depth][: len(table.means[place])] = table.means[place]
        laws[depth] = table.plan.levels[place].mechanism
    return Asked(answers, laws, tree)


def _tree_level(table: ReleasedTable, level: Level) -> TreeLevel:
    """A level with the keys of its nodes; those of "other" are one text."""
    nodes = level.of_cell.astype(np.int64)
    of_cell = np.where(nodes < 0, level.size, nodes)
    keyed, columns = level.size, None
    if level.codes is not None:
        keyed = len(level.codes)
        columns = tuple(np.flatnonzero((level.codes >= 0).any(axis=0)).tolist())
    keys = [
        tuple(map(label_text, one if node < keyed else (OTHER_KEYS,) * len(one)))
        for node, one in enumerate(table.labels.of(level))
    ]
    return TreeLevel(level.name, of_cell, columns, keys)


class _Told(NamedTuple):
    """Answers about different nodes of one level, without those that are nan."""

    level: int
    nodes: Counts
    answers: Reals  # in records; of a suppressed one the threshold
    suppressed: Flags
    number: int = 0  # of an answer among those of its node; 0 for a level
    rank: int = -1  # the same over all that is said of the node, −1 for a level: equal ones differ in node


def answered(
    answers: TableAnswers, mechanism: TableMechanisms, tree: Tree, total: int | Population | None
) -> tuple[LevelAnswers, ...]:
    """The answers about a table, level by level, each under its mechanism. Shapes: answers (cells,)."""
    stated = _stated(mechanism, tree)
    groups: dict[tuple[int, int, str], tuple[Mechanism, list[_Told]]] = {}
    for one in _told(answers, tree):
        if one.nodes.size:
            law = _mechanism_of(one, stated, tree)
            groups.setdefault((one.level, one.rank, repr(law)), (law, []))[1].append(one)
    if not groups:
        raise ValueError("answers must hold at least one number, got nan everywhere")
    found = tuple(_joined(parts, law, tree) for law, parts in groups.values())
    if total is None and all(one.suppressed.all() for one in found):
        raise ValueError("answers must hold at least one number, got suppressed ones everywhere: give the total")
    return found


def checked_total(total: Any) -> int | Population | None:  # noqa: ANN401  (refused if it is none)
    """The total as a whole number, a law, or None."""
    if total is None or isinstance(total, Population):
        return total
    try:
        return whole_number(total, "total")
    except ValueError as error:
        raise ValueError(f"{error}: give a population where it is uncertain") from None


def is_whole(law: Mechanism) -> bool:
    """Whether a mechanism gives whole answers."""
    return isinstance(law, Exact) or (isinstance(law, SymmetricNoise) and law.is_discrete)


def _told(answers: TableAnswers, tree: Tree) -> Iterator[_Told]:
    """The answers of each level and of each node."""
    if not isinstance(answers, Mapping):
        answers = {-1: answers}
    met: dict[tuple[int, int], int] = {}
    for key, values in answers.items():
        if isinstance(key, Integral):
            level = tree.level(int(key))
            given, suppressed = _read(values, tree.sizes[level], tree.names[level])
            nodes = np.flatnonzero(~np.isnan(given))
            yield _Told(level, nodes, given[nodes], suppressed[nodes])
            continue
        place = tree.place(key)
        numbers = list(values) if isinstance(values, Sequence | np.ndarray) else [values]
        given, suppressed = _read(numbers, len(numbers), str(key))
        for number in range(given.size):
            met[place] = met.get(place, -1) + 1
            own = slice(number, number + int(not np.isnan(given[number])))
            nodes = np.full(given[own].size, place[1])
            yield _Told(place[0], nodes, given[own], suppressed[own], number, met[place])


def _read(values: Any, size: int, name: str) -> tuple[Reals, Flags]:  # noqa: ANN401  (arrays of every kind)
    """Answers as numbers, nan where there is none, and which of them are thresholds."""
    try:
        array = np.asarray(values)
    except ValueError:  # rows of different lengths
        raise ValueError(f"answers must be numbers, got {short(values)} of {name!r}") from None
    if array.shape != (size,):
        raise ValueError(
            f"answers must be {size} of {name!r}, one for each node, got shape {array.shape}: "
            "give nan where there is none"
        )
    suppressed = np.zeros(size, dtype=np.bool_)
    if array.dtype.kind == "O":
        suppressed = np.array([isinstance(one, Below) for one in array.tolist()])
        array = np.array([_number(one) for one in array.tolist()])
    elif array.dtype.kind not in "iuf":
        raise ValueError(f"answers must be numbers, got {array.dtype} of {name!r}")
    return array.astype(np.float64), suppressed


def _number(value: object) -> float:
    """One answer as a number: the threshold of a suppressed one, nan of None."""
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


def _joined(parts: Sequence[_Told], law: Mechanism, tree: Tree) -> LevelAnswers:
    """The answers that one mechanism gave about different nodes of a level."""
    level = parts[0].level
    nodes, answers, suppressed = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("nodes", "answers", "suppressed")
    )
    wrong, wanted = ~(np.abs(answers) <= _LARGEST_ANSWER), "a finite number"
    if is_whole(law):
        wanted = "an integer"
        wrong |= ~suppressed & (answers != np.floor(answers))
    if isinstance(law, Exact):
        wanted = "a whole number from 0"
        wrong |= np.where(suppressed, answers <= 0, answers < 0)
    if wrong.any():
        place = int(np.argmax(wrong))
        told = f"below {answers[place]:g}" if suppressed[place] else repr(float(answers[place]))
        node = ", ".join(tree.label(level, int(nodes[place]))) or "the total"
        raise ValueError(f"answers must each be {wanted} up to 2**53 under {short(law)}, got {told} for {node}")
    if is_whole(law):
        answers = np.ceil(answers)  # of thresholds alone, as all others are whole
    return LevelAnswers(level, nodes, answers, suppressed, law)


def _stated(mechanism: TableMechanisms, tree: Tree) -> Mapping[Any, Any]:
    """The mechanisms of a table by level, and by level and position."""
    if isinstance(mechanism, Mapping):
        return {
            tree.level(int(key)) if isinstance(key, Integral) else tree.place(key): law
            for key, law in mechanism.items()
        }
    if not isinstance(mechanism, Sequence):
        return dict.fromkeys(range(tree.depth), mechanism)
    if len(mechanism) != tree.depth:
        raise ValueError(
            f"mechanism must be one, or {tree.depth}, one for each level from the root, got "
            f"{len(mechanism)}: give None where there is no answer"
        )
    return dict(enumerate(mechanism))


def _mechanism_of(told: _Told, stated: Mapping[Any, Any], tree: Tree) -> Mechanism:
    """The mechanism of some answers, if counts of a table can be told from them."""
    place = (told.level, int(told.nodes[0])) if told.rank >= 0 else told.level
    law = stated.get(place, stated.get(told.level))
    if isinstance(law, Sequence):
        law = law[told.number] if told.number < len(law) else None
    if law is None:
        where = f"{tree.names[told.level]!r} (level {told.level})"
        raise ValueError(
            f"mechanism must be given for each level with answers, got none for {where}: "
            "give one, such as noisycount.DiscreteLaplace(10)"
        )
    if isinstance(law, Subsample):
        raise ValueError(  # noqa: TRY004  (a bad value of an argument, as everywhere)
            f"mechanism must be additive noise or Exact() in a table, got {law!r}: the cells of "
            "one sample are not independent, so refine its counts one at a time with posterior"
        )
    if isinstance(law, Exact) or (isinstance(law, SymmetricNoise) and law.is_log_concave):
        return law
    raise ValueError(f"mechanism must be additive noise with a log-concave density, or Exact(), got {short(law)}")


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
