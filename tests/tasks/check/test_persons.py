"""Statements about persons, and the findings of a check about persons."""

import json
import random
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import noisycount as nc
from noisycount.catalog.catalog import DatasetRecord
from noisycount.engines.duckdb.source import DuckDBSource
from noisycount.engines.formats import ColumnFormat, FileFormat
from noisycount.engines.spellings import ONE_SPELLING, spellings_of
from noisycount.errors import SourceError
from noisycount.query.language import parse
from noisycount.query.schema import Kind
from tests.engines.duckdb.test_foreign import write_sqlite
from tests.helpers.commands import Refused, Run
from tests.helpers.sources import database
from tests.helpers.workbooks import write_workbook

DATASET = '[ledger]\nurl = "sqlite:///ledger.db"\n[datasets.d]\nsource = "{}"\nunit = "{}"\nbudget = "100000"\n'
IDS_OF_ONE = "ids that may be one person's"
IDS_OF_NOBODY = "ids that may be missing"
CLEARLY = ("--epsilon", "1000")
IDS = ("1.0", "2", "2.0", "3", "A7", "a7", "A7 ")


def configured(here: Path, content: str, unit: str, more: str = "") -> None:
    """Configure a data set `d` of a CSV file, of which no ledger knows anything."""
    (here / "a.csv").write_text(content, encoding="utf-8")
    (here / "noisycount.toml").write_text(DATASET.format("a.csv", unit) + more, encoding="utf-8")
    (here / "ledger.db").unlink(missing_ok=True)


def count(run: Run, *words: str) -> int:
    """An answer to which no noise is added in practice."""
    return int(run("count", "d", *CLEARLY, *words, "--json").object["answer"])


def titles(told: Mapping[str, Any]) -> set[str]:
    """The titles of the findings of a check."""
    return {finding["title"] for finding in told["findings"]}


def seen(run: Run) -> str:
    """Return the problems that a check of `d` reports."""
    return " ".join(json.loads(run("check", "d", "--json").output)["problems"])


def checked(run: Run) -> dict[str, Any]:
    """Return the JSON of a check of `d` whose questions are answered."""
    return run("check", "d", "--json").object


@pytest.mark.thorough
def test_trim_and_missing_of_the_unit_are_obeyed(run: Run, refused: Refused, here: Path) -> None:
    """A1 and 'A1 ' are one person; rows of NULL are of nobody, and refused until they are mended."""
    rows = "id,x\nA1,a\nA1 ,b\n B2,c\nB2,d\n"
    kinds = '[datasets.d.kinds]\nid = { kind = "text", trim = true, missing = ["NULL"] }\n'
    configured(here, f"{rows}NULL,e\nNULL,f\n", "id", kinds)
    told = run("check", "d")
    assert told.status == 4
    assert "persons 2 each 2 rows (median), 2 (largest)" in told.words
    ways = "fill the cells in, remove the rows, or state that they are left out"
    assert f"2 rows name no person: {ways} (lines 6, 7)." in seen(run)
    assert "unit column 'id' has missing values" in refused("count", "d", *CLEARLY, "--where", "true")
    (here / "a.csv").write_text(rows)
    assert checked(run)["persons"] == 2
    assert (count(run), count(run, "--where", "x = 'a' or x = 'b'")) == (2, 1)


@pytest.mark.thorough
def test_ids_of_one_person_are_reported_and_mended(run: Run, here: Path) -> None:
    """'2' and '2.0', 'A7', 'a7' and 'A7 ': what a check proposes makes them one."""
    configured(here, "patient,x\n" + "".join(f"{id_},{n}\n" for n, id_ in enumerate(IDS)), "patient")
    told = checked(run)
    assert (told["persons"], told["fits"]) == (7, True)
    shown = seen(run)
    assert "look at ids that may be one person's (patient)" in told["verdict"]
    assert (
        "2 persons may have several ids; one with 3 ids changes a count by up to 3, at the price of 1: "
        "'2' and '2.0'; 'A7' and 'A7 ' and 'a7'."
    ) in shown
    assert count(run) == 7
    with (here / "noisycount.toml").open("a") as file:
        file.write(told["mend"])
    mended = checked(run)
    assert (mended["persons"], mended["mend"], titles(mended) & {IDS_OF_ONE}) == (4, "", set())
    assert (mended["answered_otherwise"], count(run)) == (1, 4)


