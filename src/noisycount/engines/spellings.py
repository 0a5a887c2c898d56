"""Texts that may be several spellings of one text, and the rules of a column's form by which they are one."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from re import sub
from unicodedata import combining, normalize

from noisycount.display.values import Shown
from noisycount.engines.finding import quoted_cell
from noisycount.engines.formats import DIGITS_WITH_ZEROS, SPELLING_RULES, WHITE_SPACE, ColumnFormat
from noisycount.frozen import frozen
from noisycount.query.schema import Kind

_EXAMPLES = 3  # texts of which the spellings are shown
ONE_SPELLING = ColumnFormat(Kind.TEXT, trim=True, fold_case=True, normalise="NFC", drop_zeros=True)
"""The form with all rules: texts that it reads alike may be spellings of one text."""
MOST_SPELLINGS = 10_000
"""How many spellings are looked at, of all texts that have several."""


@frozen
class Spellings(Shown):
    """Texts of one column that have several spellings each."""

    texts: int  # how many have several
    largest: int  # how many spellings one of them has at most
    examples: tuple[tuple[str, ...], ...]  # the spellings of some of them
    rules: tuple[str, ...]  # the parts of a form, of `SPELLING_RULES`, that make the spellings of each text one

    @property
    def examples_text(self) -> str:
        """The spellings of some of the texts in quotes, with the codes of accents that are characters of their own."""
        more = self.texts - len(self.examples)
        groups = "; ".join(" and ".join(map(_quoted, group)) for group in self.examples)
        return f": {groups}{f', and {more:,} more' if more else ''}"

    @property
    def parts(self) -> dict[str, object]:
        """The parts of a form that make them one, with their values."""
        return {rule: getattr(ONE_SPELLING, rule) for rule in self.rules}


def spellings_of(texts: Iterable[str]) -> Spellings | None:
    """Return which texts have several spellings; None if each has one.

    Example:
        >>> spellings_of(["2", "2.0", "A7", "a7", "B1"]).rules
        ('fold_case', 'drop_zeros')
    """
    groups = _several(texts, ONE_SPELLING)
    if not groups:
        return None
    plain = ColumnFormat(Kind.TEXT)
    without = {rule: replace(ONE_SPELLING, **{rule: getattr(plain, rule)}) for rule in SPELLING_RULES}
    rules = [rule for rule, form in without.items() if len(_read(groups, form)) > len(groups)]
    examples = tuple(tuple(group) for group in groups[:_EXAMPLES])
    return Spellings(len(groups), max(map(len, groups)), examples, tuple(rules))


def _quoted(text: str) -> str:
    """Return a text in quotes."""
    return "".join(f"\\u{ord(each):04x}" if combining(each) else each for each in quoted_cell(text))


def _several(texts: Iterable[str], form: ColumnFormat) -> list[list[str]]:
    """Return the spellings of each text that has several."""
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for text in sorted({*texts}):
        groups[_read_as(text, form)].append(text)
    return [group for group in groups.values() if len(group) > 1]


def _read(groups: Iterable[Sequence[str]], form: ColumnFormat) -> set[str]:
    """Return the texts that a form has for spellings."""
    return {_read_as(text, form) for group in groups for text in group}


def _read_as(text: str, form: ColumnFormat) -> str:
    """Return the one spelling that a form has for a text, as the engines compute it."""
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
