"""The stored answer to a question for a table."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Self, TypeAlias, TypeGuard

from noisycount.shown.value import Shown

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Counts", "TableAnswer"]

Counts: TypeAlias = "NDArray[np.int64]"
Keys = list[list[int | str | bool | None]]

_SCALARS = {int, str, bool, type(None)}
_REFUSED = "the text of a table must be that of whole counts by level, as a ledger stores it"


@dataclass(frozen=True, repr=False)
class TableAnswer(Shown):
    """Noisy counts by level, and the keys that are shown where nobody knew them.

    Args:
        text: A JSON object with `levels`, a list of lists of counts, and `keys`, one list a count
            of the first level, where keys were hidden; read when it is first asked what it holds.

    Example:
        >>> answer = TableAnswer.of([[5, -1], [4]])
        >>> answer.text
        '{"levels":[[5,-1],[4]]}'
        >>> answer
        TableAnswer(levels=[2, 1], keys=None)
    """

    text: str

    @classmethod
    def of(cls, levels: "Sequence[Sequence[int] | Counts]", keys: Keys | None = None) -> Self:
        """The answer that holds these counts.

        Args:
            levels: The counts of each level, the cells first; from −2⁶³ to below 2⁶³.
            keys: The keys of each cell, in types of JSON; None: they are in the question.

        Raises:
            ValueError: The counts are not whole, or the keys not one list a cell.
        """
        import numpy as np  # noqa: PLC0415 - on first use: a ledger is opened without it

        counts = [np.asarray(level).tolist() for level in levels]
        parts = {"levels": counts} if keys is None else {"keys": keys, "levels": counts}
        answer = cls(json.dumps(parts, separators=(",", ":")))
        answer.__dict__["_read"] = _checked(parts)
        return answer

    @property
    def levels(self) -> tuple[Counts, ...]:
        """The counts of each level, the cells first.

        Raises:
            ValueError: No ledger wrote the text.
        """
        return self._read[0]

    @property
    def keys(self) -> Keys | None:
        """The keys of each cell; None: they are in the question.

        Raises:
            ValueError: No ledger wrote the text.
        """
        return self._read[1]

    def check(self) -> None:
        """Refuse a text that no ledger wrote.

        Raises:
            ValueError: It holds something else.
        """
        self._read  # noqa: B018 - it is the reading that refuses

    @cached_property
    def _read(self) -> tuple[tuple[Counts, ...], Keys | None]:
        try:
            parts = json.loads(self.text)
        except (ValueError, TypeError, RecursionError):
            raise ValueError(_REFUSED) from None
        return _checked(parts)

    def _facts(self) -> dict[str, object]:
        """All counts and keys."""
        return {"levels": [level.tolist() for level in self.levels], "keys": self.keys}

    def _key_facts(self) -> dict[str, object]:
        """How many there are."""
        sizes = [len(level) for level in self.levels]
        return {"levels": sizes, "keys": None if self.keys is None else len(self.keys)}


def _checked(parts: object) -> tuple[tuple[Counts, ...], Keys | None]:
    """The counts and keys of an object of JSON.

    Raises:
        ValueError: It holds something else.
    """
    if not isinstance(parts, dict) or not {"levels"} <= parts.keys() <= {"levels", "keys"}:
        raise ValueError(_REFUSED)
    levels, keys = parts["levels"], parts.get("keys")
    if not (_are_lists(levels) and levels and all(_only(level, {int}) for level in levels)):
        raise ValueError(_REFUSED)
    if keys is not None and not _are_keys(keys, len(levels[0])):
        raise ValueError(_REFUSED)
    import numpy as np  # noqa: PLC0415 - on first use

    try:
        counts = tuple(np.array(level, dtype=np.int64) for level in levels)
    except OverflowError:
        raise ValueError(_REFUSED) from None
    for level in counts:
        level.flags.writeable = False
    return counts, keys


def _are_keys(keys: object, cells: int) -> bool:
    """Whether these are one list of values a cell, all of one length."""
    return (
        _are_lists(keys)
        and len(keys) == cells
        and len(set(map(len, keys))) <= 1
        and all(_only(key, _SCALARS) for key in keys)
    )


def _are_lists(value: object) -> TypeGuard[list[list[object]]]:
    return isinstance(value, list) and _only(value, {list})


def _only(values: Iterable[object], kinds: set[type]) -> bool:
    """Whether all values are of these very types."""
    return set(map(type, values)) <= kinds
