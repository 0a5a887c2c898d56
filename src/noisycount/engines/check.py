"""What tells engines apart, and what a check finds in private records, for their owner."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import fields, replace
from html import escape
from typing import Self

from noisycount.display.values import Shown
from noisycount.engines.forms import ColumnForm, FileForm
from noisycount.errors import SourceError
from noisycount.frozen import frozen
from noisycount.query.schema import Kind


@frozen
class Identity:
    """An engine, as far as its answers may depend on it.

    Example:
        >>> print(Identity("postgresql", "15", "C (UTF8)"))
        postgresql 15 with C (UTF8)
    """

    engine: str  # its name, such as `postgresql` or `spark`
    version: str  # its version, as far as a new one may answer otherwise: `15`, or `4.3`
    collation: str  # how it compares texts, and how it encodes them: `C (UTF8)`, or `UTF8_BINARY`

    def __str__(self) -> str:
        return f"{self.engine} {self.version} with {self.collation}"


class Closing(ABC):
    """What must be closed, and as a context manager closes itself."""

    __slots__ = ()

    @abstractmethod
    def close(self) -> None:
        """The end of the use of what is held open."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


EXAMPLES = 3
"""How many different cells that do not fit are told; with fewer there are no others."""

FEW = 20
"""Of how many different texts, at most, a column's values are all told."""

_NAMED = 8  # columns in one line


@frozen
class ColumnCheck(Shown):
    """What is in one column."""

    name: str  # of the column
    kind: Kind | None  # of its values; None: no question can use it
    type: str  # what the engine calls its values
    form: ColumnForm | None  # what its texts stand for; None where the file states the type of its values
    missing: int  # how many cells say nothing
    unreadable: int = 0  # how many cells do not fit the kind
    examples: tuple[str, ...] = ()  # some different ones, at most `EXAMPLES`
    reason: str = "the file says so"  # why it has this kind
    lines: tuple[int, ...] = ()  # the line of the file that has the first of each example; none where it has no lines
    distinct: int | None = None  # about how many different texts it has; None: nobody looked, or they are no texts
    values: tuple[tuple[str, int], ...] = ()  # each of its texts, where they are few, with how many rows have it

    def _facts(self) -> dict[str, object]:
        """All of it, and the line that mends it."""
        said = {field.name: getattr(self, field.name) for field in fields(self)}
        return {**said, "mending": self.mending}

    @property
    def mending(self) -> str | None:
        """The line below `[datasets.NAME.kinds]` that accepts what does not fit as missing.

        None where there is nothing to mend.
        """
        if self.form is None or not self.is_refused:
            return None
        return replace(self.form, accepts_unreadable=True).line(self.name)

    @property
    def is_refused(self) -> bool:
        """Whether its cells keep all questions from being answered."""
        return self.unreadable > 0 and not (self.form and self.form.accepts_unreadable)


@frozen(repr=False)
class Check(Shown):
    """What is in private records."""

    rows: int  # how many there are
    columns: tuple[ColumnCheck, ...]  # what is in each column
    form: FileForm | None = None  # how the texts of a file were found; None for other records
    units: int | None = None  # how many different persons the unit names; None: nobody counted them
    without_unit: tuple[int, ...] = ()  # the lines of some rows that name no person, at most `EXAMPLES`
    # that of the last row where it is nearly empty, as a row of sums is; None: it is as the others
    sparse_line: int | None = None
    letters: tuple[str, ...] = ()  # some texts with letters beyond ASCII, to see whether the encoding is right

    def _key_facts(self) -> dict[str, object]:
        """How much there is, and which columns have cells that do not fit."""
        unreadable = [column.name for column in self.columns if column.unreadable]
        return {"rows": self.rows, "columns": len(self.columns), "unreadable": unreadable}

    def _repr_html_(self) -> str:
        """A table with a row for each column; it shows facts about the data."""
        header = "".join(f"<th>{name}</th>" for name in _HEADER)
        rows = "".join(f"<tr>{_cells(column)}</tr>" for column in self.columns)
        caption = f"{self.rows:,} rows: facts about the data, for their owner alone"
        return f"<table><caption>{caption}</caption><tr>{header}</tr>{rows}</table>"

    @property
    def forms(self) -> dict[str, ColumnForm]:
        """What the texts of each column stand for."""
        return {column.name: column.form for column in self.columns if column.form is not None}


_HEADER = ("column", "kind", "missing", "do not fit", "such as", "why", "accepted by")


def _cells(column: ColumnCheck) -> str:
    """A column as the cells of a row of HTML."""
    kind = column.type if column.kind is None else column.kind.value
    examples = ", ".join(map(repr, column.examples))
    numbers = (f"{column.missing:,}", f"{column.unreadable:,}")
    told = (column.name, kind, *numbers, examples, column.reason, column.mending or "")
    return "".join(f"<td>{escape(text)}</td>" for text in told)


def require_readable(shown: str, columns: Sequence[ColumnCheck]) -> None:
    """The refusal of records with cells that do not fit what is stated of them.

    It names no cell and no number, and is the same for every question: whether a data set answers depends on its owner,
    and is nothing that a question could probe.
    """
    refused = [repr(column.name) for column in columns if column.is_refused]
    if refused:
        named, more = ", ".join(refused[:_NAMED]), len(refused) - _NAMED
        others = f" and {more} other column{'s' * (more > 1)}" if more > 0 else ""
        raise SourceError(
            f"{shown} answers nothing, as cells of {named}{others} do not fit their kind: "
            "whoever owns it sees them by `noisycount check`, which says how to mend that"
        )
