"""A query with its JSON, and the texts that people type for its parts: columns, keys, margins, shares.

`rules` states which parts go together; `grouping` and `table` read the columns and keys.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from enum import Enum
from fractions import Fraction
from itertools import islice
from typing import TYPE_CHECKING, Any, Self, TypeAlias, TypeVar

from noisycount import validation
from noisycount.display.numbers import percent
from noisycount.errors import PredicateError
from noisycount.frozen import frozen
from noisycount.model.noises.additive import DiscreteNoise
from noisycount.model.noises.discrete_gaussian import DiscreteGaussian
from noisycount.model.noises.laplace import DiscreteLaplace
from noisycount.model.sampling.scalar import as_written
from noisycount.query.predicate import quoted_name
from noisycount.query.schema import Kind

if TYPE_CHECKING:
    from noisycount.model.tables.levels import Label

# The kinds of noise that a table may have, by what one types for them.
TABLE_NOISES: Mapping[str, type[DiscreteNoise]] = {"laplace": DiscreteLaplace, "gaussian": DiscreteGaussian}

# What decides where a table within a share of its counts stops, beside the cells that make up a share of it.
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
_PIECE = re.compile(r'(?:[^",]|"(?:[^"]|"")*")+|(?<=,)(?=,|$)|^(?=,|$)')

MAX_CELLS = 1_000_000
ALL = "true"  # how many there are


class PeriodLength(Enum):
    """How long a period is; the value is how many of them a year has."""

    YEAR = 1
    QUARTER = 4
    MONTH = 12

    def number(self, text: str) -> int | None:
        """The number from the beginning of year 0 of the period that a text names; None where it names none."""
        match = _PERIODS[self][0].fullmatch(text)
        return match and int(match[1]) * self.value + int(match[2] or 1) - 1

    def label(self, number: int) -> str:
        """The text that names a period."""
        year, place = divmod(number, self.value)
        return _PERIODS[self][1].format(year, place + 1)


# For each length the texts that name such a period, and the usual one.
_PERIODS = {
    PeriodLength.YEAR: (re.compile(r"([0-9]{4})()"), "{0:04d}"),
    PeriodLength.QUARTER: (re.compile(r"([0-9]{4})-?Q([1-4])"), "{0:04d}-Q{1}"),
    PeriodLength.MONTH: (re.compile(r"([0-9]{4})-(0[1-9]|1[0-2])"), "{0:04d}-{1:02d}"),
}

# The lengths by what one types for them.
PERIODS = {length.name.lower(): length for length in PeriodLength}


@frozen
class TypedKey:
    """A key as it was typed."""

    text: str | None  # what it says; None: the missing value
    is_quoted: bool = False  # whether it stands for itself, whatever it looks like


TypedKeys: TypeAlias = Sequence[TypedKey]  # the keys of one column

# The keys of each column, by its name; or the keys of each cell.
Keys: TypeAlias = Mapping[str, Iterable[object]] | Iterable[object]


@frozen
class ColumnGrouping:
    """One of the things that a table is grouped by."""

    column: str  # the name of the column
    grouping: str = ""  # edges such as `0,18,65`, or `month`, `quarter`, `year`; empty: each value

    @property
    def text(self) -> str:
        """The item as Python takes it."""
        return f"{self.column}:{self.grouping}" if self.grouping else self.column

    @property
    def typed(self) -> str:
        """The item as one types it, with quotes around a name that needs them."""
        name = quoted_name(self.column)
        return f"{name}:{self.grouping}" if self.grouping else name


@frozen(kw_only=True)
class Query:
    """A query: one count, several counts or a table by keys, with its price or the accuracy that it needs.

    `Desk.answer` answers it and `Desk.plan` prices it. `noisycount count`, the service and its form read what a user
    states into the same class, so that a query has the same meaning and price however it is asked. `query.rules` has
    the rules which parts go together.

    Args:
        wheres: Conditions in the predicate language. A count has one (default: all records), a list has several, and
            a table by keys has at most one, which applies to every cell.
        is_list: True for a list: one row per condition, even if there is only one.
        by: Columns by which a table groups, as in `Desk.release_table`. None: it is no table by keys.
        keys: The keys of each column by its name, or the keys of each cell. None: they follow from the columns, or are
            hidden, which needs `delta`.
        margins: Sums of a table that are measured too.
        other: True if units with other keys are counted in one more cell.
        groups_per_unit: Contribution bound: the number of cells in which a person counts. None: all.
        cumulative: True if ranges of cells are measured too, for accurate sums up to each cell.
        noise: Class of the noise of a table. None: `DiscreteGaussian` if `rho` is given, else `DiscreteLaplace`.
        epsilon: The price, in ε.
        rho: The price of Gaussian noise, in ρ.
        delta: δ of hidden keys, or of the price of Gaussian noise in ε.
        within: The accuracy in place of a price, as a share of the count, such as "20%".
        error: The accuracy in units.
        at_most: With `within` and no guess: the largest price, in ε.
        of: With `at_most`, the counts of a table that need the accuracy: "largest", "total" or "90%-of-cells".
        guess: With `within`: a public guess of the count, never the true count.
        confidence: The probability with which errors and the accuracy hold, in (0, 1).

    Example:
        >>> Query(by=["town"], keys={"town": ["Bern"]}, within="20%", guess=100).to_json()
        {'by': ['town'], 'keys': {'town': ['Bern']}, 'within': '20%', 'guess': 100, 'confidence': '95%'}
    """

    wheres: Sequence[str] = ()
    is_list: bool = False
    by: str | Sequence[str | ColumnGrouping] | None = None
    keys: Keys | None = None
    margins: str | Sequence[str | Sequence[str]] = ()
    other: bool = False
    groups_per_unit: int | None = None
    cumulative: bool = False
    noise: type[DiscreteNoise] | None = None
    epsilon: validation.RationalLike | None = None
    rho: validation.RationalLike | None = None
    delta: validation.RationalLike | None = None
    within: str | float | Fraction | None = None
    error: float | Fraction | None = None
    at_most: validation.RationalLike | None = None
    of: str | None = None
    guess: float | Fraction | None = None
    confidence: float = 0.95

    def __post_init__(self) -> None:
        """Set the condition of a count without one to that of all records."""
        if not self.wheres and not self.is_table:
            object.__setattr__(self, "wheres", (ALL,))

    @classmethod
    def from_json(cls, said: Mapping[str, Any]) -> Self:
        """Return the query that a program sends as JSON, with the member names of the service.

        A key is taken as it stands, never as a range. Raises ValueError with the name of a member that is invalid.

        Example:
            >>> sent = {"by": "town", "keys": {"town": ["Bern", None]}, "epsilon": "1/2"}
            >>> Query.from_json(sent).to_json()
            {'by': ['town'], 'keys': {'town': ['Bern', None]}, 'epsilon': '0.5', 'confidence': '95%'}
        """
        wheres = _listed(said.get("where", []))
        return cls(
            wheres=wheres,
            is_list=len(wheres) > 1,
            by=_named("by", parse_by, _listed(said.get("by", []))) or None,
            keys={name: _sent_keys(of) for name, of in said.get("keys", {}).items()} or None,
            margins=_named("margins", parse_margins, said.get("margins", [])),
            other=said.get("other", False),
            groups_per_unit=said.get("groups_per_unit"),
            cumulative=said.get("cumulative", False),
            noise=TABLE_NOISES[said["noise"]] if said.get("noise") else None,
            epsilon=None if said.get("epsilon") is None else validation.exact_epsilon(said["epsilon"], "epsilon"),
            rho=None if said.get("rho") is None else validation.exact_epsilon(said["rho"], "rho"),
            delta=None if said.get("delta") is None else validation.exact_delta(said["delta"]),
            within=_named("within", parse_within, said["within"]) if said.get("within") else None,
            at_most=None if said.get("at_most") is None else validation.exact_epsilon(said["at_most"], "at_most"),
            of=_named("of", parse_of, said["of"]) if said.get("of") else None,
            guess=said.get("guess"),
            confidence=_named("confidence", parse_confidence, said.get("confidence", "95%")),
        )

    def to_json(self) -> dict[str, Any]:
        """Return the JSON with which a program sends the query, and which `from_json` reads.

        Keys must be listed by column, each in full, not as a range.
        """
        noises = {kind: name for name, kind in TABLE_NOISES.items()}
        by = [self.by] if isinstance(self.by, str) else self.by or []
        keys = self.keys if isinstance(self.keys, Mapping) else {}
        said = {
            "where": list(self.wheres) if self.is_list else next(iter(self.wheres), None),
            "by": [each.typed if isinstance(each, ColumnGrouping) else each for each in by],
            "keys": {name: [key.text if isinstance(key, TypedKey) else key for key in of] for name, of in keys.items()},
            "other": self.other,
            "margins": [self.margins] if isinstance(self.margins, str) else list(self.margins),
            "groups_per_unit": self.groups_per_unit,
            "cumulative": self.cumulative,
            "noise": self.noise and noises[self.noise],
            "epsilon": _sent_price(self.epsilon),
            "rho": _sent_price(self.rho),
            "delta": _sent_price(self.delta),
            "within": self.within if isinstance(self.within, str) else _sent_share(self.within),
            "at_most": _sent_price(self.at_most),
            "of": self.of,
            "guess": self.guess,
            "confidence": _sent_share(self.confidence),
        }
        return {name: value for name, value in said.items() if value}

    @property
    def is_table(self) -> bool:
        """True if it is a list or a table by keys, not one count."""
        return self.is_list or self.by is not None

    @property
    def noise_class(self) -> type[DiscreteNoise]:
        """Class of the noise: as chosen, else Gaussian for a price in ρ and Laplace for one in ε."""
        return self.noise or (DiscreteLaplace if self.rho is None else DiscreteGaussian)


Typed = TypeVar("Typed", str, Sequence[str])
Value = TypeVar("Value")


def _named(name: str, read: Callable[[Typed], Value], typed: Typed) -> Value:
    """What a member stands for; a refusal begins with its name."""
    try:
        return read(typed)
    except ValueError as error:
        raise ValueError(f"{name} {error}") from None


def _listed(texts: str | Sequence[str]) -> Sequence[str]:
    return [texts] if isinstance(texts, str) else texts


def _sent_keys(values: Sequence[object]) -> TypedKeys:
    texts = [str(value).lower() if isinstance(value, bool) else value for value in values]
    return [TypedKey(None if text is None else str(text), is_quoted=True) for text in texts]


def _sent_price(value: validation.RationalLike | None) -> str | None:
    number = None if value is None or isinstance(value, str) else validation.parse_rational(value)
    return validation.exact_text(number) if number is not None else value  # type: ignore[return-value]


def _sent_share(share: float | Fraction | None) -> str | None:
    return None if share is None else percent(float(share)).replace(" ", "")


def parse_confidence(text: str) -> float:
    """A confidence such as `95%` or `0.95`."""
    share = float(validation.parse_probability(text) or 0)
    if 0 < share < 1:
        return share
    raise ValueError(f"must lie strictly between 0 and 1, such as 95%, got {text!r}")


def parse_within(text: str) -> float:
    """A relative half-width such as `20%`, `0.2` or `±20 %`."""
    share = float(validation.parse_probability(text) or 0)
    if 0 < share <= 1:
        return share
    raise ValueError(f"must be above 0 and at most 100%, such as 20%, got {text!r}")


def parse_of(text: str) -> str:
    """Which counts of a table shall be near: its largest cell, its total, or the cells that make up a share of it.

    Example:
        >>> parse_of("Largest"), parse_of("total"), parse_of("90 %-of-cells"), parse_of("0.5-of-cells")
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
    """What a table is grouped by, each column once."""
    found = [item for text in texts for item in parse_by_text(text)]
    _require_once([item.column.lower() for item in found], "names {} twice: name it once")
    return tuple(found)


