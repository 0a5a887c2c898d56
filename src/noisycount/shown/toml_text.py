"""Names and values as TOML writes them, in lines that can be pasted."""

import re
from collections.abc import Mapping, Sequence

__all__ = ["pasteable", "toml_key", "toml_value"]

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}


def toml_key(name: str) -> str:
    r"""A name as a key, in quotes where it needs them.

    Example:
        >>> print(toml_key("age"), toml_key('Kosten "€"'))
        age "Kosten \"€\""
    """
    return name if _BARE.fullmatch(name) else _quoted(name)


def toml_value(value: object) -> str:
    r"""A text, a truth value, a whole number, a list or a table on one line.

    Example:
        >>> print(toml_value({"kind": "real", "missing": ["k.A.", "\x07"], "trim": True}))
        { kind = "real", missing = ["k.A.", "\u0007"], trim = true }
    """
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, Mapping):
        parts = (f"{toml_key(name)} = {toml_value(part)}" for name, part in value.items())
        return f"{{ {', '.join(parts)} }}"
    if isinstance(value, Sequence):
        return f"[{', '.join(map(toml_value, value))}]"
    return str(value).lower()


def pasteable(line: str, encoding: str) -> str:
    r"""A line in characters that an encoding has; the others are escaped, between their quotes.

    Example:
        >>> print(pasteable('"Größe" = "text"', "ascii"))
        "Gr\u00f6\u00dfe" = "text"
    """
    try:
        line.encode(encoding)
    except UnicodeEncodeError:
        return "".join(each if each.isascii() else _code(each) for each in line)
    return line


def _quoted(text: str) -> str:
    return f'"{"".join(map(_escaped, text))}"'


def _escaped(character: str) -> str:
    """A character as it stands between quotes; what a terminal may not show is escaped."""
    if character in _ESCAPES:
        return _ESCAPES[character]
    return character if character.isprintable() else _code(character)


def _code(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code < 1 << 16 else f"\\U{code:08x}"
