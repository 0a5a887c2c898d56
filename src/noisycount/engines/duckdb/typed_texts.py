# ruff: noqa: S608, as all SQL here is made of names that it quotes and of patterns of its own
"""Conversion of tables of texts into tables of values, and the cells that are unreadable.

`TextTable.make_typed` makes the table of values, from stated or guessed formats. `with_lines` adds the lines in the
file of what the owner has to check.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from typing import Any

from noisycount.engines.check import (
    EXAMPLES,
    Check,
    ColumnCheck,
)
from noisycount.engines.duckdb.cells import is_given_sql, plain_cast, typed_cell
from noisycount.engines.duckdb.connection import Connection, quoted_name, quoted_text
from noisycount.engines.duckdb.layout import is_value
from noisycount.engines.duckdb.texts import Lines
from noisycount.engines.formats import ColumnFormat
from noisycount.engines.guesses import Guess, guess_for_stored_types, guessed_form, other_forms
from noisycount.frozen import frozen
from noisycount.query.schema import Kind

_SAMPLES = 6  # texts with letters beyond ASCII, as samples
_WIDE = 200  # columns: planning the statement for more of them takes longer than it is worth
_NEARLY_EMPTY = 3  # a row is nearly empty if at most one in so many cells is filled in


def with_lines(connection: Connection, check: Check, unit: str | None, lines: Lines) -> Check:
    """Return a check with the lines of the cells and rows of `loaded` that the owner has to check."""
    judged = [column.without_dropped_rows for column in check.columns]
    examples = {column.name: _example_rows(connection, column) for column in judged}
    units = [column for column in judged if column.name == unit and column.missing]
    unnamed = [row for column in units for row in _rows_without(connection, column)]
    sparse = _sparse_row(connection, check.columns)
    rows = {*unnamed, *({sparse} - {None}), *(row for rows in examples.values() for row in rows)}
    line_of_row = lines({row for row in rows if row is not None})
    columns = (
        replace(column, lines=tuple(line_of_row[row] for row in examples[column.name]))
        if column.name != unit and line_of_row.keys() >= {*examples[column.name]}
        else column
        for column in judged
    )
    return replace(
        check,
        columns=tuple(
            replace(whole, left=column) if whole.left else column
            for whole, column in zip(check.columns, columns, strict=True)
        ),
        without_unit=tuple(line_of_row[row] for row in unnamed if row in line_of_row),
        sparse_line=None if sparse is None else line_of_row.get(sparse),
        letters=_texts_with_accents(connection, check.columns),
    )


def _example_rows(connection: Connection, column: ColumnCheck) -> list[int]:
    """Return the first row of each example of an unreadable cell."""
    name = quoted_name(column.name)
    return [
        connection.execute(f"SELECT min(rowid) FROM loaded WHERE {name} = {quoted_text(example)}").fetchall()[0][0]
        for example in column.examples
    ]


def _rows_without(connection: Connection, column: ColumnCheck) -> list[int]:
    """Return the first rows without a value of a column."""
    if column.form is None:
        return []
    given = is_given_sql(quoted_name(column.name), column.form)
    query = f"SELECT rowid FROM loaded WHERE NOT {given} ORDER BY rowid LIMIT {EXAMPLES}"
    return [row for (row,) in connection.execute(query).fetchall()]


def _sparse_row(connection: Connection, checks: Sequence[ColumnCheck]) -> int | None:
    """Return the last row if few of its cells are filled in, and fewer than in every other row; else None."""
    if not _NEARLY_EMPTY <= len(checks) <= _WIDE:
        return None
    filled = f"list_count([{', '.join(quoted_name(column.name) for column in checks)}])"
    query = f"SELECT rowid, {filled} FROM loaded WHERE rowid = (SELECT max(rowid) FROM loaded)"
    for last, cells in connection.execute(query).fetchall():
        if cells * _NEARLY_EMPTY <= len(checks):
            others = f"SELECT min({filled}) FROM loaded WHERE rowid < {last}"
            ((fewest_cells,),) = connection.execute(others).fetchall()
            return last if fewest_cells is not None and cells < fewest_cells else None
    return None


def _texts_with_accents(connection: Connection, checks: Sequence[ColumnCheck]) -> tuple[str, ...]:
    """Return some different texts with letters beyond ASCII from the first columns."""
    names = [quoted_name(column.name) for column in checks[:_WIDE]]
    beyond = "strlen({0}) > length({0})"  # more bytes than characters
    query = f"SELECT {', '.join(f'bool_or({beyond.format(name)})' for name in names)} FROM loaded"
    texts: dict[str, None] = {}
    for name, has_letters in zip(names, connection.execute(query).fetchall()[0], strict=True):
        if has_letters and len(texts) < _SAMPLES:
            query = f"SELECT min(DISTINCT {name}, {EXAMPLES}) FROM loaded WHERE {beyond.format(name)}"
            texts |= dict.fromkeys(connection.execute(query).fetchall()[0][0])
    return tuple(texts)[:_SAMPLES]


_SAMPLE = 2000  # rows from which a kind is guessed, spread evenly over the table
_SAMPLED_CELLS = 1_000_000
_DOUBTFUL = 1000  # unreadable cells from which the kind is guessed again
_AT_ONCE = 200  # columns of one statement
_COUNTED_AT_ONCE = 1000  # columns of one statement that counts their values


@frozen
class TextTable:
    """A table `loaded` of texts on a connection."""

    connection: Connection
    names: tuple[str, ...]
    # number of cells of each kind in each column, if the file distinguishes kinds
    types: Mapping[str, Counter[Kind]] = field(default_factory=dict)
    # numbers of cells of each column that other programs show in another way, see `ColumnCheck.losses`
    losses: Mapping[str, Counter[str]] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """Number of rows of the table."""
        return int(self.connection.execute("SELECT count(*) FROM loaded").fetchall()[0][0])

    def make_typed(
        self, stated: Mapping[str, ColumnFormat], unit: str | None, *, explains: bool = False
    ) -> list[ColumnCheck]:
        """Make the table `typed` of values, and return the checks of its columns.

        Args:
            stated: The formats of columns that the owner states; all others are guessed.
            unit: The column that names the person, which is a text unless the owner states its format.
            explains: True to add the reason why a stated format fits the texts, and other formats that fit unreadable
                cells.
        """
        with self._without_optimizer():
            columns = self._make_values(stated, unit)
            if not explains:
                return columns
            return self._with_explanations(columns, {n: form for n, form in stated.items() if n != unit})

    def without_rows(
        self, check: Check, odd: Mapping[int, Sequence[str]], stated: Mapping[str, ColumnFormat], unit: str | None
    ) -> Check:
        """Return a check in which doubtful columns are also judged without the odd rows.

        A column is doubtful if it has unreadable cells, `choices` or `looks_like`, or if it is the unit and has missing
        values.

        Args:
            check: The check of all rows.
            odd: The cells of the odd rows, by their row number. These rows are deleted from `loaded`.
            stated: The forms of columns that the owner states.
            unit: The column that names the person.
        """
        self.connection.execute(f"DELETE FROM loaded WHERE rowid IN ({', '.join(map(str, odd))})")
        doubtful = [
            column.name
            for column in check.columns
            if column.unreadable or column.choices or column.looks_like or (column.name == unit and column.missing)
        ]
        if not doubtful:
            return check
        types = {name: Counter(kinds) for name, kinds in self.types.items()}
        for name, *cells in zip(self.names, *odd.values(), strict=True) if types else ():
            types[name][Kind.TEXT] -= sum(cell != "" and not is_value(cell) for cell in cells)
        self.connection.execute("ALTER TABLE typed RENAME TO whole")
        forms = {name: form for name, form in stated.items() if name in doubtful}
        table = replace(self, names=tuple(doubtful), types={name: +kinds for name, kinds in types.items()})
        remaining_checks = {column.name: column for column in table.make_typed(forms, unit, explains=True)}
        self.connection.execute("DROP TABLE typed")
        self.connection.execute("ALTER TABLE whole RENAME TO typed")
        columns = (replace(column, left=remaining_checks.get(column.name)) for column in check.columns)
        return replace(check, columns=tuple(columns))

    @contextmanager
    def _without_optimizer(self) -> Iterator[None]:
        """Disable the optimizer while a wide table is read, since planning would take longer than running."""
        if len(self.names) <= _AT_ONCE:
            yield
            return
        self.connection.execute("PRAGMA disable_optimizer")
        yield
        self.connection.execute("PRAGMA enable_optimizer")

    def _make_values(self, stated: Mapping[str, ColumnFormat], unit: str | None) -> list[ColumnCheck]:
        """Make the table, and return the checks of its columns. Guess a form again if some cells do not fit it."""
        stated_guesses = {name: Guess(form, "its owner says so") for name, form in stated.items()}
        usual = ColumnFormat(Kind.TEXT)
        if unit in self.names and stated.get(unit, usual) == usual:
            stated_guesses[unit] = Guess(usual, "it names the person")
        cells = {} if stated_guesses.keys() >= {*self.names} else self._sampled_cells()
        guesses = {name: stated_guesses.get(name) or self._guess(name, cells[name]) for name in self.names}
        self._make_typed_table(guesses)
        checks = self._count_cells_that_fit(guesses)
        doubtful = [name for name in checks if checks[name].unreadable and name not in stated_guesses]
        unseen = self._examples_of_unreadable_cells({name: guesses[name] for name in doubtful}, _DOUBTFUL)
        better = {
            name: guess
            for name in doubtful
            if (guess := self._guess(name, [*cells[name], *({*unseen[name]} - {*cells[name]})])) != guesses[name]
        }
        if better:
            self._make_typed_table(better, {name for name in self.names if name not in better})
            checks |= self._count_cells_that_fit(better)
        return self._with_examples([checks[name] for name in self.names])

    def _with_explanations(
        self, columns: Sequence[ColumnCheck], stated: Mapping[str, ColumnFormat]
    ) -> list[ColumnCheck]:
        """Return the checks of columns: stated forms that look right get a reason, refused columns get other forms."""
        cells = self._sampled_cells() if stated else {}
        looks = {name: self._guess(name, cells[name]) for name in stated}
        explained = [
            replace(column, reason=looks[column.name].reason)
            if column.name in stated and _visible_form(looks[column.name].form) == _visible_form(stated[column.name])
            else column
            for column in columns
        ]
        return [
            replace(column, fitting=self._other_fitting_forms(column)) if column.is_refused else column
            for column in explained
        ]

    def _other_fitting_forms(self, column: ColumnCheck) -> tuple[ColumnFormat, ...]:
        """Return other forms that fit all cells of a column: forms of its kind, else forms of another kind."""
        assert column.form is not None  # noqa: S101 - its cells are texts
        if column.choices:
            return column.choices
        name = quoted_name(column.name)
        wrong = self._examples_of_unreadable_cells({column.name: Guess(column.form, "")}, _DOUBTFUL)[column.name]
        forms = other_forms(column.form, wrong)
        if not forms:
            return ()
        tests = [f"{is_given_sql(name, form)} AND ({typed_cell(name, form)}) IS NULL" for form in forms]
        unfit = [f"count(CASE WHEN {test} THEN 1 END)" for test in tests]
        counts = self.connection.execute(f"SELECT {', '.join(unfit)} FROM loaded").fetchall()[0]
        fitting = [form for form, count in zip(forms, counts, strict=True) if not count]
        for part in ("thousands", "decimal"):  # a mark that no cell has need not be stated
            usual = [replace(form, **{part: getattr(column.form, part)}) for form in fitting]
            fitting = [
                form for form, other in zip(fitting, usual, strict=True) if form == other or other not in fitting
            ]
        return tuple(form for form in fitting if form.kind is column.kind) or tuple(fitting)

    def _guess(self, name: str, cells: Sequence[str]) -> Guess:
        """Return a guess of the form of a column, from some of its cells."""
        if name in self.types:
            return guess_for_stored_types(self.types[name], cells, name)
        return guessed_form(cells, name)

    def _sampled_cells(self) -> dict[str, list[str]]:
        """Return some cells of each column that are not empty, from rows spread evenly over the table."""
        rows = max(1, min(_SAMPLE, _SAMPLED_CELLS // len(self.names)))
        names = ", ".join(map(quoted_name, self.names))
        step = max(1, self.rows // rows, -(-self.rows * len(self.names) // _SAMPLED_CELLS))
        query = f"SELECT {names} FROM loaded WHERE rowid % {step} = 0"
        sample_rows = self.connection.execute(query).fetchall()
        columns = zip(*sample_rows, strict=True) if sample_rows else [()] * len(self.names)
        return {
            name: [cell for cell in cells if cell is not None] for name, cells in zip(self.names, columns, strict=True)
        }

    def _make_typed_table(self, guesses: Mapping[str, Guess], copied_names: Collection[str] = ()) -> None:
        """Make the table `typed` from the guessed forms.

        The columns in `copied_names` are copied from the earlier version of the table.
        """
        self.connection.execute("ALTER TABLE typed RENAME TO kept" if copied_names else "DROP TABLE IF EXISTS typed")
        new_table = "part" if copied_names else "typed"
        self.connection.execute(f"CREATE TABLE {new_table} AS {_typed_query({n: g.form for n, g in guesses.items()})}")
        if copied_names:
            tables = {name: "kept" if name in copied_names else new_table for name in self.names}
            columns = ", ".join(f"{table}.{quoted_name(name)}" for name, table in tables.items())
            self.connection.execute(f"CREATE TABLE typed AS SELECT {columns} FROM kept POSITIONAL JOIN {new_table}")
            for table in ("kept", new_table):
                self.connection.execute(f"DROP TABLE {table}")

    def _count_cells_that_fit(self, guesses: Mapping[str, Guess]) -> dict[str, ColumnCheck]:
        """Return the checks of some columns, without examples of unreadable cells."""
        everywhere = {name: f"count({quoted_name(name)})" for name in guesses}
        total = self.rows
        read_cells = self._aggregates_of_columns("typed", everywhere, _COUNTED_AT_ONCE)
        some = {name: count for name, count in everywhere.items() if read_cells[name] < total}
        filled_cells = self._aggregates_of_columns("loaded", some, _COUNTED_AT_ONCE)
        doubtful = {
            name: f"count(CASE WHEN {is_given_sql(quoted_name(name), guesses[name].form)} THEN 1 END)"
            for name in some
            if read_cells[name] < filled_cells[name]
        }
        cells_with_value = read_cells | self._aggregates_of_columns("loaded", doubtful)
        days = [name for name, guess in guesses.items() if guess.form.kind.is_moment and read_cells[name]]
        first_years, last_years = (self._end_years(end, days) for end in ("min", "max"))
        return {
            name: ColumnCheck(
                name=name,
                kind=guess.form.kind,
                type="text",
                form=guess.form,
                missing=total - cells_with_value[name],
                unreadable=cells_with_value[name] - read_cells[name],
                reason=guess.reason,
                choices=guess.choices,
                looks_like=guess.looks_like,
                losses=self.losses.get(name, {}),
                years=(first_years[name], last_years[name]) if name in first_years else None,
            )
            for name, guess in guesses.items()
        }

    def _aggregates_of_columns(
        self, table: str, aggregates: Mapping[str, str], at_once: int = _AT_ONCE
    ) -> dict[str, Any]:
        """Return the value of an aggregate for each column of a table, at most `at_once` columns in a statement."""
        numbers: dict[str, Any] = {}
        names = [*aggregates]
        for first in range(0, len(names), at_once):
            batch = names[first : first + at_once]
            selected = ", ".join(aggregates[name] for name in batch)
            row = self.connection.execute(f"SELECT {selected} FROM {table}").fetchall()[0]
            numbers |= dict(zip(batch, row, strict=True))
        return numbers

    def _end_years(self, end: str, days: Sequence[str]) -> dict[str, int]:
        """Return the year of the earliest day (`end` is "min") or of the latest day ("max") of each column of days."""
        moments = ", ".join(f"{end}({quoted_name(name)})" for name in days)
        query = f"SELECT list_transform([{moments}], lambda moment: year(moment)) FROM typed"
        return dict(zip(days, self.connection.execute(query).fetchall()[0][0], strict=True)) if days else {}

    def _with_examples(self, columns: Sequence[ColumnCheck]) -> list[ColumnCheck]:
        """Return the checks, with some examples of unreadable cells."""
        forms = {
            column.name: Guess(column.form, column.reason) for column in columns if column.unreadable and column.form
        }
        cells = self._examples_of_unreadable_cells(forms, EXAMPLES)
        return [
            replace(column, examples=tuple(cells[column.name])) if column.name in cells else column
            for column in columns
        ]

    def _examples_of_unreadable_cells(self, guesses: Mapping[str, Guess], number: int) -> dict[str, list[str]]:
        """Return up to `number` different unreadable cells of each column."""
        wrong = {
            name: f"min(DISTINCT {quoted_name(name)}, {number}) FILTER (WHERE "
            f"{is_given_sql(quoted_name(name), guess.form)} AND ({typed_cell(quoted_name(name), guess.form)}) IS NULL)"
            for name, guess in guesses.items()
        }
        examples = self._aggregates_of_columns("loaded", wrong)
        return {name: cells or [] for name, cells in examples.items()}


def _visible_form(form: ColumnFormat) -> ColumnFormat:
    """Return a form without the parts that do not affect the look of readable texts."""
    return replace(form, missing=(), accepts_unreadable=False, trim=False)


def _typed_query(forms: Mapping[str, ColumnFormat]) -> str:
    """Return the query of the values of some columns of texts.

    The query reads a table, not the file: when DuckDB reads a file, it turns a TRY_CAST into a CAST.
    """
    return (_query_of_columns if len(forms) <= _AT_ONCE else _query_of_lists)(forms)


def _query_of_columns(forms: Mapping[str, ColumnFormat]) -> str:
    """Return a query with one expression for each column. It casts each text only once."""
    columns, values = {}, []
    for number, (name, form) in enumerate(forms.items()):
        text, cast = f"text_{number}", f"cast_{number}"
        columns[text] = quoted_name(name)
        if computed := plain_cast(quoted_name(name), form):
            columns[cast] = computed
        typed = typed_cell(text, form, cast if computed else None)
        values.append(f"{typed} AS {quoted_name(name)}")
    return (
        f"SELECT {', '.join(values)} "
        f"FROM (SELECT {', '.join(columns.values())} FROM loaded) AS cells({', '.join(columns)})"
    )


def _query_of_lists(forms: Mapping[str, ColumnFormat]) -> str:
    """Return a query with one expression for each form, for many columns: its planning time does not grow with them."""
    names: dict[ColumnFormat, list[str]] = {}
    for name, form in forms.items():
        names.setdefault(form, []).append(quoted_name(name))
    parts: list[str] = []
    cells: dict[str, str] = {}
    for number, (form, columns) in enumerate(names.items()):
        value = typed_cell("text", form)
        if value == "text":  # the texts are the values
            values = [f"text_{number}_{place}" for place, _ in enumerate(columns)]
            parts += map("{} AS {}".format, columns, values)
        else:
            values = [f"list_{number}[{place}]" for place, _ in enumerate(columns, start=1)]
            parts.append(f"list_transform([{', '.join(columns)}], lambda text: {value}) AS list_{number}")
        cells |= {name: f"{cell} AS {name}" for name, cell in zip(columns, values, strict=True)}
    return (
        f"SELECT {', '.join(cells[quoted_name(name)] for name in forms)} FROM (SELECT {', '.join(parts)} FROM loaded)"
    )
