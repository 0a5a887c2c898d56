"""For which neighbours the price of a release was made, from what the ledger keeps of it."""

from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from noisycount.app.count.wire import NEIGHBOURS
from noisycount.app.refine.tables.stored.cells import StoredCells, stored_levels
from noisycount.release.budget.loss import Loss
from noisycount.release.budget.neighbours import NeighbourRelation
from noisycount.release.ledger.asked import asked_of
from noisycount.release.ledger.entries import Entry
from noisycount.release.ledger.table_answer import TableAnswer
from noisycount.release.tables.replaced import NoisyLevels

__all__ = ["Priced", "priced_for"]

_UNREADABLE = (ValueError, TypeError, KeyError, IndexError, AttributeError, ZeroDivisionError)


@dataclass(frozen=True, slots=True)
class Priced:
    """What a release costs where one unit comes or goes, and where one takes another's place.

    Attributes:
        is_known: Whether a noisycount wrote the question; else what was charged is all there is.
        relation: For which neighbours the price was made; None: it is the same for both, as that
            of every single count, or it is not known.
        replaced: What is lost where one unit takes the place of another.
    """

    is_known: bool
    relation: NeighbourRelation | None
    replaced: Loss

    @classmethod
    def of(cls, entry: Entry) -> "Priced":
        """The price of an entry, by its question and its noise, whatever the owner wrote since."""
        asked, price = asked_of(entry), entry.request.price
        if "table" not in asked:
            return cls("scale" in asked, None, price)
        with suppress(*_UNREADABLE):
            noisy = _noisy(asked, entry)
            return cls(is_known=True, relation=noisy.relation, replaced=noisy.replaced)
        return cls(is_known=False, relation=None, replaced=price)


def priced_for(priced: Priced) -> str:
    """The neighbours for which a price was made, in a word or two."""
    if not priced.is_known:
        return "not known"
    return "either" if priced.relation is None else NEIGHBOURS[priced.relation]


def _noisy(asked: dict[str, Any], entry: Entry) -> NoisyLevels:
    """The levels of a table with their noise.

    Raises:
        ValueError: No noisycount wrote it; as the other errors of `_UNREADABLE` tell.
    """
    table = asked["table"]
    scales = [Fraction(scale) for scale in asked["scales"]]
    groups: int | None = None
    if "questions" not in table:
        groups = 1 if asked["unit"] is None else table.get("groups_per_unit")
    if "questions" not in table and table["keys"] is None:
        if groups is None or groups < 1:
            raise ValueError(f"groups_per_unit must be given with hidden keys, got {groups}")
        return NoisyLevels(entry.request.price, [None, 1][: len(scales)], scales, groups)
    return NoisyLevels(entry.request.price, _sizes(table, entry), scales, groups)


def _sizes(table: dict[str, Any], entry: Entry) -> list[int]:
    """How many counts each level of a table has whose keys are known."""
    if isinstance(entry.answer, TableAnswer):
        return [len(level) for level in entry.answer.levels]
    cells = StoredCells.of(table, TableAnswer.of([[]]))
    return [level.size for level in stored_levels(table, cells)]
