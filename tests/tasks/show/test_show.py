import json
import shutil
from fractions import Fraction
from pathlib import Path

import pytest

import noisycount as nc
from noisycount.errors import ConfigError
from tests.helpers.commands import Refused, Run, configure, contents
from tests.helpers.sources import database

COLUMNS = 'unit = "person"\ncolumns = ["year", "age", "health", "female"]\nbudget = "1"'


def test_a_data_set_is_shown_before_the_first_question(run: Run, here: Path) -> None:
    """Columns with their kinds and what to write, what is counted, what is left; nothing asked."""
    configure(here, COLUMNS)
    before = contents(here.parent)
    told = run("show", "survey")
    assert (told.status, told.errors) == (0, "")
    shown = told.words
    for part in (
        "data set survey source survey.parquet counts distinct values of person",
        "budget 1 of 1 left: at ε = 0.1 it pays for 10 such answers",
        "│ health │ text │ a text such as 'yes' │",
        "│ female │ boolean │ true or false │",
        "nothing was asked yet",
    ):
        assert part in shown
    assert contents(here.parent) == before


def test_the_reason_of_the_budget_is_told(run: Run, here: Path) -> None:
    """The owner's reason of a budget is shown everywhere, and is left out if there is none."""
    configure(here, f'{COLUMNS}\nwhy = "agreed on <2 November>"')
    shown = run("show", "survey").words
    assert "why agreed on <2 November> ledger" in shown
    assert run("show", "survey", "--json").object["why"] == "agreed on <2 November>"
    words = ("--where", "health = 'poor'", "--epsilon", "0.15")
    assert run("count", "survey", *words).status == 0
    assert "agreed on &lt;2 November" in run("ledger", "report", "--format", "html").output
    assert "**why**: agreed on " in run("ledger", "report").output
    assert run("ledger", "report", "--format", "json").object["datasets"][0]["why"]
    (entry,) = json.loads(run("ledger", "report", "--format", "registry").output)
    told = entry["deployment"]["privacy_loss"]["privacy_parameters_description"]
    assert told.endswith(". Why this budget: agreed on <2 November>")
    configure(here, COLUMNS)
    assert run("show", "survey", "--json").object["why"] is None
    assert "**why**" not in run("ledger", "report").output


def test_what_the_owner_states_about_a_view_is_shown(run: Run, here: Path) -> None:
    """By check, show and the report, in words and as JSON."""
    stated = 'public_tables = ["towns", "years"]\nvouched = "one row a <person>"'
    with database(here / "survey.duckdb") as made:
        made.execute(f"CREATE TABLE survey AS FROM '{here / 'survey.parquet'}'")
    configure(here, f"{COLUMNS}\n{stated}")
    place = here / "noisycount.toml"
    place.write_text(place.read_text().replace("survey.parquet", "survey.duckdb"))
    words = ("--where", "health = 'poor'", "--epsilon", "0.15")
    assert run("count", "survey", *words).status == 0
    for shown in (run("show", "survey"), run("check", "survey")):
        assert "public tables towns, years vouched one row a <person>" in shown.words
    report = run("ledger", "report").output
    assert "**public tables**: towns, years" in report
    assert "**vouched**: one row a " in report
    assert "one row a &lt;person" in run("ledger", "report", "--format", "html").output
    objects = [run(command, "survey", "--json").object for command in ("show", "check")]
    for told in (*objects, run("ledger", "report", "--format", "json").object["datasets"][0]):
        assert (told["public_tables"], told["vouched"]) == (["towns", "years"], "one row a <person>")
    place.write_text(place.read_text().replace(stated, ""))
    assert "vouched" not in run("ledger", "report").output


def test_what_was_asked_is_shown_with_its_error(run: Run, here: Path) -> None:
    """Each answer, and how many more the rest of the budget pays for."""
    configure(here, COLUMNS)
    words = ("--where", "health = 'poor'", "--epsilon", "0.15", "--json")
    paid = run("count", "survey", *words).object
    shown = run("show", "survey").words
    assert "0.85 of 1 left: at ε = 0.15 it pays for 5 more such answers" in shown
    assert f"│ health = 'poor' │ 0.15 │ {paid['answer']:,} ±20 │".replace("-", "−") in shown
    told = run("show", "survey", "--json").object
    assert told["columns"] == {"year": "integer", "age": "real", "health": "text", "female": "boolean"}
    assert (told["remaining"], told["affordable"], told["unit"]) == ("0.85", 5, "person")
    (asked,) = told["asked"]
    assert (asked["where"], asked["answer"], asked["key"]) == ("health = 'poor'", paid["answer"], paid["key"])


