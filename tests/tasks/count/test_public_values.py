"""Public values refuse what is mistyped before it is paid for, and change no answer that there is."""

from pathlib import Path

import pytest

import noisycount as nc
from noisycount.errors import PredicateError
from tests.helpers.commands import Refused, Run, configure, contents

STATED = '[datasets.survey.values]\nhealth = ["poor", "fair", "good", "excellent"]\nage = "0 to 120"\n'
LISTED = ("--by", "health", "--keys", "health=excellent,good,fair,poor", "--groups-per-unit", "1")
TABLE = ("--by", "health", "--groups-per-unit", "1")
COUNT = ("count", "survey", "--epsilon", "0.1", "--json")
UNIT = 'unit = "person"\n'


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (("--where", "health = 'Poor'"), "'Poor' is none of the public values of health: did you mean 'poor'"),
        (("--where", "age > 130"), "no record can satisfy age > 130.0, as the public values of age are 0.0 to 120.0"),
        (("--where", "health = 'poor'", "--where", "health = 'god'"), "did you mean 'good'?"),
        ((*TABLE, "--where", "health = 'god'"), "did you mean 'good'?"),
        ((*TABLE, "--keys", "health=poor,god"), "no record can match: 'god' is none of the public values of health"),
        (("--where", "helth = 'poor'"), "did you mean health"),
        (("--by", "helth", "--keys", "helth=poor"), "did you mean 'health'?"),
        (("--where", "age in ()"), "has an empty list after in"),
    ],
)
def test_what_is_mistyped_is_refused_before_it_is_paid_for(
    run: Run, refused: Refused, here: Path, asked: tuple[str, ...], words: str
) -> None:
    """No ledger is made, and no file changes; what is typed rightly is answered."""
    configure(here, UNIT + STATED)
    assert words in refused(*COUNT[:-1], *asked)
    if "helth" not in asked[1] and "()" not in asked[1]:
        assert words.removeprefix("no record can match: ") in " ".join(run(*COUNT, *asked, "--dry-run").object["hints"])
    assert not (here / "ledger.db").exists()


def test_a_table_needs_no_keys_and_is_the_same_table(run: Run, here: Path) -> None:
    """Its rows are in the owner's order; what was paid for with listed keys before is free, and the other way round."""
    configure(here, UNIT)
    first = run(*COUNT, *LISTED).object
    configure(here, UNIT + STATED)
    again = run(*COUNT, *TABLE).object
    assert (again["key"], again["charged"]["epsilon"], again["repeated"]) == (first["key"], "0", True)
    assert [row["keys"]["health"] for row in again["rows"]] == ["poor", "fair", "good", "excellent"]
    told = {row["keys"]["health"]: row["answer"] for row in first["rows"]}
    assert {row["keys"]["health"]: row["answer"] for row in again["rows"]} == told
    configure(here, UNIT)
    assert run(*COUNT, *LISTED).object["key"] == first["key"]


def test_answers_that_were_paid_for_stay(run: Run, here: Path) -> None:
    """A value that becomes unknown later is refused to who asks anew, and free to who paid for it."""
    configure(here, UNIT)
    asked = (("--where", "health = 'god'"), (*TABLE, "--keys", "health=god,poor"))
    paid = [run(*COUNT, *words).object for words in asked]
    before = contents(here)
    configure(here, UNIT + STATED)
    again = [run(*COUNT, *words).object for words in asked]
    assert [each["key"] for each in again] == [each["key"] for each in paid]
    assert all(each["repeated"] for each in again)
    assert (here / "ledger.db").read_bytes() == before[here / "ledger.db"]


def test_a_desk_refuses_for_nothing_too(here: Path, run: Run) -> None:
    """In Python, of a configured data set; contradictions of the language alone are refused of any records."""
    configure(here, UNIT + STATED)
    with nc.open_desk("survey") as desk:
        for where in ("health = 'god'", "age > 130", "age > 64 and age < 1", "false"):
            with pytest.raises(PredicateError, match="no record can match"):
                desk.release(where, "0.1")
            with pytest.raises(PredicateError, match="no record can match"):
                desk.release_table("health", where=where, epsilon="0.1", groups_per_unit=1)
        assert desk.remaining == 2
        table = desk.release_table("health", epsilon="0.1", groups_per_unit=1)
        assert [row.labels for row in table.rows] == [("poor",), ("fair",), ("good",), ("excellent",)]
    assert run(*COUNT, *TABLE).object["repeated"]


