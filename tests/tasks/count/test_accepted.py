from pathlib import Path

import pytest

from tests.commands import Refused, Run

CONFIGURATION = """\
[datasets.visits]
source = "visits.csv"
unit = "person"
[datasets.visits.kinds]
cost = { kind = "real", decimal = ",", missing = ["k.A."], unreadable = "missing" }
seen = { kind = "date", date_format = "%d.%m.%Y" }
"""
WORDS = ("--where", "cost > 3 or age > 90", "--epsilon", "1")


@pytest.fixture
def visits(here: Path) -> Path:
    """A file with cells of `cost` that could not be read, and were accepted."""
    path = here / "visits.csv"
    rows = "".join(f"{n};{20 + n};{n},5;03.02.2024\n" for n in range(50))
    path.write_text(f"person;age;cost;seen\n{rows}60;30;unknown;03.02.2024\n61;30;k.A.;\n")
    (here / "noisycount.toml").write_text(CONFIGURATION)
    return path


@pytest.mark.usefixtures("visits")
@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_an_answer_says_what_was_taken_for_missing(run: Run, more: tuple[str, ...]) -> None:
    """For each question that reads such a column, in words and for machines, and for no other."""
    told = run("count", "visits", *WORDS, *more)
    said = "cells of cost that could not be read count as missing"
    assert said in " ".join(told.output.split())
    told = run("count", "visits", *WORDS, *more, "--json")
    assert told.object["unreadable_as_missing"] == ["cost"]
    other = ("count", "visits", "--where", "age > 30", "--epsilon", "1", *more)
    assert said not in " ".join(run(*other).output.split())
    assert run(*other, "--json").object["unreadable_as_missing"] == []


@pytest.mark.usefixtures("visits")
def test_a_view_says_what_is_taken_for_missing(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """And what the values are, not how a file writes them."""
    monkeypatch.setenv("COLUMNS", "100")
    shown = " ".join(run("show", "visits").output.split())
    assert "│ cost │ real, k.A. missing, unreadable missing │ a number such as 0.5 │" in shown
    assert "│ seen │ date │ a date such as '2026-01-31' │" in shown
    told = run("show", "visits", "--json").object
    assert told["columns"] == {"age": "integer", "cost": "real", "seen": "date"}
    assert told["unreadable_as_missing"] == ["cost"]


def test_nothing_is_answered_before_it_is_accepted(refused: Refused, visits: Path) -> None:
    """Whatever the question reads; the remedy is named."""
    text = CONFIGURATION.replace(', unreadable = "missing"', "")
    (visits.parent / "noisycount.toml").write_text(text)
    for where in ("cost > 3", "age > 30", "true"):
        message = refused("count", "visits", "--where", where, "--epsilon", "1")
        assert "answers nothing, as cells of 'cost' do not fit their kind" in message
        assert "`noisycount check`" in message
