"""The name of a table, and what it is in."""

import re

from noisycount.errors import SourceError

__all__ = ["table_name"]

_PART = re.compile(r'(?:"(?P<quoted>(?:[^"]|"")+)"|(?P<plain>[^".]+))(?P<end>\.|\Z)')


def table_name(text: str) -> tuple[str | None, str]:
    """What a table is in, or None, and its own name; each is taken literally, with its case.

    Args:
        text: Names with dots between them; one that has a dot or quotes itself stands in quotes.

    Raises:
        SourceError: It is no such text.

    Example:
        >>> table_name("clinic.visits"), table_name('"a.b"')
        (('clinic', 'visits'), (None, 'a.b'))
    """
    names, place = [], 0
    while found := _PART.match(text, place):
        quoted, plain = found["quoted"], found["plain"]
        names.append(plain if quoted is None else quoted.replace('""', '"'))
        place = found.end()
        if not found["end"]:
            return ".".join(names[:-1]) or None, names[-1]
    raise SourceError(
        f'table must be a name such as schema.table, or "a.b" in quotes, got {text!r}'
    )
