"""Tests of `tasks/check_display.py` and `tasks/findings.py`."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from noisycount.catalog.catalog import DatasetRecord
from noisycount.config.config import load_config
from noisycount.display.texts import escape_unencodable
from noisycount.engines.check import Check, ColumnCheck
from noisycount.engines.finding import Finding, Proposal, Severity
from noisycount.engines.findings import with_findings
from noisycount.engines.formats import ColumnFormat, FileFormat
from noisycount.ledger.ledger import Ledger
from noisycount.query.schema import ZONED, Kind
from noisycount.tasks.check_display import form_words
from tests.helpers.commands import Refused, Run, Told, configure

ROWS = (
    "Umfrage 2025;;;;;",
    "Stand: 31.12.2025;;;;;",
    'Person;Alter;"Kosten €";Raucher;Beitritt;Ort',
    *(f"P{n};{20 + n};{n}.050,75;{'ja' if n % 3 else 'nein'};0{n}.02.2024;Köln" for n in range(1, 9)),
    "P9;unbekannt;k.A.;ja;31.12.2024;Gießen",
    "P10;;ca. 30 €;nein;Frühjahr;Münster",
)


@pytest.fixture
def umfrage(here: Path) -> Path:
    """A table as a German spreadsheet saves it, with cells that do not fit their columns."""
    path = here / "umfrage.csv"
    path.write_bytes("\r\n".join([*ROWS, ""]).encode("cp1252"))
    return path


def found(told: Told) -> dict[str, Any]:
    """Return the JSON of a check, whether or not all cells fitted."""
    assert told.errors == ""
    return dict(json.loads(told.output))


def column(told: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the report of a single column."""
    (one,) = (column for column in told["columns"] if column["name"] == name)
    return dict(one)


@pytest.mark.usefixtures("umfrage")
def test_an_owner_sees_what_does_not_fit(run: Run) -> None:
    """Kinds with their reasons, missing and unreadable cells, how the file was read, a remedy."""
    told = run("check", "umfrage.csv")
    assert (told.status, told.errors) == (4, "")
    assert told.output.startswith("For the owner only: this shows facts about the data, cells and true counts.\n")
    shown = told.prose
    for part in (
        'rows 10 read as cp1252 texts between ";", 2 lines before the names of the columns',
        "mend Alter 1 cell does not fit the kind integer: 'unbekannt' (line 12)",
        "mend Kosten € 1 cell does not fit the kind real: 'ca. 30 €' (line 13)",
        "mend Beitritt 1 cell does not fit the kind date: 'Frühjahr' (line 13)",
        "The file is not in UTF-8. It was read as cp1252: look whether its letters are right, and state it: 'ca.",
        "Ort text 0 0 'Köln' 8, 'Gießen' 1, 'Münster' 1",
        "Not readable: no question is answered because of cells that do not fit (Alter, Kosten €,",
        "`noisycount init umfrage.csv --accept` takes them all",
    ):
        assert part in shown


@pytest.mark.usefixtures("umfrage")
def test_machines_see_the_same(run: Run) -> None:
    """Every column with its form, as noisycount.toml would state it."""
    told = found(run("check", "umfrage.csv", "--json"))
    assert (told["rows"], told["fits"], told["unit"]) == (10, False, None)
    assert (told["encoding"], told["delimiter"], told["skip"]) == ("cp1252", ";", 2)
    cost = column(told, "Kosten €")
    assert cost["form"] == {"kind": "real", "decimal": ",", "missing": ["k.A."]}
    assert (cost["missing"], cost["unreadable"], cost["examples"]) == (1, 1, ["ca. 30 €"])
    assert (cost["lines"], cost["values"]) == ([13], [])
    assert column(told, "Ort")["values"][0] == {"value": "Gießen", "rows": 1}
    assert "Gießen" in told["letters"]
    assert (cost["usable"], cost["why_not"]) == (False, "unreadable")
    smoker = column(told, "Raucher")
    assert (smoker["usable"], smoker["kind"], smoker["reason"]) == (True, "boolean", "they are ja or nein")


@pytest.mark.thorough
def test_what_it_says_to_write_mends_it(run: Run, umfrage: Path) -> None:
    """Pasted into noisycount.toml as it stands, it makes the data set answer."""
    mend = found(run("check", "umfrage.csv", "--json"))["mend"]
    assert 'delimiter = ";"\nskip = 2\nencoding = "cp1252"\n' in mend
    (umfrage.parent / "noisycount.toml").write_text(mend, encoding="utf-8")
    for source in ("umfrage", "umfrage.csv"):
        told = run("check", source, "--json").object
        assert (told["dataset"], told["fits"], told["mend"]) == ("umfrage", True, "")
        assert column(told, "Alter")["usable"]
        assert column(told, "Alter")["unreadable"] == 1
    shown = run("check", "umfrage").prose
    assert "note Alter 1 cell does not fit the kind integer and, as the owner stated, counts as missing: 'unb" in shown
    assert "Ready: questions are answered, and the ledger keeps what these columns are." in shown
    assert shown.endswith('[datasets.umfrage.values] Ort = ["Gießen", "Köln", "Münster"]')


