"""Patterns of `like` as regular expressions of Java, which never try a part twice."""

import re

__all__ = ["java_regex"]


def java_regex(pattern: str) -> str:
    r"""The regular expression of a like pattern: `%` is any text, `_` one character.

    A text that matches a part in many places would take Spark's own `like` as many steps as there
    are choices of places, and one record could stop a count.

    Example:
        >>> print(java_regex("100%_\\"))
        (?s)\A100.*.\\\z
    """
    first, *rest = ("".join(map(_one, part)) for part in pattern.split("%"))
    middle = "".join(f"(?>.*?{part})" for part in rest[:-1])
    return rf"(?s)\A{first}{middle}{''.join(f'.*{part}' for part in rest[-1:])}\z"


def _one(character: str) -> str:
    """What matches a character of a pattern, which is literal unless it is `_`."""
    if character == "_":
        return "."
    return re.sub(r"[!-/:-@\[-`{-~]", r"\\\g<0>", character)