NOBODY = ("#N/A", "-", "N/A", "NULL", "n/a", "unknown")


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", ["", '[datasets.d.kinds]\nwho = { kind = "text", missing = ["x"] }\n'])
def test_ids_that_mean_missing_are_reported_and_mended(run: Run, here: Path, kind: str) -> None:
    """Once the line is stated, their rows are in no count; N/A and n/a are not two spellings; empty cells likewise."""
    rows = "".join(f"{id_},{n}\n" for n, id_ in enumerate(("P1", "P2", "P3", "Nana", *NOBODY)))
    configured(here, f"who,x\n{rows}", "who", kind)
    told = checked(run)
    assert (told["persons"], told["fits"], titles(told)) == (10, True, {IDS_OF_NOBODY})
    assert "6 ids are words for a missing id and count as a person each: a line of noisycount.toml leaves" in seen(run)
    words = ", ".join(f'"{word}"' for word in (*(["x"] if kind else []), *NOBODY))
    assert told["mend"].endswith(f'who = {{ kind = "text", missing = [{words}], drop_missing = true }}')
    line = told["mend"].splitlines()[-1]
    configured(here, f"who,x\n{rows}", "who", f"[datasets.d.kinds]\n{line}\n")
    stated = checked(run)
    assert (stated["persons"], stated["fits"], titles(stated)) == (4, True, {"rows without a person"})
    assert "6 rows name no person and, as the owner stated, are in no count" in seen(run)
    assert (count(run), count(run, "--where", "x >= 3")) == (4, 1)
    configured(here, f"who,x\n{rows},9\n", "who", kind)
    empty = json.loads(run("check", "d", "--json").output)
    assert (empty["fits"], titles(empty)) == (False, {"rows without a person", IDS_OF_NOBODY})
    assert empty["mend"] == told["mend"]


def test_frames_show_ids_that_mean_missing(tmp_path: Path) -> None:
    """The owner of a table in memory mends them there; a number is no word."""
    frame = pl.DataFrame({"who": ["P1", "None"], "n": [1, 2]})
    with nc.open_desk(frame, unit="who", ledger=tmp_path / "ledger.db") as desk:
        (finding,) = desk.check().findings
    assert (finding.title, finding.rows, finding.proposals) == (IDS_OF_NOBODY, 1, ())
    left_out = "leave such rows out where the records are"
    assert finding.text.startswith(f"1 id is a word for a missing id and counts as a person: {left_out}")
    with nc.open_desk(frame, unit="n", ledger=tmp_path / "ledger.db") as desk:
        assert desk.check().findings == ()


@pytest.mark.parametrize(
    ("ids", "rules"),
    [
        (("Ann", "ANN"), {"fold_case": True}),
        (("Ann", "Ann ", "\tAnn", "Ann\u00a0"), {"trim": True}),
        (("7", "7.0", "7.00"), {"drop_zeros": True}),
        (("007", "7"), {"drop_zeros": True}),
        (("P7", "P007", "P0007"), {"drop_zeros": True}),
        (("A-01-b", "A-1-b"), {"drop_zeros": True}),
        (("p07", "P7 "), {"trim": True, "fold_case": True, "drop_zeros": True}),
        (("Zürich", "Zu\u0308rich"), {"normalise": "NFC"}),
        (("É1", "e\u03011 "), {"trim": True, "fold_case": True, "normalise": "NFC"}),
        (("ΟΔΟΣ", "οδος"), {"fold_case": True}),
        (("A 1", "A\u00a01", "A\u20091", "A\t1", "A  1"), {"normalise": "NFKC"}),
        (("A1", "A\u200b1", "A\u00ad1", "A1\u200e", "\uff21\uff11", "A\u0661"), {"normalise": "NFKC"}),
        (("A-1", "A\u20101", "A\u20111", "A\u20131", "A\u22121", "A\uff0d1"), {"normalise": "NFKC"}),
        (("O'Neil", "O\u2019Neil", "O`Neil", "O\u00b4Neil", "O\u02bcNeil"), {"normalise": "NFKC"}),
        (("fi1", "ﬁ1"), {"normalise": "NFKC"}),
        (("A1", "A1\u200b \u2060"), {"trim": True, "normalise": "NFKC"}),
        (("7", "\uff10\uff17.0"), {"normalise": "NFKC", "drop_zeros": True}),
        (("A7", "A7\0", "\0A7"), {"normalise": "NFKC"}),
    ],
)
def test_each_rule_is_proposed_where_it_is_needed(
    ids: tuple[str, ...], rules: Mapping[str, Any], tmp_path: Path
) -> None:
    """No rule more; with these rules the ids are one person on the engine, and without one of them several."""
    found = spellings_of((*ids, "other"))
    assert found is not None
    assert (found.texts, found.largest, found.parts) == (1, len(ids), rules)
    path = tmp_path / "a.parquet"
    pl.DataFrame({"who": ids}).write_parquet(path)

    def persons(parts: Mapping[str, Any]) -> int:
        form = ColumnFormat.from_parts({"kind": "text", **parts})
        with DuckDBSource.open(path, unit="who", kinds={"who": form}) as source:
            return source.count([parse("true", source.schema)])[0]

    assert persons(rules) == 1
    for rule in rules:
        assert persons({name: part for name, part in rules.items() if name != rule}) > 1


