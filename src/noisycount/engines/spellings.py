"""Detection of texts that may be spellings of one text, and of the rules of a column's form that make them equal."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from unicodedata import combining

from noisycount.display.values import Shown
from noisycount.engines.finding import quoted_cell
from noisycount.engines.formats import SIGNS, SPELLING_RULES, ColumnFormat
from noisycount.frozen import frozen
from noisycount.query.schema import Kind

_EXAMPLES = 3  # texts of which the spellings are shown
ONE_SPELLING = ColumnFormat(Kind.TEXT, trim=True, fold_case=True, normalise="NFKC", drop_zeros=True)
"""The form with all rules: texts that it reads alike may be spellings of one text."""
WITHOUT_MARKS = replace(ONE_SPELLING, drop_marks=True)
"""The form by which ids that differ in marks as well may be spellings of one id."""
MOST_SPELLINGS = 10_000
"""How many spellings are looked at, of all texts that have several."""


@frozen
class Spellings(Shown):
    """Texts of one column that have several spellings each."""

    texts: int  # how many have several
    largest: int  # how many spellings one of them has at most
    examples: tuple[tuple[str, ...], ...]  # the spellings of some of them
    parts: Mapping[str, object]  # the parts of a form that make the spellings of each text one
    is_estimate: bool = False  # True if there are so many that some of them may be several texts

    @property
    def examples_text(self) -> str:
        """The spellings of some texts, in quotes. Accents that are separate characters are shown by their codes."""
        more = self.texts - len(self.examples)
        groups = "; ".join(" and ".join(map(_quoted_with_codes, group)) for group in self.examples)
        return f": {groups}{f', and {more:,} more' if more else ''}"


def spellings_of(texts: Iterable[str], widest: ColumnFormat = ONE_SPELLING) -> Spellings | None:
    """Return the texts with several spellings; None if each text has one.

    `widest` is the form with all rules that make spellings equal.

    Example:
        >>> spellings_of(["2", "2.0", "A7", "a7", "B1"]).parts
        {'fold_case': True, 'drop_zeros': True}
    """
    groups = _texts_with_several_spellings(texts, widest)
    if not groups:
        return None
    parts = {rule: value for rule, value in widest.parts.items() if rule in SPELLING_RULES}
    for rule, weaker in (("normalise", "NFC"), *((rule, None) for rule in SPELLING_RULES)):
        fewer = {name: value for name, value in {**parts, rule: weaker}.items() if value}
        form = ColumnFormat.from_parts({"kind": "text", **fewer})
        if len({form.normal_text(text) for group in groups for text in group}) == len(groups):
            parts = fewer
    return Spellings(len(groups), max(map(len, groups)), tuple(map(tuple, groups[:_EXAMPLES])), parts)


def _quoted_with_codes(text: str) -> str:
    """Return a text in quotes, with codes in place of separate accents and of signs that look like others."""
    return "".join(
        each if each.isascii() or not (combining(each) or ord(each) in SIGNS) else f"\\u{ord(each):04x}"
        for each in quoted_cell(text)
    )


def _texts_with_several_spellings(texts: Iterable[str], form: ColumnFormat) -> list[list[str]]:
    """Return the spellings of each text that has several.

    Without marks, `1-12` and `11-2` are equal. So texts with marks count as spellings only of a text without marks.
    """
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for text in sorted({*texts}):
        groups[form.normal_text(text)].append(text)
    if not form.drop_marks:
        return [group for group in groups.values() if len(group) > 1]
    normal = {bare: {*map(ONE_SPELLING.normal_text, group)} for bare, group in groups.items()}
    return [group for bare, group in groups.items() if len(normal[bare]) > 1 and bare in normal[bare]]
