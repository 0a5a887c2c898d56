from pathlib import Path
from typing import Any

import pytest

from noisycount import open_desk
from noisycount.config.file import load
from noisycount.errors import ConfigError, PurposeError
from tests.commands import Refused, Run, configure

REQUIRED = 'purpose = "required"'
QUESTION = ("count", "survey", "--where", "age >= 65", "--epsilon", "0.1")


def entries(run: Run) -> list[dict[str, Any]]:
    """What the ledger shows."""
    return list(run("ledger", "show", "--json").object["entries"])


@pytest.mark.parametrize(
    "words",
    [
        ("--where", "age >= 65"),
        ("--where", "age >= 65", "--where", "age < 18"),
        ("--by", "age:0,18,65"),
    ],
)
def test_a_purpose_is_kept_beside_the_price(run: Run, here: Path, words: tuple[str, ...]) -> None:
    """Of a count, of several and of a table; the same question for another is the same answer."""
    configure(here)
    asked = ("count", "survey", *words, "--epsilon", "0.1", "--json")
    first = run(*asked, "--purpose", "quarterly report").object
    again = run(*asked, "--purpose", "another report").object
    assert (first["repeated"], again["repeated"]) == (False, True)
    assert first.get("answer", first.get("rows")) == again.get("answer", again.get("rows"))
    assert [entry["purpose"] for entry in entries(run)] == ["quarterly report"]
    shown = " ".join(run("ledger", "show").output.split())
    assert "purpose" in shown
    assert "another" not in shown
    assert '"purpose": "quarterly report"' in run("ledger", "export").output
    assert "consistent in themselves" in run("ledger", "verify").output


def test_a_purpose_may_be_left_out(run: Run, here: Path) -> None:
    """Unless the owner wants one; a ledger without any shows no column for them."""
    configure(here)
    run(*QUESTION)
    assert entries(run)[0]["purpose"] is None
    assert "purpose" not in run("ledger", "show").output


def test_an_owner_can_require_a_purpose(run: Run, here: Path) -> None:
    """Then nothing is charged without one; a question that was answered before is no spend."""
    configure(here, REQUIRED)
    told = run(*QUESTION)
    assert told.status == 2
    assert told.errors.startswith(
        "error: purpose is missing: say what the answer is for, such as 'quarterly report', as the "
        "owner of data set 'survey' wants to know; nothing was charged"
    )
    assert entries(run) == []
    answer = run(*QUESTION, "--purpose", "a report", "--json").object["answer"]
    assert run(*QUESTION, "--json").object["answer"] == answer
    with open_desk("survey", unit=None) as desk:
        with pytest.raises(PurposeError, match=r"\Apurpose is missing: "):
            desk.release_many(["age < 18", "age < 30"], "0.1")
        desk.release_many(["age < 18", "age < 30"], "0.1", purpose="another")
    assert [entry["purpose"] for entry in entries(run)] == ["a report", "another"]


@pytest.mark.parametrize("purpose", ["", "  ", "x" * 201, "two\nlines"])
def test_a_purpose_that_says_nothing_is_refused(here: Path, refused: Refused, purpose: str) -> None:
    """Before any file is opened."""
    configure(here)
    assert "purpose must " in refused(*QUESTION, "--purpose", purpose)


@pytest.mark.parametrize("written", ['"yes"', "true", "1", '""'])
def test_a_setting_of_another_form_is_refused(here: Path, written: str) -> None:
    """In one line that says what it may be."""
    configure(here, f"purpose = {written}")
    with pytest.raises(ConfigError, match=r"\[datasets\.survey\] purpose = "):
        load(here / "noisycount.toml")
