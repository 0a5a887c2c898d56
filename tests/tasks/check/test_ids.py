"""Ids that are nobody's and ids that lost digits: what `check` shows, and what its line does to their rows."""

import json
import random
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyreadstat
import pytest

import noisycount as nc
from noisycount.engines import persons
from noisycount.engines.duckdb.source import DuckDBSource
from noisycount.engines.findings import with_findings
from noisycount.engines.formats import ColumnFormat
from noisycount.engines.sql.source import SqlSource
from noisycount.query.language import parse
from noisycount.release.records import findings_about_records
from tests.helpers.commands import Refused, Run
from tests.helpers.postgresql import Server
from tests.helpers.server_tables import made_by, place_of
from tests.helpers.sources import database
from tests.helpers.workbooks import write_workbook

CLEARLY = ("--epsilon", "1000", "--json")
DATASET = '[ledger]\nurl = "sqlite:///ledger.db"\n[datasets.d]\nsource = "{}"\nunit = "who"\nbudget = "100000"\n'
LOST, NOBODY, WITHOUT = "ids that lost digits", "ids that may be missing", "rows without a person"
WORDS: tuple[Any, ...] = ("P1", "P2", "P2", "unknown", "NULL", "NULL ", "N/A", "-", "Unknown", None)
NUMBERS: tuple[Any, ...] = (101, 102, 102, 0, 0, 999999, -9, None)
TEXTS_ONLY = ("csv", "tsv", "jsonl", "xlsx", "sqlite")
ENDINGS = (*TEXTS_ONLY, "sav", "parquet", "folder", "duckdb")


def write(ending: str, ids: Sequence[Any]) -> str:
    """Write ids, each with the number of its row, into a source of a kind in the current folder; return its name."""
    frame, path = pl.DataFrame({"who": ids, "n": range(len(ids))}), Path(f"a.{ending}")
    match ending:
        case "csv" | "tsv":
            frame.write_csv(path, separator="," if ending == "csv" else "\t")
        case "jsonl":
            frame.write_ndjson(path)
        case "xlsx":
            write_workbook(path, {"t": [("who", "n"), *frame.iter_rows()]})
        case "sqlite":
            with closing(sqlite3.connect(path)) as connection, connection:
                connection.execute(
                    f"CREATE TABLE t (who {'TEXT' if isinstance(ids[0], str) else 'INTEGER'}, n INTEGER)"
                )
                connection.executemany("INSERT INTO t VALUES (?, ?)", frame.iter_rows())
        case "sav":
            pyreadstat.write_sav(pd.DataFrame({"who": ids, "n": range(len(ids))}), str(path))
        case "duckdb":
            with database(path) as connection:
                connection.from_arrow(frame.to_arrow()).create("t")
        case "folder":
            path.mkdir()
            for part in range(2):
                frame[part::2].write_parquet(path / f"{part}.parquet")
        case _:
            frame.write_parquet(path)
    return path.name


def seen(run: Run) -> dict[str, Any]:
    """Return the JSON of a check, whether or not questions are answered."""
    return dict(json.loads(run("check", "d", "--json").output))


def titles(shown: Mapping[str, Any]) -> list[str]:
    """The titles of the findings of a check that name the ids."""
    return [finding["title"] for finding in shown["findings"] if finding["title"] in {LOST, NOBODY, WITHOUT}]


def answers(run: Run) -> tuple[int, int, list[int]]:
    """The number of persons, of those with a row after the first, and of those in two ranges of rows."""
    counts = [int(run("count", "d", *words, *CLEARLY).object["answer"]) for words in ((), ("--where", "n > 0"))]
    table = run("count", "d", "--by", "n:0,2", "--groups-per-unit", "2", *CLEARLY).object["rows"]
    return counts[0], counts[1], [row["answer"] for row in table]