@pytest.mark.thorough
def test_ids_that_only_look_alike_are_reported_and_mended(run: Run, here: Path) -> None:
    """The line that a check proposes makes them one person; a cell without any visible character is missing."""
    ids = ("B-7", "B\u20117", "B\u200b-7", "C 1", "C\u00a01")
    configured(here, "who,x\n" + "".join(f"{id_},{n}\n" for n, id_ in enumerate(ids)), "who")
    found = checked(run)
    assert (found["persons"], count(run)) == (5, 5)
    assert "2 persons may have several ids" in seen(run)
    assert "'B-7' and 'B\\u200b-7' and 'B\\u20117'; 'C 1' and 'C\\xa01'" in seen(run)
    with (here / "noisycount.toml").open("a") as file:
        file.write(found["mend"])
    assert (checked(run)["persons"], checked(run)["mend"], count(run)) == (2, "", 2)
    with (here / "a.csv").open("a") as file:
        file.write("\u200b\u2060,9\n")
    assert "1 row names no person" in seen(run)


def test_other_ids_are_left_alone(run: Run, here: Path) -> None:
    """Ids that differ in more than their spelling; marks are the owner's to judge; without a unit none is shown."""
    configured(here, "who,x\n10,a\n1,b\n1.5,c\nA-7,d\nA7,e\nZurich,f\nZürich,g\n", "who")
    told = checked(run)
    assert (told["persons"], titles(told) & {IDS_OF_ONE}) == (7, {IDS_OF_ONE})
    choice = '# who = { kind = "text", drop_marks = true }'
    assert told["mend"] == f"[datasets.d.kinds]\n# keep one of these lines, without its #:\n{choice}"
    assert spellings_of(["0", "00"]) is not None
    assert (
        spellings_of(["0", "10", "100", "1.05", "1.5", "P1.05", "P1.5", "1,005", "1,5", "P10", "P1", "A0B", "AB"])
        is None
    )
    configured(here, "who,x\nA,a\na,b\n", "row")
    assert checked(run)["median_rows"] is None


SPELLED = pl.DataFrame({"who": IDS, "n": range(len(IDS))})


def write_table(path: Path) -> None:
    """The records in a file of any kind that holds them as texts."""
    match path.suffix:
        case ".csv":
            SPELLED.write_csv(path)
        case ".jsonl":
            SPELLED.write_ndjson(path)
        case ".parquet":
            SPELLED.write_parquet(path)
        case ".xlsx":
            write_workbook(path, {"t": [("who", "n"), *SPELLED.iter_rows()]})
        case ".sqlite":
            write_sqlite(path, "CREATE TABLE t (who TEXT, n INTEGER)")
            with closing(sqlite3.connect(path)) as made, made:
                made.executemany("INSERT INTO t VALUES (?, ?)", SPELLED.iter_rows())
        case ".duckdb":
            SPELLED.write_parquet(path.with_suffix(".parquet"))
            with database(path) as made:
                made.execute(f"CREATE TABLE t AS FROM '{path.with_suffix('.parquet')}'")