def test_an_answer_within_a_share_has_the_error_that_was_told(run: Run, here: Path) -> None:
    """As the count said it, not that of its noise alone; and a count of all says so."""
    configure(here, COLUMNS)
    told = run("count", "survey", "--within", "20%", "--at-most", "0.5", "--json").object
    assert f"│ all records │ {told['epsilon']} │ {told['answer']:,} ±{told['error']:,} │" in run("show", "survey").words


@pytest.mark.parametrize(
    "words",
    [
        ("--by", "health", "--keys", "health=poor,good", "--other", "--margins", "total"),
        ("--by", "year", "--keys", "year=3,1", "--cumulative"),
        ("--where", "age > 60", "--where", "age > 30"),
        ("--by", "health", "--delta", "1e-6"),
    ],
)
def test_counts_of_a_table_are_shown_with_their_keys(run: Run, here: Path, words: tuple[str, ...]) -> None:
    """In `--json` beside their keys, and the text says how to see them."""
    budget = 'budget = { epsilon = "5", delta = "1e-5", for_keys = "1e-5" }'
    configure(here, COLUMNS.replace('budget = "1"', budget))
    asked = ("count", "survey", *words, "--groups-per-unit", "1", "--epsilon", "1", "--json")
    if "--where" in words:
        asked = ("count", "survey", *words, "--epsilon", "1", "--json")
    paid = run(*asked).object
    (told,) = run("show", "survey", "--json").object["asked"]
    names = ("level", "keys", "answer", "error", "error_of_all", "sum_of")
    expected = [{name: row[name] for name in names if name in row} for row in paid["rows"]]
    assert told["rows"] == expected
    shown = run("show", "survey").output
    assert f"noisycount refine --key {paid['key'][:6]}" in " ".join(shown.split())


def test_a_file_is_shown_by_the_unit_of_its_answers(run: Run, here: Path) -> None:
    """Its path is its name, and before the first count nobody said whose rows it holds."""
    (here / "people.csv").write_text("person,age\n1,31\n2,29\n")
    assert run("show", "people.csv", "--json").object["unit"] is None
    assert "as the first count says by --unit" in run("show", "people.csv").output
    run("count", "people.csv", "--unit", "person", "--where", "age > 30", "--epsilon", "1")
    told = run("show", "people.csv", "--json").object
    assert (told["unit"], told["columns"]) == ("person", {"age": "integer"})
    assert "│ age │ integer │" in run("show", "people.csv").words


def test_a_copy_is_the_data_set_that_its_owner_configured(run: Run, refused: Refused, here: Path) -> None:
    """Its columns and its budget hold, whatever the file is called."""
    configure(here, COLUMNS)
    paid = run("count", "survey", "--where", "age > 60", "--epsilon", "0.5", "--json").object
    shutil.copy(here / "survey.parquet", here / "copy.parquet")
    told = run("show", "copy.parquet", "--json").object
    known = run("show", "survey", "--json").object
    assert told == {**known, "source": str(here / "copy.parquet")}
    assert "data set survey" in run("show", "copy.parquet").words
    for unit in ((), ("--unit", "person")):
        words = ("count", "copy.parquet", *unit, "--where")
        assert "site" in refused(*words, "site = 3", "--epsilon", "0.1")
        again = run(*words, "age > 60", "--epsilon", "0.5", "--json").object
        assert (again["answer"], again["charged"]) == (paid["answer"], "0")
        assert "0.5 that is left" in refused(*words, "age > 50", "--epsilon", "0.6")
    with nc.open_desk("copy.parquet") as desk:
        assert list(desk.columns) == list(known["columns"])
        assert desk.remaining == Fraction(1, 2)
    with pytest.raises(ConfigError, match="as its owner configured it: leave size out"):
        nc.open_desk("copy.parquet", size=7)


def test_a_copy_that_nobody_configured_is_shown_by_its_unit(run: Run, here: Path) -> None:
    """The ledger has its name, its unit and its answers by what it holds."""
    (here / "people.csv").write_text("person,age\n1,31\n2,29\n")
    run("count", "people.csv", "--unit", "person", "--where", "age > 30", "--epsilon", "1")
    shutil.copy(here / "people.csv", here / "again.csv")
    told = run("show", "again.csv", "--json").object
    assert (told["unit"], len(told["asked"])) == ("person", 1)


@pytest.mark.parametrize("source", ["nowhere.csv", "sruvey"])
def test_what_is_no_data_set_is_not_shown(refused: Refused, here: Path, source: str) -> None:
    """`show` refuses an unknown source in the words of a count."""
    configure(here, COLUMNS)
    assert f"SOURCE {source!r} is neither a file nor a data set" in refused("show", source)
