"""A table in forty styles has the written values after all proposals of a check are accepted."""

import csv
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from babel.dates import format_date

from noisycount.catalog.folder import EngineCertificates
from noisycount.config.config import DatasetConfig
from noisycount.engines.duckdb.source import DuckDBSource
from noisycount.engines.formats import ColumnFormat
from noisycount.query.schema import Kind
from noisycount.tasks.check import examine_place
from noisycount.tasks.init import accept_proposals

ROWS = 80
TOWNS = [
    "Zürich",
    "Genève",
    "Bern",
    'say "hi"',
    "a, b",
    "c; d",
    "tab\there",
    "O'Hara",
    "x|y",
    "1st",
    "two\nlines",
    "Œuf",
]
NAMES = ("person", "amount", "visits", "day", "seen", "town", "smoker", "code", "price")
DAYS = [
    *("%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%Y/%m/%d", "%d.%m.%y", "%m/%d/%y", "%Y%m%d"),
    *("%d-%b-%Y", "%d-%b-%y", "%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%d%b%Y", "%A, %d %B %Y"),
]
CLOCKS = [
    *(" %H:%M", " %H:%M:%S", "T%H:%M:%S", " %H:%M:%S.%f", " %I:%M %p", " %I:%M:%S %p", " %I:%M%p", ", %H:%M:%S"),
    *(" %H:%M:%S UTC", " %I:%M:%S\u00a0%p"),
]
LANGUAGES = [
    *("de|d. MMMM yyyy", "fr|d MMM yyyy", "es|d 'de' MMMM 'de' yyyy", "it|dd-MMM-yyyy", "pt|d 'de' MMMM 'de' yyyy"),
    *("nl|d MMM yyyy", "sv|d MMMM yyyy", "fr|dd/MM/yyyy", "de|dd.MMM.yyyy"),
    *("pl|d MMM yyyy", "fi|d. MMMM yyyy"),
]
TRUTHS = [("yes", "no"), ("TRUE", "FALSE"), ("Ja", "Nein"), ("oui", "non"), ("sí", "no"), ("Yes", "No")]
MISSING = ["", "", "NA", "n.v.", "-", "NULL"]  # of which a check does not know n.v.
ENCODINGS = ["utf-8", "utf-8-sig", "utf-16", "cp1252"]