def test_words_may_also_be_said_to_be_missing(run: Run, here: Path) -> None:
    """If all misfits are words, a comment shows how to declare them as missing values."""
    (here / "a.csv").write_text("age,cost\n" + "7,2.5\n" * 19 + "old,2 EUR\n")
    mend = found(run("check", "a.csv", "--json"))["mend"]
    (here / "noisycount.toml").write_text(mend)
    assert run("check", "a", "--json").object["fits"]
    lines = mend.splitlines()
    place = lines.index("# or:")
    assert lines[place - 1] == 'age = { kind = "integer", unreadable = "missing" }'
    assert lines[place + 1] == '# age = { kind = "integer", missing = ["old"] }'
    assert lines[place + 2] == 'cost = { kind = "real", unreadable = "missing" }'
    lines[place - 1] = lines[place + 1].removeprefix("# ")
    (here / "noisycount.toml").write_text("\n".join(lines))
    age = column(run("check", "a", "--json").object, "age")
    assert (age["missing"], age["unreadable"]) == (1, 0)


@pytest.mark.thorough
def test_a_configured_data_set_is_mended_where_it_stands(run: Run, umfrage: Path) -> None:
    """No table is opened twice: TOML would refuse that."""
    place = umfrage.parent / "noisycount.toml"
    start = '[datasets.umfrage]\nsource = "umfrage.csv"\nunit = "Person"\n'
    place.write_text(start)
    mend = found(run("check", "umfrage", "--json"))["mend"]
    assert mend.startswith('# under [datasets.umfrage]\nencoding = "cp1252"\n[datasets.umfrage.ki')
    place.write_text(start + mend, encoding="utf-8")
    assert run("check", "umfrage", "--json").object["fits"]
    place.write_text(f'{start}encoding = "cp1252"\n[datasets.umfrage.kinds]\nAlter = "integer"\n')
    mend = found(run("check", "umfrage", "--json"))["mend"]
    assert mend.startswith("# under [datasets.umfrage.kinds], in place of what it says of these")
    assert 'Alter = { kind = "integer", unreadable = "missing" }' in mend


def test_columns_that_questions_may_not_use_are_named(run: Run, here: Path) -> None:
    """The unit, and what the owner did not choose; a Parquet file states its kinds."""
    configure(here, 'unit = "person"\ncolumns = ["year", "age"]')
    told = run("check", "survey", "--json").object
    assert (told["encoding"], told["delimiter"], told["skip"]) == (None, None, None)
    assert column(told, "person")["why_not"] == "the unit"
    assert column(told, "health")["why_not"] == "not among columns"
    age = column(told, "age")
    assert (age["usable"], age["kind"], age["form"]) == (True, "real", None)
    shown = run("check", "survey").words
    assert "counts distinct values of person kinds the file says so" in shown
    assert "│ the unit │" in shown


def test_a_file_that_states_types_is_read_as_it_says(run: Run, here: Path) -> None:
    """JSON lines have neither an encoding nor a delimiter to tell of."""
    (here / "a.jsonl").write_text('{"age": 1}\n{"age": null}\n')
    told = run("check", "a.jsonl", "--json").object
    assert (told["encoding"], told["delimiter"]) == (None, None)
    assert (column(told, "age")["kind"], column(told, "age")["missing"]) == ("integer", 1)
    assert "read as" not in run("check", "a.jsonl").output


def test_cells_outside_the_columns_that_are_used_stop_nothing(run: Run, here: Path) -> None:
    """They are reported all the same."""
    (here / "a.csv").write_text("age,note\n" + "1,2\n" * 9 + "1,none at all\n")
    (here / "noisycount.toml").write_text('[datasets.a]\nsource="a.csv"\ncolumns=["age"]')
    told = run("check", "a", "--json").object
    assert column(told, "note")["unreadable"] == 1
    assert column(told, "note")["why_not"] == "not among columns"


def test_rows_without_a_person_are_counted(run: Run, here: Path) -> None:
    """The table is shown, with what to do."""
    (here / "a.csv").write_text("person,age\n1,2\n,3\n2,4\n")
    (here / "noisycount.toml").write_text('[datasets.a]\nsource = "a.csv"\nunit = "person"')
    told = run("check", "a")
    assert told.status == 4
    ways = "fill the cells in, remove the rows, or state that they are left out"
    assert f"mend person 1 row names no person: {ways} (line 3)." in told.prose
    assert found(run("check", "a", "--json"))["lines_without_unit"] == [3]


