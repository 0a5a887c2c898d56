"""Rows and names of files: which rows are records, what columns are called, and what the owner has to state.

Tests of `engines/duckdb/file_head.py`, `engines/duckdb/odd_rows.py` and `engines/layout_findings.py`.
"""

import csv
import gzip
import io
import re
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisycount.catalog.folder import EngineCertificates
from noisycount.config.config import DatasetConfig
from noisycount.engines.check import Check
from noisycount.engines.duckdb.layout import Layout, count_titles
from noisycount.engines.duckdb.source import DuckDBSource
from noisycount.engines.finding import Proposal, Severity
from noisycount.engines.findings import with_findings
from noisycount.engines.formats import FileFormat
from noisycount.errors import EncodingError, SourceError
from noisycount.query.language import parse
from noisycount.query.schema import Kind
from noisycount.release.records import findings_about_records
from noisycount.tasks.check import examine_place
from noisycount.tasks.init import accept_proposals
from tests.engines.duckdb.test_source import CANARY, counts, write_csv
from tests.helpers.cases import examples
from tests.helpers.workbooks import write_workbook

Rows = Sequence[Sequence[object]]
PERSONS: Rows = [["A1", 34, "M", "Bern"], ["B2", 40, "F", "Biel"], ["C3", 50, "F", "Thun"], ["D4", 61, "M", "Bern"]]
NAMES = ["id", "age", "sex", "town"]
IMPORT = [f'{{"ImportId":"QID{number}"}}' for number in range(4)]
SURVEY: Rows = [
    ["ResponseId", "Progress", "Finished", "Q1"],
    ["Response ID", "Progress", "Finished", "How old are you?"],
]
RESPONSES: Rows = [
    ["R_1", 100, "True", 20],
    ["R_2", 100, "True", 30],
    ["R_3", 40, "False", 40],
    ["R_4", 9, "False", 50],
]
ODD: dict[str, tuple[Rows, dict[str, object]]] = {
    "plain": ([NAMES, *PERSONS], {}),
    "empty rows": ([NAMES, PERSONS[0], [None] * 4, *PERSONS[1:], [None] * 4, [None] * 4], {"drop_empty_rows": True}),
    "questions": (
        [NAMES, ["Response ID", "How old are you?", "Sex", "Where do you live?"], IMPORT, *PERSONS],
        {"skip_rows_after_header": 2},
    ),
    "questions that repeat names": ([*SURVEY, IMPORT, *RESPONSES], {"skip_rows_after_header": 2}),
    "questions that repeat names, without ids": ([*SURVEY, *RESPONSES], {"skip_rows_after_header": 1}),
    "questions without ids": (
        [NAMES, ["ID", "How old are you?", "Sex?", "Where do you live?"], *PERSONS],
        {"skip_rows_after_header": 1},
    ),
    "kinds of questions": (
        [NAMES, [None, "Open-Ended Response", "Response", "Response"], *PERSONS],
        {"skip_rows_after_header": 1},
    ),
    "units": (
        [["id", "age", "weight"], [None, "years", "kg"], ["A", 3, 15], ["B", 4, 16.5]],
        {"skip_rows_after_header": 1},
    ),
    "names again": ([NAMES, *PERSONS[:2], NAMES, *PERSONS[2:], NAMES], {"drop_rows_like_header": True}),
    "a total": ([NAMES, *PERSONS, ["Total", 185, None, None]], {"footer": ("Total",)}),
    "totals within": (
        [
            NAMES,
            *PERSONS[:2],
            ["Zwischensumme", 74, None, None],
            *PERSONS[2:],
            [None, "Summe", None, 4],
            ["GESAMT:", 185, "", ""],
        ],
        {"footer": ("Zwischensumme", "Summe", "GESAMT:")},
    ),
    "totals of groups": (
        [NAMES, *PERSONS, ["Bern Total", 95, None, None], ["Grand Total", 185, None, None]],
        {"footer": ("Bern Total", "Grand Total")},
    ),
    "notes": (
        [NAMES, *PERSONS, ["Source: Office of Statistics", None, None, None], ["* provisional", None, None, None]],
        {"footer": ("Source: Office of Statistics", "* provisional")},
    ),
    "comments": ([NAMES, ["# exported", None, None, None], *PERSONS, ["# end", None, None, None]], {"comment": ("#",)}),
    "sums in another column": (
        [
            ["id", "town", "n"],
            ["A", "Bern", 3],
            ["B", "Biel", 4],
            ["C", "Thun", 5],
            ["D", "Chur", 6],
            ["E", "Total", 18],
        ],
        {"drop_rows_where": (("town", ("Total",)),)},
    ),
    "no names": (PERSONS, {"header": False, "names": tuple((n, f"column{n}") for n in range(1, 5))}),
    "all at once": (
        [
            ["Survey", None, None, None],
            NAMES,
            IMPORT,
            PERSONS[0],
            [None] * 4,
            NAMES,
            *PERSONS[1:],
            [None] * 4,
            ["Total", 4, None, None],
        ],
        {"skip_rows_after_header": 1, "drop_empty_rows": True, "drop_rows_like_header": True, "footer": ("Total",)},
    ),
}


