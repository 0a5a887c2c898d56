"""Copies as JSON."""

from typing import Any

from noisycount.app.copies.shelf import Shelf

__all__ = ["shelf_object"]


def shelf_object(shelf: Shelf, removed: int | None) -> dict[str, Any]:
    """The copies, with their sizes in bytes; those that were there where they were removed."""
    return {
        "folder": None if shelf.folder is None else str(shelf.folder),
        "removed": removed,
        "copies": [
            {
                "dataset": copy.dataset,
                "file": str(copy.path),
                "size": copy.size,
                "made": copy.made.isoformat(),
            }
            for copy in shelf.copies
        ],
    }
