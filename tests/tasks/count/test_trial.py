from pathlib import Path

import pytest

from tests.commands import Refused, Run, configure, contents

WHERE = ("--where", "age >= 40", "--unit", "person")
GOAL = ("--within", "20%", "--guess", "100")


def test_a_dry_run_tells_the_price_and_touches_nothing(run: Run, here: Path) -> None:
    """Question, ±, odds, price and what is left; no ledger is made, and no file changes."""
    before = contents(here.parent)
    told = run("count", "survey.parquet", *WHERE, *GOAL, "--dry-run")
    shown = " ".join(told.output.split())
    assert (told.status, told.errors) == (0, "")
    for part in (
        "question age >= 40.0 (age is at least 40)",
        "would be within ±20 of the true count with 95 % confidence",
        "ε = 0.15: a 50:50 guess about one person becomes at most 54:46",
        "price 0.15 would be charged",
        "charged nothing: this was a dry run; 2 of 2 left",
    ):
        assert part in shown
    assert contents(here.parent) == before


def test_a_dry_run_knows_what_is_free_and_what_is_too_dear(run: Run, here: Path) -> None:
    """What was asked in other words costs nothing; what exceeds the budget would be refused."""
    configure(here, 'unit = "person"\nbudget = "1"')
    trial = ("count", "survey", "--dry-run", "--json", "--epsilon", "0.75", "--where")
    first = run(*trial, "age >= 40").object
    assert (first["repeated"], first["cost"], first["affordable"]) == (False, "0.75", True)
    paid = run("count", "survey", "--where", "age >= 40", "--epsilon", "0.75", "--json").object
    again = run(*trial, "not age < 40").object
    assert (again["repeated"], again["cost"], again["remaining"]) == (True, "0", "0.25")
    assert (again["answer"], again["charged"], again["error"]) == (None, "0", paid["error"])
    dear = run(*trial, "age >= 50").object
    assert (dear["affordable"], dear["remaining"]) == (False, "0.25")
    words = run(*(word for word in trial if word != "--json"), "age >= 50").output
    assert "0.75 exceeds what is left: it would be refused" in words
    assert run("ledger", "show", "--json").object["datasets"][0]["spent"] == "0.75"


def test_a_dry_run_asks_as_an_analyst(run: Run, here: Path) -> None:
    """The smaller of the two budgets binds."""
    configure(here, '[analysts.alice]\nbudget = "0.5"')
    words = ("count", "survey", "--where", "age >= 40", "--epsilon", "0.75", "--dry-run", "--json")
    told = run(*words, "--analyst", "alice").object
    assert (told["analyst"], told["remaining"], told["affordable"]) == ("alice", "0.5", False)


@pytest.mark.parametrize(
    "words",
    [
        ("--where", "age >= 40"),
        ("--where", "age >= 40", "--where", "age < 20"),
        ("--by", "age:0,40"),
    ],
)
def test_a_dry_run_is_silent_of_what_only_others_asked(
    run: Run, here: Path, words: tuple[str, ...]
) -> None:
    """It tells the full price until the analyst has asked, which is free and written down."""
    configure(here, 'unit = "person"\n[analysts.alice]\n[analysts.bob]\nbudget = "0.2"')
    asked = ("count", "survey", *words, "--epsilon", "0.3", "--json", "--analyst")
    paid = run(*asked, "alice").object
    assert run(*asked, "alice", "--dry-run").object["repeated"]
    told = run(*asked, "bob", "--dry-run").object
    cost = told["cost"] if isinstance(told["cost"], str) else told["cost"]["epsilon"]
    assert (told["repeated"], told["affordable"], cost) == (False, False, "0.3")
    again = run(*asked, "bob").object
    assert (again["repeated"], again.get("answer")) == (True, paid.get("answer"))
    assert run(*asked, "bob", "--dry-run").object["repeated"]
    (entry,) = run("ledger", "show", "--json").object["entries"]
    assert [each["analyst"] for each in entry["repeats"]] == ["bob"]


def test_a_hint_tells_no_answer_that_only_others_bought(run: Run, here: Path) -> None:
    """A better answer is told to whoever has asked for it."""
    configure(here, 'unit = "person"\n[analysts.alice]\n[analysts.bob]')
    asked = ("count", "survey", "--where", "age >= 40", "--json", "--analyst")
    best = run(*asked, "alice", "--epsilon", "0.3").object
    poor = run(*asked, "bob", "--epsilon", "0.1").object
    assert (poor["better"], poor["hints"]) == (None, [])
    assert run(*asked, "alice", "--epsilon", "0.1").object["better"]["answer"] == best["answer"]


@pytest.mark.parametrize("where", ["aeg > 40", "age + 1 > 40"])
def test_a_dry_run_refuses_what_a_count_refuses(refused: Refused, where: str) -> None:
    """A question outside the language or about another column, in the same words."""
    words = ("count", "survey.parquet", "--where", where, "--epsilon", "0.1")
    assert refused(*words, "--dry-run") == refused(*words)


@pytest.mark.parametrize("is_file_first", [False, True])
def test_a_file_of_one_question_is_that_question(
    run: Run, here: Path, *, is_file_first: bool
) -> None:
    """Asked by --where or from a file: one price, one answer; and a dry run of both knows it."""
    configure(here, 'unit = "person"')
    (here / "one.txt").write_text("# one\nnot age < 40\n", encoding="utf-8")
    words = [("--where", "age >= 40"), ("--questions", "one.txt")]
    words = words[::-1] if is_file_first else words
    asked = ("count", "survey", "--epsilon", "0.3", "--json")
    first = run(*asked, *words[0]).object
    for each in words:
        assert run(*asked, *each, "--dry-run").object["repeated"]
    second = run(*asked, *words[1]).object
    assert (first["repeated"], second["repeated"]) == (False, True)
    answers = {
        told.get("answer", told.get("rows", [{}])[0].get("answer")) for told in (first, second)
    }
    assert len(answers) == 1
    errors = {
        told["error"] if "error" in told else told["rows"][0]["error"] for told in (first, second)
    }
    assert len(errors) == 1
    (entry,) = run("ledger", "show", "--json").object["entries"]
    assert [entry["answer"]] == [*answers]
    assert run("refine", "--key", entry["key"][:8], "--size", "5912").status == 0
