"""Texts that look like numbers or dates, in sources that state the types of their columns: what a check reports."""

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from noisycount.engines.check import Check
from noisycount.engines.duckdb.frames import FrameSource
from noisycount.engines.duckdb.source import DuckDBSource
from noisycount.engines.findings import with_findings
from noisycount.engines.formats import ColumnFormat
from noisycount.engines.interface import CheckedSource
from noisycount.engines.sql.source import SqlSource
from noisycount.query.language import parse
from noisycount.query.schema import Kind
from tests.helpers.server_tables import table_of
from tests.helpers.sources import database
from tests.helpers.workbooks import write_workbook

TEXTS = {
    "person": ["101", "102", "103", "104"],
    "dose": ["12.5", "7", "101", None],
    "cost": ["1.234,50", "7,25", None, "80,00"],
    "day": ["2024-02-14", "2024-02-15", "2023-12-31", "2024-03-01"],
    "visit": ["14.02.2024", "15.02.2024", "31.12.2023", "01.03.2024"],
    "birthday": ["Feb 14", "Mar 1", "Dec 31", "May 5"],
    "zip": ["8001", "3011", "4051", "9000"],
    "plan": ["A", "B", "A", "12"],
}
FOUND = {
    "dose": ("numbers", "Ask with number(dose), or store them as numbers"),
    "cost": ("numbers", "Store them as numbers"),
    "day": ("dates", "Ask with date(day), or store them as dates"),
    "visit": ("dates", "Store them as dates"),
    "birthday": ("dates", "Store them as dates"),
}
SCHEMA = dict.fromkeys(TEXTS, Kind.TEXT)
RECORDS = [dict(zip(TEXTS, row, strict=True)) for row in zip(*TEXTS.values(), strict=True)]


def of_parquet(folder: Path) -> CheckedSource:
    """The records in a Parquet file."""
    pq.write_table(pa.table(TEXTS), folder / "a.parquet")
    return DuckDBSource.open(folder / "a.parquet", unit="person")


def of_duckdb(folder: Path) -> CheckedSource:
    """The records in a DuckDB file."""
    with database(folder / "a.duckdb") as connection:
        connection.register("texts", pa.table(TEXTS))
        connection.execute("CREATE TABLE a AS FROM texts")
    return DuckDBSource.open(folder / "a.duckdb", unit="person")


OPENED: dict[str, Callable[[Path], CheckedSource]] = {
    "parquet": of_parquet,
    "duckdb": of_duckdb,
    "pandas": lambda _: FrameSource.open(pd.DataFrame(TEXTS), unit="person"),
    "polars": lambda _: FrameSource.open(pl.DataFrame(TEXTS), unit="person"),
    "arrow": lambda _: FrameSource.open(pa.table(TEXTS), unit="person"),
}


@pytest.fixture(params=[*OPENED, "postgresql"])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> CheckedSource:
    """The records in a source that states that all columns hold texts."""
    if request.param == "postgresql":
        place = table_of(request.getfixturevalue("postgresql"), RECORDS, SCHEMA)
        return SqlSource.open(place, unit="person", columns=None)
    return OPENED[request.param](tmp_path)


def reported(check: Check) -> dict[str, tuple[str, str]]:
    """Return for each column its resemblance and the remedy, as the findings state them."""
    found = {column.name: column.looks_like for column in check.columns if column.looks_like}
    texts = {each.column: each.text for each in with_findings(check, "person").findings if "look like" in each.title}
    assert {*texts} == {*found}
    assert all(each.noun in texts[name] and each.remedy in texts[name] for name, each in found.items())
    return {name: (each.noun.partition(",")[0], each.remedy) for name, each in found.items()}


