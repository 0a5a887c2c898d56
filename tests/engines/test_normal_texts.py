"""Texts of a question have the normal form that the owner states for the texts of their column."""

import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import polars as pl
import pytest

from noisycount.engines.formats import SIGNS, ColumnFormat
from noisycount.errors import PredicateError
from noisycount.query import predicate as tree
from noisycount.query.normal_form import parse_predicate
from noisycount.query.schema import Kind, Schema
from tests.helpers.commands import Refused, Run
from tests.helpers.sources import OpenSource
from tests.helpers.workbooks import write_workbook

FORMS = {
    "nfc": ColumnFormat(Kind.TEXT, normalise="NFC"),
    "nfkc": ColumnFormat(Kind.TEXT, normalise="NFKC"),
    "trim": ColumnFormat(Kind.TEXT, trim=True),
    "all": ColumnFormat(Kind.TEXT, trim=True, normalise="NFKC"),
    "none": ColumnFormat(Kind.TEXT),
}
CELLS = (
    *("Zürich", "Zu\u0308rich", " Zürich", "Zürich\u00a0", "\uff3a\u00fc\uff52\uff49\uff43\uff48", "ZÜRICH", "Bern"),
    *(
        "Bern ",
        "B\u200bern",
        "St. Gallen",
        "St.\u00a0Gallen",
        "St.  Gallen",
        "O'Neil",
        "O\u2019Neil",
        "A\u20137",
        "A-7",
    ),
    *("\u0661\u0662", "12", "ﬁn", "fin", "Å", "\u212b", "A\u030a", "é", "e\u0301", "5 %", "5_a"),
)
SCHEMA = dict.fromkeys(FORMS, Kind.TEXT)
NORMAL = Schema(SCHEMA, normalisers={name: form.normal_text for name, form in FORMS.items()})
RECORDS = [{name: form.normal_text(cell) for name, form in FORMS.items()} for cell in CELLS]


def number(name: str, test: Callable[[str], bool]) -> int:
    """Count the texts of a column that pass a test."""
    return sum(test(str(record[name])) for record in RECORDS)


@pytest.mark.parametrize(
    "open_source", ["memory", "duckdb", pytest.param("polars", marks=pytest.mark.thorough), "postgresql"], indirect=True
)
def test_every_engine_compares_texts_with_normal_literals(open_source: OpenSource) -> None:
    """Each way of writing a text finds the records of all ways, in every kind of comparison; by brute force."""
    asked, counts = [], []
    for name, form in FORMS.items():
        for cell, other in zip(CELLS[::2], reversed(CELLS[1::2]), strict=False):
            text, low, high = form.normal_text(cell), *sorted(form.normal_text(each) for each in (cell, other))
            quoted, pair = tree.quoted_text(cell), f"({tree.quoted_text(cell)}, {tree.quoted_text(other)})"
            ends = f"{tree.quoted_text(low)} and {tree.quoted_text(high)}"
            asked += [f"{name} = {quoted}", f"{name} > {quoted}", f"{name} in {pair}", f"{name} between {ends}"]
            counts += [number(name, text.__eq__), number(name, text.__lt__), number(name, {low, high}.__contains__)]
            counts += [number(name, lambda value, low=low, high=high: low <= value <= high)]  # type: ignore[misc]
    predicates = [parse_predicate(text, NORMAL).normal for text in asked]
    with open_source(RECORDS, SCHEMA) as source:
        assert source.count(predicates) == counts


def test_normal_forms_are_kept() -> None:
    """A normal text is its own normal form, so that stored questions keep their text; ten thousand random ones."""
    chance = random.Random(5)  # noqa: S311 - repeatable, not secret
    signs = [*"aeiouAZ019 -'.%_|\u0301\u0308\u030a\u0338ﬁÅé", *map(chr, SIGNS)]
    for _ in range(10_000):
        text = "".join(chance.choices(signs, k=chance.randrange(1, 7)))
        for form in FORMS.values():
            normal = form.normal_text(text)
            assert form.normal_text(normal) == normal


@pytest.mark.parametrize(
    ("name", "pattern", "normal"),
    [
        ("nfc", "Zu\u0308%", "Zü%"),
        ("nfkc", "%\u2013_", "%-_"),
        ("all", "St.  %", "St. %"),
        ("trim", "%\u00a0%", "%\u00a0%"),
        ("none", " e\u0301\uff05 ", " e\u0301\uff05 "),
    ],
)
def test_patterns_are_normal_between_their_wildcards(name: str, pattern: str, normal: str) -> None:
    """Blanks beside a wildcard may lie within a text."""
    (column,) = tree.columns(parse_predicate(f"{name} is null", NORMAL).normal)
    assert parse_predicate(f"{name} like '{pattern}'", NORMAL).normal == tree.Pattern(column, normal)


