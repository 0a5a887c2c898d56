"""Text for one line of a terminal."""

__all__ = ["printable"]


def printable(text: str) -> str:
    r"""The text for one line of a terminal: what is not printable, and could steer it, is U+FFFD.

    Example:
        >>> printable("health = '\x1b[2J'")
        "health = '�[2J'"
    """
    return "".join(each if each.isprintable() else "\ufffd" for each in text)
