"""A mapping that goes on from another, which stays as it is."""

from collections.abc import Iterator, MutableMapping
from dataclasses import dataclass, field
from typing import TypeVar

__all__ = ["Overlay"]

Value = TypeVar("Value")


@dataclass(slots=True, eq=False)
class Overlay(MutableMapping[str, Value]):
    """What a mapping holds, and what was added since; nothing is removed.

    A `ChainMap` is one for any number of mappings, and several times as slow.

    Args:
        below: What it goes on from.

    Example:
        >>> below = {"a": 1}
        >>> above = Overlay(below)
        >>> above["b"] = 2
        >>> dict(above), "b" in below, above.added
        ({'a': 1, 'b': 2}, False, {'b': 2})
    """

    below: MutableMapping[str, Value]
    added: dict[str, Value] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Value:
        return self.added[name] if name in self.added else self.below[name]

    def __contains__(self, name: object) -> bool:
        return name in self.added or name in self.below

    def __setitem__(self, name: str, value: Value) -> None:
        self.added[name] = value

    def __delitem__(self, name: str) -> None:
        raise TypeError(f"nothing is removed from a ledger, got {name!r}")

    def __iter__(self) -> Iterator[str]:
        return iter({**self.below, **self.added})

    def __len__(self) -> int:
        return len(self.below.keys() | self.added.keys())