def test_texts_that_look_like_others_are_reported_with_a_remedy_that_works(
    source: CheckedSource,
) -> None:
    """Numbers and dates, but neither codes, nor ids of persons, nor texts of which some have digits."""
    with source:
        check = (
            source.check()
            if not isinstance(source, DuckDBSource)
            else DuckDBSource.check_file(source.path, unit="person")
        )
        assert reported(check) == FOUND
        asked = [parse(text, source.schema) for text in ("number(dose) >= 100", "date(day) >= '2024-02-15'")]
        assert source.count(asked) == [1, 2]


@pytest.mark.parametrize("ending", ["sqlite", "jsonl"])
def test_texts_of_files_that_distinguish_types_are_reported(tmp_path: Path, ending: str) -> None:
    """Whole numbers that a file says are texts stay texts; the owner is told what to state."""
    path = tmp_path / f"a.{ending}"
    if ending == "sqlite":
        with closing(sqlite3.connect(path)) as database:
            database.execute("CREATE TABLE a (dose TEXT, zip TEXT)")
            database.executemany("INSERT INTO a VALUES (?, ?)", [("12", "8001"), ("7", "3011"), ("101", "4051")])
            database.commit()
    else:
        path.write_text('{"dose": "12", "zip": "8001"}\n{"dose": "7", "zip": "3011"}\n{"dose": "101", "zip": "4051"}\n')
    check = with_findings(DuckDBSource.check_file(path), None)
    (finding,) = [each for each in check.findings if "look like" in each.title]
    assert finding.column == "dose"
    assert 'State kind = "integer" if they are numbers, or ask with number(dose)' in finding.text
    with DuckDBSource.open(path, kinds={"dose": Kind.INTEGER}) as source:
        assert source.count([parse("dose >= 100", source.schema)]) == [1]


def rows_of(cells: Sequence[str]) -> str:
    """A CSV file of one column."""
    return "\n".join(["seen", *cells, ""])


@pytest.mark.parametrize(
    "cells",
    [
        ["Jan 5", "Feb 14", "Mar 1"],
        ["01-Feb", "14-Feb", "20-Mar"],
        ["14.02.", "15.02.", "1.3."],
        ["10-11", "3-12", "24-12"],
        ["2024-W07", "2024-W08", "2023-W51"],
        ["Q1 2024", "Q2 2024", "Q4 2023"],
        ["2024-02-14 13:30 CET", "2024-07-14 13:30 CEST", "2024-08-01 09:00 CEST"],
        ["Wed Feb 14 2024 13:30:00 GMT+0100 (Central European Standard Time)"] * 3,
        ["14/II/2024", "15/II/2024", "1/XII/2023"],
    ],
    ids=lambda cells: cells[0],
)
def test_dates_in_no_form_that_is_read_are_reported(tmp_path: Path, cells: list[str]) -> None:
    """Nothing that looks like dates passes in silence."""
    path = tmp_path / "a.csv"
    path.write_text(rows_of(cells))
    check = with_findings(DuckDBSource.check_file(path), None)
    assert [finding.title for finding in check.findings if finding.column == "seen"] == [
        "cells that look like another kind"
    ]
    assert "Looks like dates in a form that is not read" in check.findings[0].text


@pytest.mark.parametrize(
    "cells",
    [
        ["1.2.3.4", "10.0.0.1", "192.168.1.7"],
        ["0-4", "5-14", "15-24", "25-64"],
        ["room 12", "room 14", "may 3 be late who knows"],
        ["3/4 cup", "1 tsp", "2 tsp"],
        ["+41 79 123 45 67", "079 123 45 67", "031 300 00 00"],
        ["12 Main Street", "7 March Lane No 4b", "9 High Street"],
        ["1:2", "3:1", "0:0"],
        ["08:30:00", "17:05:09.5", "23:59:59"],
    ],
    ids=lambda cells: cells[0],
)
def test_other_texts_are_not_reported(cells: list[str], tmp_path: Path) -> None:
    """Addresses, ages, fractions, telephone numbers and versions are no dates."""
    path = tmp_path / "a.csv"
    path.write_text(rows_of(cells))
    assert [each.looks_like for each in DuckDBSource.check_file(path).columns] == [None]