@pytest.mark.thorough
@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("ids", [WORDS, NUMBERS], ids=["words", "numbers"])
def test_the_proposed_line_leaves_the_rows_of_nobody_out(run: Run, here: Path, ending: str, ids: Sequence[Any]) -> None:
    """Of every file; without a line no question is answered; rows that are left out are in no count and no table."""
    place = here / "noisycount.toml"
    place.write_text(DATASET.format(write(ending, ids)))
    shown = seen(run)
    assert (shown["fits"], titles(shown)) == (False, [WITHOUT, NOBODY])
    assert run("count", "d", *CLEARLY).status != 0
    lines = [choice["line"] for finding in shown["findings"] for choice in finding["choices"]]
    mend = shown["mend"] if ids is WORDS else f"[datasets.d.kinds]\n{lines[0]}"
    place.write_text(place.read_text() + mend)
    shown = seen(run)
    assert (shown["fits"], titles(shown), shown["persons"]) == (True, [WITHOUT], 2), mend
    number = len(ids) - 3
    assert f"{number} rows name no person and, as the owner stated, are in no count" in " ".join(shown["problems"])
    assert answers(run) == (2, 1, [2, 1])


def test_accepted_proposals_leave_the_rows_of_nobody_out(run: Run, here: Path) -> None:
    """Words and empty cells; a number is for the owner to decide on."""
    write("csv", ["1", "2", "3", "unknown", None, "0", "0", "999"])
    made = run("init", "a.csv", "--unit", "who", "--accept")
    assert made.status == 0
    text = (here / "noisycount.toml").read_text()
    assert 'who = { kind = "text", missing = ["unknown"], drop_missing = true }' in text
    assert '# who = { kind = "text", missing = ["unknown", "999"], drop_missing = true }' in text
    shown = json.loads(run("check", "a", "--json").output)
    assert (shown["fits"], shown["persons"], titles(shown)) == (True, 5, [NOBODY, WITHOUT])


@pytest.mark.thorough
@pytest.mark.always
def test_a_proof_that_each_row_has_an_id_is_of_one_reading(run: Run, here: Path) -> None:
    """A changed statement about ids is checked again, although the file is the same."""
    place = here / "noisycount.toml"
    place.write_text(DATASET.format(write("parquet", ["P1", "NULL", "P2"])))
    assert run("count", "d", *CLEARLY).object["answer"] == 3
    stated = '[datasets.d.kinds]\nwho = { kind = "text", missing = ["NULL"]'
    place.write_text(f"{DATASET.format('a.parquet')}{stated} }}\n")
    assert "unit column 'who' has missing values" in run("count", "d", "--epsilon", "1000").errors
    place.write_text(f"{DATASET.format('a.parquet')}{stated}, drop_missing = true }}\n")
    assert run("count", "d", *CLEARLY).object["answer"] == 2
    place.write_text(f"{DATASET.format('a.parquet')}{stated} }}\n")
    assert "unit column 'who' has missing values" in run("count", "d", "--epsilon", "1000").errors


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('n = { kind = "integer", drop_missing = true }', "drop_missing of 'n', but drop_missing belongs to the unit"),
        ('who = { kind = "real", drop_missing = true }', "drop_missing belongs to a column of kind"),
        ('who = { kind = "text", drop_missing = "yes" }', "drop_missing must be true or false"),
    ],
)
def test_what_cannot_leave_rows_out_is_refused(refused: Refused, here: Path, line: str, words: str) -> None:
    """Another column, another kind, another value."""
    write("csv", ["P1", None])
    (here / "noisycount.toml").write_text(f"{DATASET.format('a.csv')}[datasets.d.kinds]\n{line}\n")
    assert words in refused("count", "d", "--epsilon", "1000")


def test_other_rules_of_ids_that_are_numbers_are_refused(refused: Refused, here: Path) -> None:
    """A Parquet file has integers, of which only words for a missing one can be stated."""
    write("parquet", [1, 2])
    for part in ('decimal = ","', 'symbols = ["#"]', 'unreadable = "missing"'):
        line = f'who = {{ kind = "integer", {part} }}'
        (here / "noisycount.toml").write_text(f"{DATASET.format('a.parquet')}[datasets.d.kinds]\n{line}\n")
        assert "who" in refused("count", "d", "--epsilon", "1000")


ROUNDED = ("1.23457E+12", "1.23457E+12", "9,8765e+15", "1E+05", "1.2345678E7", "-2.5e-05")
TRUE_IDS = ("1E6", "12E5", "E+12", "A1.5E+12", "3e", "1.5", "1.5E+", "1.5E+1000", "2E+12x", "jane+12")


