"""What a number of a table is of, for a reader."""

from noisycount.release.question.keys import CellQuestion
from noisycount.release.question.text import canonical_text
from noisycount.release.sources.conformance.exercise import TableQuestion

__all__ = ["number_text"]

_LONGEST = 60  # characters of a list of keys or edges


def number_text(question: TableQuestion, place: object) -> str:
    """A table and one of its numbers.

    Args:
        question: The table.
        place: The level and node of the number, or the keys of its group; None: the whole table.
    """
    parts = question.keys.parts if isinstance(question, CellQuestion) else question.parts
    text = f"by {' and '.join(_cut(part.text) for part in parts)}"
    if question.where is not None:
        text += f" where {canonical_text(question.where)}"
    if question.most is not None:
        text += f", at most {question.most} a person with salt {question.salt!r}"
    if isinstance(question, CellQuestion) and isinstance(place, tuple):
        return f"{text}: {_node(question, *place)}"
    return f"{text}: {'all of it' if place is None else place}"


def _node(question: CellQuestion, level: int, node: int) -> str:
    """A node of a level by the keys of its cells, of which it may have many."""
    named = question.levels[level]
    cells = [cell for cell, of in enumerate(named.of_cell.tolist()) if of == node]
    keys = [question.keys.key(c) if c < len(question.keys) else "other" for c in cells]
    return f"{named.name} {_cut(', '.join(map(str, keys)))}"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
