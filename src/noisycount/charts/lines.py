"""Texts in charts, cut into lines."""

from textwrap import wrap

__all__ = ["as_lines"]


def as_lines(text: str, longest: int) -> list[str]:
    """The lines of a text that stands above a chart, at least one.

    Args:
        text: Words.
        longest: The most characters of a line, where no word is longer.

    Example:
        >>> as_lines("age >= 65 and site = 4", 12)
        ['age >= 65', 'and site = 4']
    """
    return wrap(text, longest) or [text]