@pytest.mark.parametrize(
    "cells", [["8:30", "17:05"], ["08:30", "17:05"], ["8:30 AM", "1:05 p.m."], ["08:30:00", "9:05:00"]]
)
def test_times_of_day_in_another_form_than_columns_of_times_are_reported(tmp_path: Path, cells: list[str]) -> None:
    """Their characters have not the order of the times, or the question must be written in another way."""
    path = tmp_path / "a.csv"
    path.write_text(rows_of(cells))
    (found,) = [each.looks_like for each in DuckDBSource.check_file(path).columns]
    assert found is not None
    assert found.noun == "times of day"
    assert found.example in cells


@pytest.mark.parametrize(
    ("name", "cells", "noun"),
    [
        ("ora", ["08.05", "16.48", "23.59"], "times of day"),
        ("amount", ["1.5k", "2k", "300"], "numbers in a form that is not read"),
        ("amount", ["1,234.50 CR", "20.00 DR"], "numbers in a form that is not read"),
        ("amount", ["1.5", "2,25", "3.5", "4,75"], "numbers in a form that is not read"),
        ("share", ["1\u00bd", "2", "3\u00bc"], "numbers in a form that is not read"),
        ("share", ["12.5 %", "8%", "- 3 %"], "numbers in a form that is not read"),
        ("dose", ["5\u00b11", "6 +/- 2"], "numbers in a form that is not read"),
        ("dose", ["\u0661\u066b\u0665", "\u0667\u066b\u0665"], "numbers in a form that is not read"),
        ("seen", ["1Q24", "2Q24", "4Q23"], "dates in a form that is not read"),
        ("seen", ["/Date(1700239736000)/"] * 2, "dates in a form that is not read"),
        ("seen", ["2024-02-14", "20240215", "2024/02/16"], "dates in a form that is not read"),
        ("at", ["1:30 PM EST", "9:05 AM EST"], "times of day"),
        ("created", ["1700239736.25", "1700239999.5"], "seconds since 1970"),
        ("share", ["1/16", "3/16", "15/16"], "numbers in a form that is not read"),
        ("share", ["1/2", "3/4", "5/8"], "days without a year or fractions in a form that is not read"),
        ("count", ["\u0663\u0660", "\u0664\u0665"], "numbers in a form that is not read"),
        ("seen", ["\u0661\u0662/\u0660\u0662/\u0662\u0660\u0662\u0664"] * 2, "dates in a form that is not read"),
        ("seen", ["12. lis 2024.", "3. sij 2024.", "5. velj 2023."], "dates in a form that is not read"),
        ("at", ["13:30:00 CET", "09:30:00 CEST"], "times of day"),
        ("change", ["\u22121,5", "2,5", "\u22120,5"], "numbers in a form that is not read"),
        ("price", ["1,05,000.50", "12,00,000", "85,000"], "numbers in a form that is not read"),
        ("result", ["<5", "<0.1", "<10"], "numbers in a form that is not read"),
        ("created_at", ["1700239736", "1700239999"], "seconds since 1970"),
        ("timestamp", ["1700239736000", "1700239999000"], "milliseconds since 1970"),
    ],
)
def test_other_numbers_and_times_in_no_form_that_is_read_are_reported(
    tmp_path: Path, name: str, cells: list[str], noun: str
) -> None:
    """A minus behind, bounds, times with a point, and seconds since 1970."""
    path = tmp_path / "a.tsv"
    path.write_text(rows_of(cells).replace("seen", f"{name}\tn").replace("\n", "\t1\n").replace("n\t1", "n", 1))
    found = DuckDBSource.check_file(path).columns[0].looks_like
    assert found is not None
    assert found.noun == noun