@pytest.mark.thorough
@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet", "xlsx", "sqlite", "duckdb"])
def test_rules_of_the_unit_hold_for_files_of_every_kind(run: Run, here: Path, ending: str) -> None:
    """Reported, proposed, and obeyed by counts and by tables."""
    write_table(here / f"a.{ending}")
    place = here / "noisycount.toml"
    place.write_text(DATASET.format(f"a.{ending}", "who"))
    told = checked(run)
    assert told["persons"] == 7
    assert told["mend"].endswith('who = { kind = "text", trim = true, fold_case = true, drop_zeros = true }')
    place.write_text(place.read_text() + told["mend"])
    assert (checked(run)["persons"], count(run)) == (4, 4)
    table = run("count", "d", "--by", "n:0,10", "--groups-per-unit", "1", *CLEARLY, "--json")
    assert [row["answer"] for row in table.object["rows"]] == [4, 0]
    place.write_text(DATASET.format(f"a.{ending}", "who"))
    assert count(run, "--where", "n < 3") == 2, "the ledger keeps how ids are read"


def test_frames_show_ids_of_one_person(tmp_path: Path) -> None:
    """The owner of a table in memory sees them, and mends them there."""
    with nc.open_desk(SPELLED, unit="who", ledger=tmp_path / "ledger.db") as desk:
        persons, findings = desk.check().persons, desk.check().findings
    assert persons is not None
    (spellings,) = persons.spellings
    assert spellings.examples == (("2", "2.0"), ("A7", "A7 ", "a7"))
    assert [(each.title, each.proposals) for each in findings] == [(IDS_OF_ONE, ())]


def test_a_unit_that_is_read_as_an_integer_is_one(run: Run, here: Path) -> None:
    """007 and 7 are one person; an id that is no number keeps questions from being answered."""
    kinds = '[datasets.d.kinds]\nwho = "integer"\n'
    configured(here, "who,x\n007,a\n7,b\n+7,c\n8,d\n", "who", kinds)
    assert (checked(run)["persons"], count(run)) == (2, 2)
    configured(here, "who,x\n007,a\nA7,b\n8,d\n", "who", kinds)
    told = run("check", "d")
    assert told.status == 4
    assert "1 cell does not fit the kind integer: 'A7'" in seen(run)
    assert told.output.endswith('who = "text"\n')


@pytest.mark.parametrize(
    ("kinds", "words"),
    [
        ('who = "real"', "kinds states that the unit 'who' is of kind real, but a unit is read as text or as integer"),
        ('x = { kind = "text", fold_case = true }', "kinds states fold_case of 'x', but fold_case belongs to the unit"),
        (
            'x = { kind = "text", drop_zeros = true }',
            "but drop_zeros belongs to the unit: leave it out",
        ),
        (
            'x = { kind = "text", normalise = "NFD" }',
            'normalise must be "NFC" or "NFKC", or be left out, got \'NFD\'',
        ),
        ('x = { kind = "integer", normalise = "NFC" }', "normalise belongs to a column of kind text, not integer"),
    ],
)
def test_what_cannot_be_obeyed_is_refused(refused: Refused, here: Path, kinds: str, words: str) -> None:
    """In one line, before any charge."""
    configured(here, "who,x\n1,a\n", "who", f"[datasets.d.kinds]\n{kinds}\n")
    assert words in refused("count", "d", *CLEARLY)
    assert words in refused("check", "d")


@pytest.mark.parametrize("values", [[1, 2], [1.5, 2.0], [True, False]])
def test_rules_of_texts_are_refused_for_a_unit_that_is_no_text(
    refused: Refused, here: Path, values: list[object]
) -> None:
    """A Parquet file whose ids are numbers has one spelling of each."""
    pl.DataFrame({"who": values}).write_parquet(here / "a.parquet")
    (here / "noisycount.toml").write_text(
        DATASET.format("a.parquet", "who") + '[datasets.d.kinds]\nwho = { kind = "text", trim = true }\n'
    )
    assert "kinds states how the texts of 'who' are read, but its type is" in refused("count", "d", *CLEARLY)