QUESTIONS = (
    "StartDate,ResponseId,Q1,Q2\nStart Date,Response ID,How old are you?,Which colour?\n"
    '"{""ImportId"":""startDate""}","{""ImportId"":""_recordId""}","{""ImportId"":""QID1""}","{""ImportId"":""QID2""}"\n'
)
ANSWERS = "".join(f"2024-01-0{n} 10:00:00,R_{n},{30 + n},{'Red' if n % 2 else 'Blue'}\n" for n in range(1, 7))
TEXTS: dict[str, tuple[str, int]] = {
    "exports put together": (QUESTIONS + ANSWERS + QUESTIONS + ANSWERS, 12),
    "boxes to tick": (
        "Respondent ID,Which fruits?,,More\n,Apple,Pear,Open-Ended Response\n11,Apple,,fine\n12,Apple,Pear,\n13,,,x\n",
        3,
    ),
    "kinds": ("id,height,town\nint,float,str\n1,170.5,Bern\n2,180.5,Biel\n", 2),
    "questions that repeat nothing": (
        "id,colour,town\nRespondent,Which one,Residence\n"
        + "".join(f"r{n},{'red' if n % 2 else 'blue'},{'Bern' if n % 3 else 'Biel'}\n" for n in range(9)),
        9,
    ),
    "questions above texts alone": (
        "q1,q2\nFavourite colour,Where do you live\nred,Bern\nblue,Biel\nred,Bern\nblue,Biel\nred,Thun\nred,Bern\n",
        6,
    ),
    "kinds below questions": (
        "id,colour\nNumber of respondent,Which colour?\nnumeric,text\n1,red\n2,blue\n3,red\n4,red\n",
        4,
    ),
    "a line of groups": ("Person,,Lab,\nid,age,hb,na\n1,30,12.5,140\n2,40,13.5,141\n", 2),
    "a line of equal groups": ("Person,Person,Lab,Lab\nid,age,hb,na\n1,30,12.5,140\n2,40,13.5,141\n", 2),
    "labels": ("id,sex,town\nNumber of person,Sex of person,Town of residence\nA,F,Bern\nB,M,Bern\nC,F,Biel\n", 3),
    "blank cells": ('id,age\n1,3\n , \n2,4\n"",""\n', 2),
    "a mark of the encoding": ("\ufeffid,age\n1,3\n\ufeffid,age\n2,4\n", 2),
    "another case": ("ID,Age\n1,3\nid,age\n2,4\n", 2),
    "short notes": ("id,age,sex\n1,3,M\n2,4,F\nTotal,7\n\nSource: Office\n", 2),
    "a number of rows": ("id,age,sex\n1,3,M\n2,4,F\nTOTAL (n=2),7,\n", 2),
    "a source in two cells": ("id,age,sex,town\n1,3,M,B\n2,4,F,T\nSource:,Office of Statistics,,\n", 2),
    "footnotes": ("id,age,sex\n1,3,M\n2,4,F\n1) preliminary,,\n2) estimated,,\n", 2),
    "a note with delimiters": ("id,age,town\nA,30,Bern\nB,31,Biel\n* merged in 2020, see note, also 2021\n", 2),
    "a comment with delimiters": ("id,age,town\nA,30,Bern\n# checked, by Ann, in May\n" + "B,31,Biel\n" * 9, 10),
    "a line of groups below a title": (
        "Report\nPerson,,,Lab,\nid,age,sex,hb,na\n1,30,f,12.5,140\n2,40,m,13.5,141\n",
        2,
    ),
    "groups and names again": ("Person,,Lab,\nid,age,hb,na\n1,30,12.5,140\nid,age,hb,na\n2,40,13.5,141\n", 2),
    "units like names": ("Person,,Lab,\nid,age,hb,kg\n,years,,kg\n1,30,12.5,140\n2,40,13.5,141\n3,50,1.5,4\n", 3),
    "a total with other blanks": ("id,age,sex\n1,3,M\n2,4,F\nTotal\u00a0,7,\n\uff34\uff4f\uff54\uff41\uff4c,7,\n", 2),
    "a name in another column with a sum": ("id,,n\n1,Bern,4\n2,Biel,5\n3,Total,9\n", 2),
    "a mark and a last line": ('id,size,n\n1,"12 inch,3\n2,5 inch,4\n3,x,5\n(3 rows)\n', 3),
    "semicolons, commas and a mark": ('id;size;kg\n1;"12 inch;3,5\n2;5 inch;4,5\n3;x;5,5\n4;y;6,5\n', 4),
    "a whole beside units": (
        "id,town,sex,age\n,,,years\n" + "1,Bern,m,30\n2,Biel,f,40\n" * 5 + ",,Both sexes,99\n\n,,,\n",
        10,
    ),
    "a drawn line": ("id|age\n--|---\n1|3\n2|4\n", 2),
    "a message": ("id,age\n1,3\n2,4\n\n(2 rows affected)\n", 2),
    "comments above": ("# exported by x, on 2024-01-01, v2\n# second, line, here\nid,age,sex\n1,3,M\n2,4,F\n", 2),
    "facts above": ("Dataset:,Survey\nDate:,2024-01-01\n\nid,age,sex,town,x\n1,2,M,B,3\n2,3,F,T,4\n", 2),
    "texts alone": ("anna,Bern,yes\nbob,Biel,no\ncarl,Bern,yes\n", 3),
    "tabs": ("A1\t2024-05-01\t7\nB1\t2024-05-02\t8\n", 2),
    "an end of DOS": ("a,b\n1,2\n3,4\n\x1a", 2),
    "a line of blanks": ("a,b\n1,2\n   \n3,4\n", 2),
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", TEXTS)
def test_exports_of_many_programs_are_read_as_meant(tmp_path: Path, name: str) -> None:
    """Once every proposal is taken, no row but the records is counted."""
    text, persons = TEXTS[name]
    path = write_csv(tmp_path, text)
    check, _ = accepted(path)
    assert check.rows == persons
    assert counts(path, "true", form=check.form, kinds={}) == [persons]


def written(path: Path, rows: Rows) -> Path:
    """Write rows as a CSV file or a workbook."""
    if path.suffix == ".xlsx":
        return write_workbook(path, {"a": rows})
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["" if cell is None else cell for cell in row] for row in rows])
    return path


def accepted(path: Path) -> tuple[Check, dict[str, object]]:
    """Return the check of a file once every proposal is taken, and the parts of its form that were proposed."""
    first = examine_place(DatasetConfig(name="x", source=path, unit="row"))
    last, taken = accept_proposals(first, EngineCertificates())
    keys = {proposal.key for proposal in taken if not proposal.table}
    assert last.check.form is not None
    return last.check, {key: getattr(last.check.form, key) for key in keys}


@pytest.mark.thorough
@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("ending", ["csv", "xlsx"])
def test_rows_that_are_no_records_are_proposed_to_be_left_out(tmp_path: Path, name: str, ending: str) -> None:
    """In CSV files and workbooks alike; once that is stated, the file is counted so."""
    rows, expected = ODD[name]
    if ending == "xlsx":  # empty rows of a sheet are no records in any case
        expected = {key: value for key, value in expected.items() if key != "drop_empty_rows"}
    path = written(tmp_path / f"x.{ending}", rows)
    check, taken = accepted(path)
    assert taken == expected
    persons = 2 if name == "units" else 4
    assert check.rows == persons
    assert counts(path, "true", form=check.form) == [persons]
    assert not [finding for finding in check.findings if finding.severity is not Severity.NOTE]
    if ending == "csv":
        assert {column.name for column in check.columns} == {
            *map(str, rows[1] if name == "all at once" else rows[0])
        } or name == "no names"


@pytest.mark.parametrize("name", [name for name in ODD if name not in {"plain", "no names"}])
def test_each_odd_row_is_shown_with_its_line(tmp_path: Path, name: str) -> None:
    """Every row is counted until its owner states otherwise."""
    rows, _ = ODD[name]
    path = written(tmp_path / "x.csv", rows)
    check = findings_about_records(path)
    assert check.rows == len(rows) - 1 - (name == "all at once")
    lines = path.read_text(encoding="utf-8").split("\n")
    found = [finding for finding in check.findings if finding.severity is not Severity.NOTE]
    assert sum(finding.rows for finding in found) == check.rows - (2 if name == "units" else 4)
    for odd in check.odd_rows:
        assert odd.lines
        for line, text in zip(odd.lines, odd.texts, strict=False):
            assert text.strip('"').replace('"', "") in lines[line - 1].replace('"', "")


def test_public_values_hold_no_text_of_odd_rows(tmp_path: Path) -> None:
    """Every analyst sees public values, so neither a name nor a total is one."""
    rows = [
        NAMES,
        ["Response ID", "Age?", "Sex?", "Town?"],
        IMPORT,
        *PERSONS,
        NAMES,
        *PERSONS,
        ["Total", None, "Total", 8],
    ]
    check = findings_about_records(written(tmp_path / "x.csv", rows))
    shown = {
        name: [text for text, _ in check.without_odd_rows(column).values]
        for column in check.columns
        for name in [column.name]
    }
    assert shown["sex"] == ["F", "M"]
    assert shown["town"] == ["Bern", "Biel", "Thun"]


