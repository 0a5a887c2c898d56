"""In which of its groups a unit is left: a rule that looks at no other unit, and at no order.

Of its groups a unit is left in those with the smallest hashes of the key of the rule (the salt),
the group and the unit. Each engine computes the same hashes, of texts that only one group and one
unit have.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from hashlib import md5
from math import isnan
from typing import TypeVar

from noisycount.release.question.grouping import Key

__all__ = ["OTHER", "group_text", "kept_groups", "salt_text", "unit_text"]

OTHER = "other"
"""What stands for the keys of the group of all that is not listed."""

Group = TypeVar("Group", tuple[Key, ...], tuple[Key, ...] | None)

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - columns have no zone


def kept_groups(groups: Iterable[Group], unit: str, most: int | None, salt: str) -> set[Group]:
    """The groups that a unit is left in.

    Args:
        groups: Those that it is in, by their keys; None: that of all that is not listed.
        unit: The text of the unit.
        most: In how many it may be; None: in all.
        salt: The key of the rule.

    Example:
        >>> sorted(kept_groups({("Bern",), ("Genf",), ("Zug",)}, "ann", 2, salt=""))
        [('Genf',), ('Zug',)]
    """
    found = set(groups)
    if most is None:
        return found
    return set(sorted(found, key=lambda group: _place(group, unit, salt))[:most])


def salt_text(salt: str) -> str:
    """The text that begins what is hashed of a group."""
    return _hash(salt).hex()


def unit_text(value: object) -> str:
    """The text of a unit: the same for equal ones.

    Example:
        >>> unit_text(7), unit_text(-0.0), unit_text(True)
        ('7', '0', 'true')
    """
    match value:
        case datetime():
            return str((value - _EPOCH) // timedelta(microseconds=1))
        case float():
            return "nan" if isnan(value) else f"{value + 0.0:.17g}"
        case _:
            return _text(value)


def group_text(group: tuple[Key, ...] | None, salt: str) -> str:
    """The text that begins what is hashed of a unit in a group."""
    parts = OTHER if group is None else "".join(map(_part, group))
    return _hash(salt_text(salt) + parts).hex()


def _place(group: tuple[Key, ...] | None, unit: str, salt: str) -> int:
    """The hash of a unit in a group, as a number."""
    return int.from_bytes(_hash(group_text(group, salt) + unit), "little")


def _part(key: Key) -> str:
    """The text of one of several keys, which tells where it ends."""
    return "-" if key is None else f"{len(_text(key))}:{_text(key)}"


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _hash(text: str) -> bytes:
    return md5(text.encode(errors="surrogatepass"), usedforsecurity=False).digest()