@pytest.mark.thorough
def test_texts_of_columns_that_look_alike_are_reported(run: Run, here: Path) -> None:
    """Composed and decomposed; a line reads them as one; letters and zeros are the owner's to mend."""
    towns = ["Zürich", "Zu\u0308rich", "Bern", "Bern\u00a0", "Chur", "chur", "8001", "8001.0"]
    configured(here, "who,town\n" + "".join(f"{n},{town}\n" for n, town in enumerate(towns * 3)), "who")
    told = checked(run)
    shown = seen(run)
    assert "4 texts may have several spellings, of which a question finds one: '8001' and '8001.0'; 'Bern' and" in shown
    assert "'Bern\\xa0'; 'Chur' and 'chur', and 1 more." in shown
    assert told["mend"] == '[datasets.d.kinds]\ntown = { kind = "text", trim = true, normalise = "NFC" }'
    assert count(run, "--where", "town = 'Zürich'") == 3
    with (here / "noisycount.toml").open("a") as file:
        file.write(told["mend"])
    assert count(run, "--where", "town = 'Zürich'") == 6
    assert count(run, "--where", "town = 'Bern'") == 6
    assert checked(run)["mend"] == ""
    shown = seen(run)
    assert "2 texts may have several spellings, of which a question finds one: '8001' and '8001.0'; 'Chur' and" in shown


@pytest.mark.thorough
def test_the_shape_of_persons_is_shown(run: Run, here: Path) -> None:
    """Rows a person, columns of some rows only, and what a condition on one row means."""
    events = "".join(f"{n},baseline,{1 + n % 2},\n{n},month_1,,{'neg' if n % 3 else 'pos'}\n" for n in range(60))
    configured(here, f"id,event,sex,lab\n{events}", "id")
    told = checked(run)
    assert (told["median_rows"], told["largest_rows"], told["partial_columns"]) == (2, 2, ["sex", "lab"])
    shown = seen(run)
    facts = run("check", "d").prose
    assert "each 2 rows (median), 2 (largest); a person counts if one row satisfies the whole condition" in facts
    assert (
        "Most persons have sex, lab in some of their rows only. One row must satisfy a whole condition: no row has "
        "both sex and lab, so a condition that needs both is true of nobody."
    ) in shown
    assert count(run, "--where", "sex = 1 and lab = 'pos'") == 0


def test_columns_with_a_few_gaps_are_not_said_to_be_partial(run: Run, here: Path) -> None:
    """A tenth of missing values is no pattern, and persons with a single row are left out."""
    chance = random.Random(3)  # noqa: S311 - repeatable, not secret
    rows = "".join(f"{n // 3},{'' if chance.random() < 0.1 else n}\n" for n in range(300))
    configured(here, f"id,x\n{rows}10000,\n", "id")
    told = checked(run)
    assert (told["median_rows"], told["largest_rows"], told["partial_columns"]) == (3, 3, [])


def test_a_size_that_is_not_that_of_the_records_is_reported(run: Run, here: Path) -> None:
    """Of persons, or of rows; the right one is not."""
    configured(here, "id\n1\n1\n2\n", "id", "size = 3\n")
    assert "size is 3, but there are 2 persons: the promise of privacy rests on that number" in seen(run)
    configured(here, "id\n1\n1\n2\n", "row", "size = 4\n")
    assert "size is 4, but there are 3 rows" in seen(run)
    configured(here, "id\n1\n1\n2\n", "id", "size = 2\n")
    assert "size is" not in seen(run)


def test_other_data_sets_of_the_same_unit_are_named(run: Run, here: Path) -> None:
    """Data sets of the same unit are named, as each has a budget; others are not."""
    (here / "b.csv").write_text("id,y\n1,2\n")
    (here / "c.csv").write_text("id,y\n3,2\n")
    others = '[datasets.b]\nsource = "b.csv"\nunit = "ID"\n[datasets.c]\nsource = "c.csv"\n'
    configured(here, "id\n1\n", "id", others)
    assert checked(run)["same_unit"] == ["b"]
    assert "The unit of b is id as well, and each data set has a budget of its own" in seen(run)