def parse_margins(texts: Sequence[str]) -> tuple[str, ...]:
    """The names of margins, each once, where each text may name several."""
    names = []
    for text in texts:
        names += [name.strip() for name in text.split(",")]
        if not all(names):
            raise ValueError(f"must name margins with commas between them: total,town, got {text!r}")
    _require_once(names, "names {} twice: name it once")
    return tuple(names)


def _require_once(names: Sequence[str], refusal: str) -> None:
    """The refusal of the first name that is there again."""
    again = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if again is not None:
        raise ValueError(refusal.format(repr(again)))


def parse_by_text(text: str) -> list[ColumnGrouping]:
    """What a table is grouped by; the edges of numbers go on until the next name."""
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


def parse_column_keys(text: str) -> tuple[str, TypedKeys]:
    """The name of a column and its keys.

    Example:
        >>> parse_column_keys("town=Bern,'Biel, old',null")[1][1:]
        [TypedKey(text='Biel, old', is_quoted=True), TypedKey(text=None, is_quoted=False)]
    """
    match = _KEYS.fullmatch(text)
    if match is None:
        raise ValueError(f"must be a column and its keys, such as town=Bern,Biel, got {text!r}")
    name, listed = _unquoted(match[1]), match[2]
    if not listed.strip():
        raise ValueError(f"must list keys of {name}, such as {name}=a,b, got {text!r}")
    return name, list(_words(listed, text))


