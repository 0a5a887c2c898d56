"""JSON that can be read in one way alone."""

import json
from typing import Any

__all__ = ["exact_json"]

_ENCODING = "utf-8"  # RFC 8259, section 8.1: no other encoding, and no mark of one
_MOST_DIGITS = 400  # of a whole number: more than any real has


def exact_json(content: bytes) -> Any:  # noqa: ANN401  (what came from outside has no type)
    """What JSON says of which no two readers can see two things.

    RFC 8259, section 4, lets a reader take the first or the last of two members of one name: a
    proxy or a log may then show another price than the one that is charged.

    Raises:
        ValueError: It is not UTF-8, no JSON, too deep, says a member twice at any depth, or has a
            number that JSON does not have or that is too long to read.

    Example:
        >>> exact_json(b'{"epsilon": "0.1"}')
        {'epsilon': '0.1'}
    """
    try:
        return json.loads(
            content.decode(_ENCODING),
            object_pairs_hook=_members,
            parse_constant=_no_number,
            parse_int=_whole,
        )
    except RecursionError:
        raise ValueError("it is too deep") from None


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a member is said twice")
    return members


def _no_number(name: str) -> float:
    """Nothing: Python reads NaN and Infinity, which JSON does not have."""
    raise ValueError(f"{name} is no number of JSON")


def _whole(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise ValueError(f"a number has more than {_MOST_DIGITS} digits")
    return int(digits)
