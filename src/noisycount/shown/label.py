"""Keys of groups as people read them."""

__all__ = ["ALL_KEYS", "MISSING", "OTHER_KEYS", "label_text"]

ALL_KEYS = "all"
"""In place of a key over which is summed."""

MISSING = "(missing)"
"""The key of missing values."""

OTHER_KEYS = "(other)"
"""All keys that were not listed."""


def label_text(label: object) -> str:
    """A key of a group: missing values and truth values have words of their own.

    Example:
        >>> label_text("Bern"), label_text(3), label_text(None), label_text(True)
        ('Bern', '3', '(missing)', 'true')
    """
    if label is None:
        return MISSING
    return str(label).lower() if isinstance(label, bool) else str(label)