@dataclass(frozen=True)
class Style:
    """The ways in which one program writes a table."""

    delimiter: str
    quoting: int
    encoding: str
    line_end: str
    decimal: str
    thousands: str  # the mark between thousands; empty: there is none
    symbol: str  # of a price, in the place of `x` in it
    has_brackets: bool
    has_minus_behind: bool
    day: str
    clock: str
    truths: tuple[str, str]
    missing: str
    titles: tuple[str, ...]  # lines above the names
    header: str  # what the line of names is: "usual", "none", "gap" (a name is empty) or "twice" (two are equal)
    has_questions: bool  # whether a row below the names has the texts of questions
    has_names_again: bool  # whether the names stand there again, as in files that were put together
    has_empty_rows: bool  # whether rows of empty cells stand at the end
    note: str  # the first cell of a last row; empty: there is none
    has_units: bool  # whether a row below the names has units
    has_short_rows: bool  # whether a last cell without a value is left out
    has_long_row: bool  # whether a row has a cell too many

    @classmethod
    def drawn(cls, draw: random.Random) -> "Style":
        """A style that can write all cells."""
        decimal = draw.choice(".,")
        encoding = draw.choice(ENCODINGS)
        marks = ["", ",."[decimal == ","], " ", "\u00a0", "'", "\u2019", *(["\u202f"] if encoding != "cp1252" else [])]
        return cls(
            delimiter=draw.choice(",;\t|"),
            quoting=draw.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
            encoding=encoding,
            line_end=draw.choice(["\n", "\r\n"]),
            decimal=decimal,
            thousands=draw.choice(marks),
            symbol=draw.choice(["x", "$x", "x €", "€ x", "CHF x", "x %", "x%", "£x"]),
            has_brackets=draw.random() < 0.3,
            day=draw.choice(DAYS),
            clock=draw.choice(CLOCKS),
            truths=draw.choice(TRUTHS),
            missing=draw.choice(MISSING),
            titles=draw.choice([(), (), ("Report of 2026",), ("Report of 2026", "Source: office")]),
            header=draw.choice(["usual", "usual", "usual", "gap", "twice", "none"]),
            has_questions=draw.random() < 0.2,
            has_names_again=draw.random() < 0.2,
            has_empty_rows=draw.random() < 0.2,
            note=draw.choice(["", "", "Total", "Source: Federal Office of Statistics"]),
            has_minus_behind=draw.random() < 0.3,
            has_units=draw.random() < 0.2,
            has_short_rows=draw.random() < 0.3,
            has_long_row=draw.random() < 0.2,
        )

    def number(self, value: float, decimals: int) -> str:
        """A number with its marks."""
        text = f"{abs(value):,.{decimals}f}".replace(",", "group").replace(".", self.decimal)
        text = text.replace("group", self.thousands)
        return f"-{text}" if value < 0 else text

    def date(self, value: date) -> str:
        """A day in its form, or as a language writes it by the pattern behind its name."""
        language, _, pattern = self.day.rpartition("|")
        return format_date(value, pattern, locale=language) if language else value.strftime(self.day)

    def price(self, value: float) -> str:
        """A number with its sign, in brackets or with a minus behind if it is negative and the style has them."""
        bare = self.symbol.replace("x", self.number(abs(value), 2))
        if value >= 0:
            return bare
        if self.has_brackets:
            return f"({bare})"
        return f"{bare}-" if self.has_minus_behind else f"-{bare}"

    def row(self, row: Mapping[str, Any]) -> list[str]:
        """A row as its texts."""
        write: dict[str, Callable[[Any], str]] = {
            "amount": lambda value: self.number(value, 2),
            "visits": lambda value: self.number(value, 0),
            "day": self.date,
            "seen": lambda value: self.date(value).rpartition("day, ")[2] + value.strftime(self.clock),
            "smoker": lambda value: self.truths[not value],
            "price": self.price,
        }
        return [self.missing if row[name] is None else write.get(name, str)(row[name]) for name in NAMES]

    def write(self, path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write a file."""
        with path.open("w", encoding=self.encoding, newline="") as file:
            lines = csv.writer(file, delimiter=self.delimiter, quoting=self.quoting, lineterminator=self.line_end)
            lines.writerows([[title] for title in self.titles])
            records, names = [*map(self.row, rows)], self.names
            if self.has_short_rows:
                records = [
                    cells[:-1] if row["price"] is None else cells for cells, row in zip(records, rows, strict=True)
                ]
            if self.has_long_row and not (self.titles and self.header == "none"):  # there it would have a column more
                records.insert(ROWS // 3, [*records[0], "seen twice"])
            if names:
                again = [names] if self.has_names_again else []
                questions = [[f"What is the {name} of the person?" for name in NAMES]] if self.has_questions else []
                units = [["", "CHF", "times", *[""] * (len(NAMES) - 4), "CHF"]] if self.has_units else []
                records = [names, *questions, *units, *records[: ROWS // 2], *again, *records[ROWS // 2 :]]
            empty = [[""] * len(NAMES)] * 2 if self.has_empty_rows else []
            note = [[self.note, *[""] * (len(NAMES) - 1)]] if self.note else []
            lines.writerows([*records, *empty, *note])

    @property
    def names(self) -> list[str]:
        """The line of names; empty if there is none."""
        match self.header:
            case "none":
                return []
            case "gap":
                return ["" if name == "town" else name for name in NAMES]
            case "twice":
                return ["amount" if name == "price" else name for name in NAMES]
        return [*NAMES]


def drawn_row(draw: random.Random, style: Style) -> dict[str, Any]:
    """A row of values that a style can write without a loss."""
    seen = datetime(1990, 1, 1) + timedelta(seconds=draw.randrange(40 * 365 * 86_400))  # noqa: DTZ001 - columns have no zone
    unit = 1 if "%S" in style.clock else 60
    seen -= timedelta(seconds=(seen.minute * 60 + seen.second) % unit)
    row: dict[str, Any] = {
        "person": draw.randrange(10**6),
        "amount": draw.randrange(-(10**9), 10**9) / 100,
        "visits": draw.randrange(-(10**8), 10**8),
        "day": date(1990, 1, 1) + timedelta(days=draw.randrange(40 * 365)),
        "seen": seen,
        "town": draw.choice(TOWNS),
        "smoker": draw.random() < 0.5,
        "code": f"{draw.randrange(10**5):05}",
        "price": draw.randrange(-(10**8), 10**8) / 100,
    }
    hidden = [name for name in NAMES[1:] if draw.random() < 0.02]
    return row | dict.fromkeys(hidden)


def columns_read(path: Path, dataset: DatasetConfig, kinds: Mapping[str, ColumnFormat]) -> list[list[Any]]:
    """The values of each column as questions read them."""
    opened = DuckDBSource.open_unprepared(path, kinds=kinds, form=dataset.form)
    with opened as source, source.cursors.cursor_for_query() as cursor:
        return [*map(list, zip(*cursor.execute("FROM records").fetchall(), strict=True))]


KINDS = {
    "person": Kind.INTEGER,
    "amount": Kind.REAL,
    "visits": Kind.INTEGER,
    "day": Kind.DATE,
    "seen": Kind.TIMESTAMP,
    "town": Kind.TEXT,
    "smoker": Kind.BOOLEAN,
    "code": Kind.TEXT,
    "price": Kind.REAL,
}


@pytest.mark.thorough
@pytest.mark.few(8)
@pytest.mark.parametrize("number", range(40))
def test_a_table_in_any_style_is_read_back(tmp_path: Path, number: int) -> None:
    """Each cell has its value; where a column can be read in several ways, one choice of the owner is right."""
    draw = random.Random(number)  # noqa: S311 - repeatable, not secret
    require_read_back(tmp_path, Style.drawn(draw), draw)


@pytest.mark.thorough
@pytest.mark.few(2)
@pytest.mark.parametrize("day", LANGUAGES)
def test_a_table_in_any_language_is_read_back(tmp_path: Path, day: str) -> None:
    """Its days and times have names of months in the language, in a style drawn at random."""
    draw = random.Random(day)  # noqa: S311 - repeatable, not secret
    require_read_back(tmp_path, replace(Style.drawn(draw), day=day), draw)


def require_read_back(tmp_path: Path, style: Style, draw: random.Random) -> None:
    """Fail unless a table in a style is read as it was written."""
    rows = [drawn_row(draw, style) for _ in range(ROWS)]
    path = tmp_path / "table.csv"
    style.write(path, rows)
    dataset = DatasetConfig("table", path, unit="row")
    inspection, _ = accept_proposals(examine_place(dataset), EngineCertificates())
    check, dataset = inspection.check, replace(inspection.dataset, form=inspection.check.form)
    forms = {column.name: column.form for column in check.columns}
    wanted = {column.name: [row[name] for row in rows] for column, name in zip(check.columns, NAMES, strict=True)}
    names = [*wanted]
    for finding in check.findings:
        if finding.column is not None and finding.choices and not finding.proposals:
            chosen = [check.proposed_forms([choice])[finding.column] for choice in finding.choices]
            place = names.index(finding.column)
            forms[finding.column] = next(
                form
                for form in chosen
                if columns_read(path, dataset, {**forms, finding.column: form})[place] == wanted[finding.column]
            )
    assert [form.kind for form in forms.values()] == [*KINDS.values()], style
    for name, kind, found in zip(names, KINDS.values(), columns_read(path, dataset, forms), strict=True):
        unsaid = style.missing or None if kind is Kind.TEXT else None  # a text may be any word
        assert found == [unsaid if value is None else value for value in wanted[name]], (name, forms[name], style)