@pytest.mark.thorough
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_ids_that_a_spreadsheet_rounded_are_counted(run: Run, here: Path, ending: str) -> None:
    """With the number of ids and of rows, and that only the export can mend them."""
    (here / "noisycount.toml").write_text(DATASET.format(write(ending, [*ROUNDED, *TRUE_IDS])))
    shown = seen(run)
    assert titles(shown) == [LOST]
    words = " ".join(shown["problems"])
    assert "5 ids in 6 rows have lost digits" in words
    assert "Nothing brings the digits back: export the ids again, as texts" in words
    assert shown["mend"] == ""
    (here / "noisycount.toml").write_text(DATASET.format(write("csv", TRUE_IDS)))
    assert titles(seen(run)) == []


def test_ids_that_are_reals_of_too_many_digits_are_counted(tmp_path: Path) -> None:
    """From 2⁵³ on a real is one of several whole numbers."""
    frame = pl.DataFrame({"who": [1.0, 2.0**53 - 1, 2.0**53, 2.0**53, -1e19, None][:5]})
    with nc.open_desk(frame, unit="who", ledger=tmp_path / "ledger.db") as desk:
        found = [finding for finding in desk.check().findings if finding.title == LOST]
    assert [finding.text.partition(" have")[0] for finding in found] == ["2 ids in 3 rows"]


@pytest.mark.parametrize(
    ("ids", "found"),
    [
        ([1, 2, 3, 999999], ["999999"]),
        ([0, 1, 2, 3], []),
        ([*[0] * 30, 1, 2, 3], ["0"]),
        ([998, 999, 1000], []),
        ([-1, 5, 6], ["-1"]),
        ([-3, -2, -1], []),
        (["000", "123", "456"], ["000"]),
        (["0", "00", "7"], ["0", "00"]),
        (["99", "12345"], []),
        ([99_999_999, 20_000_000], ["99999999"]),
    ],
)
def test_numbers_that_no_sequence_of_ids_has_are_reported(tmp_path: Path, ids: Sequence[Any], found: list[str]) -> None:
    """By the ids next to them, or by many more rows than others have."""
    with nc.open_desk(pl.DataFrame({"who": ids}), unit="who", ledger=tmp_path / "ledger.db") as desk:
        check = desk.check()
    assert check.persons is not None
    assert [*check.persons.placeholders] == found


