"""What data sets and files are called to those who may see neither files nor contents."""

import re
from collections.abc import Iterable

__all__ = ["told_name", "told_names"]

_BY_CONTENT = re.compile(r"(frame) [0-9a-f]{16}")  # as 0.1 and 0.2 called frames without a name
_PLACE = re.compile(r"[/\\~]|[A-Za-z]:[/\\]|[A-Za-z][A-Za-z0-9+.]*://")
_OPTIONS = re.compile(r"\?[^#]*")


def told_name(name: object) -> str:
    r"""A name of a data set or a file that tells no folder, no server and no content.

    A path or an address is told by its last part; of a frame that an older ledger calls by its
    content, only that it is one. Every other name was given to be told.

    Args:
        name: What the ledger calls a data set, or a path.

    Example:
        >>> told_name("/home/ana/survey.duckdb#visits"), told_name("survey 2025/26")
        ('survey.duckdb#visits', 'survey 2025/26')
        >>> told_name("postgresql://db:5433/clinic?host=/run/db#visits"), told_name("C:\\a\\b.csv")
        ('clinic#visits', 'b.csv')
    """
    text = str(name)
    if match := _BY_CONTENT.fullmatch(text):
        return match[1]
    if not _PLACE.match(text):
        return text
    place = _OPTIONS.sub("", text) if "://" in text else text
    return re.split(r"[/\\]", place.rstrip("/\\"))[-1].lstrip("#") or "records"


def told_names(names: Iterable[str]) -> dict[str, str]:
    """The same of several, none of them told like another.

    Example:
        >>> told_names(["/a/survey.csv", "/b/survey.csv", "stay"])["/b/survey.csv"]
        'survey.csv (2)'
    """
    told: dict[str, str] = {}
    for name in names:
        short = told_name(name)
        number = sum(told_name(other) == short for other in told if other != name) + 1
        told[name] = short if number == 1 else f"{short} ({number})"
    return told