def parse_keys(texts: Sequence[str]) -> dict[str, TypedKeys]:
    """The keys of each column."""
    found = list(map(parse_column_keys, texts))
    _require_once([name.lower() for name, _ in found], "lists the keys of {} twice: list them once")
    return dict(found)


def _item(piece: str, whole: str) -> ColumnGrouping:
    match = _ITEM.fullmatch(piece)
    if match is None or not match[1].strip():
        raise ValueError(f"must name columns with commas between them, such as town,age:0,18,65, got {whole!r}")
    name, grouping = _unquoted(match[1]), (match[2] or "").strip()
    edges = grouping.split(",")
    if match[2] is None or grouping in PERIODS or all(map(_NUMBER.fullmatch, edges)):
        return ColumnGrouping(name, grouping)
    raise ValueError(
        f"must have edges or month, quarter or year behind the colon, such as {name}:0,18,65, got {piece.strip()!r}"
    )


def _words(listed: str, whole: str) -> Iterator[TypedKey]:
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


def _word(quoted: str | None, bare: str) -> TypedKey:
    if quoted is not None:
        return TypedKey(quoted.replace("''", "'"), is_quoted=True)
    return TypedKey(None) if bare.lower() == "null" else TypedKey(bare)


def _unquoted(name: str) -> str:
    name = name.strip()
    return name[1:-1].replace('""', '"') if name.startswith('"') else name