def test_another_reading_of_ids_is_another_version() -> None:
    """Each way to read ids and trimmed texts has its own version."""
    text = ColumnFormat(Kind.TEXT)
    rules = {"trim": True, "fold_case": True, "drop_zeros": True, "normalise": "NFC"}
    forms = [
        text,
        ONE_SPELLING,
        replace(ONE_SPELLING, normalise="NFC"),
        ColumnFormat(Kind.INTEGER),
        ColumnFormat(Kind.TEXT, missing=("NULL",)),
    ]
    forms += [ColumnFormat.from_parts({"kind": "text", rule: part}) for rule, part in rules.items()]
    records = [DatasetRecord("id", {"id": form, "x": text}, "00", form=FileFormat()) for form in forms]
    assert len({each.version for each in records}) == len({each.reading_digest for each in records}) == len(forms)
    assert [each.unit_form for each in records] == [None, *forms[1:]]
    plain = DatasetRecord(None, {"id": text, "x": text}, "00", form=FileFormat())
    assert plain.version == records[0].version, "versions without rules are those of older releases"
    typed = DatasetRecord("id", {"id": ColumnFormat(Kind.INTEGER)}, "00")
    assert typed.unit_form is None
    old = {"id": {"kind": "text", "trim": True}, "x": {"kind": "text"}}
    assert records[5].columns["id"].parts == old["id"]
    assert DatasetRecord.read(records[5].text) == records[5]


@pytest.mark.thorough
def test_rows_of_persons_are_those_of_a_loop(tmp_path: Path) -> None:
    """Median, largest and partial columns of random records, by brute force."""
    chance = random.Random(7)  # noqa: S311 - repeatable, not secret
    for trial in range(12):
        rows = [
            {"who": chance.randrange(9), **{name: chance.choice([None, 1]) for name in ("a", "b")}, "c": 1}
            for _ in range(chance.randrange(1, 40))
        ]
        path = tmp_path / f"{trial}.parquet"
        pl.DataFrame(rows, schema=dict.fromkeys(("who", "a", "b", "c"), pl.Int64)).write_parquet(path)
        persons = DuckDBSource.check_file(path, unit="who").persons
        assert persons is not None
        of_each = {row["who"]: [other for other in rows if other["who"] == row["who"]] for row in rows}
        sizes = pl.Series([len(each) for each in of_each.values()])
        assert (persons.median_rows, persons.largest_rows) == (sizes.median(), sizes.max())
        for name in ("a", "b", "c"):
            given = [[row[name] is not None for row in each] for each in of_each.values() if len(each) > 1]
            some = [each for each in given if any(each)]
            is_partial = bool(some) and sum(not all(each) for each in some) >= 0.8 * len(some)
            assert (name in persons.partial) is is_partial
        both = any(row["a"] and row["b"] for row in rows)
        assert (("a", "b") in persons.apart) is ({"a", "b"} <= {*persons.partial} and not both)


def test_a_file_without_such_a_unit_is_refused_by_its_name(tmp_path: Path) -> None:
    """Rules of a column that is not there change nothing of that."""
    path = tmp_path / "a.parquet"
    SPELLED.write_parquet(path)
    with pytest.raises(SourceError, match="unit names 'nobody', which is no column"):
        DuckDBSource.open(path, unit="nobody", kinds={"nobody": ONE_SPELLING})


@pytest.mark.parametrize(
    ("column", "ids", "reported"),
    [
        ("PatientID", [1, 1, 2, 2], ["PatientID"]),
        ("PatientID", ["a", "a", "b"], ["PatientID"]),
        ("PatientID", [1, 2, 3], []),
        ("ward_id", [1, 1, 2, 2], []),
        ("person", [*[1] * 150, *[2] * 150], []),  # how many persons there are, more likely
    ],
)
def test_ids_that_repeat_are_reported_if_every_row_is_a_unit(
    run: Run, here: Path, column: str, ids: list[object], reported: list[str]
) -> None:
    """A person with several rows is not protected then."""
    (here / "a.csv").write_text("\n".join([f"{column},age", *(f"{each},30" for each in ids)]))
    findings = run("check", "a.csv", "--unit", "row", "--json").object["findings"]
    assert [each["column"] for each in findings if each["title"] == "persons with several rows"] == reported


def test_a_unit_with_one_value_is_reported(run: Run, here: Path) -> None:
    """Every count is 0 or 1 then."""
    (here / "a.csv").write_text("site,age\n" + "A,1\n" * 3)
    assert "All 3 rows are of one person, so that no count exceeds 1" in run("check", "a.csv", "--unit", "site").prose
