"""What an owner sees of records beside their kinds: values, letters, lines of odd cells."""
# ruff: noqa: S608, as all SQL here is made of names and texts that it quotes

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from noisycount.release.question.schema import Kind
from noisycount.release.sources.check import EXAMPLES, FEW, Check, ColumnCheck
from noisycount.release.sources.duckdb.cells import given_cell
from noisycount.release.sources.duckdb.line_numbers import Lines
from noisycount.release.sources.duckdb.paths import Connection
from noisycount.release.sources.duckdb.quoting import quoted_name, quoted_text

__all__ = ["Findings", "findings", "seen"]

_SAMPLES = 6  # texts with letters beyond ASCII
_LETTERS = r"[^\x00-\x7F]"
_WIDE = 200  # columns: the planning of that many statements would outlast looking
_NEARLY_EMPTY = 3  # of so many cells one is filled in
_SLACK = 2  # times as many values as are few: their number is an estimate at first


@dataclass(frozen=True, slots=True)
class Findings:
    """What was seen in a table `loaded` of texts.

    Attributes:
        lines: Of the examples of each column.
        without_unit: Of some rows that name no person.
        sparse_line: Of the last row, where it is nearly empty.
        letters: Some texts with letters beyond ASCII.
    """

    lines: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    without_unit: tuple[int, ...] = ()
    sparse_line: int | None = None
    letters: tuple[str, ...] = ()


def findings(
    connection: Connection, checks: Sequence[ColumnCheck], unit: str | None, lines: Lines
) -> Findings:
    """What is seen in the table `loaded`.

    Args:
        connection: Holds it.
        checks: What is in its columns.
        unit: The column that names the person; None: every row is one.
        lines: Those of its rows.
    """
    examples = {each.name: _example_rows(connection, each) for each in checks if each.examples}
    units = [each for each in checks if each.name == unit and each.missing]
    unnamed = [row for each in units for row in _rows_without(connection, each)]
    sparse = _sparse_row(connection, checks)
    rows = {*unnamed, *({sparse} - {None}), *(row for rows in examples.values() for row in rows)}
    at = lines({row for row in rows if row is not None})
    return Findings(
        {
            name: tuple(at[row] for row in rows)
            for name, rows in examples.items()
            if at.keys() >= {*rows}
        },
        tuple(at[row] for row in unnamed if row in at),
        None if sparse is None else at.get(sparse),
        _letters(connection, checks),
    )


def _example_rows(connection: Connection, column: ColumnCheck) -> list[int]:
    """The first row of each example."""
    name = quoted_name(column.name)
    return [
        connection.execute(
            f"SELECT min(rowid) FROM loaded WHERE {name} = {quoted_text(example)}"
        ).fetchall()[0][0]
        for example in column.examples
    ]


def _rows_without(connection: Connection, column: ColumnCheck) -> list[int]:
    """The first rows without a value of a column."""
    if column.form is None:
        return []
    given = given_cell(quoted_name(column.name), column.form)
    query = f"SELECT rowid FROM loaded WHERE NOT {given} ORDER BY rowid LIMIT {EXAMPLES}"
    return [row for (row,) in connection.execute(query).fetchall()]


def _sparse_row(connection: Connection, checks: Sequence[ColumnCheck]) -> int | None:
    """The last row, where few of its cells are filled in and more of every other row."""
    if not _NEARLY_EMPTY <= len(checks) <= _WIDE:
        return None
    cells = ", ".join(quoted_name(column.name) for column in checks)
    earlier = "rowid < (SELECT max(rowid) FROM loaded)"
    query = (
        "SELECT count(*), max(rowid), arg_max(given, rowid), "
        f"min(given) FILTER (WHERE {earlier}) "
        f"FROM (SELECT rowid, list_count([{cells}]) AS given FROM loaded)"
    )
    rows, last, given, others = connection.execute(query).fetchall()[0]
    is_sparse = rows > 1 and given * _NEARLY_EMPTY <= len(checks) and given < others
    return last if is_sparse else None


def _letters(connection: Connection, checks: Sequence[ColumnCheck]) -> tuple[str, ...]:
    """Some different texts of the first columns that have letters beyond ASCII."""
    found: dict[str, None] = {}
    for column in checks[:_WIDE]:
        name = quoted_name(column.name)
        query = (
            f"SELECT min(DISTINCT {name}, {EXAMPLES}) FROM loaded "
            f"WHERE regexp_matches({name}, '{_LETTERS}')"
        )
        found |= dict.fromkeys(connection.execute(query).fetchall()[0][0] or ())
        if len(found) >= _SAMPLES:
            break
    return tuple(found)[:_SAMPLES]


def seen(connection: Connection, check: Check, found: Findings, unit: str | None) -> Check:
    """What is in records, with what is for the eyes of their owner alone.

    Args:
        connection: Holds the view ``records``, with all columns that have a kind.
        check: What is in them.
        found: What was seen of their texts.
        unit: The column that names the person; None: every row is one.
    """
    looks = len(check.columns) <= _WIDE
    columns = (
        replace(
            _with_values(connection, column) if looks else column,
            lines=found.lines.get(column.name, ()),
        )
        for column in check.columns
        if column.name != unit
    )
    told = {column.name: column for column in columns}
    return replace(
        check,
        columns=tuple(told.get(column.name, column) for column in check.columns),
        without_unit=found.without_unit,
        sparse_line=found.sparse_line,
        letters=found.letters,
    )


def _with_values(connection: Connection, column: ColumnCheck) -> ColumnCheck:
    """A column of texts with how many different ones it has, and with all where they are few."""
    if column.kind is not Kind.TEXT:
        return column
    name = quoted_name(column.name)
    query = f"SELECT approx_count_distinct({name}) FROM records"
    ((distinct,),) = connection.execute(query).fetchall()
    if distinct > _SLACK * FEW:
        return replace(column, distinct=distinct)
    query = f"SELECT {name}, count(*) FROM records WHERE {name} IS NOT NULL GROUP BY 1 ORDER BY 1"
    values = connection.execute(query).fetchall()
    return replace(column, distinct=len(values), values=tuple(values) if len(values) <= FEW else ())
