import csv
from collections.abc import Callable
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import noisycount as nc
from noisycount.errors import ConfigError
from tests.helpers.commands import Run
from tests.tasks.servers.conftest import CANARY, EXACTLY, RECORDS, Clinic, Visit

OLD = "age >= 65"
MANY = 'unit = "row"\nbudget = { epsilon = "1000", delta = "1e-3" }'


def asked(run: Run, *words: str) -> dict[str, Any]:
    """Return the JSON of a count without noise."""
    return run("count", *words, "--epsilon", EXACTLY, "--json").object


def rows_of(path: Path) -> list[dict[str, str]]:
    """The rows of a table that was written."""
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize(
    ("where", "matches"),
    [
        (OLD, lambda visit: visit.age >= 65),
        ("town = 'Bern' and cost >= 2.5", lambda visit: visit.town == "Bern" and visit.cost >= 2.5),
        ("not town = 'Bern'", lambda visit: visit.town == "Biel"),
        ("seen < '2026-01-11' or age in (1, 2)", lambda v: v.seen < date(2026, 1, 11) or v.age in {1, 2}),
    ],
)
@pytest.mark.parametrize("unit", ["row", "person"])
def test_counts_are_those_of_the_server(  # noqa: PLR0913, PLR0917 - what is given, and cases
    run: Run, here: Path, clinic: Clinic, where: str, matches: Callable[[Visit], bool], unit: str
) -> None:
    """Of rows and of persons, for a configured table and for its address."""
    clinic.configure(here, more=f'unit = "{unit}"')
    matching = [visit.person for visit in RECORDS if matches(visit)]
    told = asked(run, "visits", "--where", where)
    assert told["answer"] == len(matching if unit == "row" else set(matching))
    again = asked(run, clinic.address(), "--where", where)
    assert (again["answer"], again["charged"], again["dataset"]) == (told["answer"], "0", "visits")


@pytest.mark.thorough
def test_tables_are_those_of_the_server(run: Run, here: Path, clinic: Clinic) -> None:
    """Several questions, listed keys and hidden keys, each with one entry in the ledger."""
    clinic.configure(here, more=MANY)
    for name, words in {
        "two": ("--where", OLD, "--where", "town is null", "--epsilon", "80"),
        "keys": ("--by", "town,age:0,30,65", "--keys", "town=Bern,Genf,null", "--epsilon", "40"),
        "hidden": ("--by", "town", "--delta", "1e-6", "--epsilon", "40"),
    }.items():
        assert run("count", "visits", *words, "--output", f"{name}.csv").errors == ""
    two, keys, hidden = (rows_of(here / f"{name}.csv") for name in ("two", "keys", "hidden"))
    assert [row["answer"] for row in two] == [
        str(sum(visit.age >= 65 for visit in RECORDS)),
        str(sum(visit.town is None for visit in RECORDS)),
    ]
    ages = {0: range(30), 1: range(30, 65), 2: range(65, 999)}
    assert [row["answer"] for row in keys] == [
        str(sum(visit.town == town and visit.age in ages[number] for visit in RECORDS))
        for town in ("Bern", "Genf", None)
        for number in ages
    ]
    assert {row["town"] for row in hidden} == {"Bern", "Biel", ""}
    assert len(run("ledger", "show", "--json").object["entries"]) == 3


@pytest.mark.thorough
def test_an_address_is_a_data_set(run: Run, here: Path, clinic: Clinic) -> None:
    """With the usual budget, a unit that is said once, and a name without the password."""
    words = ("--where", OLD, "--epsilon", "0.5")
    first = run("count", clinic.address(), "--unit", "person", *words)
    assert (first.status, first.errors) == (0, "")
    assert "1.5 of 2 left" in first.output
    told = run("count", clinic.address("public.visits"), *words, "--json").object
    assert (told["charged"], told["unit"], told["dataset"]) == ("0", "person", f"{clinic.database}#visits")
    (entry,) = run("ledger", "show", "--json").object["entries"]
    assert entry["dataset"] == clinic.shown()
    shown = run("show", clinic.address(), "--json").object
    assert (shown["source"], len(shown["asked"])) == (clinic.shown(), 1)
    assert list(shown["columns"]) == ["age", "town", "cost", "seen", "note"]
    assert run("plan", "--error", "15", "--dataset", clinic.address(), "--json").object["budget"]
    refused = run("count", clinic.address(), "--unit", "row", *words)
    assert (refused.status, "counts distinct 'person' ever since" in refused.errors) == (2, True)
    assert list(here.glob("*.data")) == []