@pytest.mark.thorough
def test_persons_are_told_beside_rows(run: Run, here: Path) -> None:
    """A row of sums below the table is no person that an owner would miss."""
    rows = "".join(f"{n // 2},{n},3,x\n" for n in range(60))
    (here / "a.csv").write_text(f"person,age,cost,town\n{rows}Sum,,180,\n")
    told = run("check", "a.csv", "--unit", "person", "--json").object
    assert (told["rows"], told["persons"], told["sparse_line"]) == (61, 31, None)
    assert "1 row looks like a total or a note" in run("check", "a.csv", "--unit", "person").words
    (here / "a.csv").write_text(f"person,age,cost,town\n{rows}30,,,\n")
    told = run("check", "a.csv", "--unit", "person", "--json").object
    assert (told["persons"], told["sparse_line"]) == (31, 62)
    shown = run("check", "a.csv").prose
    assert "rows 61 persons 31 each 2 rows (median), 2 (largest); a person counts if one row" in shown
    assert "The last row is nearly empty and counted like any other: remove it if it holds sums (line 62)." in shown
    assert "Ready, but look at a last row that is nearly empty." in shown
    assert run("check", "survey.parquet", "--unit", "person", "--json").object["persons"] == 5912


def test_lines_are_those_of_the_file(run: Run, here: Path) -> None:
    """Whatever stands before the table, between its lines, or within its cells."""
    rows = "".join(f"{n},a\n" for n in range(10))
    (here / "a.csv").write_text(f'age,note\n{rows}\n7,"two\nlines"\nold,b\n8,c\nyoung,d\nold,e\n')
    age = column(found(run("check", "a.csv", "--json")), "age")
    assert (age["examples"], age["lines"]) == (["old", "young"], [15, 17])
    shown = run("check", "a.csv").prose
    assert "3 cells do not fit the kind integer: 'old', 'young' (first in lines 15, 17)" in shown
    (here / "b.jsonl").write_text('{"age": 1}\n' * 9 + '\n{"age": "old"}\n')
    assert column(found(run("check", "b.jsonl", "--json")), "age")["lines"] == [11]


def test_texts_that_tell_persons_apart_are_warned_of(run: Run, here: Path) -> None:
    """As names do; a column that questions may not use is none of them."""
    rows = "".join(
        f"{n},Name {n},{'ab'[n % 2]},<{n / 10},{n} mg/l,{n:05},+41 44 100 {n:02} 12,CH{n:018}\n" for n in range(40)
    )
    (here / "a.csv").write_text(f"person,name,town,limit,lab,zip,phone,iban\n{rows}")
    warning = "look name 40 different texts for 40 persons, as names, addresses and telephone numbers are"
    assert warning in run("check", "a.csv", "--unit", "person").prose
    assert "texts that identify persons (name, phone, iban)." in run("init", "a.csv", "--unit", "person").prose
    text = (here / "noisycount.toml").read_text()
    assert "# Nearly every unit has another text in these columns, so leave them out: name, phone, iban\n" in text
    (here / "noisycount.toml").write_text(text.replace("[datasets.a]", '[datasets.a]\ncolumns = ["town"]'))
    assert "different texts for" not in run("check", "a").prose


@pytest.mark.thorough
def test_a_wide_file_is_not_looked_at_for_ever(run: Run, here: Path) -> None:
    """The texts of more than 200 columns are not listed; all else is told."""
    names = ",".join(f"c{n}" for n in range(250))
    (here / "a.csv").write_text(f"person,{names}\n" + f"1{',x' * 250}\n" * 3)
    told = run("check", "a.csv", "--unit", "person", "--json").object
    assert (told["persons"], column(told, "c7")["values"]) == (1, [])


def test_what_was_guessed_is_still_told_when_it_is_stated(run: Run, here: Path) -> None:
    """A stated kind keeps the reason of the guess; a different one is the owner's."""
    (here / "a.csv").write_text("person,age,code\n1,31,7\n2,32,8\n")
    run("init", "a.csv", "--unit", "person")
    place = here / "noisycount.toml"
    place.write_text(place.read_text().replace('code = "integer"', 'code = "text"'))
    reasons = [each["reason"] for each in run("check", "a", "--json").object["columns"]]
    assert reasons == ["it names the person", "they are whole numbers", "its owner says so"]


def test_cells_steer_no_terminal(run: Run, here: Path) -> None:
    """Control characters are escaped, long cells cut."""
    (here / "a.csv").write_text("age\n" + "7\n" * 19 + f"\x1b[2J\n{'x' * 500}\n")
    told = run("check", "a.csv")
    assert "\x1b" not in told.output
    assert r"'\x1b[2J'" in told.output
    assert f"'{'x' * 30}…'" in told.output
    assert "x" * 31 not in told.output


