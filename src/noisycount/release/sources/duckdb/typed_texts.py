"""A table of texts becomes one of values; what does not fit is counted, and lost in no silence."""
# ruff: noqa: S608, as all SQL here is made of names and texts that it quotes

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from noisycount.release.question.schema import Kind
from noisycount.release.sources.check import ColumnCheck
from noisycount.release.sources.duckdb.cells import given_cell, typed_cell
from noisycount.release.sources.duckdb.paths import Connection
from noisycount.release.sources.duckdb.quoting import quoted_name
from noisycount.release.sources.forms import ColumnForm
from noisycount.release.sources.guess import Guess, guessed_form

__all__ = ["TextTable"]

_SAMPLE = 2000  # rows that a kind is guessed from, evenly over the table
_SAMPLED_CELLS = 1_000_000
_EXAMPLES = 3
_DOUBTFUL = 1000  # cells that do not fit, of which the kind is guessed again
_AT_ONCE = 200  # columns of one statement


@dataclass(frozen=True, slots=True)
class TextTable:
    """A table `loaded` of texts on a connection.

    Attributes:
        connection: Holds the table.
        names: Its columns.
    """

    connection: Connection
    names: tuple[str, ...]

    def typed(self, stated: Mapping[str, ColumnForm], unit: str | None) -> list[ColumnCheck]:
        """The making of the table `typed`, and what does not fit into it.

        Args:
            stated: What the texts of columns stand for; the others stand for what they most likely
                do.
            unit: The column that names the person, which is text whatever its cells are.
        """
        told = {name: Guess(form, "its owner says so") for name, form in stated.items()}
        if unit in self.names:
            told[unit] = Guess(ColumnForm(Kind.TEXT), "it names the person")
        cells = {} if told.keys() >= {*self.names} else self._sample()
        guesses = {name: told.get(name) or guessed_form(cells[name]) for name in self.names}
        columns = self._checked(guesses)
        doubtful = {
            column.name: guessed_form([*cells[column.name], *self._unseen(column, cells)])
            for column in columns
            if column.unreadable and column.name not in told
        }
        if all(doubtful[name] == guesses[name] for name in doubtful):
            return columns
        self.connection.execute("DROP TABLE typed")
        return self._checked({**guesses, **doubtful})

    def _sample(self) -> dict[str, list[str]]:
        """Some cells of each column that are not empty."""
        rows = max(1, min(_SAMPLE, _SAMPLED_CELLS // len(self.names)))
        total = self.connection.execute("SELECT count(*) FROM loaded").fetchall()[0][0]
        query = f"SELECT * FROM loaded WHERE rowid % {max(1, total // rows)} = 0"
        found = self.connection.execute(query).fetchall()
        columns = zip(*found, strict=True) if found else [()] * len(self.names)
        return {
            name: [cell for cell in cells if cell is not None]
            for name, cells in zip(self.names, columns, strict=True)
        }

    def _checked(self, guesses: Mapping[str, Guess]) -> list[ColumnCheck]:
        """The making of the table `typed` of these forms, and what does not fit into it."""
        cells = [
            f"{typed_cell(name, guess.form)} AS {quoted_name(name)}"
            for name, guess in guesses.items()
        ]
        # From a table, not from the file: DuckDB turns a TRY_CAST of what it reads into a CAST.
        self.connection.execute(f"CREATE TABLE typed AS SELECT {', '.join(cells)} FROM loaded")
        return [
            column
            for names in _batches(self.names)
            for column in self._counted({name: guesses[name] for name in names})
        ]

    def _counted(self, guesses: Mapping[str, Guess]) -> list[ColumnCheck]:
        """What is in some columns."""
        given = [
            f"count(CASE WHEN {given_cell(name, g.form)} THEN 1 END)" for name, g in guesses.items()
        ]
        typed = [f"count({quoted_name(name)})" for name in guesses]
        (total, *said), (_, *read) = (
            self.connection.execute(
                f"SELECT count(*), {', '.join(counts)} FROM {table}"
            ).fetchall()[0]
            for table, counts in (("loaded", given), ("typed", typed))
        )
        columns = [
            ColumnCheck(
                name=name,
                kind=guess.form.kind,
                type="text",
                form=guess.form,
                missing=total - cells,
                unreadable=cells - fitting,
                reason=guess.reason,
            )
            for (name, guess), cells, fitting in zip(guesses.items(), said, read, strict=True)
        ]
        return [self._with_examples(column) if column.unreadable else column for column in columns]

    def _with_examples(self, column: ColumnCheck) -> ColumnCheck:
        """A column with some of its cells that do not fit."""
        return replace(column, examples=tuple(self._unreadable(column, _EXAMPLES)))

    def _unseen(self, column: ColumnCheck, cells: Mapping[str, Sequence[str]]) -> list[str]:
        """Some different cells of a column that do not fit and are not in the sample."""
        seen = {*cells[column.name]}
        return [cell for cell in self._unreadable(column, _DOUBTFUL) if cell not in seen]

    def _unreadable(self, column: ColumnCheck, number: int) -> list[str]:
        """Some different cells of a column that do not fit."""
        name, form = column.name, column.form or ColumnForm(Kind.TEXT)
        rows = self.connection.execute(
            f"SELECT DISTINCT {quoted_name(name)} FROM loaded WHERE {given_cell(name, form)} "
            f"AND ({typed_cell(name, form)}) IS NULL ORDER BY ALL LIMIT {number}"
        ).fetchall()
        return [cell for (cell,) in rows]


def _batches(names: Sequence[str]) -> Iterator[Sequence[str]]:
    """The names, so many at once."""
    for first in range(0, len(names), _AT_ONCE):
        yield names[first : first + _AT_ONCE]
