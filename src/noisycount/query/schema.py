"""What a question may be about: named columns, each of one kind."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import Enum
from heapq import nsmallest
from itertools import takewhile
from reprlib import repr as shortened

from noisycount.errors import PredicateError, SourceError

__all__ = ["Kind", "Schema", "close_names"]


LISTED_NAMES = 8


# Likeness takes time as the square of the length: at most 0.1 s in all, whatever the columns are.
COMPARED_NAMES = 200


COMPARED_CHARACTERS = 40


SHOWN_CHARACTERS = 80  # of a listed name: as much as fits a line


_THOUSANDS = re.compile(r"[+-]?[1-9][0-9]{0,2}\.[0-9]{3}")


class Kind(Enum):
    """The kinds of values that predicates can compare."""

    INTEGER = "integer"
    REAL = "real"
    TEXT = "text"
    BOOLEAN = "boolean"
    DATE = "date"
    TIMESTAMP = "timestamp"

    @property
    def is_number(self) -> bool:
        """Whether values of this kind compare with numbers."""
        return self in (Kind.INTEGER, Kind.REAL)

    @property
    def example(self) -> str:
        """What to write in a predicate for a value of this kind."""
        return _EXAMPLES[self]


_EXAMPLES = {
    Kind.INTEGER: "a number such as 30",
    Kind.REAL: "a number such as 0.5",
    Kind.TEXT: "a text such as 'yes'",
    Kind.BOOLEAN: "true or false",
    Kind.DATE: "a date such as '2026-01-31'",
    Kind.TIMESTAMP: "a time such as '2026-01-31 12:00:00'",
}


@dataclass(frozen=True, slots=True, eq=False)
class Schema(Mapping[str, Kind]):
    """The kind of every column that questions may use, as a read-only mapping.

    Args:
        kinds: the kind of each column.
        others: the engine's type of each column that exists but no question can use.
        whole: all columns of the records, where these are those that their owner chose.
        unit: the column that names the person, which no question may use; None: not known here.
        commas: the columns whose numbers have a decimal comma where they are written.

    Example:
        >>> schema = Schema({"person": Kind.INTEGER, "age": Kind.INTEGER}, {"scan": "blob"})
        >>> dict(schema.for_questions("person", None))
        {'age': <Kind.INTEGER: 'integer'>}
    """

    kinds: Mapping[str, Kind]
    others: Mapping[str, str] = field(default_factory=dict)
    whole: "Schema | None" = None
    unit: str | None = None
    commas: frozenset[str] = frozenset()

    def __getitem__(self, name: str) -> Kind:
        return self.kinds[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.kinds)

    def __len__(self) -> int:
        return len(self.kinds)

    @property
    def entire(self) -> "Schema":
        """All columns of the records, chosen by their owner or not."""
        return self.whole or self

    def for_questions(self, unit: str | None, columns: Sequence[str] | None) -> "Schema":
        """The columns that questions may use: ``columns``, or all but the unit.

        Args:
            unit: the column that names the person, or None where every record is one unit.
            columns: the owner's choice of columns, or None for all but the unit.

        Raises:
            SourceError: a name is unknown, or the unit is among ``columns``.
        """
        names = [*self.kinds, *self.others]
        for argument, name in [("unit", unit), *(("columns", name) for name in columns or ())]:
            if name is not None and name not in names:
                raise SourceError(
                    f"{argument} names {name!r}, which is no column: use {close_names(name, names)}"
                )
        if columns is not None and unit in columns:
            raise SourceError(
                f"columns must not name the unit column {unit!r}: leave it out of columns"
            )
        chosen = set(names if columns is None else columns) - {unit}
        return Schema(
            {name: kind for name, kind in self.kinds.items() if name in chosen},
            {name: type_ for name, type_ in self.others.items() if name in chosen},
            self.entire,
            unit,
            self.commas,
        )

    def require_clear(self, name: str, numerals: Iterable[str], argument: str) -> None:
        """The refusal of 1.000 for a column where that is a thousand, as in questions it is 1.

        Args:
            name: the column that numbers are beside.
            numerals: as they are typed.
            argument: where they stand.

        Raises:
            PredicateError: one of them may be meant either way.
        """
        if name not in self.commas:
            return
        for numeral in filter(_THOUSANDS.fullmatch, map(str.strip, numerals)):
            whole, thousandths = numeral.lstrip("+-").split(".")
            raise PredicateError(
                f"{argument} has {numeral} for {shortened(name)}, whose numbers have a decimal "
                f"comma: write {whole}{thousandths} for the whole number, or {whole}.{thousandths}0"
                " with the decimal point of questions"
            )


def close_names(
    name: str, names: Sequence[str], written: Callable[[str], str] | None = None
) -> str:
    """The names most like ``name``, or the first few where none is like it.

    Of many or long names only those nearest in their beginning and length are compared, and only
    their beginnings.

    Args:
        name: What was written.
        names: What there is.
        written: How one writes a name; None: in quotes.

    Example:
        >>> close_names("helth", ["age", "health"])
        "'health'"
    """
    by_start = {other[:COMPARED_CHARACTERS]: other for other in _nearest(name, names)}
    close = get_close_matches(name[:COMPARED_CHARACTERS], by_start)
    listed = [by_start[start] for start in close] or names[:LISTED_NAMES]
    return (
        ", ".join(_shown(each, written or repr) for each in listed) or "records that have columns"
    )


def _nearest(name: str, names: Sequence[str]) -> Sequence[str]:
    """The names worth comparing with another: all, or those of most like beginning and length."""
    if len(names) <= COMPARED_NAMES:
        return names

    def distance(other: str) -> tuple[int, int]:
        pairs = zip(name.casefold(), other.casefold(), strict=False)
        alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        return -alike, abs(len(other) - len(name))

    return nsmallest(COMPARED_NAMES, names, key=distance)


def _shown(name: str, written: Callable[[str], str]) -> str:
    cut = name[:SHOWN_CHARACTERS]
    return written(name) if cut == name else f"{written(cut)}…"
