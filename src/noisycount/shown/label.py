"""Keys of groups as people read them."""

__all__ = ["MISSING", "label_text"]

MISSING = "(missing)"


def label_text(label: object) -> str:
    """A key of a group: missing values and truth values have words of their own.

    Example:
        >>> label_text("Bern"), label_text(3), label_text(None), label_text(True)
        ('Bern', '3', '(missing)', 'true')
    """
    if label is None:
        return MISSING
    return str(label).lower() if isinstance(label, bool) else str(label)
