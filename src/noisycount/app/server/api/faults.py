"""What is wrong with the form of a request, in one sentence and with the remedy."""

from collections.abc import Mapping
from typing import Any

__all__ = ["fault_words"]

_SHOWN = 2**53  # numbers up to which a remedy repeats them
_HEADER = "Idempotency-Key"


def fault_words(fault: Mapping[str, Any]) -> str:
    """What is wrong, without what was sent, but for a number that must be a text.

    Args:
        fault: As pydantic tells it.

    Example:
        >>> fault_words({"loc": ("body", "epsilon"), "type": "string_type", "input": 0.17})
        'epsilon must be a text: write the number in quotes, "0.17"'
    """
    place, *within = fault["loc"] or ("request",)
    name, kind = ".".join(map(str, within)), fault["type"]
    if kind == "json_invalid":
        return f"the body is no JSON that has one meaning ({fault['ctx']['error']}): mend it"
    if place == "header" and name == _HEADER:
        return _header_words(is_missing=kind == "missing")
    if place == "body" and kind == "string_type" and len(within) == 1 and _is_number(fault):
        return f'{name} must be a text: write the number in quotes, "{fault["input"]}"'
    if place == "body" and kind == "missing" and within:
        return f"{name} is missing from the body: give it"
    if place == "body" and kind == "extra_forbidden":
        return f"{name!r} is no member of this body: leave it out, or mend its name"
    return f"{'.'.join(map(str, fault['loc'])) or 'request'}: {fault['msg']}"


def _header_words(*, is_missing: bool) -> str:
    """What is wrong with the name of a spend."""
    if is_missing:
        return f"a spend needs the header {_HEADER}: a name of your choice for this request"
    return f'{_HEADER} must be 1 to 100 of the characters A-Z a-z 0-9 . _ ~ -, such as "poor-1"'


def _is_number(fault: Mapping[str, Any]) -> bool:
    """Whether a number was sent that is short to write."""
    sent = fault.get("input")
    if isinstance(sent, bool) or not isinstance(sent, int | float):
        return False
    return abs(sent) <= _SHOWN