def share_of(within: str | float | Fraction | None) -> Fraction:
    """A share of the count or of its guess, from its text too."""
    if isinstance(within, (int, float, Fraction)) and not isinstance(within, bool):
        share: Fraction | None = as_written(within, "within")
    else:
        share = validation.parse_probability(within) if isinstance(within, str) else None
    if share is None or not 0 < share <= 1:
        raise ValueError(f"within must be above 0 and at most 100%, such as '20%' or 0.2, got {within!r}")
    return share


def expand_keys(column: str, kind: Kind, words: TypedKeys) -> "list[Label]":
    """The values of a column that words stand for, ranges written out."""
    values: list[Label] = []
    for word in words:
        values.extend(islice(_values_of_word(column, kind, word), MAX_CELLS + 1 - len(values)))
        if len(values) > MAX_CELLS:
            raise PredicateError(f"keys of {column} are more than {MAX_CELLS:,}: list fewer")
    return values


def _values_of_word(column: str, kind: Kind, word: TypedKey) -> "Iterator[Label]":
    if word.text is None:
        yield None
        return
    ends = _RANGE.fullmatch(word.text)
    if ends is None or word.is_quoted or not (kind.is_number or kind.is_moment):
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


def _value(kind: Kind, text: str) -> "Label":
    """One value; what does not fit stays text, which the table refuses in its own words."""
    if kind.is_number and _WHOLE.fullmatch(text):
        return int(text)
    if kind is Kind.BOOLEAN:
        return _TRUTHS.get(text.lower(), text)
    return text


def _between(low: str, high: str) -> "Iterator[Label] | None":
    """All values from one to another; None where they are of different kinds or do not rise."""
    if _WHOLE.fullmatch(low) and _WHOLE.fullmatch(high):
        return _rising(int(low), int(high))
    for length in (PeriodLength.QUARTER, PeriodLength.MONTH):
        first, last = length.number(low), length.number(high)
        if first is not None and last is not None:
            steps = _rising(first, last)
            return steps and map(length.label, steps)
    try:
        first_day, last_day = date.fromisoformat(low), date.fromisoformat(high)
    except ValueError:
        return None
    days = _rising(0, (last_day - first_day).days)
    return days and ((first_day + timedelta(day)).isoformat() for day in days)


def _rising(first: int, last: int) -> Iterator[int] | None:
    return iter(range(first, last + 1)) if first <= last else None
