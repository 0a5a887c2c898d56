"""What an entry of a ledger asks, where a desk wrote it."""

import json
from typing import Any

from noisycount.release.ledger.entries import Entry

__all__ = ["asked_of", "asked_part", "asks_for_table"]


def asked_of(entry: Entry) -> dict[str, Any]:
    """The parts of a question; none where no desk wrote it."""
    try:
        question = json.loads(entry.request.question)
    except (ValueError, RecursionError):
        return {}
    return question if isinstance(question, dict) else {}


def asked_part(entry: Entry, part: str) -> str | None:
    """A part of a question that is a text; None where it has none."""
    found = asked_of(entry).get(part)
    return found if isinstance(found, str) else None


def asks_for_table(entry: Entry) -> bool:
    """Whether an entry asks for several counts."""
    return "table" in asked_of(entry)