@pytest.mark.parametrize(
    ("name", "pattern", "remedy"),
    [("trim", "Bern ", "'Bern'"), ("all", " B%", "'B%'"), ("trim", "% ", "'%'"), ("nfkc", "5\uff05", "'5%'")],
)
def test_patterns_of_no_normal_text_are_refused(name: str, pattern: str, remedy: str) -> None:
    """A blank that no text has, or a sign that would become a wildcard, would silently match other records."""
    with pytest.raises(PredicateError, match="no text has such blanks or signs, so write like") as refusal:
        parse_predicate(f"{name} like '{pattern}'", NORMAL)
    assert str(refusal.value).endswith(f"so write like {remedy}")


TOWNS = ["Zürich", "Zu\u0308rich ", "\uff3aürich", "Bern", "Bern\u00a0", "Chur"]
LEDGER = '[ledger]\nurl = "sqlite:///ledger.db"\n'
DATASET = '[datasets.d]\nsource = "a.{}"\nunit = "row"\nbudget = "100000"\n'
KINDS = '[datasets.d.kinds]\ntown = {{ kind = "text"{} }}\n'
CLEARLY = ("--epsilon", "1000", "--json")


def write(ending: str) -> None:
    """Write the towns into a file of an ending, in the current folder."""
    frame, path = pl.DataFrame({"town": TOWNS, "n": range(6)}), Path(f"a.{ending}")
    match ending:
        case "csv":
            frame.write_csv(path)
        case "jsonl":
            frame.write_ndjson(path)
        case "xlsx":
            write_workbook(path, {"t": [("town", "n"), *frame.iter_rows()]})
        case "sqlite":
            with closing(sqlite3.connect(path)) as connection, connection:
                connection.execute("CREATE TABLE t (town TEXT, n INTEGER)")
                connection.executemany("INSERT INTO t VALUES (?, ?)", frame.iter_rows())


@pytest.mark.thorough
@pytest.mark.parametrize("ending", ["csv", "jsonl", "xlsx", "sqlite"])
def test_questions_tables_and_public_values_are_normal(run: Run, here: Path, ending: str) -> None:
    """Each way of writing a town is one question, charged once; keys and public values are read likewise."""
    write(ending)
    values = '[datasets.d.values]\ntown = ["Zu\u0308rich", "Bern ", "Chur"]\n'
    kinds = KINDS.format(', trim = true, normalise = "NFKC"')
    (here / "noisycount.toml").write_text(LEDGER + DATASET.format(ending) + kinds + values, encoding="utf-8")
    assert run("count", "d", "--where", "town = 'Zürich'", *CLEARLY).object["answer"] == 3
    for town in TOWNS[1:3]:
        again = run("count", "d", "--where", f"town in ('{town}')", *CLEARLY).object
        assert (again["answer"], again["where"], again["repeated"]) == (3, "town = 'Zürich'", True)
    table = run("count", "d", "--by", "town", *CLEARLY).object
    assert [row["answer"] for row in table["rows"]] == [3, 2, 1]
    table = run("count", "d", "--by", "town", "--keys", "town=Zu\u0308rich,Bern\u00a0", *CLEARLY).object
    assert [row["answer"] for row in table["rows"]] == [3, 2]


@pytest.mark.thorough
def test_texts_without_a_normal_form_stay_as_they_are(run: Run, refused: Refused, here: Path) -> None:
    """Without a statement, and of normal literals with one, the question is what it always was."""
    write("csv")
    place = here / "noisycount.toml"
    place.write_text(LEDGER + DATASET.format("csv"), encoding="utf-8")
    for town in TOWNS:
        assert run("count", "d", "--where", f"town = '{town}'", *CLEARLY).object["answer"] == 1
    place.write_text(LEDGER + DATASET.format("csv") + KINDS.format(", trim = true"), encoding="utf-8")
    assert "texts its owner normalises" in refused("count", "d", "--where", "town like 'Bern '", *CLEARLY[:2])
    assert run("count", "d", "--where", "town like 'Bern'", *CLEARLY).object["answer"] == 2