def test_a_line_of_groups_is_named_with_its_remedy(tmp_path: Path) -> None:
    """The check proposes `skip`, and nothing that would name groups; the refusal of equal names mentions it."""
    path = write_csv(tmp_path, TEXTS["a line of equal groups"][0])
    check = findings_about_records(path)
    (finding,) = [each for each in check.findings if each.severity is not Severity.NOTE]
    assert (finding.severity, finding.lines) == (Severity.BLOCKS, (2,))
    assert finding.proposals == (Proposal("skip", 1),)
    assert check.form is not None
    assert check.form.names is None
    with pytest.raises(SourceError, match="or state skip = 1 if the names stand in the line below"):
        DuckDBSource.open(path)
    check, taken = accepted(path)
    assert taken == {"skip": 1}
    assert [column.name for column in check.columns] == ["id", "age", "hb", "na"]


def test_findings_that_a_statement_about_rows_mends_stand_alone(tmp_path: Path) -> None:
    """No word of a row of units is proposed as a missing value; persons that are missing there are not reported."""
    units = "id,kg,note\n,kg,text\n" + "".join(f"{n},{n + 60},x{n % 2}\n" for n in range(9))
    path = write_csv(tmp_path, f"{units},,\nTotal,540,\n")
    check = findings_about_records(path, unit="id")
    found = [each for each in check.findings if each.severity is not Severity.NOTE]
    assert {each.title for each in found} == {"more names below the names", "empty rows", "rows of totals or notes"}
    assert {each.severity for each in found} == {Severity.BLOCKS}
    keys = [proposal.key for each in found for proposal in each.proposals]
    assert keys == ["skip_rows_after_header", "drop_empty_rows", "footer"]
    path = write_csv(tmp_path, f"{units}9,much,x\n,70,x\n")
    rest = {each.title: each for each in findings_about_records(path, unit="id").findings}
    assert (rest["cells that do not fit"].text.split(":")[1], rest["cells that do not fit"].lines) == (" 'much'", (12,))
    assert (rest["rows without a person"].rows, rest["rows without a person"].lines) == (1, (13,))


REGIONS = [(region, sex, n) for n, region in enumerate(("North", "South", "East"), start=1) for sex in "mf"]
WHOLES = ("Zusammen", "Ensemble", "World", "Both sexes", "All ages", "All", "Toutes", "TOTAL")


@pytest.mark.parametrize(
    ("above", "below", "taken"),
    [
        ("Block A,,Block B,\nPerson,,Lab,", "", {"skip": 2}),
        ("Person,,Lab,", ",years,g/dl,mmol/l\n", {"skip": 1, "skip_rows_after_header": 1}),
    ],
)
def test_lines_beside_the_names_are_no_cells(tmp_path: Path, above: str, below: str, taken: dict[str, int]) -> None:
    """Of two lines of groups above them, and of units below them, no cell is reported or proposed to be missing."""
    rows = "".join(f"{n},{20 + n},{n + 0.5},{130 + n}\n" for n in range(9))
    path = write_csv(tmp_path, f"{above}\nid,age,hb,na\n{below}{rows}")
    assert {each.title for each in findings_about_records(path).findings} == {"names below a line of groups"}
    check, found = accepted(path)
    assert (check.rows, found) == (9, taken)


def test_questions_below_a_gap_in_the_names_are_no_names(tmp_path: Path) -> None:
    """A survey export whose line of names has a gap: the row of questions below is left out, and the gap is named."""
    questions = "Respondent,Do you smoke?,Where do you live?,How old are you?"
    path = write_csv(tmp_path, f"id,smoker,,age\n{questions}\n1,yes,Bern,31\n2,no,Basel,44\n3,yes,Chur,28\n")
    check, taken = accepted(path)
    assert (check.rows, taken["skip_rows_after_header"]) == (3, 1)
    assert counts(path, "smoker and age > 30", form=check.form) == [1]


@pytest.mark.parametrize("word", WHOLES)
@pytest.mark.parametrize("cells", ["{},,12", "{},x,12", ",{},12", "Country,{},12"])
def test_a_sum_is_found_by_its_word_in_any_cell(tmp_path: Path, word: str, cells: str) -> None:
    """If its number is the sum of the others, or if it has gaps where they have none."""
    lines = ["region,sex,n", *(",".join(map(str, row)) for row in REGIONS), cells.format(word)]
    path = write_csv(tmp_path, "\n".join(lines) + "\n")
    (odd,) = findings_about_records(path).odd_rows
    assert (odd.rows, odd.lines, odd.texts) == (1, (8,), (word,))
    assert odd.kind == ("totals" if cells.startswith("Country") else "notes")
    check, taken = accepted(path)
    stated = {"footer": (word,)} if odd.kind == "notes" else {"drop_rows_where": (("sex", (word,)),)}
    assert (check.rows, taken) == (6, stated)
    assert counts(path, "true", form=check.form) == [6]


@pytest.mark.parametrize("ages", ["All ages", "Alle Altersgruppen"])
def test_sums_of_several_columns_are_found(tmp_path: Path, ages: str) -> None:
    """Of counts, and of rates, in a table in which each text is combined with each other one."""
    rows = [
        (place, sex, age, (1 + number) * (1 + (sex == "Both sexes")) * (1 + 2 * (age == ages)), number % 7 + 0.5)
        for number, place in enumerate(("North", "South", "East"))
        for sex in ("Male", "Female", "Both sexes")
        for age in ("0-17", "18-64", "65+", ages)
    ]
    for kept in ((0, 1, 2, 3), (0, 1, 2, 4)):
        lines = [",".join(str(row[place]) for place in kept) for row in rows]
        path = write_csv(tmp_path, "\n".join([",".join("abcde"[place] for place in kept), *lines]) + "\n")
        (odd,) = findings_about_records(path).odd_rows
        assert (odd.kind, odd.rows, {*odd.texts}) == ("totals", 18, {"Both sexes", ages})
        check, taken = accepted(path)
        assert (check.rows, taken) == (18, {"drop_rows_where": (("b", ("Both sexes",)), ("c", (ages,)))})


def test_categories_called_as_wholes_are_no_sums(tmp_path: Path) -> None:
    """A place named Total, a category All, and an answer for both."""
    random = Random(7)  # noqa: S311 - a sample
    words = ("All", "Some", "None"), ("Total", "Bern", "World"), ("Both sexes", "Men", "Women"), ("All ages", "Adults")
    rows = [
        (*(random.choice(each) for each in words), random.randrange(90), random.randrange(2), 2000 + n % 9)
        for n in range(200)
    ]
    for columns in ("access,town,partner,course,age,yes,year", "town,access,partner,course,age,yes,year"):
        order = (1, 0) if columns.startswith("town") else (0, 1)
        lines = [",".join(map(str, (row[order[0]], row[order[1]], *row[2:]))) for row in rows]
        path = write_csv(tmp_path, "\n".join([columns, *lines]) + "\n")
        assert findings_about_records(path).odd_rows == ()