def test_the_number_of_persons_with_several_ids_has_no_limit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Of very many the engine counts them."""
    monkeypatch.setattr(persons, "MOST_SPELLINGS", 6)
    ids = [f"{prefix}{number}" for number in range(10, 30) for prefix in ("P", "p", "P0")]
    with nc.open_desk(pl.DataFrame({"who": ids}), unit="who", ledger=tmp_path / "ledger.db") as desk:
        (finding,) = desk.check().findings
    assert finding.text.startswith("About 20 persons may have several ids; one with 3 ids")


MARKED = [
    (("6f9619ff8b86d011b42d00cf4fc964ff", "{6F9619FF-8B86-D011-B42D-00CF4FC964FF}"), {"fold_case", "drop_marks"}),
    (("7561234567897", "756.1234.5678.97", "756 1234 5678 97"), {"drop_marks"}),
    (("00123", "'00123", '"00123"', "#00123", "00123."), {"drop_marks"}),
    (("1234", "1,234", "1'234", "01\u2019234"), {"normalise", "drop_zeros", "drop_marks"}),
    (("A7", "A-007", "A_7"), {"drop_zeros", "drop_marks"}),
]


@pytest.mark.parametrize(("ids", "rules"), MARKED)
@pytest.mark.parametrize("others", [("1-12", "11-2"), ("x", "y-1", "y-2")])
def test_ids_that_differ_in_marks_are_shown_for_the_owner(
    tmp_path: Path, ids: tuple[str, ...], rules: set[str], others: tuple[str, ...]
) -> None:
    """With the rules that make them one person; ids of which each has a mark may be of several persons."""
    path = tmp_path / "a.parquet"
    pl.DataFrame({"who": [*ids, *others]}).write_parquet(path)
    found = [each for each in findings_about_records(path, unit="who").findings if each.choices]
    (choice,) = found[-1].choices
    assert isinstance(choice.value, Mapping)
    assert {*choice.value} == rules
    form = ColumnFormat.from_parts({"kind": "text", **choice.value})
    assert len({form.normal_text(id_) for id_ in ids}) == 1
    with DuckDBSource.open(path, unit="who", kinds={"who": form}) as source:
        assert source.count([parse("true", source.schema)]) == [1 + len({form.normal_text(each) for each in others})]


@pytest.mark.parametrize("ids", [("1-12", "11-2"), ("A-7", "A_7", "B7"), ("123-4", "1234-5", "999")])
def test_ids_of_which_none_is_without_marks_are_left_alone(tmp_path: Path, ids: tuple[str, ...]) -> None:
    """Parts of ids, such as a place and a number, may be equal only once nothing stands between them."""
    with nc.open_desk(pl.DataFrame({"who": ids}), unit="who", ledger=tmp_path / "ledger.db") as desk:
        assert [each.title for each in desk.check().findings] == [NOBODY] * ("999" in ids)


DATES = ("1-Mar", "02. Sep", "Sep-02", "4. Mrz", "12-Dec")


def test_ids_that_became_dates_are_counted(tmp_path: Path) -> None:
    """A few among others; ids that all are days, or that only have a month in them, are left alone."""
    others = [f"GENE{number}" for number in range(10)]
    for ids, number in (([*DATES, *others], 5), (DATES, 0), (["MAR1", "MARCH-X", "1-MARX", *others], 0)):
        with nc.open_desk(pl.DataFrame({"who": ids}), unit="who", ledger=tmp_path / "ledger.db") as desk:
            persons_ = desk.check().persons
        assert persons_ is not None
        assert (persons_.dates.ids if persons_.dates else 0) == number


VISITS = ("'P1', 1", "'P1', 2", "'P2', 3", "'unknown', 4", "NULL, 5")


def test_a_view_leaves_the_rows_of_nobody_of_a_server_out(postgresql: Server) -> None:
    """The table is refused, and its owner is told of a view, which is counted."""
    table = made_by(postgresql, "who text, n bigint", *VISITS)
    view = "who IS NOT NULL AND who <> 'unknown'"
    with postgresql.shell("postgres") as shell:
        shell.execute(f"CREATE VIEW {table}_named AS SELECT who, n FROM {table} WHERE {view}".encode())  # noqa: S608 - ours
    with SqlSource.open(place_of(postgresql, table), unit=None, columns=None) as source:
        check = with_findings(source.check("who"), "who")
    texts = {finding.title: finding.text for finding in check.findings}
    assert texts[WITHOUT] == "1 row names no person: fill the cells in, or remove the rows"
    assert "leave such rows out where the records are, for instance by a view" in texts[NOBODY]
    with SqlSource.open(place_of(postgresql, f"{table}_named"), unit="who", columns=None) as source:
        assert source.count([parse(text, source.schema) for text in ("true", "n > 1", "n > 3")]) == [2, 2, 0]


def test_frames_without_the_rows_of_nobody_are_counted(tmp_path: Path) -> None:
    """Their owner filters them; the check says so, and a row without an id is refused."""
    frame = pl.DataFrame({"who": ["P1", "P2", "unknown"], "n": [1, 2, 3]})
    with nc.open_desk(frame, unit="who", ledger=tmp_path / "ledger.db") as desk:
        assert "leave such rows out where the records are" in desk.check().findings[0].text
    filtered = frame.filter(pl.col("who") != "unknown")
    with nc.open_desk(filtered, unit="who", budget=1000, ledger=tmp_path / "ledger.db") as desk:
        assert (desk.check().findings, desk.release("true", 500).answer) == ((), 2)


def test_left_out_rows_are_those_of_a_loop(run: Run, here: Path) -> None:
    """Random ids and words, by brute force."""
    chance = random.Random(11)  # noqa: S311 - repeatable, not secret
    ids = [chance.choice(["a", "b", "c", "NULL", "n/a", "", "d1", "d01"]) for _ in range(60)]
    (here / "a.csv").write_text("who,n\n" + "".join(f"{id_},{n}\n" for n, id_ in enumerate(ids)))
    line = 'who = { kind = "text", missing = ["NULL", "n/a"], drop_zeros = true, drop_missing = true }\n'
    (here / "noisycount.toml").write_text(f"{DATASET.format('a.csv')}[datasets.d.kinds]\n{line}")
    for least in (0, 20, 55):
        known = {id_.replace("d01", "d1") for id_ in ids[least:]} - {"NULL", "n/a", ""}
        assert run("count", "d", "--where", f"n >= {least}", *CLEARLY).object["answer"] == len(known)
