"""Neighbouring data sets, of which a table may tell only so much, and tables that tell more."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from unittest.mock import patch

from noisycount.model.concentrated import l1_sensitivity
from noisycount.model.tables.threshold import threshold
from noisycount.query.schema import Kind
from noisycount.release import query_plan

__all__ = ["DELTA", "HIDDEN", "MUTANTS", "PAIRS", "SCHEMA", "Pair", "mutated"]

SCHEMA = {"person": Kind.INTEGER, "town": Kind.TEXT}
Towns = tuple[str, ...]
Records = list[Mapping[str, Any]]
OTHERS = ("a", "b", "c") * 10
ME = 99


@dataclass(frozen=True)
class Pair:
    """Two data sets that differ in one person, and a table of them."""

    before: Towns  # the towns of the rows of that person in the first; none: the person is in neither
    after: Towns  # in the second
    asked: Mapping[str, Any] = field(default_factory=dict)  # what is asked, beside the towns
    is_replacement: bool = False  # whether the number of persons is public, so that it stays
    is_tight: bool = True  # whether the whole price is told

    @property
    def worlds(self) -> tuple[Records, Records]:
        """The records of both."""
        others = [{"person": number, "town": town} for number, town in enumerate(OTHERS)]
        first, second = (
            [*others, *({"person": ME, "town": town} for town in mine)] for mine in (self.before, self.after)
        )
        return first, second

    @property
    def size(self) -> int | None:
        """The number of persons, if it is public."""
        return len(OTHERS) + 1 if self.is_replacement else None

    @property
    def question(self) -> dict[str, Any]:
        """The arguments of the question, at the price of 1."""
        keys = None if "delta" in self.asked else {"town": ["a", "b", "c", "z"]}
        return {"by": "town", "epsilon": 1, "keys": keys, **self.asked}


ALONE = {"groups_per_unit": 1}
PAIRS = {
    "moves": Pair(("a",), ("b",), ALONE, is_replacement=True),
    "moves, with a total": Pair(("a",), ("b",), {**ALONE, "margins": "total"}, is_replacement=True, is_tight=False),
    "moves to no cell": Pair(("a",), ("x",), ALONE, is_replacement=True, is_tight=False),
    "moves to other": Pair(("a",), ("x",), {**ALONE, "other": True}, is_replacement=True),
    "appears": Pair((), ("a",), ALONE),
    "appears, with a total": Pair((), ("a",), {**ALONE, "margins": "total"}),
    "appears in ranges": Pair((), ("a",), {**ALONE, "cumulative": True}),
    "appears with a key of their own": Pair((), ("z",), ALONE),
    "has 1,000 rows": Pair((), ("a", "b", "c", "z") * 250, {}),
    "has 1,000 rows, left in one": Pair((), ("a", "b", "c", "z") * 250, ALONE),
    "changes all of them": Pair(("a", "b") * 500, ("c", "z") * 500, {}, is_replacement=True),
}
"""Tables of known keys."""

DELTA = "0.0364"
"""At ε = 1 hardly more than the 0.036397 of its threshold: one lower is e times as much."""

GIVEN = {"delta": DELTA}
HIDDEN = {
    "has a key of their own": Pair((), ("z",), {**ALONE, **GIVEN}),
    "comes to a known key": Pair((), ("a",), {**ALONE, **GIVEN}),
    "changes keys of their own": Pair(("y",), ("z",), {**ALONE, **GIVEN}, is_replacement=True),
    "has 1,000 rows of three keys": Pair((), ("x", "y", "z", "x") * 250, {"groups_per_unit": 3, **GIVEN}),
}
"""Tables whose keys only the records know."""

Patches = Mapping[str, Callable[..., object]]
MUTANTS: dict[str, Patches] = {
    "a replaced person as one that comes": {
        "l1_sensitivity": lambda counts, groups, **_: l1_sensitivity(counts, groups, replaced=False)
    },
    "a person as in one group": {
        "l1_sensitivity": lambda counts, _, *, replaced: l1_sensitivity(counts, 1, replaced=replaced)
    },
    "a threshold one too low": {"threshold": lambda *asked: threshold(*asked) - 1},
    "keys as they are in the data": {"threshold": lambda *_: -(10**6)},
    "a threshold for one group": {"threshold": lambda noise, delta, _: threshold(noise, delta, 1)},
}
"""Tables that tell too much: what their plan has in place of what it should have."""


@contextmanager
def mutated(mutant: str) -> Iterator[None]:
    """A world in which plans have a fault; empty: none."""
    with ExitStack() as stack:
        for name, fault in MUTANTS.get(mutant, {}).items():
            stack.enter_context(patch.object(query_plan, name, partial(fault)))
        yield