@pytest.mark.thorough
@pytest.mark.always
def test_what_is_written_down_is_enough_to_tell_an_old_answer(run: Run, here: Path, clinic: Clinic) -> None:
    """Nothing asks the server: it may be down."""
    clinic.configure(here)
    first = asked(run, "visits", "--where", OLD)
    clinic.server.stop()
    try:
        again = asked(run, "visits", "--where", OLD)
        shown = run("show", "visits", "--json").object
        new = run("count", "visits", "--where", "age >= 66", "--epsilon", "1")
        entries = run("ledger", "show", "--json").object["entries"]
    finally:
        clinic.server.start()
    assert (again["answer"], again["charged"]) == (first["answer"], "0")
    assert len(shown["asked"]) == 1
    assert (new.status, new.output) == (4, "")
    assert new.errors.startswith(f"error: {clinic.shown()!r} cannot be reached: check that its")
    assert len(entries) == 1
    assert asked(run, "visits", "--where", "age >= 66")["charged"] == EXACTLY


def test_an_edition_is_what_the_owner_says_it_is(run: Run, here: Path, clinic: Clinic) -> None:
    """An answer holds while records change, until another edition; an edition is never set back."""
    clinic.configure(here, more='edition = "2026-10"')
    first = asked(run, "visits", "--where", OLD)
    clinic.run("INSERT INTO visits (person, age) VALUES (1, 99)")
    again = asked(run, "visits", "--where", OLD)
    assert (again["answer"], again["charged"]) == (first["answer"], "0")
    clinic.configure(here, more='edition = "2026-11"')
    new = asked(run, "visits", "--where", OLD)
    assert (new["answer"], new["charged"]) == (first["answer"] + 1, EXACTLY)
    assert [each["answer"] for each in run("show", "visits", "--json").object["asked"]] == [
        first["answer"],
        new["answer"],
    ]
    clinic.configure(here, more='edition = "2026-10"')
    refused = run("count", "visits", "--where", OLD, "--epsilon", EXACTLY)
    assert (refused.status, "edition '2026-10' was followed by another" in refused.errors) == (2, True)


@pytest.mark.thorough
def test_a_higher_price_is_charged_in_full_while_records_change(run: Run, here: Path, clinic: Clinic) -> None:
    """Without an edition nothing says that the records are those of the earlier answer; with one it is topped up."""
    clinic.configure(here)
    words = ("count", "visits", "--where", OLD, "--json")
    coarse = run(*words, "--epsilon", "30").object
    clinic.run("INSERT INTO visits (person, age) SELECT 1, 99 FROM generate_series(1, 1000)")
    preview = run(*words, "--epsilon", "31", "--dry-run").object
    assert (preview["cost"], preview["charged"]) == ("31", "0")
    assert preview["hints"][0].startswith("nothing says whether the records are still those of your earlier answer")
    fine = run(*words, "--epsilon", "31").object
    assert (fine["answer"] - coarse["answer"], fine["charged"], fine["replaces"]) == (1000, "31", [])
    assert fine["hints"] == preview["hints"]
    repeat = run(*words, "--epsilon", "30").object
    assert (repeat["answer"], repeat["charged"], repeat["hints"]) == (fine["answer"], "0", [])
    goal = run(*words, "--within", "1%", "--at-most", "40").object
    assert (goal["answer"], goal["charged"]) == (fine["answer"], "0")  # it is near enough already
    clinic.configure(here, more='edition = "2026-11"')
    assert [run(*words, "--epsilon", price).object["charged"] for price in ("30", "31")] == ["30", "1"]


