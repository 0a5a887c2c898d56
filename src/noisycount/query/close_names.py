"""Advice for mistyped names: the names that are most similar."""

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from heapq import nsmallest
from itertools import takewhile
from unicodedata import combining, normalize

_LISTED_NAMES = 8  # names that are listed if none is similar
# Finding similar names takes time quadratic in their length: these limits keep it below 0.1 s.
_COMPARED_NAMES = 200
_COMPARED_CHARACTERS = 40
_SHOWN_CHARACTERS = 80  # length of a name in a list, so that the list fits a line


def close_names(name: str, names: Sequence[str], written: Callable[[str], str] | None = None) -> str:
    """Return the names that are most similar to `name` as one text, or the first few if none is similar."""
    listed = _similar_names(name, names) or names[:_LISTED_NAMES]
    return ", ".join(_shortened_name(each, written or repr) for each in listed) or "records that have columns"


def did_you_mean(
    name: str, names: Sequence[str], written: Callable[[str], str] | None = None, other: str | None = None
) -> str:
    """Return the advice for a mistyped name: similar names, or the first few, and `other` as an alternative.

    Example:
        >>> did_you_mean("koln", ["Bern", "Köln"])
        "did you mean 'Köln'?"
        >>> did_you_mean("income", ["year", "age"], str, "a text")
        'use year, age, or a text'
    """
    close = [_shortened_name(each, written or repr) for each in _similar_names(name, names)]
    beside = "" if other is None else f", or {other}"
    if close:
        return f"did you mean {' or '.join(close)}{beside}?"
    return f"use {close_names(name, names, written)}{beside}"


def _similar_names(name: str, names: Sequence[str]) -> list[str]:
    """Return the names that are most similar to `name`, without regard to case and accents.

    To save time, many names are first reduced to those with a similar beginning and length, and long names are cut.
    """
    by_start = {_without_accents(other[:_COMPARED_CHARACTERS]): other for other in _preselect_names(name, names)}
    return [by_start[start] for start in get_close_matches(_without_accents(name[:_COMPARED_CHARACTERS]), by_start)]


def _without_accents(text: str) -> str:
    """Return a text in small letters without accents."""
    return "".join(letter for letter in normalize("NFKD", text.casefold()) if not combining(letter))


def _preselect_names(name: str, names: Sequence[str]) -> Sequence[str]:
    """Return the names to compare with `name`: all, or those with the most similar beginning and length."""
    if len(names) <= _COMPARED_NAMES:
        return names

    bare = _without_accents(name[:_COMPARED_CHARACTERS])

    def distance(other: str) -> tuple[int, int]:
        pairs = zip(bare, _without_accents(other[:_COMPARED_CHARACTERS]), strict=False)
        alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        return -alike, abs(len(other) - len(name))

    return nsmallest(_COMPARED_NAMES, names, key=distance)


def _shortened_name(name: str, written: Callable[[str], str]) -> str:
    cut = name[:_SHOWN_CHARACTERS]
    return written(name) if cut == name else f"{written(cut)}…"
