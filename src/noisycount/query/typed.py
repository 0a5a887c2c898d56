"""Parsers of the texts that people type for the parts of a query: columns, keys, margins, shares and confidences.

Each parser raises ValueError for an invalid text. The module `query` has the class that they fill.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from enum import Enum
from fractions import Fraction
from itertools import chain, islice
from typing import TYPE_CHECKING, TypeAlias

from noisycount import validation
from noisycount.errors import PredicateError
from noisycount.frozen import frozen
from noisycount.model.sampling.scalar import fraction_as_written
from noisycount.query.predicate import quoted_name
from noisycount.query.schema import Kind
from noisycount.query.syntax import OF_PERSONS, unquoted_name

if TYPE_CHECKING:
    from noisycount.model.tables.levels import Label

# Scopes of an accuracy goal of a table, besides a share of the cells.
LARGEST, _TOTAL = "largest", "total"
_OF_CELLS = re.compile(r"(.+)-of-cells")

_WHOLE = re.compile(r"[+-]?[0-9]{1,19}")
_RANGE = re.compile(r"(.+?)\.\.(.+)")

_TRUTHS = {"true": True, "false": False}
_NUMBER = re.compile(r"\s*[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*")
_NAME = r'"(?:[^"]|"")+"|[^",:=]+'
_ITEM = re.compile(rf"\s*({_NAME})\s*(?::(.*))?", re.DOTALL)
_KEYS = re.compile(rf"\s*({_NAME})\s*=(.*)", re.DOTALL)
_WORD = re.compile(r"\s*(?:'((?:[^']|'')*)'|([^',][^,]*?|))\s*(,|$)", re.DOTALL)
# Beginning of a value of a person such as count(lab = 'pos'), which may stand in place of a column.
_CALL = re.compile(rf"\s*(?i:{'|'.join(OF_PERSONS)})\s*\(")

MAX_CELLS = 1_000_000


class PeriodLength(Enum):
    """Length of a period; its value is the number of such periods in a year."""

    YEAR = 1
    QUARTER = 4
    MONTH = 12

    def number(self, text: str) -> int | None:
        """Return the index, counted from year 0, of the period that a text names; None if the text names none."""
        match = _PERIODS[self][0].fullmatch(text)
        return match and int(match[1]) * self.value + int(match[2] or 1) - 1

    def label(self, number: int) -> str:
        """Return the name of the period with an index."""
        year, place = divmod(number, self.value)
        return _PERIODS[self][1].format(year, place + 1)


# For each length, the texts that name such a period, and the usual name.
_PERIODS = {
    PeriodLength.YEAR: (re.compile(r"([0-9]{4})()"), "{0:04d}"),
    PeriodLength.QUARTER: (re.compile(r"([0-9]{4})-?Q([1-4])"), "{0:04d}-Q{1}"),
    PeriodLength.MONTH: (re.compile(r"([0-9]{4})-(0[1-9]|1[0-2])"), "{0:04d}-{1:02d}"),
}

# Lengths of periods by name.
PERIODS = {length.name.lower(): length for length in PeriodLength}


@frozen
class TypedKey:
    """A key as it is typed."""

    text: str | None  # text of the key; None: the missing value
    is_quoted: bool = False  # True if the key is not a range, even if it looks like one

    @property
    def is_range(self) -> bool:
        """True if the key is typed as a range such as 1..5."""
        return self.text is not None and not self.is_quoted and _RANGE.fullmatch(self.text) is not None


TypedKeys: TypeAlias = Sequence[TypedKey]  # the keys of one column

# Keys of each column by its name, or the keys of each cell.
Keys: TypeAlias = Mapping[str, Iterable[object]] | Iterable[object]


@frozen
class ColumnGrouping:
    """A column by which a table groups, with its edges or periods."""

    column: str  # name of the column
    grouping: str = ""  # edges such as `0,18,65`, or `month`, `quarter`, `year`; empty: each value is a group

    @property
    def text(self) -> str:
        """The grouping as `Desk.release_table` takes it in Python."""
        return f"{self.column}:{self.grouping}" if self.grouping else self.column

    @property
    def typed(self) -> str:
        """The grouping as it is typed, with quotes around a name that needs them."""
        name = self.column if is_call(self.column) else quoted_name(self.column)
        return f"{name}:{self.grouping}" if self.grouping else name


def is_call(text: str) -> bool:
    """Return True if a text is a value of a person, such as `count(lab = 'pos')`, and not the name of a column."""
    return call_end(text) == len(text.rstrip()) > 0


def call_end(text: str) -> int:
    """Return the index behind the value of a person at the beginning of a text; 0 if there is none.

    Example:
        >>> call_end("count(town in ('a)', 'b')):0,1,2")
        26
    """
    match = _CALL.match(text)
    depth, quote = 0, ""
    for place, character in enumerate(text if match else ""):
        if quote or character in {"'", '"'}:
            quote = character if not quote else "" if character == quote else quote
        elif character in "()":
            depth += 1 if character == "(" else -1
            if depth == 0:
                return place + 1
    return 0


def split_list(text: str) -> list[str]:
    """Return the items between the commas of a list. Commas in double quotes or in values of persons separate nothing.

    Raises:
        ValueError: A quote or a parenthesis is not closed.
    """
    found, start = [], 0
    while True:
        end = start + call_end(text[start:])
        match = _TO_COMMA.match(text, end)
        if match is None or (end == start and _CALL.match(text[start:])):
            raise ValueError(f'must close quotes and parentheses, got {text!r}, such as "my town"')
        found.append(text[start : match.end()])
        if match.end() == len(text):
            return found
        start = match.end() + 1


# The rest of an item of a list.
_TO_COMMA = re.compile(r'(?:[^",]|"(?:[^"]|"")*")*(?=,|\Z)')


def parse_confidence(text: str) -> float:
    """Return the confidence in a text such as `95%` or `0.95`."""
    share = float(validation.parse_probability(text) or 0)
    if 0 < share < 1:
        return share
    raise ValueError(f"must lie strictly between 0 and 1, such as 95%, got {text!r}")


def parse_within(text: str) -> float:
    """Return the share of a count in a text such as `20%`, `0.2` or `±20 %`."""
    share = float(validation.parse_probability(text) or 0)
    if 0 < share <= 1:
        return share
    raise ValueError(f"must be above 0 and at most 100%, such as 20%, got {text!r}")


def parse_scope(text: str) -> str:
    """Return the scope of an accuracy goal: `largest`, `total` or a share such as `90%-of-cells`.

    Example:
        >>> parse_scope("Largest"), parse_scope("total"), parse_scope("90 %-of-cells"), parse_scope("0.5-of-cells")
        ('largest', 'total', '90%-of-cells', '50%-of-cells')
    """
    of = text.strip().lower()
    if of in {LARGEST, _TOTAL}:
        return of
    match = _OF_CELLS.fullmatch(of)
    share = validation.parse_probability(match[1]) if match else None
    if share is not None and 0 < share <= 1:
        return f"{validation.exact_text(100 * share)}%-of-cells"
    raise ValueError(f"must be largest, total or a share such as 90%-of-cells, got {text!r}")


def parse_by(texts: Sequence[str]) -> tuple[ColumnGrouping, ...]:
    """Return the columns by which a table groups. A column that is named twice raises ValueError."""
    found = [item for text in texts for item in parse_by_text(text)]
    _require_distinct([item.column.lower() for item in found], "names {} twice: name it once")
    return tuple(found)


def parse_margins(texts: Sequence[str]) -> tuple[str, ...]:
    """Return the names of margins. A text may list several; a name that occurs twice raises ValueError."""
    names = []
    for text in texts:
        names += [name.strip() for name in text.split(",")]
        if not all(names):
            raise ValueError(f"must name margins with commas between them, such as total,town, got {text!r}")
    _require_distinct(names, "names {} twice: name it once")
    return tuple(names)


def _require_distinct(names: Sequence[str], refusal: str) -> None:
    """Raise ValueError with the first name that is repeated."""
    again = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if again is not None:
        raise ValueError(refusal.format(repr(again)))


def parse_by_text(text: str) -> list[ColumnGrouping]:
    """Return the columns of one text. Numbers after a colon are edges until the next name."""
    return [_parse_grouping(piece, text) for piece in join_edges(split_list(text), _NUMBER)]


def join_edges(pieces: Iterable[str], number: re.Pattern[str]) -> list[str]:
    """Return the pieces of a list without blanks around them; numbers after a colon are joined to the name before it.

    Example:
        >>> join_edges(["town", "age:0", " 18", "65"], re.compile("[0-9]+"))
        ['town', 'age:0,18,65']
    """
    joined: list[str] = []
    for piece in map(str.strip, pieces):
        if number.fullmatch(piece) and joined and ":" in joined[-1]:
            joined[-1] += f",{piece}"
        else:
            joined.append(piece)
    return joined


def parse_column_keys(text: str) -> tuple[str, TypedKeys]:
    """Return the name of a column and its keys.

    Example:
        >>> parse_column_keys("town=Bern,'Biel, old',null")[1][1:]
        [TypedKey(text='Biel, old', is_quoted=True), TypedKey(text=None, is_quoted=False)]
    """
    end = call_end(text)
    match = re.fullmatch(r"\s*=(.*)", text[end:], re.DOTALL) if end else _KEYS.fullmatch(text)
    if match is None:
        raise ValueError(f"must be a column and its keys, such as town=Bern,Biel, got {text!r}")
    name, listed = (text[:end].strip(), match[1]) if end else (unquoted_name(match[1].strip()), match[2])
    if not listed.strip():
        raise ValueError(f"must list keys of {name}, such as {name}=a,b, got {text!r}")
    return name, list(_split_keys(listed, text))


def parse_keys(texts: Sequence[str]) -> dict[str, TypedKeys]:
    """Return the keys of each column, by its name."""
    found = list(map(parse_column_keys, texts))
    _require_distinct([name.lower() for name, _ in found], "lists the keys of {} twice: list them once")
    return dict(found)


def _parse_grouping(piece: str, whole: str) -> ColumnGrouping:
    end = call_end(piece)
    match = re.fullmatch(r"(\s*)(?::(.*))?", piece[end:], re.DOTALL) if end else _ITEM.fullmatch(piece)
    if match is None or not (end or match[1].strip()):
        raise ValueError(f"must name columns with commas between them, such as town,age:0,18,65, got {whole!r}")
    name, grouping = piece[:end].strip() if end else unquoted_name(match[1].strip()), (match[2] or "").strip()
    edges = grouping.split(",")
    if match[2] is None or grouping in PERIODS or all(map(_NUMBER.fullmatch, edges)):
        return ColumnGrouping(name, grouping)
    raise ValueError(
        f"must have edges or month, quarter or year behind the colon, such as {name}:0,18,65, got {piece.strip()!r}"
    )


def _split_keys(listed: str, whole: str) -> Iterator[TypedKey]:
    place = 0
    while place <= len(listed):
        match = _WORD.match(listed, place)
        if match is None or (match[1] is None and not match[2]):
            raise ValueError(
                "must list keys with commas between them, and single quotes around a key with "
                f"commas or without letters, got {whole!r}"
            )
        if match[1] is not None:
            yield TypedKey(match[1].replace("''", "'"), is_quoted=True)
        else:
            yield TypedKey(None if match[2].lower() == "null" else match[2])
        if not match[3]:
            return
        place = match.end()


def share_of(within: str | float | Fraction | None) -> Fraction:
    """Return the exact share of a count, from a number or a text."""
    if isinstance(within, (int, float, Fraction)) and not isinstance(within, bool):
        share: Fraction | None = fraction_as_written(within, "within")
    else:
        share = validation.parse_probability(within) if isinstance(within, str) else None
    if share is None or not 0 < share <= 1:
        raise ValueError(f"within must be above 0 and at most 100%, such as '20%' or 0.2, got {within!r}")
    return share


def expand_keys(column: str, kind: Kind, words: TypedKeys) -> "list[Label]":
    """Return the values of a column for typed keys. A range such as 1..5 becomes its values."""
    values = [*islice(chain.from_iterable(_values_of_word(column, kind, word) for word in words), MAX_CELLS + 1)]
    if len(values) > MAX_CELLS:
        raise PredicateError(f"keys of {column} are more than {MAX_CELLS:,}: list fewer")
    return values


def _values_of_word(column: str, kind: Kind, word: TypedKey) -> "Iterable[Label]":
    """Return the values of one typed key. An invalid text remains a text, which the table refuses later."""
    if word.text is None:
        return [None]
    if not word.is_range or not (kind.is_number or kind.is_moment):
        is_whole = kind.is_number and _WHOLE.fullmatch(word.text)
        truths = _TRUTHS if kind is Kind.BOOLEAN else {}
        return [int(word.text) if is_whole else truths.get(word.text.lower(), word.text)]
    low, _, high = word.text.partition("..")
    steps = _values_between(low, high)
    if steps is None:
        raise PredicateError(
            f"keys of {column} have {word.text!r}: a range is of whole numbers, days, months, "
            "quarters or years, and rises: 1..5, 2026-01..2026-12"
        )
    return steps


def _values_between(low: str, high: str) -> "Iterable[Label] | None":
    """Return all values from `low` to `high`; None if they are of different kinds or do not increase."""
    if _WHOLE.fullmatch(low) and _WHOLE.fullmatch(high):
        return range(int(low), int(high) + 1) or None
    for length in (PeriodLength.QUARTER, PeriodLength.MONTH):
        first, last = length.number(low), length.number(high)
        if first is not None and last is not None:
            return [*map(length.label, range(first, last + 1))] or None
    try:
        first_day, last_day = date.fromisoformat(low), date.fromisoformat(high)
    except ValueError:
        return None
    days = (last_day - first_day).days
    return ((first_day + timedelta(day)).isoformat() for day in range(days + 1)) if days >= 0 else None