def test_how_many_there_are_needs_no_question(run: Run, here: Path) -> None:
    """On the command line and in Python it is the question `true`, and costs what that costs, once."""
    configure(here, UNIT)
    first = run(*COUNT, "--where", "true").object
    again = run(*COUNT).object
    assert (again["key"], again["where"], again["charged"]) == (first["key"], "true", "0")
    assert "question all records" in run(*COUNT[:-1]).words
    assert run("count", "survey", "--within", "20%", "--at-most", "0.1", "--dry-run", "--json").object["where"]
    with nc.open_desk("survey") as desk:
        assert desk.release(epsilon="0.1").key == first["key"]


def test_hidden_keys_stay_hidden(run: Run, here: Path) -> None:
    """A question with a δ asks for hidden keys, and keeps its answer after values become public."""
    configure(here, UNIT + 'budget = { epsilon = "2", delta = "1e-6" }')
    asked = (*COUNT, *TABLE, "--delta", "1e-7")
    first = run(*asked).object
    configure(here, UNIT + 'budget = { epsilon = "2", delta = "1e-6" }\n' + STATED)
    assert run(*asked).object["key"] == first["key"]


def test_values_come_from_a_file(run: Run, refused: Refused, here: Path) -> None:
    """A file has a value for each line, with or without the column's name; a missing file is named."""
    (here / "states.csv").write_text('health\npoor\n"fair"\n\ngood\nexcellent\n', encoding="utf-8")
    configure(here, UNIT + '[datasets.survey.values]\nhealth = { file = "states.csv" }')
    shown = run("show", "survey", "--json").object["values"]
    assert shown == {"health": {"listed": ["poor", "fair", "good", "excellent"], "low": None, "high": None}}
    assert "poor, fair, good, excellent" in run("show", "survey").words
    (here / "states.csv").unlink()
    assert "[datasets.survey.values.health] file" in refused("show", "survey")


@pytest.mark.parametrize(
    ("stated", "words"),
    [
        ("health = 1", "must be a list such as"),
        ("health = [[1]]", "must be a list such as"),
        ('health = { fle = "a" }', "unknown key; did you mean file?"),
        ('helth = ["a"]', "values names 'helth', which is no column: did you mean 'health'?"),
        ('age = ["old"]', "values of 'age' have 'old', and the column is of kind real"),
    ],
)
def test_values_that_cannot_be_are_refused(refused: Refused, here: Path, stated: str, words: str) -> None:
    """Before anything is asked, with the remedy."""
    configure(here, UNIT + f"[datasets.survey.values]\n{stated}")
    assert words in refused(*COUNT[:-1], "--where", "true")


def test_a_word_for_a_missing_value_is_refused_with_the_condition_that_finds_missing_values(
    run: Run, refused: Refused, here: Path
) -> None:
    """In conditions and in keys, before anything is charged; `<>` leaves missing values out anyway."""
    (here / "visits.csv").write_text("status,age\nNA,30\nill,-99\nwell,40\nNA,50\n")
    kinds = 'status = { kind = "text", missing = ["NA"] }\nage = { kind = "integer", missing = ["-99"] }'
    (here / "noisycount.toml").write_text(
        '[datasets.visits]\nsource = "visits.csv"\nunit = "row"\nbudget = "9"\n[datasets.visits.kinds]\n' + kinds
    )
    words = ("count", "visits", "--epsilon", "0.1")
    hint = "'NA' stands for a missing value of status: ask with status is null"
    run(*words)  # which makes the ledger, and a copy of the texts
    assert hint in refused(*words, "--where", "status = 'NA'")
    assert "-99 stands for a missing value of age" in refused(*words, "--where", "age in (-99, 30)")
    assert "'NA' stands for a missing value of status: list the key null" in refused(
        *words, "--by", "status", "--keys", "status=NA,ill"
    )
    assert run(*words, "--where", "status = 'NA'", "--dry-run", "--json").object["hints"] == [hint]
    assert run(*words, "--where", "status <> 'NA'", "--json").object["hints"] == []
