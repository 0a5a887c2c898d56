"""Copies in words."""

from noisycount.app.copies.shelf import Shelf
from noisycount.app.terminal.printing import seen_from_here
from noisycount.release.register.copies import Copy
from noisycount.shown.numbers import in_bytes, signed

__all__ = ["COPY_HEADER", "copy_rows", "shelf_words"]

COPY_HEADER = ("data set", "size", "made (UTC)", "file")
_SHOWN = 12  # characters of a name that tell files apart


def copy_rows(shelf: Shelf) -> list[tuple[str, ...]]:
    """One line a copy, with cells as `COPY_HEADER` names them."""
    return [
        (
            "unknown" if copy.dataset is None else seen_from_here(copy.dataset),
            in_bytes(copy.size),
            f"{copy.made:%Y-%m-%d %H:%M}",
            _file(copy),
        )
        for copy in shelf.copies
    ]


def shelf_words(shelf: Shelf, removed: int | None) -> str:
    """What there is, or what was removed."""
    if removed is not None:
        size = in_bytes(sum(copy.size for copy in shelf.copies))
        return f"removed {_number(removed)}, {size}; the next question makes what it needs again"
    if not shelf.copies or shelf.folder is None:
        return "no copies; the first question about a file of texts makes one"
    return (
        f"{_number(len(shelf.copies))} in {seen_from_here(shelf.folder)}, for the owner's eyes "
        "alone; --remove removes them"
    )


def _number(copies: int) -> str:
    return f"{signed(copies)} {'copy' if copies == 1 else 'copies'}"


def _file(copy: Copy) -> str:
    """The beginning and the ending of a name that is longer than anybody reads."""
    return f"{copy.path.name[:_SHOWN]}…{copy.path.suffix}"
