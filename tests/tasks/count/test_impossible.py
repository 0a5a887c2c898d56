from pathlib import Path

import pytest

from noisycount.query.normal_form import read
from noisycount.query.schema import Kind
from noisycount.tasks import question
from noisycount.tasks.question import impossible_hints
from tests.commands import Refused, Run, configure

COLUMNS = {"age": Kind.INTEGER, "health": Kind.TEXT}
REVERSED = "age between 64 and 1"
HINT = "no record can satisfy age between 64.0 and 1.0: write the smaller end first"
COUNT = ("count", "survey", "--epsilon", "0.1", "--json")
BY_HEALTH = ("--by", "health", "--keys", "health=good,poor", "--groups-per-unit", "1")


def test_what_a_part_asks_of_one_record_at_once_may_be_meant_otherwise() -> None:
    """A person has many rows, but each of them is one record."""
    (told,) = impossible_hints([read("health = 'poor' and health = 'good'", COLUMNS).normal])
    assert told == (
        "no record can satisfy health = 'good' and health = 'poor', all of it at once: write or "
        "between its parts where one of them is enough"
    )


def test_few_of_many_questions_are_told() -> None:
    """Each once, and how many more there are."""
    wheres = [f"age > {age} and age < 3" for age in (4, 4, 5, 6, 7, 8)]
    *told, more = impossible_hints(read(where, COLUMNS).normal for where in wheres)
    assert [hint.partition(", ")[0] for hint in told] == [
        f"no record can satisfy age < 3 and age > {age}" for age in (4, 5, 6)
    ]
    assert more == "nor 2 other parts of the questions"


@pytest.mark.parametrize(
    "asked",
    [
        ["--where", REVERSED],
        ["--where", REVERSED, "--where", "age > 40"],
        ["--where", REVERSED, *BY_HEALTH],
    ],
)
def test_a_question_that_matches_nothing_says_so(
    run: Run, refused: Refused, here: Path, monkeypatch: pytest.MonkeyPatch, asked: list[str]
) -> None:
    """Before it is paid for, in counts and in tables; what was paid for once is free for ever."""
    configure(here, 'unit = "person"')
    told = run(*COUNT, *asked, "--dry-run").object
    assert (told["hints"][0], told["affordable"]) == (HINT, True)
    assert f"hint {HINT}" in " ".join(run(*COUNT[:-1], *asked, "--dry-run").output.split())
    assert f"where asks in vain: {HINT}" in refused(*COUNT[:-1], *asked)
    assert not (here / "ledger.db").exists()
    with monkeypatch.context() as before:
        before.setattr(question, "impossible_hints", lambda _: [])
        paid = run(*COUNT, *asked).object
    again = run(*COUNT, *asked).object
    assert (again["key"], again["repeated"], HINT in again["hints"]) == (paid["key"], True, True)


def test_a_question_that_may_match_says_nothing(run: Run, here: Path) -> None:
    """Whether a record matches is no reason for a hint: nobody is 400 years old."""
    configure(here, 'unit = "person"')
    for trial in ([], ["--dry-run"]):
        assert run(*COUNT, "--where", "age > 400", *trial).object["hints"] == []
