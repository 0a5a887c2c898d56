"""What a ledger asks of the description of a data set: that it says whose records they are."""

import json

from noisycount.release.ledger.arguments import check_text

__all__ = ["check_description", "unit_of"]

_LONGEST_DESCRIPTION = 10_000_000  # characters: some of each of the columns of a wide table
_SHOWN = 80  # characters of a refused one


def check_description(text: str) -> None:
    """Refuse a description of a data set that says nothing of the unit.

    Raises:
        ValueError: It is no printable JSON object with the name `unit`, or too long.
    """
    check_text("description", text, _LONGEST_DESCRIPTION)
    try:
        unit_of(text)
    except (ValueError, TypeError, KeyError):
        shown = repr(text[:_SHOWN])
        raise ValueError(f"description must be a JSON object with a unit, got {shown}") from None


def unit_of(description: str) -> str | None:
    """The column that names the person in a data set, by its description; None: rows are counted.

    Raises:
        ValueError: It is no JSON, or the unit no text.
        TypeError: It is no object.
        KeyError: It has no unit.
    """
    unit = json.loads(description)["unit"]
    if not isinstance(unit, str | None):
        raise ValueError(f"unit must be a text or null, got {repr(unit)[:_SHOWN]}")  # noqa: TRY004
    return unit
