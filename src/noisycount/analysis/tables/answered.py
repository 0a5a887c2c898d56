"""What was answered about a table: every number with its node and its mechanism, checked."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from numbers import Integral
from typing import Any, TypeAlias

import numpy as np

from noisycount.analysis.tables.count_bounds import count_bounds
from noisycount.analysis.tables.level_answers import LevelAnswers
from noisycount.analysis.tables.stated_laws import TableMechanisms, stated_laws
from noisycount.analysis.tables.told import Told, impossible, is_whole, read
from noisycount.model.mechanism import Mechanism
from noisycount.model.populations.population import Population
from noisycount.model.tables.tree import Tree
from noisycount.model.validation import whole_number

__all__ = ["TableAnswers", "answered", "checked_total"]

TableAnswers: TypeAlias = Any
"""Numbers and `below`s of the cells, or a mapping of levels and nodes to theirs; nan: none."""


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