@pytest.mark.parametrize("edition", ["", 'edition = "2"'])
def test_a_second_name_is_no_second_budget(run: Run, here: Path, clinic: Clinic, edition: str) -> None:
    """Not for the same table by another address either, nor with another edition."""
    clinic.configure(here)
    asked(run, "visits", "--where", OLD)
    text = f'[datasets.mine]\nsource = "{clinic.address("public.visits")}"\n{edition}\n'
    (here / "noisycount.toml").write_text(text)
    told = run("count", "mine", "--where", OLD, "--epsilon", "1")
    assert told.status == 2
    assert "the records of 'mine' are those of 'visits' in this ledger" in told.errors
    (here / "noisycount.toml").write_text('[ledger]\nurl = "sqlite:///ledger.db"')
    told = run("count", clinic.address(), "--where", OLD, "--epsilon", EXACTLY, "--json")
    assert told.object["dataset"] == "visits"


def test_the_same_from_python(here: Path, clinic: Clinic) -> None:
    """By the name of a data set and by an address, with what else may be said."""
    words = {"unit": "person", "name": "mine", "budget": "50", "columns": ["age"]}
    with nc.open_desk(clinic.address(), ledger=here / "my.db", **words) as desk:
        release = desk.release(OLD, 40)
        assert release.answer == len({visit.person for visit in RECORDS if visit.age >= 65})
        assert (release.dataset, release.remaining) == ("mine", Fraction(10))
        assert list(desk.columns) == ["age"]
        assert CANARY not in repr(desk) + str(desk.to_dict())
    clinic.configure(here, more='unit = "person"')
    with nc.open_desk("visits", unit=None) as desk:
        table = desk.release_table("town", {"town": ["Bern", None]}, epsilon=100)
        persons = [{v.person for v in RECORDS if v.town == town} for town in ("Bern", None)]
        assert [row.answer for row in table.rows] == list(map(len, persons))
    with pytest.raises(ConfigError, match="names its table behind the #: leave table out"):
        nc.open_desk(clinic.address(), unit=None, table="visits")


def test_who_owns_a_table_checks_it(run: Run, here: Path, clinic: Clinic) -> None:
    """Rows, kinds and missing cells; what no question can use, and why."""
    clinic.configure(here, more='unit = "person"')
    told = run("check", "visits", "--json").object
    found = {column["name"]: column for column in told["columns"]}
    assert (told["rows"], told["fits"], told["source"]) == (120, True, clinic.shown())
    assert told["persons"] == len({visit.person for visit in RECORDS})
    assert (found["town"]["missing"], found["town"]["why_not"]) == (40, None)
    assert found["person"]["why_not"] == "the unit"
    assert {found[name]["kind"] for name in ("tags", "history")} == {None}
    assert CANARY not in str(told)
    clinic.run("ALTER TABLE visits ALTER age TYPE text")
    changed = run("check", "visits", "--json")
    assert (changed.status, '"changed": true' in changed.output) == (4, True)
    assert run("check", "visits", "--renew").status == 0
    assert asked(run, "visits", "--where", "age = '7'")["unit"] == "person"


def test_init_describes_a_table(run: Run, here: Path, clinic: Clinic) -> None:
    """A configuration that can be used as it is, without the password."""
    told = run("init", clinic.address(), "--unit", "person")
    assert (told.status, told.errors) == (0, "")
    text = (here / "noisycount.toml").read_text()
    assert CANARY not in text + told.output
    assert "[datasets.visits]" in text
    words = ("--where", OLD, "--epsilon", "1", "--json")
    assert run("count", "visits", *words).object["unit"] == "person"
    assert "exists already: edit it" in run("init", clinic.address()).errors
    (here / "noisycount.toml").unlink()
    server = clinic.address().partition("#")[0]
    assert "names no table: write it after a #" in run("init", server).errors
    told = run("init", server, "visits", "--unit", "person")
    assert (told.status, told.errors) == (0, "")
    assert (here / "noisycount.toml").read_text() == text
