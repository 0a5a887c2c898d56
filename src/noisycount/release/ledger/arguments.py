"""What the arguments of a ledger must be."""

from operator import index
from types import UnionType

from noisycount.release.ledger.table_answer import TableAnswer

__all__ = ["LONGEST_NAME", "check_purpose", "check_text", "check_type", "storable_answer"]

LONGEST_NAME = 200  # of keys, data sets and analysts: more than people type, less than a line
_SHOWN = 40  # characters of a long text, 80 of another value: they fit on a line
_SHOWN_VALUE = 80
_LONGEST_ANSWER = 14_000  # bits; Python writes no integer of more than 4300 digits


def check_text(name: str, value: str, longest: int = LONGEST_NAME) -> None:
    """Refuse what is no text, or one that is empty, too long or not printable.

    Args:
        name: What the refusal calls the text.
        value: The text.
        longest: The largest number of characters.

    Raises:
        ValueError: The text is refused.

    Example:
        >>> check_text("key", "")
        Traceback (most recent call last):
            ...
        ValueError: key must be 1 to 200 printable characters, got ''
    """
    if not isinstance(value, str):
        found = type(value).__name__
        raise ValueError(f"{name} must be 1 to {longest} printable characters, got a {found}")  # noqa: TRY004
    if not 1 <= len(value) <= longest or not value.isprintable():
        shown = repr(value if len(value) <= LONGEST_NAME else f"{value[:_SHOWN]}...")
        raise ValueError(f"{name} must be 1 to {longest} printable characters, got {shown}")


def check_purpose(purpose: str | None) -> None:
    """Refuse a purpose that says nothing, or more than fits on a line; None: none was said.

    Raises:
        ValueError: It is refused.
    """
    if purpose is None:
        return
    check_text("purpose", purpose)
    if not purpose.strip():
        raise ValueError(f"purpose must say what the answer is for, got {purpose[:_SHOWN]!r}")


def check_type(name: str, value: object, kind: type | UnionType) -> None:
    """Refuse an argument of another type.

    Args:
        name: What the refusal calls the argument.
        value: The argument.
        kind: What it must be.

    Raises:
        ValueError: It is something else.
    """
    if not isinstance(value, kind):
        wanted = getattr(kind, "__name__", kind)
        raise ValueError(f"{name} must be of type {wanted}, got a {type(value).__name__}")  # noqa: TRY004


def storable_answer(answer: int | TableAnswer) -> int | TableAnswer:
    """An answer as an integer of Python's own, or as a table that can be read again.

    Raises:
        ValueError: It is no whole number and no table, or too large to be written down.
    """
    if isinstance(answer, TableAnswer):
        answer.check()
        return answer
    try:
        whole = index(answer)
    except TypeError:
        whole = None
    if whole is None or isinstance(answer, bool):
        raise ValueError(f"answer must be a whole number, got {repr(answer)[:_SHOWN_VALUE]}")
    if whole.bit_length() > _LONGEST_ANSWER:
        raise ValueError(f"answer must be below 2^{_LONGEST_ANSWER}, got one that is not")
    return whole
