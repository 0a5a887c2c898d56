"""Facts about private records that a check shows to their owner."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace

from noisycount.display.texts import toml_key, toml_value
from noisycount.display.values import Shown, row_table
from noisycount.engines.finding import Finding, Proposal
from noisycount.engines.formats import ColumnFormat, FileFormat
from noisycount.engines.persons import Persons
from noisycount.engines.spellings import Spellings
from noisycount.frozen import frozen
from noisycount.query.schema import Kind, Schema

_MOST_NOTES = 20  # different texts of rows that are proposed to be left out
SINGLE_QUOTED = re.compile("'.*'", re.DOTALL)
"""A text between single quotation marks."""
PADDED = "padded"
"""The kind of the rows that `ragged` fills up."""
EXAMPLES = 3
"""Number of different unreadable cells that are shown. If fewer are shown, there are no others."""
FEW = 20
"""Largest number of different texts of a column for which all of them are shown."""


@frozen
class Resemblance(Shown):
    """A kind that the values of a text column resemble, although they are read as texts."""

    noun: str  # such as "dates"
    remedy: str  # what the owner or an analyst can do, as an imperative sentence without a full stop
    example: str  # one of the texts


@frozen
class ColumnCheck(Shown):
    """Content of a column: its kind, its form, and the cells that are missing or unreadable."""

    name: str  # name of the column
    kind: Kind | None  # kind of its values; None: no question can use the column
    type: str  # type of its values in the words of the engine
    form: ColumnFormat | None  # format of its texts; None if the file states the type of its values
    missing: int  # number of missing values
    unreadable: int = 0  # number of cells that do not fit the kind
    examples: tuple[str, ...] = ()  # some different unreadable cells, at most `EXAMPLES`
    reason: str = "the file says so"  # reason for the kind
    lines: tuple[int, ...] = ()  # the first line of the file with each example; empty if the file has no lines
    distinct: int | None = None  # approximate number of different texts; None: not examined, or not texts
    ids: int = 0  # number of different values if the name of the column suggests ids; 0: not examined
    is_measured: bool = (
        False  # True if most of its texts are short numbers, such as codes of places or values with units
    )
    fitting: tuple[ColumnFormat, ...] = ()  # if cells do not fit the form, other forms that all cells fit
    values: tuple[tuple[str, int], ...] = ()  # if it has few different texts, each text and its number of rows
    choices: tuple[ColumnFormat, ...] = ()  # forms that its cells may have, between which only the owner can choose
    nan: int = 0  # the number of its values that are NaN
    # the numbers of cells that are read otherwise than other programs show them, by a key of `findings.LOSSES`
    losses: Mapping[str, int] = field(default_factory=dict)
    years: tuple[int, int] | None = None  # years of its first and last day; None: not examined, or no days
    spellings: Spellings | None = None  # texts with several spellings; None: not examined, or there are none
    # kind of values that its texts resemble; None: not examined, or they resemble no other kind
    looks_like: Resemblance | None = None
    # the column without the rows that look like no records, if some of its cells do not fit; None: as it stands
    left: "ColumnCheck | None" = None

    @property
    def without_dropped_rows(self) -> "ColumnCheck":
        """The column without the rows that the check proposes to leave out; findings about its cells use it."""
        return self.left or self

    @property
    def is_refused(self) -> bool:
        """True if unreadable cells of the column prevent all answers."""
        return self.unreadable > 0 and not (self.form and self.form.accepts_unreadable)


@frozen
class OddRows(Shown):
    """Rows of a file that do not look like records, such as sums or remarks."""

    kind: str  # a key of `_KINDS` in `layout_findings`; or a rule of the form, or `PADDED`
    rows: int  # number of these rows
    lines: tuple[int, ...]  # lines of the first of these rows, at most `EXAMPLES`
    texts: tuple[str, ...]  # different first cells of these rows, without empty ones
    cells: Mapping[str, Mapping[str, int]] = field(default_factory=dict)  # by column, each cell and its number of rows
    wholes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # names of sums by column, as each row has one

    @property
    def can_be_left_out(self) -> bool:
        """True if its owner can leave these rows out by a statement about the file."""
        if self.kind in {"notes", "totals"}:
            return len(self.texts) <= _MOST_NOTES
        return self.kind not in {"tables", "below", "named", "several"}


@frozen(repr=False)
class Check(Shown):
    """Content of private records, as `noisycount check` shows it to their owner."""

    rows: int  # number of rows
    columns: tuple[ColumnCheck, ...]  # content of each column
    form: FileFormat | None = None  # layout of a file of texts; None for other records
    units: int | None = None  # number of different persons in the unit column; None: not counted
    persons: Persons | None = None  # rows and ids of persons; None: the unit is not a person
    without_unit: tuple[int, ...] = ()  # the lines of some rows that name no person, at most `EXAMPLES`
    # line of the last row if the row is nearly empty, as a row of sums is; None: it is as full as the others
    sparse_line: int | None = None
    letters: tuple[str, ...] = ()  # some texts with letters beyond ASCII, to see whether the encoding is right
    unit: str | None = None  # column that identifies a person; None: each row is a unit, or the unit is not stated
    # the faults that keep the file from being counted until its owner states these parts of `form`, by their names
    faults: Mapping[str, str] = field(default_factory=dict)
    odd_rows: tuple[OddRows, ...] = ()  # rows that look like no records, by their kind
    rows_by_rule: tuple[OddRows, ...] = ()  # rows that each stated rule leaves out, or that `ragged` fills up
    fits_unquoted: bool = False  # True if each line has as many cells as there are names if no mark has a meaning
    unnamed: Mapping[int, str] = field(default_factory=dict)  # names made up for columns without one, by place from 1
    # names in the file of columns that are called otherwise here, as two names differ in case alone, by name here
    renamed: Mapping[str, str] = field(default_factory=dict)
    names_like_values: tuple[str, ...] = ()  # names of columns that look like values of a record
    words: int = (
        0  # the number of words in each line of a single column that may be several; 0: it is one, or there are more
    )
    has_single_blanks: bool = False  # True if one blank stands between these words
    findings: tuple[Finding, ...] = ()  # what the owner should know of these facts, in the order of severity

    def _key_facts(self) -> dict[str, object]:
        unreadable = [column.name for column in self.columns if column.unreadable]
        return {"rows": self.rows, "columns": len(self.columns), "unreadable": unreadable}

    def _repr_html_(self) -> str:
        """Return a table of the columns and one of the findings, which show facts about the data."""
        notes = [f"{self.rows:,} rows: facts about the data, for their owner alone"]
        columns = row_table("Columns", _HEADER, map(_table_row, self.columns), notes)
        findings = [
            (
                finding.severity.value,
                finding.column or "",
                finding.text,
                "; ".join(map(self.statement, finding.proposals)) or " or ".join(map(self.statement, finding.choices)),
            )
            for finding in self.findings
        ]
        return columns + row_table("Findings", _FINDING_HEADER, findings, ["see noisycount check"]) * bool(findings)

    def statement(self, proposal: Proposal) -> str:
        """Return a proposal as a line of `noisycount.toml`."""
        if proposal.table == "kinds":
            return self.proposed_forms([proposal])[proposal.key].line(proposal.key)
        return f"{toml_key(proposal.key)} = {toml_value(proposal.value)}"

    def proposed_forms(self, proposals: Iterable[Proposal]) -> dict[str, ColumnFormat]:
        """Return the forms of columns once all proposals about their kinds are accepted."""
        forms: dict[str, ColumnFormat] = {}
        columns = {column.name: column for column in self.columns}
        for proposal in proposals:
            if proposal.table == "kinds" and isinstance(proposal.value, Mapping):
                name, column = proposal.key, columns[proposal.key]
                form = forms.get(name) or column.form or ColumnFormat(column.kind or Kind.TEXT)
                former = {} if "kind" in proposal.value else form.parts
                forms[name] = ColumnFormat.from_parts({**former, **proposal.value})
        return forms

    @property
    def rows_below_names(self) -> int:
        """Number of all rows below the names of columns, including rows that may not be records."""
        return self.rows + sum(each.rows for each in self.rows_by_rule if each.kind != PADDED)

    def without_odd_rows(self, column: ColumnCheck) -> ColumnCheck:
        """Return a column without the texts that occur only in rows that do not look like records."""
        odd = Counter[str]()
        for rows in self.odd_rows:
            odd.update(rows.cells.get(column.name, {}))
        return replace(column, values=tuple((text, rows) for text, rows in column.values if rows > odd[text]))

    @property
    def forms(self) -> dict[str, ColumnFormat]:
        """Form of the texts of each column that has one, by name."""
        return {column.name: column.form for column in self.columns if column.form is not None}


def typed_check(  # noqa: PLR0913 - the fields of a check
    schema: Schema,
    rows: int,
    counts: Sequence[int],
    units: int | None,
    *,
    reasons: Mapping[str, str],
    types: Mapping[str, str] | None = None,
    forms: Mapping[str, ColumnFormat] | None = None,
) -> Check:
    """Return the check of records that state the types of their columns.

    `counts`: the number of values of each column, then the number of NaN of each column of reals.
    """
    given, nan = counts[: len(schema)], iter(counts[len(schema) :])
    used = [
        ColumnCheck(
            name,
            kind,
            (types or {}).get(name, kind.value),
            (forms or {}).get(name),
            rows - cells,
            reason=reasons[name],
            nan=next(nan) if kind is Kind.REAL else 0,
        )
        for (name, kind), cells in zip(schema.items(), given, strict=True)
    ]
    unused = [ColumnCheck(name, None, type_, None, 0) for name, type_ in schema.others.items()]
    return Check(rows, (*used, *unused), units=units)


_HEADER = ("column", "kind", "missing", "do not fit", "why")
_FINDING_HEADER = ("severity", "column", "finding", "for noisycount.toml")


def _table_row(column: ColumnCheck) -> tuple[str, ...]:
    """Return a column as a row of a table."""
    kind = column.type if column.kind is None else column.kind.value
    return column.name, kind, f"{column.missing:,}", f"{column.unreadable:,}", column.reason
