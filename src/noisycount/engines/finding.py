"""A finding about private records, for their owner, and the statements for `noisycount.toml` that it proposes."""

from collections.abc import Iterable, Sequence
from enum import Enum

from noisycount.display.values import Shown
from noisycount.frozen import frozen

_LONGEST_CELL = 30  # characters


LEFT_OUT, FILLED_UP = "rows that are left out", "rows that are filled up"
"""Titles of the findings about the effect of a stated rule."""


class Severity(Enum):
    """The consequence of a finding."""

    BLOCKS = "blocks"  # no question is answered until the owner repairs it
    LOOK = "look"  # questions are answered, but perhaps not about what the owner means
    NOTE = "note"  # a fact that changes no answer


@frozen
class Proposal(Shown):
    """A statement for `noisycount.toml`.

    In the table `kinds`, the value holds the parts of a `ColumnFormat` that change, in the words of the configuration.
    If they contain `kind`, they are the whole format.
    """

    key: str  # the name of a column in the tables `kinds` and `values`
    value: object
    table: str = ""  # the table below `[datasets.NAME]`; empty: that table itself


@frozen
class Finding(Shown):
    """A fact about records that their owner should know."""

    severity: Severity
    title: str  # a few words without any cell, such as "rows without a person"
    text: str  # a sentence without a full stop; it may quote cells, and ends with them
    column: str | None = None  # the column that it is about; None: the records as a whole
    rows: int = 0  # the number of rows or cells that it is about; 0: not counted
    lines: tuple[int, ...] = ()  # the lines of the first of them, which the screen writes behind the text
    proposals: tuple[Proposal, ...] = ()  # statements that `init --accept` takes
    choices: tuple[Proposal, ...] = ()  # statements of which the owner alone can take one, such as day or month first


def quoted_cell(cell: str) -> str:
    """Return a cell in quotes, cut after a few words, and without control characters."""
    return repr(cell if len(cell) <= _LONGEST_CELL else f"{cell[:_LONGEST_CELL]}…")


def quoted_cells(cells: Iterable[str]) -> str:
    """Return cells in quotes, with commas between them."""
    return ", ".join(map(quoted_cell, cells))


def quoted_examples(cells: Sequence[str], most: int) -> str:
    """Return the end of a sentence that quotes at most `most` of some cells."""
    return f"{', such as' if len(cells) > most else ':'} {quoted_cells(cells[:most])}"


def sorted_by_severity(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings in their order, those that block questions first."""
    order = tuple(Severity)
    return sorted(findings, key=lambda finding: order.index(finding.severity))