def test_the_owner_sees_how_many_lines_a_form_leaves_out_or_fills_up(tmp_path: Path) -> None:
    """In the check alone, before and after it is stated."""
    path = write_csv(tmp_path, "a,b,c\n1,2,3\n4,5\n6\n7,8,9\n1,1,1\n2,2,2\n")
    for form, title, text in (
        (FileFormat(), "rows that are filled up", 'ragged = "pad" fills up 2 of 6 rows'),
        (FileFormat(ragged="pad"), "rows that are filled up", 'ragged = "pad" fills up 2 of 6 rows'),
        (FileFormat(ragged="drop"), "rows that are left out", 'ragged = "drop" leaves out 2 of 6 rows'),
    ):
        found = {each.title: each for each in findings_about_records(path, form=form).findings}
        assert (found[title].severity, found[title].lines) == (Severity.NOTE, (3, 4))
        assert found[title].text == text
    write_csv(tmp_path, "a,b,c\n1,2,3\n")
    (finding,) = findings_about_records(path, form=FileFormat(ragged="drop")).findings
    assert finding.text == 'ragged = "drop" leaves out none of 1 row'


EACH_RULE = {  # what one row more is, and the rule that leaves it out
    "drop_empty_rows": ("true", ["", "", ""]),
    "drop_rows_like_header": ("true", ["id", "town", "n"]),
    "comment": ('["#"]', ["# seen", "", ""]),
    "footer": ('["Total"]', ["Total", "", "9"]),
    "drop_rows_where": ('{ town = "All towns" }', ["x", "All towns", "9"]),
    "skip_rows_after_header": ("1", ["", "name", "km"]),
}


@pytest.mark.few(1)
@pytest.mark.parametrize("ending", ["csv", "xlsx"])
def test_the_owner_sees_how_many_rows_each_rule_leaves_out(tmp_path: Path, ending: str) -> None:
    """With their lines, of any two rules that are stated together; a sheet has no empty rows."""
    records: Rows = [["A", "Bern", 3], ["B", "Biel", 4]]
    rules = {rule: tomllib.loads(f"rule = {text}")["rule"] for rule, (text, _) in EACH_RULE.items()}
    for one, other in combinations(EACH_RULE, 2):
        stated = [rule for rule in (one, other) if ending == "csv" or rule != "drop_empty_rows"]
        above = [EACH_RULE[rule][1] for rule in stated if rule == "skip_rows_after_header"]
        below = [EACH_RULE[rule][1] for rule in stated if rule != "skip_rows_after_header"]
        path = written(tmp_path / f"x.{ending}", [["id", "town", "n"], *above, *records, *below, *below])
        check = findings_about_records(path, form=FileFormat.from_parts({rule: rules[rule] for rule in stated}))
        found = {each.kind: (each.rows, each.lines) for each in check.rows_by_rule}
        first = 4 + len(above)
        expected = {
            rule: (2, (first + n, first + n + len(below)))
            for n, rule in enumerate(rule for rule in stated if rule != "skip_rows_after_header")
        }
        assert found == expected | ({"skip_rows_after_header": (1, (2,))} if above else {})
        assert (check.rows, check.rows_below_names) == (2, 2 + len(above) + 2 * len(below))


def test_proposals_hold_no_text_of_rows_of_questions(tmp_path: Path) -> None:
    """Not as a word for a missing value either: what a column stands for is proposed once they are left out."""
    rows, _ = ODD["questions that repeat names"]
    path = written(tmp_path / "x.csv", rows)
    findings = findings_about_records(path).findings
    assert [proposal for each in findings for proposal in each.proposals] == [Proposal("skip_rows_after_header", 2)]
    assert not [choice for each in findings for choice in each.choices]
    check, _ = accepted(path)
    assert {column.name: column.kind for column in check.columns} == {
        "ResponseId": Kind.TEXT,
        "Progress": Kind.INTEGER,
        "Finished": Kind.BOOLEAN,
        "Q1": Kind.INTEGER,
    }


