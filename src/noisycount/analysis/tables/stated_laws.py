"""Which mechanism gave which answers of a table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, TypeAlias

from noisycount.analysis.tables.told import Told
from noisycount.model.exact import Exact
from noisycount.model.mechanism import Mechanism
from noisycount.model.noises.additive import SymmetricNoise
from noisycount.model.subsampling import Subsample
from noisycount.model.tables.tree import NodeKey, Tree
from noisycount.shown.line import short

__all__ = ["StatedLaws", "TableMechanisms", "stated_laws"]

TableMechanisms: TypeAlias = (
    Mechanism | Sequence[Mechanism | None] | Mapping[Any, Mechanism | Sequence[Mechanism]] | None
)
"""One for all answers, one a level from the root, or by the keys of the answers."""


@dataclass(frozen=True, slots=True)
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