@pytest.mark.usefixtures("umfrage")
@pytest.mark.parametrize("width", [40, 80, 120])
def test_a_check_fits_its_terminal(run: Run, monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    """However wide it is; only what can be pasted is on lines of its own, and not broken."""
    monkeypatch.setenv("COLUMNS", str(width))
    shown, pasted = run("check", "umfrage.csv").output.split("\n\n[")
    assert max(map(len, shown.splitlines())) <= width
    assert 'Beitritt = { kind = "date", date_format = "%d.%m.%Y", unreadable = "missing" }' in pasted


def test_columns_that_do_not_exist_are_refused(refused: Refused, here: Path) -> None:
    """As a count refuses them."""
    (here / "a.csv").write_text("person,age\n1,2\n")
    for line, message in (
        ('unit = "persn"', "unit names 'persn', which is no column: use 'person'"),
        ('columns = ["agee"]', "columns names 'agee', which is no column: use 'age'"),
        ('kinds = { agee = "integer" }', "kinds names 'agee', which is no column: use 'age'"),
    ):
        (here / "noisycount.toml").write_text(f'[datasets.a]\nsource = "a.csv"\n{line}')
        assert message in refused("check", "a")
    assert "only databases and workbooks have several" in refused("check", "survey.parquet", "--table", "b")
    assert "data set 'a' is of no table, as its owner" in refused("check", "a", "--table", "b")


def test_what_cannot_be_read_in_any_encoding_is_refused(refused: Refused, here: Path) -> None:
    """By what is wrong, with the encoding in which it was read."""
    (here / "a.csv").write_bytes(b'a,b\n1,2\n3,"x\n\xe9')
    assert "what follows line 2 has a quotation mark that is not closed" in refused("check", "a.csv")


@pytest.mark.parametrize(
    ("form", "words"),
    [
        (ColumnFormat(Kind.INTEGER), "integer"),
        (ColumnFormat(Kind.TIMESTAMP, date_format=ZONED), "timestamp in UTC"),
        (ColumnFormat(Kind.BOOLEAN, true=("ja", "j"), false=("nein",)), "boolean, ja or nein"),
        (ColumnFormat(Kind.TEXT, trim=True, missing=("NA",)), "text, trimmed, NA missing"),
    ],
)
def test_forms_have_words(form: ColumnFormat, words: str) -> None:
    """Forms of columns are described in words."""
    assert form_words(form) == words


def test_lines_to_paste_survive_a_poor_terminal() -> None:
    """A character that it lacks is escaped as TOML reads it."""
    assert escape_unencodable('"Größe 😀" = "text"', "cp1252") == '"Gr\\u00f6\\u00dfe \\U0001f600" = "text"'
    assert escape_unencodable('"Größe" = "text"', "cp1252") == '"Größe" = "text"'


def test_a_check_may_say_the_unit(run: Run, here: Path) -> None:
    """Then what it found is written down before anything is asked."""
    (here / "a.csv").write_text("person,age\n1,31\n1,32\n")
    assert run("check", "a.csv", "--unit", "person").status == 0
    assert run("show", "a.csv", "--json").object["unit"] == "person"
    told = run("check", "a.csv", "--unit", "row")
    assert told.status == 2
    assert "counts distinct 'person'" in told.errors


WRITTEN = "".join(f"{n},{20 + n},{n}.5\n" for n in range(10))


@pytest.fixture
def visits(here: Path) -> Path:
    """A file of texts that is configured, and was never asked."""
    path = here / "visits.csv"
    path.write_text(f"person,age,cost\n{WRITTEN}")
    text = '[datasets.visits]\nsource = "visits.csv"\nunit = "person"\n'
    (here / "noisycount.toml").write_text(text)
    return path


def written(folder: Path) -> dict[str, DatasetRecord]:
    """Return the descriptions of data sets that the ledger stores."""
    with Ledger.open(load_config(folder / "noisycount.toml").ledger_url, create=False) as ledger:
        return {name: DatasetRecord.read(text) for name, text in ledger.descriptions().items()}


def test_what_an_owner_saw_is_written_down(run: Run, visits: Path) -> None:
    """Once all fits; later cells change no kind, and are told as what does not fit."""
    assert run("check", "visits", "--json").object["fits"]
    (kinds,) = (each.columns for each in written(visits.parent).values())
    assert {name: form.kind.value for name, form in kinds.items()} == {
        "person": "text",
        "age": "integer",
        "cost": "real",
    }
    visits.write_text(f"person,age,cost\n{WRITTEN}" + "11,old,2\n" * 90)
    told = found(run("check", "visits", "--json"))
    assert (told["fits"], told["changed"]) == (False, False)
    age = column(told, "age")
    assert (age["kind"], age["unreadable"], age["reason"]) == ("integer", 90, "the ledger has it so")
    assert column(told, "person")["reason"] == "it names the person"


def test_what_does_not_fit_is_not_written_down(run: Run, visits: Path) -> None:
    """No ledger is made for it."""
    visits.write_text(f"person,age,cost\n{WRITTEN}11,old,2\n")
    assert not found(run("check", "visits", "--json"))["fits"]
    assert not (visits.parent / "ledger.db").exists()


def test_a_check_of_a_path_without_a_unit_writes_nothing(run: Run, visits: Path) -> None:
    """Whose rows these are is for the first question to say."""
    (visits.parent / "noisycount.toml").unlink()
    before = sorted(visits.parent.parent.rglob("*"))
    told = run("check", "visits.csv")
    assert told.status == 0
    assert "Ready, but look at the unit." in told.words
    assert "State the person of each row: --unit COLUMN, or --unit row if every row is another person." in told.prose
    assert sorted(visits.parent.parent.rglob("*")) == before


def test_a_unit_that_was_said_is_known(run: Run, visits: Path) -> None:
    """Of a file, by its first answer."""
    (visits.parent / "noisycount.toml").unlink()
    words = ("--unit", "person", "--where", "age > 30", "--epsilon", "1")
    assert run("count", "visits.csv", *words).status == 0
    told = run("check", "visits.csv", "--json").object
    assert (told["unit"], told["fits"]) == ("person", True)
    assert "counts distinct values of person" in run("check", "visits.csv").words


@pytest.mark.thorough
def test_other_columns_are_written_down_when_the_owner_says_so(run: Run, visits: Path) -> None:
    """A missing column is reported, and `--renew` removes it from the ledger."""
    run("check", "visits")
    visits.write_text("person,years,cost\n" + WRITTEN.replace(".5", ""))
    for words in (("check", "visits"), ("check", "visits", "--json")):
        told = run(*words)
        assert told.status == 4
    assert found(told)["changed"]
    assert "let `noisycount check --renew` replace the columns" in found(told)["problems"][0]
    renewed = run("check", "visits", "--renew", "--json").object
    assert (renewed["changed"], renewed["fits"]) == (False, True)
    assert run("check", "visits", "--json").object["fits"]
    (kinds,) = (each.columns for each in written(visits.parent).values())
    assert [*kinds] == ["person", "years", "cost"]
    words = ("--where", "years > 25", "--epsilon", "1", "--json")
    assert run("count", "visits", *words).object["dataset"] == "visits"


HEADLESS = "".join(f"{n};{'wm'[n % 2]};{20 + n};0{n}.02.2024\n" for n in range(1, 7))


@pytest.mark.parametrize(("first", "unit"), [(None, "row"), ("row", "row"), (None, "column1"), ("1", "column1")])
def test_a_file_without_names_is_counted_once_that_is_accepted(
    run: Run, here: Path, first: str | None, unit: str
) -> None:
    """A check writes down no names in doubt; the unit may be a name that the file has only then."""
    (here / "k.csv").write_text(HEADLESS)
    assert run("check", "k.csv", *(("--unit", first) if first else ())).status == 0
    told = run("init", "k.csv", "--unit", unit, "--accept")
    assert told.status == 0, told.errors
    asked = ("count", "k", "--where", "column2 = 'm'", "--epsilon", "1", "--json")
    first_answer, second = (run(*asked).object for _ in range(2))
    assert (first_answer["answer"], first_answer["remaining"]) == (second["answer"], second["remaining"])


def test_names_that_no_answer_rests_on_are_replaced_when_others_are_stated(run: Run, here: Path) -> None:
    """The ledger had the first record for names."""
    (here / "k.csv").write_text(HEADLESS)
    text = '[datasets.k]\nsource = "k.csv"\nunit = "row"\nheader = {}\n'
    (here / "noisycount.toml").write_text(text.format("true"))
    assert run("check", "k").status == 0
    assert [*written(here)["k"].columns] == ["1", "m", "21", "01.02.2024"]
    (here / "noisycount.toml").write_text(text.format("false"))
    assert run("count", "k", "--where", "column1 > 2", "--epsilon", "1").status == 0
    assert [*written(here)["k"].columns] == ["column1", "column2", "column3", "column4"]


def test_an_answer_about_another_reading_is_neither_repeated_nor_its_columns_replaced(run: Run, here: Path) -> None:
    """The refusal names the way out; then the question is a new one, in the same budget."""
    (here / "k.csv").write_text(HEADLESS)
    toml = here / "noisycount.toml"
    text = '[datasets.k]\nsource = "k.csv"\nunit = "row"\nbudget = "200"\n'
    toml.write_text(text)
    asked = ("count", "k", "--epsilon", "40", "--json")
    assert run(*asked).object["answer"] == 5
    toml.write_text(text + "header = false\n")
    refused = run(*asked)
    assert refused.status != 0
    assert "`noisycount check NAME --renew`" in refused.errors
    assert run("check", "k", "--renew", "--json").object["answered_otherwise"] == 1
    told = run(*asked).object
    assert (told["answer"], told["remaining"]) == (6, "120")


@pytest.mark.parametrize("by_init", [False, True])
def test_what_was_paid_for_stays_paid_for_when_a_file_gets_a_name(run: Run, visits: Path, *, by_init: bool) -> None:
    """The proposed configuration keeps the ledger and the account of the file's first answers."""
    (visits.parent / "noisycount.toml").unlink()
    words = ("--where", "age > 25", "--epsilon", "0.5", "--json")
    paid = run("count", "visits.csv", "--unit", "person", *words).object
    visits.write_text(f"person,age,cost\n{WRITTEN}11,old,2\n")
    if by_init:
        run("init", "visits.csv")  # whose unit was said
        text = (visits.parent / "noisycount.toml").read_text()
        text = text.replace('age = "integer"  ', 'age = { kind = "integer", unreadable = "missing" }#')
    else:
        text = found(run("check", "visits.csv", "--json"))["mend"]
    (visits.parent / "noisycount.toml").write_text(text)
    told = run("count", "visits", *words).object
    assert (told["ledger"], told["remaining"]) == (paid["ledger"], "1")
    assert told["unreadable_as_missing"] == ["age"]
    visits.write_text(f"person,age,cost\n{WRITTEN}")
    assert run("count", "visits", *words).object["answer"] == paid["answer"]


@pytest.mark.thorough
def test_answers_about_texts_that_were_read_otherwise_are_told(run: Run, here: Path) -> None:
    """A corrected encoding asks the records anew, and the check says that older answers stay."""
    (here / "towns.csv").write_bytes("person,town\n1,Köln\n2,Köln\n".encode("cp1252"))
    text = '[datasets.towns]\nsource = "towns.csv"\nunit = "person"\nencoding = "{}"\n'
    asked = ("count", "towns", "--where", "town = 'Köln'", "--epsilon", "40", "--json")
    toml = here / "noisycount.toml"
    answers = []
    for encoding, others in (("cp437", 0), ("cp1252", 1)):
        toml.write_text(text.format(encoding) + 'budget = "200"\n')
        assert run("check", "towns", "--json").object["answered_otherwise"] == others
        answers.append(run(*asked).object["answer"])
    assert answers == [0, 2]
    told = run("check", "towns").prose
    assert "1 answer in the ledger is about other records, or about these as they were read" in told


STATED = 'kinds = { pay = "real", smoker = "boolean", day = "date", us = "date", n = "integer" }'


def test_forms_that_all_cells_fit_are_proposed(run: Run, here: Path) -> None:
    """In place of all cells as missing: decimal commas, words, dates; of two ways to read a date the owner chooses."""
    lines = [f"{n},5;{'ja' if n % 2 else 'Nein'};{n + 9:02d}.01.2026;{n:02d}/{n:02d}/2026;{n},25" for n in range(1, 13)]
    (here / "k.csv").write_text("\n".join(["pay;smoker;day;us;n", *lines, ";NA;;;", ""]), encoding="utf-8")
    start = '[datasets.k]\nsource = "k.csv"\nunit = "row"\n'
    (here / "noisycount.toml").write_text(start + STATED, encoding="utf-8")
    mend = found(run("check", "k", "--json"))["mend"].splitlines()
    assert mend[1:] == [
        'pay = { kind = "real", decimal = "," }',
        'smoker = { kind = "boolean", true = ["ja", "j", "wahr"], false = ["nein", "n", "falsch"], missing = ["NA"] }',
        'day = { kind = "date", date_format = "%d.%m.%Y" }',
        'n = { kind = "real", decimal = "," }',
        "# keep one of these lines, without its #:",
        '# us = { kind = "date", date_format = "%d/%m/%Y" }',
        '# us = { kind = "date", date_format = "%m/%d/%Y" }',
    ]
    table = "\n".join(["[datasets.k.kinds]", *(line.removeprefix("# ") for line in mend[1:] if "keep" not in line)])
    table = table.replace('\nus = { kind = "date", date_format = "%m/%d/%Y" }', "")
    (here / "noisycount.toml").write_text(start + table, encoding="utf-8")
    assert found(run("check", "k", "--json"))["fits"]


def test_a_form_that_one_cell_does_not_fit_is_not_proposed(run: Run, here: Path) -> None:
    """Nor is a form of texts, which all cells fit."""
    (here / "k.csv").write_text("pay,day\n" + '"1,5",01.02.2026\n' * 50 + "?!,soon\n", encoding="utf-8")
    stated = 'kinds = { pay = "integer", day = "date" }'
    (here / "noisycount.toml").write_text(f'[datasets.k]\nsource = "k.csv"\n{stated}', encoding="utf-8")
    mend = found(run("check", "k", "--json"))["mend"].splitlines()
    assert [line for line in mend if line.endswith('unreadable = "missing" }')] == [
        'pay = { kind = "integer", unreadable = "missing" }',
        'day = { kind = "date", unreadable = "missing" }',
    ]
    assert "keep one" not in "".join(mend)


def test_public_values_are_proposed_to_the_owner_and_stored_by_nobody(run: Run, here: Path) -> None:
    """Of texts that may be asked about; neither `init`, nor the ledger, nor what an analyst sees has them."""
    (here / "t.csv").write_text("town,sex\n" + "Köln,f\nBern,m\n" * 20, encoding="utf-8")
    run("init", "t.csv", "--unit", "row")
    told = run("check", "t")
    assert '[datasets.t.values] town = ["Bern", "Köln"] sex = ["f", "m"]' in told.words
    assert "Public values: if everybody knows without the records" in told.words
    kept = [path for path in here.iterdir() if path.is_file() and path.suffix in {".toml", ".db"}]
    assert {path.name for path in kept} == {"noisycount.toml", "ledger.db"}
    assert not any("Köln".encode() in path.read_bytes() for path in kept)
    assert run("show", "t", "--json").object["values"] == {}
    with (here / "noisycount.toml").open("a", encoding="utf-8") as file:
        file.write('[datasets.t.values]\ntown = ["Bern", "Basel"]\n')
    told = run("check", "t")
    assert '# under [datasets.t.values] sex = ["f", "m"]' in told.words
    assert "town 20 rows with none of the public values, which are in no row of a table: 'Köln'" in told.prose
    assert run("show", "t", "--json").object["values"]["town"]["listed"] == ["Bern", "Basel"]
    assert "propose" in json.loads(run("check", "t.csv", "--unit", "row", "--json").output)


@pytest.mark.thorough
def test_of_many_columns_those_to_look_at_come_first(run: Run, here: Path) -> None:
    """The others are summed up by kind; JSON has all of them."""
    names = [f"c{n}" for n in range(60)]
    rows = [",".join(str(n % 7) for n in range(59)) + f",{'x' if n % 2 else ''}" for n in range(20)]
    rows[3] = ",".join(["old" if n in {50, 57} else "1" for n in range(59)] + ["y"])
    (here / "a.csv").write_text("\n".join([",".join(names), *rows, ""]))
    told = run("check", "a.csv", "--unit", "row")
    lines = [line.split("│")[1].strip() for line in told.output.splitlines() if line.startswith("│")]
    assert lines[:15] == ["c50", "c57", *(f"c{n}" for n in range(13))]
    assert lines[15:17] == ["44 others", "1 other"]
    assert "columns 60, of which 15 are shown; --json lists all" in told.words
    assert "1 other text 10 0 cells missing in 1 column" in told.prose
    assert len(found(run("check", "a.csv", "--unit", "row", "--json"))["columns"]) == 60


@pytest.mark.thorough
def test_findings_of_one_title_are_summed_up(run: Run, here: Path) -> None:
    """The first eight are listed, and the number of the others; JSON has all of them."""
    names = [f"c{n}" for n in range(12)]
    (here / "a.csv").write_text("\n".join([",".join(names), *[",".join("7" * 12)] * 19, ",".join(["old"] * 12), ""]))
    told = run("check", "a.csv", "--unit", "row")
    assert told.prose.count("1 cell does not fit the kind integer: 'old' (line 21).") == 8
    assert "mend 4 more cells that do not fit: --json lists them" in told.prose
    assert "cells that do not fit (c0, c1, c2, c3, c4, c5, c6, c7 and 4 more)" in told.words
    findings = found(run("check", "a.csv", "--unit", "row", "--json"))["findings"]
    assert [(each["severity"], each["column"], each["lines"]) for each in findings] == [
        ("blocks", name, [21]) for name in names
    ]


def _finder(check: Check) -> Iterator[Finding]:
    """Yield a finding about the file and one about a column, until both proposals are taken."""
    assert check.form is not None
    if check.form.skip != 1:
        yield Finding(Severity.BLOCKS, "a title", "It has a title", lines=(1,), proposals=(Proposal("skip", 1),))
    elif not check.forms["town"].trim:
        proposal = Proposal("town", {"trim": True}, "kinds")
        yield Finding(Severity.LOOK, "blanks around texts", "It has blanks", "town", 2, (3,), (proposal,))
    else:
        choice = Proposal("town", {"missing": ["secret"]}, "kinds")
        yield Finding(Severity.NOTE, "a word", "It has a word", "town", choices=(choice,))


@pytest.mark.thorough
def test_a_listed_finder_is_all_that_a_finding_needs(run: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Screen, JSON, notebook and `init` show it; `init --accept` takes what it proposes, file first, then columns."""
    monkeypatch.setattr("noisycount.engines.findings.FINDERS", (_finder,))
    (here / "a.csv").write_text("title,of\ntown,age\n Bern,1\nBiel ,2\n")
    told = run("check", "a.csv", "--unit", "row")
    assert (told.status, "Not readable: no question is answered because of a title." in told.words) == (4, True)
    assert "mend It has a title (line 1)." in told.prose
    assert "skip = 1" in told.output.splitlines()
    (finding,) = found(run("check", "a.csv", "--unit", "row", "--json"))["findings"]
    assert (finding["severity"], finding["proposals"]) == ("blocks", [{"table": "", "line": "skip = 1"}])
    run("init", "a.csv", "--unit", "row")
    assert (
        "# A title; to read the file as it is meant, write this:\n# skip = 1\n"
        in (here / "noisycount.toml").read_text()
    )
    (here / "noisycount.toml").unlink()
    told = run("init", "a.csv", "--unit", "row", "--accept")
    assert 'took 2 proposals of `noisycount check`: skip = 1 town = { kind = "text", trim = true }' in told.words
    text = (here / "noisycount.toml").read_text()
    assert "\nskip = 1 " in text
    assert '\ntown = { kind = "text", trim = true } ' in text
    assert "secret" not in text
    told = run("check", "a")
    assert (told.status, "Ready: questions are answered" in told.words) == (0, True)
    assert "note town It has a word." in told.prose
    html = with_findings(
        Check(2, (ColumnCheck("town", Kind.TEXT, "text", ColumnFormat(Kind.TEXT), 0),), FileFormat()), None
    )
    assert "<td>skip = 1</td>" in html._repr_html_()


def test_a_unit_that_stands_below_a_line_of_groups_is_found(here: Path, run: Run) -> None:
    """The refusal names the way to skip that line, which works."""
    (here / "f.csv").write_text("Person,,Lab,\nid,age,hb,na\n1,34,13.4,140\n2,45,12.1,141\n3,51,11.0,139\n")
    refused = run("check", "f.csv", "--unit", "id")
    assert refused.status == 4
    remedy = "if the names stand in the line below, state skip = 1, as `noisycount init --accept` does"
    assert remedy in " ".join(refused.errors.split())
    counted = run("count", "f.csv", "--unit", "id", "--epsilon", "1")
    assert (counted.status, remedy in " ".join(counted.errors.split())) == (4, True)
    assert run("init", "f.csv", "--unit", "id", "--accept").status == 0
    assert "skip = 1" in (here / "noisycount.toml").read_text()


@pytest.mark.parametrize(
    ("days", "finding"),
    [
        (["13/01/40", "14/02/75"], "Its years are 1975 to 2040. Two digits are read as 1969 to 2068, so 45 is 2045: "),
        (["13/01/2567", "14/02/2566"], "Its years are 2566 to 2567. Years before 1800 or after 2100 may be of "),
        (["2024-01-13", "9999-12-31"], "Its years are 2024 to 9999. "),
        (["13/01/71", "14/02/29"], None),
        (["1899-12-31", "2100-01-01"], None),
    ],
)
def test_years_of_another_century_or_calendar_are_reported(
    here: Path, run: Run, days: list[str], finding: str | None
) -> None:
    """The owner decides, as nothing in the records shows what is meant; no clock does."""
    (here / "days.csv").write_text("\n".join(["person,day", *(f"{n},{days[n % 2]}" for n in range(20))]))
    findings = run("check", "days.csv", "--unit", "person", "--json").object["findings"]
    texts = [each["text"] for each in findings if each["title"] == "years that may be wrong"]
    assert [text.startswith(finding or "-") for text in texts] == [True] * (finding is not None)


IDENTIFYING = {
    "names": [f"{chr(65 + n % 26)}{'ab'[n // 26]} Miller" for n in range(30)],
    "telephone numbers": [f"+41 79 555 {n:02} {n:02}" for n in range(30)],
    "days without a year": [f"{n % 28 + 1}.{n % 12 + 1}." for n in range(30)],
    "days in either order": [f"{n % 12 + 1}/{n % 11 + 1}/20{n % 30:02}" for n in range(30)],
    "days in Croatian": [f"{n % 28 + 1}. prosinca 20{n:02}." for n in range(30)],
    "bounds": [f"<{n}.5" for n in range(30)],
    "Arabic digits": ["".join(chr(0x660 + int(digit)) for digit in str(1000 + n)) for n in range(30)],
    "whole numbers with a minus": [f"{n}-" for n in range(30)],
}


@pytest.mark.parametrize("cells", IDENTIFYING)
def test_texts_that_look_like_numbers_or_dates_are_not_called_names(here: Path, run: Run, cells: str) -> None:
    """They have a finding of their own; names and telephone numbers identify persons."""
    (here / "a.csv").write_text("\n".join(["person,x", *(f"{n},{cell}" for n, cell in enumerate(IDENTIFYING[cells]))]))
    findings = run("check", "a.csv", "--unit", "person", "--json").object["findings"]
    titles = {each["title"] for each in findings if each["column"] == "x"} - {"values that may be public"}
    assert ("texts that identify persons" in titles) is (cells in {"names", "telephone numbers"})
    assert len(titles) == 1
