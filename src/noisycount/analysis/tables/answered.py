"""Answers as they were given, and whether a mechanism can give them.

Which mechanism gave which answers of a table.

What was answered about a table: every number with its node and its mechanism, checked.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from numbers import Integral
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from noisycount.analysis.tables.level_answers import LevelAnswers, count_bounds
from noisycount.display.values import short
from noisycount.frozen import frozen
from noisycount.model.exact import Below, Exact
from noisycount.model.laws.gamma import Reals
from noisycount.model.mechanism import Mechanism
from noisycount.model.noises.additive import SymmetricNoise
from noisycount.model.populations.population import Population
from noisycount.model.subsampling import Subsample
from noisycount.model.tables.tree import NodeKey, Tree
from noisycount.validation import whole_number

__all__ = ["TableAnswers", "TableMechanisms", "answered", "checked_total", "is_whole"]

Flags = NDArray[np.bool_]
_LARGEST = 2.0**53  # records: beyond, a float is not every whole number
_WHOLE_LEVEL = -1  # the rank of what was told of a level at once


@frozen(eq=False)
class Told:
    """Answers about different nodes of one level, without those that are nan.

    Attributes:
        level: Of the tree.
        nodes: Which they are about.
        answers: In records; of a suppressed one the threshold.
        suppressed: Which were below it.
        number: Of an answer among those of its node; 0 for a level.
        rank: The same over all that is said of the node, −1 for a level: equal ones differ in node.
    """

    level: int
    nodes: NDArray[np.int64]
    answers: Reals
    suppressed: Flags
    number: int = 0
    rank: int = _WHOLE_LEVEL

    @classmethod
    def of_level(cls, level: int, answers: Reals, suppressed: Flags) -> Self:
        """The answers about the nodes of a level."""
        nodes = np.flatnonzero(~np.isnan(answers))
        return cls(level, nodes, answers[nodes], suppressed[nodes])

    @classmethod
    def of_node(
        cls, place: tuple[int, int], number: int, rank: int, answer: float, *, suppressed: bool
    ) -> Self:
        """One of the answers about a node."""
        given = np.full(0 if np.isnan(answer) else 1, answer)
        nodes = np.full(given.size, place[1])
        return cls(place[0], nodes, given, np.full(given.size, suppressed), number, rank)


def read(values: Any, size: int, name: str) -> tuple[Reals, Flags]:  # noqa: ANN401  (arrays of every kind)
    """Answers as numbers, nan where there is none, and which of them are thresholds.

    Args:
        values: Numbers, `below`s, nan and None.
        size: How many there must be.
        name: Of the level or the node.

    Raises:
        ValueError: If there are not that many, or one is something else.
    """
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


def is_whole(law: Mechanism) -> bool:
    """Whether a mechanism gives whole answers."""
    return isinstance(law, Exact) or (isinstance(law, SymmetricNoise) and law.is_discrete)


def impossible(answers: Reals, suppressed: Flags, law: Mechanism) -> tuple[int, str] | None:
    """The first answer that a mechanism cannot give, and what is wrong with it; None: all can be.

    Args:
        answers: In records; of a suppressed one the threshold.
        suppressed: Which are thresholds.
        law: The mechanism.
    """
    wrong = ~(np.abs(answers) <= _LARGEST)
    wanted = "a finite number"
    if is_whole(law):
        wanted = "an integer"
        wrong |= ~suppressed & (answers != np.floor(answers))
    if isinstance(law, Exact):
        wanted = "a whole number from 0"
        wrong |= np.where(suppressed, answers <= 0, answers < 0)
    if not wrong.any():
        return None
    place = int(np.argmax(wrong))
    told = f"below {answers[place]:g}" if suppressed[place] else repr(float(answers[place]))
    return place, f"{wanted} up to 2**53 under {short(law)}, got {told}"


def _number(value: object) -> float:
    """One answer as a number: the threshold of a suppressed one, nan of None."""
    if value is None:
        return np.nan
    if isinstance(value, Below):
        return value.threshold
    if isinstance(value, bool | str | bytes):
        raise ValueError(f"answers must be numbers, noisycount.below(t) or nan, got {value!r}")  # noqa: TRY004
    try:
        return float(value)  # type: ignore[arg-type]  # refused below
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            f"answers must be numbers, noisycount.below(t) or nan, got {value!r}"
        ) from None


# One for all answers, one a level from the root, or by the keys of the answers.
TableMechanisms: TypeAlias = (
    Mechanism | Sequence[Mechanism | None] | Mapping[Any, Mechanism | Sequence[Mechanism]] | None
)


@frozen
class StatedLaws:
    """The mechanisms of a table by level, and by level and position.

    Attributes:
        stated: The mechanisms; several of a node are one for each of its answers.
        tree: Whose levels they are.
    """

    stated: Mapping[int | tuple[int, int], Any]
    tree: Tree

    def of(self, told: Told) -> Mechanism:
        """The mechanism of some answers.

        Raises:
            ValueError: If there is none, or a table cannot use it.
        """
        place = (told.level, int(told.nodes[0])) if told.rank >= 0 else told.level
        law = self.stated.get(place, self.stated.get(told.level))
        if isinstance(law, Sequence):
            law = law[told.number] if told.number < len(law) else None
        if law is None:
            where = f"{self.tree.names[told.level]!r} (level {told.level})"
            raise ValueError(
                f"mechanism must be given for each level with answers, got none for {where}: "
                "give one, such as noisycount.DiscreteLaplace(10)"
            )
        return _usable(law)


def stated_laws(mechanism: TableMechanisms, tree: Tree) -> StatedLaws:
    """The mechanisms of a table, however they were given.

    Args:
        mechanism: One; one a level from the root, None where there is no answer; or a mapping of
            levels and nodes.
        tree: Whose levels they are.

    Raises:
        ValueError: If there are not as many as levels, or the tree has no such level or node.
    """
    stated: Mapping[Any, Any]
    if isinstance(mechanism, Mapping):
        stated = {_place(key, tree): law for key, law in mechanism.items()}
    elif isinstance(mechanism, Sequence):
        if len(mechanism) != tree.depth:
            raise ValueError(
                f"mechanism must be one, or {tree.depth}, one for each level from the root, got "
                f"{len(mechanism)}: give None where there is no answer"
            )
        stated = dict(enumerate(mechanism))
    else:
        stated = dict.fromkeys(range(tree.depth), mechanism)
    return StatedLaws(stated, tree)


def _place(key: NodeKey, tree: Tree) -> int | tuple[int, int]:
    """A level, or the level and the position of a node."""
    return tree.level(int(key)) if isinstance(key, Integral) else tree.place(key)


def _usable(law: object) -> Mechanism:
    """The mechanism, if counts of a table can be told from its answers."""
    if isinstance(law, Subsample):
        raise ValueError(  # noqa: TRY004  (a bad value of an argument, as everywhere)
            f"mechanism must be additive noise or Exact() in a table, got {law!r}: the cells of "
            "one sample are not independent, so refine its counts one at a time with posterior"
        )
    is_noise = isinstance(law, SymmetricNoise) and law.is_log_concave
    if isinstance(law, Mechanism) and (is_noise or isinstance(law, Exact)):
        return law
    raise ValueError(
        f"mechanism must be additive noise with a log-concave density, or Exact(), got {short(law)}"
    )


# Numbers and `below`s of the cells, or a mapping of levels and nodes to theirs; nan: none.
TableAnswers: TypeAlias = Any


def answered(
    answers: TableAnswers, mechanism: TableMechanisms, tree: Tree, total: int | Population | None
) -> tuple[LevelAnswers, ...]:
    """The answers about a table, level by level, each under its mechanism.

    Args:
        answers: Of the cells, shape (cells,); or {level or node: answers}: an int is a level,
            counted from the end if negative, with an array over its nodes; a tuple or a text is a
            node, as `Tree.place` reads it, with a number or several. nan and None: no answer;
            `below(t)`: less than t.
        mechanism: One; or one a level from the root, None where there is no answer; or a mapping
            with the keys of the answers, or their levels; of several answers of one node as many.
        tree: Whose nodes they are.
        total: The count of the root if it is public, or its law.

    Returns:
        At least one; several of one level where mechanisms differ, or a node has several answers.

    Raises:
        ValueError: If shapes do not fit, nothing is answered, a mechanism is missing or cannot give
            its answer, or no table has the exact answers.
    """
    laws = stated_laws(mechanism, tree)
    told = [(one, laws.of(one)) for one in _told(answers, tree) if one.nodes.size]
    if not told:
        raise ValueError("answers must hold at least one number, got nan everywhere")
    found = tuple(_joined(told, tree))
    if total is None and all(one.suppressed.all() for one in found):
        raise ValueError(
            "answers must hold at least one number, got suppressed ones everywhere: give the total"
        )
    count_bounds(found, tree, checked_total(total))
    return found


def checked_total(total: Any) -> int | Population | None:  # noqa: ANN401  (refused if it is none)
    """The total as a whole number, a law, or None.

    Raises:
        ValueError: If it is something else.
    """
    if total is None or isinstance(total, Population):
        return total
    try:
        return whole_number(total, "total")
    except ValueError as error:
        raise ValueError(f"{error}: give a population where it is uncertain") from None


def _told(answers: TableAnswers, tree: Tree) -> Iterator[Told]:
    """The answers of each level and of each node, without those that are nan."""
    if not isinstance(answers, Mapping):
        answers = {-1: answers}
    met: dict[tuple[int, int], int] = {}
    for key, values in answers.items():
        if isinstance(key, Integral):
            level = tree.level(int(key))
            yield Told.of_level(level, *read(values, tree.sizes[level], tree.names[level]))
            continue
        place = tree.place(key)
        numbers = list(values) if isinstance(values, Sequence | np.ndarray) else [values]
        pairs = zip(*read(numbers, len(numbers), str(key)), strict=True)
        for number, (answer, suppressed) in enumerate(pairs):
            met[place] = met.get(place, -1) + 1
            yield Told.of_node(place, number, met[place], answer, suppressed=suppressed)


def _joined(told: Iterable[tuple[Told, Mechanism]], tree: Tree) -> Iterator[LevelAnswers]:
    """The answers that one mechanism gave about different nodes of a level."""
    groups: dict[tuple[object, ...], tuple[Mechanism, list[Told]]] = {}
    for one, law in told:
        groups.setdefault((one.level, one.rank, repr(law)), (law, []))[1].append(one)
    for law, parts in groups.values():
        level = parts[0].level
        nodes, answers, suppressed = (
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("nodes", "answers", "suppressed")
        )
        wrong = impossible(answers, suppressed, law)
        if wrong is not None:
            place, remedy = wrong
            node = ", ".join(tree.label(level, int(nodes[place]))) or "the total"
            raise ValueError(f"answers must each be {remedy} for {node}")
        if is_whole(law):
            answers = np.ceil(answers)  # of thresholds alone, as all others are whole
        yield LevelAnswers(level, nodes, answers, suppressed, law)