@pytest.mark.parametrize(("other", "parts"), [("4.5", {"kind": "real"}), ("about 30", {"unreadable": "missing"})])
def test_no_negative_number_with_a_minus_behind_is_lost(tmp_path: Path, other: str, parts: dict[str, str]) -> None:
    """As SAP writes them: what `init --accept` takes reads them, whatever the other cells are."""
    path = tmp_path / "a.csv"
    path.write_text(rows_of(["12.5", "7.25", "3.5", "4.5", "5.75", "3.25", "1.25", *["2.5"] * 9, "934.58-", other]))
    (finding,) = [each for each in with_findings(DuckDBSource.check_file(path), None).findings if each.column == "seen"]
    assert "not fit the kind real: '934.58-'" in finding.text
    assert [proposal.value for proposal in finding.proposals] == [{"minus_behind": True, **parts}]
    kinds = {"seen": ColumnFormat.from_parts({"kind": "real", "minus_behind": True, "unreadable": "missing"})}
    with DuckDBSource.open(path, kinds=kinds) as source:
        assert source.count([parse("seen < -934", source.schema), parse("seen is null", source.schema)]) == [
            1,
            other != "4.5",
        ]


@pytest.mark.parametrize(("other", "parts"), [("4", {"kind": "integer"}), ("absent", {"unreadable": "missing"})])
def test_grades_are_no_negative_numbers_unless_the_owner_chooses_so(
    tmp_path: Path, other: str, parts: dict[str, str]
) -> None:
    """`2-` beside whole numbers may be a grade: `init --accept` leaves such a column to its owner."""
    path = tmp_path / "a.csv"
    path.write_text(rows_of([*["1", "2", "3"] * 4, "2-", other]))
    (finding,) = [each for each in with_findings(DuckDBSource.check_file(path), None).findings if each.column == "seen"]
    assert finding.proposals == ()
    assert [choice.value for choice in finding.choices] == [{"minus_behind": True, **parts}, {"kind": "text"}]


@pytest.mark.parametrize("ending", ["csv", "tsv.gz", "jsonl", "sqlite", "xlsx"])
def test_a_minus_behind_is_proposed_and_counted_in_every_file_of_texts(tmp_path: Path, ending: str) -> None:
    """A form is a choice where the file says that its cells are texts; else it is proposed."""
    cells, path = ["1.300,50-", "12,50", "7,25-", "80,00"], tmp_path / f"a.{ending}"
    frame = pd.DataFrame({"amount": cells, "n": ["x", "y", "x", "y"]})
    match ending:
        case "jsonl":
            frame.to_json(path, orient="records", lines=True)
        case "xlsx":
            write_workbook(path, {"a": [[*frame.columns], *frame.to_numpy().tolist()]})
        case "sqlite":
            with closing(sqlite3.connect(path)) as database:
                frame.to_sql("a", database, index=False)
        case _:
            frame.to_csv(path, index=False, sep="\t")
    column = DuckDBSource.check_file(path).columns[0]
    form = ColumnFormat(Kind.REAL, decimal=",", minus_behind=True)
    assert form in (column.form, *column.choices)
    with DuckDBSource.open(path, kinds={"amount": form}) as source:
        asked = ("amount = -1300.5", "amount < 0", "amount between -8 and -7", "amount > 12")
        assert source.count([parse(where, source.schema) for where in asked]) == [1, 2, 1, 2]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_formulas_around_texts_are_reported(tmp_path: Path, ending: str) -> None:
    """Programs write them so that Excel keeps the zeros of codes; a question about 001 finds none of them."""
    path, frame = tmp_path / f"a.{ending}", pd.DataFrame({"code": ['="001"', '="002"', '="010"'], "word": list("abc")})
    frame.to_csv(path, index=False) if ending == "csv" else frame.to_parquet(path)
    (finding,) = with_findings(DuckDBSource.check_file(path), None).findings
    assert finding.column == "code"
    assert finding.text.startswith("Looks like formulas around texts")
