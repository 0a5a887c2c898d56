"""Texts that may be several spellings of one text, and the rules of a column's form by which they are one."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from re import sub
from unicodedata import combining, normalize

from noisycount.display.values import Shown
from noisycount.engines.finding import quoted_cell
from noisycount.engines.formats import (
    DIGITS_WITH_ZEROS,
    SIGNS,
    SPELLING_RULES,
    WHITE_SPACE,
    ColumnFormat,
    compatible_text,
)
from noisycount.frozen import frozen
from noisycount.query.schema import Kind

_EXAMPLES = 3  # texts of which the spellings are shown
ONE_SPELLING = ColumnFormat(Kind.TEXT, trim=True, fold_case=True, normalise="NFKC", drop_zeros=True)
"""The form with all rules: texts that it reads alike may be spellings of one text."""
MOST_SPELLINGS = 10_000
"""How many spellings are looked at, of all texts that have several."""


@frozen
class Spellings(Shown):
    """Texts of one column that have several spellings each."""

    texts: int  # how many have several
    largest: int  # how many spellings one of them has at most
    examples: tuple[tuple[str, ...], ...]  # the spellings of some of them
    parts: Mapping[str, object]  # the parts of a form that make the spellings of each text one

    @property
    def examples_text(self) -> str:
        """The spellings of some of the texts in quotes, with the codes of accents that are characters of their own."""
        more = self.texts - len(self.examples)
        groups = "; ".join(" and ".join(map(_quoted, group)) for group in self.examples)
        return f": {groups}{f', and {more:,} more' if more else ''}"


def spellings_of(texts: Iterable[str]) -> Spellings | None:
    """Return which texts have several spellings; None if each has one.

    Example:
        >>> spellings_of(["2", "2.0", "A7", "a7", "B1"]).parts
        {'fold_case': True, 'drop_zeros': True}
    """
    groups = _several(texts, ONE_SPELLING)
    if not groups:
        return None
    parts = {rule: value for rule, value in ONE_SPELLING.parts.items() if rule in SPELLING_RULES}
    for rule, weaker in (("normalise", "NFC"), *((rule, None) for rule in SPELLING_RULES)):
        fewer = {name: value for name, value in {**parts, rule: weaker}.items() if value}
        form = ColumnFormat.of_parts({"kind": "text", **fewer})
        if len({_read_as(text, form) for group in groups for text in group}) == len(groups):
            parts = fewer
    return Spellings(len(groups), max(map(len, groups)), tuple(map(tuple, groups[:_EXAMPLES])), parts)


def _quoted(text: str) -> str:
    """Return a text in quotes, with the codes of accents that stand alone and of signs that look alike."""
    return "".join(
        each if each.isascii() or not (combining(each) or ord(each) in SIGNS) else f"\\u{ord(each):04x}"
        for each in quoted_cell(text)
    )


def _several(texts: Iterable[str], form: ColumnFormat) -> list[list[str]]:
    """Return the spellings of each text that has several."""
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for text in sorted({*texts}):
        groups[_read_as(text, form)].append(text)
    return [group for group in groups.values() if len(group) > 1]


def _read_as(text: str, form: ColumnFormat) -> str:
    """Return the one spelling that a form has for a text, as the engines compute it."""
    if form.normalise == "NFKC":
        text = compatible_text(text)
    if form.trim:
        text = text.strip(WHITE_SPACE)
    if form.fold_case:
        text = "".join(map(_small, text))
    if form.normalise:
        text = normalize("NFC", text)
    return sub(DIGITS_WITH_ZEROS, r"\1", text) if form.drop_zeros else text


def _small(letter: str) -> str:
    """Return the small letter of a letter, of which no letter becomes two."""
    capital = letter.upper()
    small = (capital if len(capital) == 1 else letter).lower()
    return small if len(small) == 1 else letter
