"""Keys as one types them, and the values of a column that they stand for.

What somebody asks of a table, as it was typed: before any file is opened.

Lists as one types them: items with commas between them, and quotes around commas.

Combinations of options that make no sense, refused before any file is opened.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from datetime import date, timedelta
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import TypeAlias

import click

from noisycount.errors import PredicateError
from noisycount.frozen import frozen
from noisycount.query.grouping import MOST_CELLS, Edges, Part
from noisycount.query.schema import Kind, close_names

__all__ = [
    "GAUSSIAN",
    "LAPLACE",
    "ONE_PRICE",
    "Asked",
    "Item",
    "Listed",
    "Value",
    "Word",
    "check_asked",
    "items",
    "keys_of_column",
    "margin_names",
    "values_of",
    "values_of_part",
]


Value: TypeAlias = int | str | bool | None


"""A key as a desk takes it."""


_WHOLE = re.compile(r"[+-]?[0-9]{1,19}")


_RANGE = re.compile(r"(.+?)\.\.(.+)")


_PERIODS = (
    (re.compile(r"([0-9]{4})-?Q([1-4])"), 4, "{0:04d}-Q{1}"),
    (re.compile(r"([0-9]{4})-(0[1-9]|1[0-2])"), 12, "{0:04d}-{1:02d}"),
)


_TRUTHS = {"true": True, "false": False}


@frozen
class Word:
    """A key as it was typed.

    Attributes:
        text: What it says; None: the missing value.
        is_quoted: Whether it stands for itself, whatever it looks like.
    """

    text: str | None
    is_quoted: bool = False


Listed: TypeAlias = Sequence[Word]


"""The keys of one column."""


def values_of(column: str, kind: Kind, words: Listed) -> list[Value]:
    """The values of a column that words stand for, ranges written out.

    Args:
        column: The name of the column.
        kind: What it holds.
        words: The keys.

    Raises:
        PredicateError: A word stands for no value of that kind, or there are too many.

    Example:
        >>> values_of("year", Kind.INTEGER, [Word("1..3"), Word(None)])
        [1, 2, 3, None]
    """
    values: list[Value] = []
    for word in words:
        values.extend(islice(_values(column, kind, word), MOST_CELLS + 1 - len(values)))
        if len(values) > MOST_CELLS:
            raise PredicateError(f"keys of {column} are more than {MOST_CELLS:,}: list fewer")
    return values


def values_of_part(part: Part, words: Listed) -> list[Value]:
    """The values that words stand for as keys of what a table is grouped by.

    Raises:
        PredicateError: As for `values_of`.
    """
    kind = Kind.TEXT if isinstance(part, Edges) else part.column.kind  # ranges go by their words
    return values_of(part.column.name, kind, words)


def _values(column: str, kind: Kind, word: Word) -> Iterator[Value]:
    if word.text is None:
        yield None
        return
    ends = _RANGE.fullmatch(word.text)
    if ends is None or word.is_quoted or kind in {Kind.TEXT, Kind.BOOLEAN}:
        yield _value(kind, word.text)
        return
    low, high = ends.groups()
    steps = _between(low, high)
    if steps is None:
        raise PredicateError(
            f"keys of {column} have {word.text!r}: a range is of whole numbers, days, months, "
            "quarters or years, and rises: 1..5, 2026-01..2026-12"
        )
    yield from steps


def _value(kind: Kind, text: str) -> Value:
    """One value; what does not fit stays text, which the table refuses in its own words."""
    if kind.is_number and _WHOLE.fullmatch(text):
        return int(text)
    if kind is Kind.BOOLEAN:
        return _TRUTHS.get(text.lower(), text)
    return text


def _between(low: str, high: str) -> Iterator[Value] | None:
    """All values from one to another; None where they are of different kinds or do not rise."""
    if _WHOLE.fullmatch(low) and _WHOLE.fullmatch(high):
        return _rising(int(low), int(high))
    for pattern, periods, shape in _PERIODS:
        ends = [pattern.fullmatch(end) for end in (low, high)]
        if all(ends):
            first, last = (int(end[1]) * periods + int(end[2]) - 1 for end in ends if end)
            steps = _rising(first, last)
            return steps and (shape.format(step // periods, step % periods + 1) for step in steps)
    try:
        first_day, last_day = date.fromisoformat(low), date.fromisoformat(high)
    except ValueError:
        return None
    days = _rising(0, (last_day - first_day).days)
    return days and ((first_day + timedelta(day)).isoformat() for day in days)


def _rising(first: int, last: int) -> Iterator[int] | None:
    return iter(range(first, last + 1)) if first <= last else None


LAPLACE, GAUSSIAN = "laplace", "gaussian"


@frozen
class Item:
    """One of the things that a table is grouped by.

    Attributes:
        column: The name of the column.
        grouping: Edges such as `0,18,65`, or `month`, `quarter`, `year`; empty: each value.
    """

    column: str
    grouping: str = ""

    @property
    def text(self) -> str:
        """The item as one types it."""
        return f"{self.column}:{self.grouping}" if self.grouping else self.column


@frozen
class Asked:
    """The groups, the questions, the noise and the files of a table.

    Attributes:
        by: What the table is grouped by; empty: it is of several questions.
        keys: The keys of columns.
        keys_from: A file of keys.
        other: Whether all other keys together are a row.
        wheres: The questions that were typed; with groups at most one.
        questions: A file of more of them.
        noise: The kind of noise; None: that of the price.
        rho: The price of Gaussian noise.
        delta: The chance to show a hidden key, or that of Gaussian noise.
        margins: The sums that are measured beside the cells.
        groups_per_unit: In how many groups a unit counts at most.
        cumulative: Whether ranges are measured too.
        plot: A file for a picture.
        output: A file for the rows.
    """

    by: Sequence[Item] = ()
    keys: Mapping[str, Listed] = field(default_factory=dict)
    keys_from: Path | None = None
    other: bool = False
    wheres: Sequence[str] = ()
    questions: Path | None = None
    noise: str | None = None
    rho: Fraction | None = None
    delta: Fraction | None = None
    margins: Sequence[str] = ()
    groups_per_unit: int | None = None
    cumulative: bool = False
    plot: Path | None = None
    output: Path | None = None

    @property
    def is_table(self) -> bool:
        """Whether it is more than one count."""
        return bool(self.by or self.questions or len(self.wheres) > 1)

    @property
    def is_gaussian(self) -> bool:
        """Whether the noise is Gaussian: by its name, or by its price."""
        return self.noise == GAUSSIAN or (self.noise is None and self.rho is not None)

    @property
    def has_hidden_keys(self) -> bool:
        """Whether only the records know the keys of a column."""
        is_listed = self.keys or self.keys_from or all(item.grouping for item in self.by)
        return self.delta is not None and not is_listed

    @property
    def may_hide_keys(self) -> bool:
        """Whether no key is listed, and nothing is asked for that needs listed ones."""
        needs = self.other or self.cumulative or self.is_gaussian or {*self.margins} - {"total"}
        return self.delta is None and not (self.keys or self.keys_from or needs)

    @property
    def where(self) -> str | None:
        """The one question that all groups share."""
        return self.wheres[0] if self.wheres else None


_NUMBER = re.compile(r"\s*[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*")


_SPANS = ("month", "quarter", "year")


_NAME = r'"(?:[^"]|"")+"|[^",:=]+'


_ITEM = re.compile(rf"\s*({_NAME})\s*(?::(.*))?", re.DOTALL)


_KEYS = re.compile(rf"\s*({_NAME})\s*=(.*)", re.DOTALL)


_WORD = re.compile(r"\s*(?:'((?:[^']|'')*)'|([^',][^,]*?|))\s*(,|$)", re.DOTALL)


_PIECE = re.compile(r'(?:[^",]|"(?:[^"]|"")*")+|(?<=,)(?=,|$)|^(?=,|$)')


def items(text: str) -> list[Item]:
    """What a table is grouped by; the edges of numbers go on until the next name.

    Raises:
        ValueError: An item is none.

    Example:
        >>> [item.text for item in items("town,age:0,18,65,visit:month")]
        ['town', 'age:0,18,65', 'visit:month']
    """
    pieces = _PIECE.findall(text)
    if ",".join(pieces) != text:
        raise ValueError(f'must close the quotes of a name, got {text!r}, such as "my town"')
    joined: list[str] = []
    for piece in pieces:
        is_edge = _NUMBER.fullmatch(piece) and joined and ":" in joined[-1]
        if is_edge:
            joined[-1] += f",{piece.strip()}"
        else:
            joined.append(piece)
    return [_item(piece, text) for piece in joined]


def keys_of_column(text: str) -> tuple[str, Listed]:
    """The name of a column and its keys.

    Raises:
        ValueError: The text has another form, or no keys.

    Example:
        >>> keys_of_column("town=Bern,'Biel, old',null")[1][1:]
        [Word(text='Biel, old', is_quoted=True), Word(text=None, is_quoted=False)]
    """
    match = _KEYS.fullmatch(text)
    if match is None:
        raise ValueError(f"must be a column and its keys, such as town=Bern,Biel, got {text!r}")
    name, listed = _unquoted(match[1]), match[2]
    if not listed.strip():
        raise ValueError(f"must list keys of {name}, such as {name}=a,b, got {text!r}")
    return name, list(_words(listed, text))


def margin_names(text: str) -> list[str]:
    """The names of margins.

    Raises:
        ValueError: A name is empty.

    Example:
        >>> margin_names("total, town*sex")
        ['total', 'town*sex']
    """
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise ValueError(f"must name margins with commas between them: total,town, got {text!r}")
    return names


def _item(piece: str, whole: str) -> Item:
    match = _ITEM.fullmatch(piece)
    if match is None or not match[1].strip():
        raise ValueError(
            f"must name columns with commas between them, such as town,age:0,18,65, got {whole!r}"
        )
    name, grouping = _unquoted(match[1]), (match[2] or "").strip()
    edges = grouping.split(",")
    if match[2] is None or grouping in _SPANS or all(map(_NUMBER.fullmatch, edges)):
        return Item(name, grouping)
    raise ValueError(
        f"must have edges or month, quarter or year behind the colon, such as {name}:0,18,65, "
        f"got {piece.strip()!r}"
    )


def _words(listed: str, whole: str) -> Iterator[Word]:
    place = 0
    while place <= len(listed):
        match = _WORD.match(listed, place)
        if match is None or (match[1] is None and not match[2]):
            raise ValueError(
                "must list keys with commas between them, and single quotes around a key with "
                f"commas or without letters, got {whole!r}"
            )
        yield _word(match[1], match[2])
        if not match[3]:
            return
        place = match.end()


def _word(quoted: str | None, bare: str) -> Word:
    if quoted is not None:
        return Word(quoted.replace("''", "'"), is_quoted=True)
    return Word(None) if bare.lower() == "null" else Word(bare)


def _unquoted(name: str) -> str:
    name = name.strip()
    return name[1:-1].replace('""', '"') if name.startswith('"') else name


ONE_PRICE = "give either --epsilon, or both --within and --guess, such as --within 20% --guess 100"


def check_asked(asked: Asked, epsilon: Fraction | None, within: float | None) -> None:
    """The refusal of options that do not belong together.

    Args:
        asked: What was typed of a table.
        epsilon: The price, where it was given.
        within: How far off an answer may be, where that was given.

    Raises:
        UsageError: They do not; the text says what to leave out or to add.
    """
    for is_wrong, refusal in (
        *_of_kind(asked),
        *_of_keys(asked),
        *_of_noise(asked),
        *_of_price(asked, epsilon, within),
    ):
        if is_wrong:
            raise click.UsageError(refusal)


def _of_kind(asked: Asked) -> Iterator[tuple[bool, str]]:
    """One count, a table by groups, or several questions."""
    several = len(asked.wheres) > 1 or asked.questions is not None
    yield not (asked.wheres or asked.is_table), "give --where TEXT, or --by COLUMNS for a table"
    yield bool(asked.by) and several, "give --by with one --where, or several --where without --by"
    grouped: dict[str, object] = {
        "--keys": asked.keys,
        "--keys-from": asked.keys_from,
        "--other": asked.other,
        "--margins": asked.margins,
        "--groups-per-unit": asked.groups_per_unit,
        "--cumulative": asked.cumulative,
    }
    for option, value in grouped.items():
        yield bool(value) and not asked.by, f"{option} belongs to a table: add --by COLUMNS"
    tabled: dict[str, object] = {
        "--noise": asked.noise,
        "--rho": asked.rho,
        "--delta": asked.delta,
        "--plot": asked.plot,
        "--output": asked.output,
    }
    for option, value in tabled.items():
        yield (
            value is not None and not asked.is_table,
            f"{option} belongs to a table: add --by COLUMNS, or --where again",
        )


def _of_keys(asked: Asked) -> Iterator[tuple[bool, str]]:
    """Keys of columns of the table, or none where they are hidden."""
    columns = {item.column.lower(): item.column for item in asked.by}
    for name in asked.keys:
        known = list(columns.values())
        yield (
            name.lower() not in columns,
            f"--keys names {name!r}, which is not in --by: use {close_names(name, known)}",
        )
    lists = {"--keys": asked.keys, "--keys-from": asked.keys_from}
    for option, value in lists.items():
        yield (
            bool(value) and asked.delta is not None and not asked.is_gaussian,
            f"--delta is for hidden keys, and {option} lists them: leave one of them out",
        )
    hidden = asked.has_hidden_keys
    yield hidden and asked.other, "--other belongs to listed keys: leave out --delta, or --other"
    yield hidden and asked.cumulative, "--cumulative needs listed keys: leave out --delta"
    margins = [name for name in asked.margins if name != "total"]
    yield (
        hidden and bool(margins),
        "with hidden keys only --margins total is a sum that everybody may ask for",
    )
    yield (
        asked.cumulative and len(asked.by) > 1,
        "--cumulative needs one column in order: leave the others out of --by",
    )
    yield (
        asked.cumulative and bool(asked.margins),
        "--cumulative measures all sums of ranges: leave out --margins",
    )


def _of_noise(asked: Asked) -> Iterator[tuple[bool, str]]:
    """A price in the currency of the noise."""
    yield (
        asked.noise == LAPLACE and asked.rho is not None,
        "--rho is the price of Gaussian noise: add --noise gaussian, or give --epsilon",
    )
    yield (
        bool(asked.rho and asked.delta and asked.by and not asked.has_hidden_keys),
        "--delta belongs to hidden keys, or to --epsilon: leave it out beside --rho",
    )
    yield (
        bool(asked.is_table and not asked.by and asked.delta is not None and not asked.is_gaussian),
        "--delta belongs to --by without keys, or to --noise gaussian: leave it out",
    )


def _of_price(
    asked: Asked, epsilon: Fraction | None, within: float | None
) -> Iterator[tuple[bool, str]]:
    """One price."""
    yield (
        asked.rho is not None and (epsilon is not None or within is not None),
        "give one price: --rho, or --epsilon, or --within with --guess",
    )
    yield (
        asked.is_gaussian and epsilon is not None and asked.delta is None,
        "--noise gaussian needs --rho R, or --epsilon E with --delta D",
    )
    yield (
        asked.is_gaussian and within is not None and asked.delta is not None,
        "--within finds the price of Gaussian noise in ρ: leave out --delta",
    )