REAL_ROWS: dict[str, Rows] = {
    "a company": [
        ["name", "cost", "town"],
        ["Total Energies SA", 5, None],
        ["Summit Ltd", 7, "Bern"],
        ["Sumner", 8, "Biel"],
    ],
    "events": [
        ["id", "age", "visit"],
        ["a1", 34, None],
        ["a1", None, 1],
        ["a1", None, 2],
        ["b2", None, None],
        ["c3", None, None],
    ],
    "a first record unlike others": [
        ["id", "name", "town"],
        ["r1", "Anna Maria", "La Chaux-de-Fonds"],
        *([f"r{number}", "Bob", "Bern"] for number in range(2, 9)),
    ],
    "years": [["town", 2019, 2020], ["Bern", 4, 5], ["Biel", 6, 7], ["Thun", 8, 9]],
    "days": [["town", 1, 2, 3], ["Bern", 4, 5, 3], ["Biel", 6, 7, 8], ["Thun", 2, 2, 1]],
    "boxes": [["id", "Red", "Blue"], [1, "Red", None], [2, None, "Blue"], [3, "Red", "Blue"]],
    "words for missing": [["id", "age", "cost"], ["A", "NA", "NA"], ["B", 3, 4.5], ["C", 4, 5.5]],
    "one odd cell": [["name", "age", "sex"], ["Ann", "unknown", "F"], ["Bob", 30, "M"], ["Cid", 31, "F"]],
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", REAL_ROWS)
def test_records_are_not_taken_for_odd_rows(tmp_path: Path, name: str) -> None:
    """A person that is left out would be missing in every answer."""
    rows = REAL_ROWS[name]
    for ending in ("csv", "xlsx"):
        check = findings_about_records(written(tmp_path / f"x.{ending}", rows))
        assert (check.odd_rows, check.names_like_values, dict(check.faults)) == ((), (), {})
        assert check.rows == len(rows) - 1


@pytest.mark.parametrize("name", [*ODD, *REAL_ROWS])
def test_odd_rows_of_a_wide_file_are_those_of_a_narrow_one(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A single expression for all columns finds the rows that one expression for each column finds."""
    path = written(tmp_path / "x.csv", ODD[name][0] if name in ODD else REAL_ROWS[name])
    narrow = findings_about_records(path)
    monkeypatch.setattr("noisycount.engines.duckdb.odd_rows._NARROW", 0)
    assert findings_about_records(path) == narrow


def test_what_the_owner_decided_is_not_reported_again(tmp_path: Path) -> None:
    """A statement that rows are records ends the finding about them."""
    rows, _ = ODD["all at once"]
    path = written(tmp_path / "x.csv", rows)
    form = FileFormat.from_parts(
        {"skip_rows_after_header": 0, "drop_empty_rows": False, "drop_rows_like_header": False, "footer": []}
    )
    check = findings_about_records(path, form=form)
    assert check.odd_rows == ()
    assert check.rows == len(rows) - 2
    path = written(tmp_path / "y.csv", PERSONS)
    assert findings_about_records(path, form=FileFormat(header=True)).names_like_values == ()


CELLS = st.sampled_from(["", " ", "id", "age", "#", "# x", "Total", "7", "é", 'a "b"', "a,b", "x\ny", "\ufeffid"])
RULES = st.fixed_dictionaries(
    {},
    optional={
        "drop_empty_rows": st.booleans(),
        "drop_rows_like_header": st.booleans(),
        "comment": st.sampled_from(["#", ["#", "x"]]),
        "footer": st.sampled_from(["Total", ["Total", "7"]]),
        "drop_rows_where": st.sampled_from([{"age": "7"}, {"id": ["x", "é"], "age": "Total"}]),
        "ragged": st.sampled_from(["pad", "drop", "pad_or_drop"]),
        "skip_rows_after_header": st.integers(0, 2),
    },
)


def expected_rows(rows: Sequence[Sequence[str]], rules: Mapping[str, object]) -> list[tuple[str, ...]]:
    """Return the records of a table of two columns, by the words of the guide."""
    blank = " \t\n\v\f\r\ufeff"
    found = []
    for row in rows:
        cells = [cell.strip(blank) for cell in row]
        first = next(filter(None, cells), "")
        comments = rules.get("comment", ())
        footers = rules.get("footer", ())
        where = rules.get("drop_rows_where", {})
        assert isinstance(where, Mapping)
        where = {name: [texts] if isinstance(texts, str) else texts for name, texts in where.items()}
        is_left_out = (
            (rules.get("drop_empty_rows") and not first)
            or (rules.get("drop_rows_like_header") and [*filter(None, cells)] == ["id", "age"] == cells[:2])
            or any(first.startswith(each) for each in ([comments] if isinstance(comments, str) else comments))
            or (first and first in ([footers] if isinstance(footers, str) else footers))
            or any(cell in where.get(name, ()) for name, cell in zip(("id", "age"), cells, strict=False) if first)
        )
        if not is_left_out:
            kept = [*row, ""][:2]
            if (
                len(row) == 2
                or (not any(cell.strip() for cell in row[2:]) and len(row) > 2)
                or (len(row) < 2 and str(rules.get("ragged")).startswith("pad"))
            ):
                found.append(tuple(kept))
            elif rules.get("ragged") not in {"drop", "pad_or_drop"}:
                raise SourceError("ragged")
    return found


def records_of(path: Path, form: FileFormat) -> Counter[tuple[str | None, ...]]:
    """Return the records that a source holds, with how often each stands there."""
    with DuckDBSource.open_unprepared(path, kinds={}, form=form) as source:
        rows = source.cursors.connection.execute(f"SELECT * FROM {source.relation.sql}").fetchall()  # noqa: S608 - our own
    return Counter(tuple(map(str, row)) for row in rows)


@given(st.lists(st.lists(CELLS, min_size=1, max_size=3), min_size=2, max_size=8), CELLS, CELLS, RULES)
@examples(25)
def test_rules_judge_each_row_by_itself(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[str]], one: str, other: str, rules: dict[str, object]
) -> None:
    """They leave out what the guide says; one record more changes nothing about the others."""
    path = tmp_path_factory.getbasetemp() / "rules.csv"
    form = FileFormat.from_parts({"delimiter": ",", "skip": 0, "header": True, **rules})
    skipped = int(str(rules.get("skip_rows_after_header", 0)))
    stated = {key: value for key, value in rules.items() if value not in (False, 0)}

    def read(table: list[list[str]]) -> list[str] | None:
        written(path, [["id", "age"], *table])
        try:
            with DuckDBSource.open_unprepared(path, form=form) as source:
                answer = source.check()
        except SourceError:
            return None
        return [str(answer.rows)]

    try:
        expected = [str(len(expected_rows(rows[skipped:], stated)))]
    except SourceError:
        expected = None
    assert read(rows) == expected
    if expected is not None:
        more = read([*rows, [one, other]])
        added = len(expected_rows([[one, other]], stated)) if len(rows) >= skipped else 0
        assert more == [str(int(expected[0]) + added)]


def test_plain_files_are_read_by_the_engine_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python reads the rows of a file only where a rule needs it."""
    path = write_csv(tmp_path, "id,town\n1,Bern\n2,Biel\n")
    monkeypatch.setattr(Layout, "rule_against", None)
    assert counts(path, "true") == [2]
    assert counts(path, "true", form=FileFormat(ragged="pad")) == [2]
    with pytest.raises(TypeError):
        counts(path, "true", form=FileFormat(footer=("Total",)))


RAGGED = "id,town,age\n1,Bern,34\n2,Biel\n3,Thun,50\n4,Chur,60,\n"


def test_ragged_lines_are_filled_up_left_out_or_refused(tmp_path: Path) -> None:
    """An empty cell behind the last name is none; a filled one is refused unless the line is left out."""
    path = write_csv(tmp_path, RAGGED)
    with pytest.raises(SourceError, match="line 3 has 2 cells for 3 names: mend it there, or state ragged"):
        DuckDBSource.open(path)
    assert counts(path, "true", "age is null", form=FileFormat(ragged="pad")) == [4, 1]
    assert counts(path, "true", "age is null", form=FileFormat(ragged="drop")) == [3, 0]
    path = write_csv(tmp_path, RAGGED + "5,Ulm,Germany,7\n6\n7\n8\n")
    with pytest.raises(SourceError, match=r"line 6 has 4 cells for 3 names: mend"):
        DuckDBSource.open(path, form=FileFormat(ragged="pad"))
    with pytest.raises(SourceError, match=r"line 3 has 2 cells for 3 names, and 4 more lines are ragged \(6, 7, …\)"):
        DuckDBSource.open(path)
    assert counts(path, "true", form=FileFormat(ragged="drop")) == [3]
    assert counts(path, "true", form=FileFormat(ragged="pad_or_drop")) == [7]


def test_a_ragged_file_is_checked_as_it_can_be_read(tmp_path: Path) -> None:
    """With the fault named: short lines are filled up, few lines that are too long are left out."""
    check = findings_about_records(write_csv(tmp_path, RAGGED))
    assert (check.rows, check.form and check.form.ragged) == (4, "pad")
    assert dict(check.faults) == {"ragged": "line 3 has 2 cells for 3 names"}
    check = findings_about_records(write_csv(tmp_path, RAGGED + "5,Ulm,Germany,7\n"))
    assert (check.rows, check.form and check.form.ragged) == (4, "pad_or_drop")
    assert [finding.severity for finding in check.findings][:1] == [Severity.BLOCKS]
    short = "".join(f"{n},x\n" for n in range(30))
    check, taken = accepted(write_csv(tmp_path, f"a,b,c\n{short}1,2,3,4\n" + "1,2,3\n" * 19))
    assert (check.rows, taken) == (49, {"ragged": "pad_or_drop"})
    check, taken = accepted(write_csv(tmp_path, "a,b,c\n1,2,3\n1,2,3,4\n4,5,6\n"))
    assert (check.rows, taken) == (2, {"ragged": "drop"})
    rows = "".join(f"{n},x,{n},y\n" for n in range(9))
    check, taken = accepted(write_csv(tmp_path, f"a,b,c\n{rows}"))
    assert (check.rows, taken["names"]) == (9, ((4, "column4"),))
    with pytest.raises(SourceError, match="line 2 has 2 cells for 3 names, and 9 more lines are ragged"):
        findings_about_records(write_csv(tmp_path, "a,b,c\n" + "1,2\n" * 5 + "1,2,3,4\n" * 5))


@pytest.mark.parametrize(
    "text", ["id,town\n1,Bern\n# note\n2,Biel\nTotal\n", "id,town\n1,Bern\n2,Biel\n\n# note\nTotal\n"]
)
def test_short_lines_that_a_rule_leaves_out_are_not_ragged(tmp_path: Path, text: str) -> None:
    """A comment has one cell in a table of any width."""
    path = write_csv(tmp_path, text)
    assert counts(path, "true", form=FileFormat(comment=("#",), footer=("Total",))) == [2]
    with pytest.raises(SourceError, match="has 1 cell for 2 names"):
        DuckDBSource.open(path, form=FileFormat(comment=("#",)))


UNQUOTED = {
    "one mark": 'id,size,n\n1,"12 inch,3\n2,5" pipe,4\n3,x,5\n',
    "several marks": 'id,size,n\n1,"12 inch,3\n2,"5 pipe,4\n3,x,5\n',
    "a mark in a name": 'id,"size,n\n1,12 inch,3\n2,5 pipe,4\n3,"x,5\n',
    "marks around lines": 'id,size,n\n1,"12 inch,3\n2,5 pipe",4\n3,x,5\n',
    "other characters": 'id;größe;n\r\n1;"12 Zoll;3\r\n2;5" Rohr;4\r\n3;x;5\r\n',
}


@pytest.mark.parametrize("name", UNQUOTED)
@pytest.mark.parametrize("packed", [False, True])
def test_marks_without_a_meaning_can_be_stated(tmp_path: Path, name: str, *, packed: bool) -> None:
    """The check proposes it if all lines have as many cells then; each way of reading gives the same texts."""
    path = tmp_path / ("x.csv.gz" if packed else "x.csv")
    content = UNQUOTED[name].encode("cp1252")
    path.write_bytes(gzip.compress(content) if packed else content)
    check, taken = accepted(path)
    assert (check.rows, taken.pop("quote")) == (3, "")
    assert taken == ({"encoding": "cp1252"} if name == "other characters" else {})
    for form in (check.form, replace(check.form or FileFormat(), footer=("Total",))):
        assert form is not None
        records = records_of(path, form)
        cells = [row.strip().split(form.delimiter or ",") for row in UNQUOTED[name].splitlines()[1:]]
        assert records == Counter(map(tuple, cells))


@pytest.mark.parametrize(
    "text",
    ['id,size,n\n1,"12 inch,3\n2,"5 pipe",4\n', 'id,size,n\n1,"12 inch,3\n2,"a, b",4\n', 'id,n\n1,"12 inch,3\n2,4\n'],
)
def test_marks_are_kept_where_some_stand_around_cells(tmp_path: Path, text: str) -> None:
    """A file with one mark too few is refused: without marks its cells would be others."""
    with pytest.raises(SourceError, match="has a quotation mark"):
        findings_about_records(write_csv(tmp_path, text))


def test_a_cell_of_several_lines_is_a_cell(tmp_path: Path) -> None:
    """Only lines with as many cells as there are names are reported."""
    path = write_csv(tmp_path, 'id,note,n\n1,"a\nb, c",3\n2,"d,\ne",4\n')
    assert findings_about_records(path).odd_rows == ()
    path = write_csv(tmp_path, 'id,note,n\n1,"a,1\n2,b",3\n2,"d, e",4\n')
    (finding,) = findings_about_records(path).findings
    assert (finding.severity, finding.lines, finding.proposals) == (Severity.LOOK, (2,), ())


def test_another_mark_can_be_stated(tmp_path: Path) -> None:
    """Such as a single one, in which a double one is a sign."""
    path = write_csv(tmp_path, "id,town\n1,'a, b'\n2,'it''s'\n3,5\"\n")
    for form in (FileFormat(quote="'"), FileFormat(quote="'", footer=("Total",))):
        assert counts(path, "true", "town = 'a, b' or town = 'it''s' or town = '5\"'", form=form) == [3, 3]
    for quote in ("ab", " ", "x", "\n", ","):
        with pytest.raises(SourceError, match="quote must be one mark"):
            FileFormat(quote=quote, delimiter=",")


@pytest.mark.parametrize("text", ["'id','n'\n'1','3'\n'2','4'\n", "'id','town','n'\n'1','a, b','3'\n'2','c, d','4'\n"])
def test_single_marks_around_names_are_proposed_to_be_stated(tmp_path: Path, text: str) -> None:
    """The proposal is made even if the file can be read without it."""
    check, taken = accepted(write_csv(tmp_path, text))
    assert (check.rows, taken) == (2, {"quote": "'"})
    assert (check.columns[0].name, check.columns[-1].kind) == ("id", Kind.INTEGER)


@pytest.mark.few(1)
@pytest.mark.parametrize("below", ["\ntown,mayor,since\nBern,A,2001\nBiel,B,2004\n", "\ntown,mayor\nBern,A\nBiel,B\n"])
def test_another_table_below_is_reported(tmp_path: Path, below: str) -> None:
    """Before and after its cells are accepted as missing; a last cell that does not fit is no table."""
    rows = "id,age,town\n" + "".join(f"p{n},{20 + n},Bern\n" for n in range(29))
    check = findings_about_records(write_csv(tmp_path, rows + below))
    (odd,) = check.odd_rows
    assert (odd.kind, odd.texts, odd.lines) == ("below", ("town",), (32,))
    check, _ = accepted(write_csv(tmp_path, rows + below))
    assert [odd.kind for odd in check.odd_rows] == ["below"]
    for last in ("p9,much,Bern\n", "p9,much,Bern\np8,7,Bern\np7,more,Bern\n"):
        assert findings_about_records(write_csv(tmp_path, rows + last)).odd_rows == ()


def test_a_rule_about_a_column_names_one(tmp_path: Path) -> None:
    """A mistyped name would leave out nothing."""
    path = write_csv(tmp_path, "id,town\n1,Bern\n")
    with pytest.raises(SourceError, match="drop_rows_where names 'twon', which is no column: use 'town'"):
        DuckDBSource.open(path, form=FileFormat.from_parts({"drop_rows_where": {"twon": "x"}}))


def test_records_with_a_word_for_a_whole_are_kept(tmp_path: Path) -> None:
    """Two arms of a trial together, an answer that ends a questionnaire, or a company: the owner has the choice."""
    arms = "".join(f"{arm},{n % 7},{n}\n" for n in range(8) for arm in ("Drug A", "Drug B", "Both drugs"))
    ends = "".join(f"{'All' if n % 3 else 'Some'},{'' if n % 3 else 'Mondays'},{n * n % 7}\n" for n in range(12))
    for text, word in ((f"arm,x,n\n{arms}", "Both drugs"), (f"days,which,n\n{ends}", "All")):
        path = write_csv(tmp_path, text)
        check, taken = accepted(path)
        assert (check.rows, taken) == (text.count("\n") - 1, {})
        (odd,) = check.odd_rows
        assert (odd.kind, odd.texts) == ("named", (word,))
        (finding,) = [each for each in check.findings if each.severity is Severity.LOOK]
        assert (finding.proposals, len(finding.choices)) == ((), 1)


def test_equal_and_empty_names_can_be_stated_by_place(tmp_path: Path) -> None:
    """The check proposes names that no other column has."""
    path = write_csv(tmp_path, "x,X,x_2,,x\n1,2,3,4,5\n6,7,8,9,9\n")
    with pytest.raises(SourceError, match=r"line 1 of .* has one name for columns 1 and 2, apart from case"):
        DuckDBSource.open(path)
    check, taken = accepted(path)
    assert taken == {"names": ((2, "X_2_2"), (4, "column4"), (5, "x_5"))}
    assert [column.name for column in check.columns] == ["x", "X_2_2", "x_2", "column4", "x_5"]
    form = FileFormat.from_parts({"names": {"2": "y", "4": "ward", "5": "z"}})
    assert counts(path, "ward = 4 and y = 2 and z = 5", form=form) == [1]


def test_a_file_without_names_is_read_as_stated(tmp_path: Path) -> None:
    """Its first row is a record."""
    path = write_csv(tmp_path, "Bern,F,2024-01-02\nBiel,M,2024-01-03\nThun,F,2024-01-04\n")
    check = findings_about_records(path)
    assert (check.rows, check.names_like_values) == (2, ("F", "2024-01-02"))
    form = FileFormat.from_parts({"header": False, "names": ["town", "sex", "day"]})
    assert counts(path, "true", "town = 'Bern' and day = '2024-01-02'", form=form) == [3, 1]
    assert counts(path, "column1 = 'Bern'", form=FileFormat(header=False)) == [1]
    with pytest.raises(SourceError, match="has 3 cells for 2 names"):
        DuckDBSource.open(path, form=FileFormat.from_parts({"header": False, "names": ["town", "sex"]}))
    path = write_csv(tmp_path, "3,4\n5,6\n")
    with pytest.raises(SourceError, match="has no names of columns: write them there, or state header = false"):
        DuckDBSource.open(path)
    check, taken = accepted(path)
    assert (check.rows, taken["header"]) == (2, False)


def test_a_first_row_whose_texts_recur_is_reported(tmp_path: Path) -> None:
    """Though nothing of it is a number or a date."""
    check = findings_about_records(write_csv(tmp_path, "Bern,F\nBiel,M\nThun,F\nUlm,M\n"))
    assert check.names_like_values == ("F",)


@pytest.mark.thorough
@pytest.mark.parametrize("names", [6000])
def test_a_header_of_any_width_is_read(tmp_path: Path, names: int) -> None:
    """However many bytes the line of names has."""
    header = ",".join(f"question_{number:05d}" for number in range(names))
    path = write_csv(tmp_path, f"{header}\n" + f"{','.join('7' * names)}\n" * 3)
    layout = DuckDBSource.open_unprepared(path, columns=["question_00000", f"question_{names - 1:05d}"], kinds={})
    with layout as source:
        assert len(source.schema.entire) == names
        assert source.count([parse("true", source.schema)]) == [3]


@pytest.mark.parametrize(
    ("records", "titles"),
    [
        ([["Report"], ["", "age", "sex"], ["1", "34", "M"], ["2", "35", "F"]], 1),
        ([["Report", "", ""], ["", "", ""], ["id", "", "sex"], ["1", "34", "M"]], 2),
        ([["Created, by", "Monday, May 1", "2017"], ["cm-1", "%T"], ["4.5", "98"], ["4.6", "97"]], 1),
        ([["id", "town", "note"], ["A", "Bern"], ["B", "Biel"]], 0),
        ([["id", "age", "note"], ["A", "3"], ["B", "4"]], 0),
        ([["id", "age"], ["A", "3"], ["B", "4"]], 0),
        ([["a"], ["1"], ["2"]], 0),
        ([], 0),
        (
            [
                ["Patients", "", ""],
                ["as of", "2024-06-01", ""],
                [""] * 3,
                ["id", "age", "town"],
                *[["a", "1", "b"]] * 5,
            ],
            3,
        ),
        ([["Patients", ""], ["2024", ""], ["", ""], ["id", "age"], ["a", "1"], ["b", ""], ["c", "3"], ["", ""]], 3),
        ([["id", "age", "", ""], [""] * 4, *[["a", "1", "b", "c"]] * 5], 0),
        ([["Report of visits"], *[["a", "30", "yes"]] * 4], 1),
        ([["Report", "", ""], ["2024", "", ""], *[["a", "30", "yes"]] * 5], 2),
        ([["id"], *[["a", "30"]] * 4], 0),
        ([["id"], ["a", "30", "yes"], ["b", "30"], ["c", "30", "no"]], 0),
    ],
)
def test_titles_end_where_the_names_begin(records: list[list[str]], titles: int) -> None:
    """A name may be empty, and a title may have several cells."""
    assert count_titles(records) == titles


@pytest.mark.parametrize(
    ("text", "words", "delimiter"),
    [
        ("id age town\nA 31 Bern\nB 29 Biel\n", 3, " "),
        ("id  age town\nA   31 Bern\nB   29 Biel\n", 3, None),
        ("  1  30.5 Bern\n 22  31.0 Biel\n333  40.1 Bern\n", 3, None),
        ("id age\nA 31\nB\n", 0, None),
        ("full name\nAnn Lee\nBo Li\n", 0, None),
        ("id,age\nA,31\nB,29\n", 0, None),
    ],
)
def test_cells_with_blanks_between_them_are_reported(
    tmp_path: Path, text: str, words: int, delimiter: str | None
) -> None:
    """An owner can state one blank as the delimiter; the finding then disappears."""
    path = write_csv(tmp_path, text)
    check = with_findings(DuckDBSource.check_file(path), None)
    found = [each for each in check.findings if each.title == "lines that may be several cells"]
    assert (check.words, len(found)) == (words, int(words > 0))
    assert [each.value for finding in found for each in finding.proposals] == ([delimiter] if delimiter else [])
    if delimiter:
        read = with_findings(DuckDBSource.check_file(path, form=FileFormat(delimiter=delimiter)), None)
        assert ([each.name for each in read.columns], read.words) == (["id", "age", "town"], 0)


@pytest.mark.parametrize("delimiter", ["\t", ",", ";"])
def test_a_title_above_a_table_without_names_is_left_out(tmp_path: Path, delimiter: str) -> None:
    """The first record becomes a record again, once the owner states that no line has names."""
    lines = [["P1", "30", "yes"], ["P2", "41", "no"], ["P3", "50", "yes"]]
    body = "".join(delimiter.join(f'"{cell}"' for cell in line) + "\n" for line in lines)
    check = DuckDBSource.check_file(write_csv(tmp_path, f'"Report of visits"\n{body}'))
    assert check.form is not None
    assert (check.form.skip, check.faults) == (1, {})
    assert check.names_like_values == ("30", "yes")


def test_a_title_of_several_lines_is_one_title(tmp_path: Path) -> None:
    """Its lines are counted as a text editor counts them."""
    path = write_csv(tmp_path, '"Report\nof May",,\nid,age,sex\n1,34,M\n2,35,F\n')
    check = findings_about_records(path)
    assert (check.rows, check.form and check.form.skip) == (2, 2)
    assert counts(path, "age = 35", form=FileFormat(skip=2)) == [1]


@pytest.mark.thorough
def test_a_file_in_another_encoding_with_a_fault_is_described(tmp_path: Path) -> None:
    """Each fault is named beside the encoding, and what cannot be read at all as well."""
    content = "id;ville;age\n1;Genève;34\n2;Bern;40\n3;Zürich\n4;Biel;50\n".encode("cp1252")
    check, taken = accepted(write_csv(tmp_path, content))
    assert (check.rows, taken) == (4, {"encoding": "cp1252", "ragged": "pad"})
    late = b"id;ville\n" + b"1;Bern\n" * 30_000 + "2;Genève\n3\n".encode("cp1252")
    check, taken = accepted(write_csv(tmp_path, late))
    assert (check.rows, taken) == (30_002, {"encoding": "cp1252", "ragged": "pad"})
    with pytest.raises(SourceError, match="what follows line 1 has a quotation mark that is not closed"):
        findings_about_records(write_csv(tmp_path, 'id;ville\n1;"Genève\n'.encode("cp1252")))


LONG = 1 << 21
FAULTS: dict[str, tuple[str, bytes, str]] = {
    "long cell": (
        "x.csv",
        b'id,note\n1,"' + b"x " * (LONG // 2 + 99) + b'"\n2,b\n',
        "what follows line 1 has a cell or a line of more",
    ),
    "long last cell": (
        "x.csv",
        b'id,note\n1,a\n2,"' + b"x" * (LONG + 99),
        "what follows line 2 has a cell or a line of more",
    ),
    "quotation mark": (
        "x.csv",
        b'id,note\n1,a\n2,"b\n3,c\n',
        "what follows line 2 has a quotation mark that is not closed",
    ),
    "last quotation mark": (
        "x.csv",
        b'id,note\n1,a\n2,"b',
        "what follows line 2 has a quotation mark that is not closed",
    ),
    "mark within": (
        "x.csv",
        b'id,note\n1,a\n2,"b" c\n3,c\n',
        "what follows line 2 has a quotation mark that ends no cell",
    ),
    "packed quotation mark": (
        "x.csv.gz",
        gzip.compress(b'id,note\n1,a\n2,"b'),
        "what follows line 2 has a quotation mark that is not closed",
    ),
    "not packed": ("x.csv.gz", b"id,note\n1,a\n", "gzip has not packed it, so leave .gz out of its name"),
    "cut": (
        "x.csv.gz",
        gzip.compress(b"id\n" + b"".join(b"%d\n" % (n * n * 7919) for n in range(20_000)))[:-9],
        "damaged",
    ),
    "checksum": (
        "x.csv.gz",
        gzip.compress(b"id,note\n1,a\n")[:-8] + bytes(8),
        "as it is damaged: check that the file is whole",
    ),
    "checksum of objects": (
        "x.jsonl.gz",
        gzip.compress(b'{"a": 1}\n' * 9)[:-8] + bytes(8),
        "what follows line 9 is damaged",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_what_cannot_be_read_is_refused_in_one_true_line(tmp_path: Path, name: str) -> None:
    """By `check` and by a count alike, without a cell."""
    file, content, words = FAULTS[name]
    path = tmp_path / file
    path.write_bytes(content)
    is_mended = name in {"quotation mark", "mark within"}
    for act in (DuckDBSource.open, *([] if is_mended else [findings_about_records])):
        with pytest.raises(SourceError) as caught:
            act(path)
        assert words in str(caught.value)
        assert str(caught.value).isprintable()
        assert len(str(caught.value)) < 400
        assert caught.value.__context__ is None


def test_a_last_record_with_an_open_quotation_mark_is_not_dropped(tmp_path: Path) -> None:
    """From a pipe the engine would leave it out without a word."""
    path = write_csv(tmp_path, 'id,town\n1,Zürich\n2,"Genf'.encode("cp1252"))
    with pytest.raises(SourceError, match="what follows line 2 has a quotation mark that is not closed"):
        DuckDBSource.open(path, form=FileFormat(encoding="cp1252"))
    path = write_csv(tmp_path, 'id,size\n1,"5"""\n2,6" ü\n'.encode("cp1252"))
    assert counts(path, "true", form=FileFormat(encoding="cp1252")) == [2]


def test_a_refusal_of_an_encoding_holds_no_byte_of_the_file(tmp_path: Path) -> None:
    """It may be kept by a caller."""
    path = write_csv(tmp_path, f"id,town\n1,{CANARY}\n".encode() + b"2,\xe9\n")
    with pytest.raises(EncodingError, match="is not in utf-8: state its encoding") as caught:
        DuckDBSource.open(path)
    assert caught.value.__context__ is None
    assert CANARY not in str(caught.value)


def test_names_of_a_sheet_can_be_stated(tmp_path: Path) -> None:
    """As those of a CSV file."""
    path = write_workbook(tmp_path / "x.xlsx", {"a": [["x", "x", None], [1, 2, 3], [4, 5, 6]]})
    form = FileFormat.from_parts({"names": {"2": "y", "3": "ward"}})
    assert counts(path, "ward = 3 and y = 2", form=form) == [1]
    path = write_workbook(tmp_path / "y.xlsx", {"a": [[1, 2], [4, 5]]})
    assert counts(
        path, "a = 1 and b = 2", "true", form=FileFormat.from_parts({"header": False, "names": ["a", "b"]})
    ) == [1, 2]
    with pytest.raises(SourceError, match=r"ragged does not apply to .*, a file of Excel: leave it out"):
        DuckDBSource.open(path, form=FileFormat(ragged="pad"))


def test_rules_of_rows_say_nothing_of_objects(tmp_path: Path) -> None:
    """Their keys are names, and each is a record."""
    path = tmp_path / "x.jsonl"
    path.write_text('{"a": 1}\n')
    for form in (FileFormat(header=False), FileFormat(drop_empty_rows=True), replace(FileFormat(), footer=("Total",))):
        with pytest.raises(SourceError, match=r"does not apply to .*, a file of JSON: leave it out"):
            DuckDBSource.open(path, form=form)


def test_lines_of_cells_are_right_behind_rows_that_are_left_out(tmp_path: Path) -> None:
    """A line that is shown is the line of the file."""
    rows = "".join(f"{n},a\n" for n in range(10))
    path = write_csv(tmp_path, f'age,note\n# x\n{rows}\n,\n7,"two\nlines"\nTotal,\nold,b\n')
    form = FileFormat(drop_empty_rows=True, comment=("#",), footer=("Total",), ragged="pad")
    (age, _) = findings_about_records(path, form=form).columns
    assert (age.examples, age.lines) == (("old",), (18,))
    assert re.search("old", io.StringIO(path.read_text()).readlines()[17])
