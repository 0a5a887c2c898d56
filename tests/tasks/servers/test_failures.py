import logging
import sys
import traceback
from pathlib import Path
from typing import Any

import httpx
import pytest

import noisycount as nc
from noisycount.config.config import load_config
from noisycount.errors import NoisyCountError, SourceError
from noisycount.ledger.ledger import Ledger
from tests.helpers.commands import Run, Told
from tests.helpers.running_service import OWNER, served
from tests.tasks.servers.conftest import CANARY, Clinic

WORDS = ("--where", "age >= 65", "--epsilon", "0.5")
BROKEN = """
CREATE FUNCTION broken(text) RETURNS integer LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'a cell: %', $1; END $$;
CREATE VIEW broken AS SELECT person, broken(note) AS age, note FROM visits
"""
SLOW = "CREATE VIEW slow AS SELECT age + (SELECT 0 FROM pg_sleep(9)) AS age FROM visits"
WEIGHED = """
CREATE TABLE raw (person integer NOT NULL, town text, w text);
INSERT INTO raw VALUES (1, 'Bern', '30'), (2, 'Chur', '{}');
CREATE VIEW weighed AS SELECT person, town, w::int AS weight FROM raw;
CREATE VIEW heavy AS SELECT person, town FROM raw WHERE w::int >= 30
"""
CHANGES = [
    ("DROP TABLE visits", "does not exist: check the name of the table"),
    ("ALTER TABLE visits ALTER age TYPE text", ""),
    ("ALTER TABLE visits DROP age CASCADE", ""),
    ("REVOKE ALL ON visits FROM {clerk}", "may not be read by this account: let its owner grant"),
]
"""What may be done to a table while it is asked about, and what is said then."""


def everything(run: Run, here: Path) -> str:
    """Return all output of a reader's commands, and all files except the configuration."""
    told = [run("ledger", "show"), run("ledger", "show", "--json"), run("ledger", "export")]
    files = [file for file in here.rglob("*") if file.is_file() and file.suffix != ".toml"]
    kept = b"".join(file.read_bytes() for file in files)
    return "".join(each.output + each.errors for each in told) + kept.decode("utf-8", "replace")


def debits(run: Run) -> list[bool]:
    """Of each debit in the ledger whether it was answered."""
    entries = run("ledger", "show", "--json").object["entries"]
    return [entry["answer"] is not None for entry in entries]


def line(told: Told, status: int = 4) -> str:
    """The one line of a refusal, which quotes nothing."""
    assert (told.status, told.output) == (status, "")
    assert told.errors.count("\n") == 1
    assert CANARY not in told.errors
    return told.errors


@pytest.mark.thorough
@pytest.mark.parametrize("words", [(), ("--json",)], ids=["words", "json"])
@pytest.mark.parametrize(
    ("change", "said"), [*CHANGES, ("ALTER DATABASE {database} ALLOW_CONNECTIONS false", "reached")]
)
def test_what_fails_before_a_count_is_free(  # noqa: PLR0913, PLR0917 - what is given, and cases
    run: Run, here: Path, clinic: Clinic, change: str, said: str, words: tuple[str, ...]
) -> None:
    """The error is a single line with status 4, without a debit, cells, statements or passwords."""
    clinic.configure(here, user=clinic.clerk)
    assert run("count", "visits", "--where", "town = 'Bern'", "--epsilon", "1").status == 0
    clinic.change(change)
    assert (said or "but integer in the description") in line(run("count", "visits", *WORDS, *words))
    assert debits(run) == [True]
    assert CANARY not in everything(run, here)


@pytest.mark.few(2)
@pytest.mark.parametrize(("change", "said"), CHANGES)
def test_what_changes_while_a_desk_is_open(here: Path, clinic: Clinic, change: str, said: str) -> None:
    """A desk that was asked before refuses, charges nothing, and says to open it again."""
    clinic.configure(here, user=clinic.clerk)
    with nc.open_desk("visits", unit="row") as desk:
        desk.release("age >= 60", 1)
        clinic.change(change)
        with pytest.raises(SourceError) as caught:
            desk.release("age >= 65", 1)
        assert (said or "open it again") in str(caught.value)
        assert desk.ledger.paid("visits").epsilon == 1
    assert CANARY not in "".join(traceback.format_exception(caught.value))


@pytest.mark.few(2)
@pytest.mark.parametrize("change", [change for change, _ in CHANGES])
def test_what_fails_after_the_debit_is_charged_once(
    run: Run, here: Path, clinic: Clinic, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    """The debit stays; once all is as it was, the same question is answered at no further price."""
    clinic.configure(here, user=clinic.clerk)
    reserve = Ledger.reserve

    def reserve_and_change(*words: Any, **named: Any) -> object:  # noqa: ANN401 - whatever it takes
        found = reserve(*words, **named)
        clinic.change(change)
        return found

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "reserve", reserve_and_change)
        told = line(run("count", "visits", *WORDS))
    assert "the debit stays" in told
    assert debits(run) == [False]
    assert CANARY not in everything(run, here)
    clinic.make()
    assert run("count", "visits", *WORDS, "--json").object["charged"] == "0"
    assert debits(run) == [True]


@pytest.mark.thorough
@pytest.mark.parametrize("weight", ["40", CANARY], ids=["usual", "odd"])
def test_no_refusal_finds_a_record_of_a_view(run: Run, here: Path, clinic: Clinic, weight: str) -> None:
    """A view is refused for what it computes, not for a record: before the debit, at each door."""
    clinic.run(WEIGHED.format(weight))
    asked = [f"town = '{town}' and weight >= 30" for town in ("Bern", "Chur")]
    clinic.configure(here, "weighed", 'columns = ["town", "weight"]')
    named = "column 'weight' is computed when it is read"
    assert named in line(run("count", "visits", "--where", asked[0], "--epsilon", "1"))
    clinic.configure(here, "weighed")
    told = [line(run("count", "visits", "--where", each, "--epsilon", "1"), 2) for each in asked]
    assert told[0] == told[1]
    assert "'weight', whose type integer (computed when it is read) no question can use" in told[0]
    assert "integer (computed when it is read)" in run("check", "visits", "--json").output
    with nc.open_desk("visits", unit="row") as desk:
        for each in asked:
            with pytest.raises(NoisyCountError, match="computed when it is read"):
                desk.release(each, 1)
    with served(load_config(here / "noisycount.toml"), OWNER) as service:
        asking = {"Authorization": f"Bearer {service.keys[OWNER.name]}"}
        replies = [
            httpx.post(
                f"{service.url}/v1/datasets/visits/releases",
                json={"where": each, "epsilon": "1"},
                headers=asking | {"Idempotency-Key": str(number)},
            )
            for number, each in enumerate(asked)
        ]
    assert {reply.status_code for reply in replies} == {422}
    assert replies[0].content == replies[1].content
    assert "nothing was asked yet" in run("ledger", "show").output
    clinic.configure(here, "heavy")
    for words in (("count", "--where", "town = 'Chur'", "--epsilon", "1"), ("check",)):
        assert "'heavy' is a view that does more than choose" in line(run(words[0], "visits", *words[1:]))
    (here / "noisycount.toml").unlink()
    assert "'heavy' is a view that does more" in line(run("init", clinic.address("heavy")))
    assert CANARY not in everything(run, here)


@pytest.mark.thorough
@pytest.mark.usefixtures("unguarded")
@pytest.mark.parametrize(("view", "more"), [(BROKEN, ""), (SLOW, "timeout = 0.3")], ids=["broken", "slow"])
def test_what_the_server_says_of_a_count_is_withheld(  # noqa: PLR0913, PLR0917 - what is given
    run: Run, here: Path, clinic: Clinic, caplog: pytest.LogCaptureFixture, view: str, more: str
) -> None:
    """A cell that breaks a count, and one that takes too long: one line, charged once."""
    clinic.run(view)
    clinic.configure(here, "broken" if "broken" in view else "slow", more)
    with caplog.at_level(logging.NOTSET):
        for words in (WORDS, WORDS, (*WORDS, "--json"), ("--by", "age:0,65", "--epsilon", "1")):
            assert "the debit stays" in line(run("count", "visits", *words))
        assert "the debit stays" in line(
            run("count", "visits", "--where", "age > 1", "--where", "age > 2", "--epsilon", "1")
        )
    assert debits(run) == [False, False, False]
    assert CANARY not in everything(run, here) + caplog.text


@pytest.mark.usefixtures("unguarded")
def test_tracebacks_know_nothing(here: Path, clinic: Clinic) -> None:
    """Neither the texts nor the frames and contexts of what is raised in Python."""
    clinic.run(BROKEN)
    clinic.configure(here, "broken")
    with nc.open_desk("visits", unit="row") as desk:
        for work in (
            lambda: desk.release("age >= 65", 1),
            lambda: desk.release_table("age:0,65", epsilon=1),
            lambda: desk.release_table("note", delta="1e-6", epsilon=1),
            lambda: nc.open_desk(clinic.address("nothing"), unit="row"),
            lambda: nc.open_desk(clinic.address("visits"), unit="nothing"),
        ):
            with pytest.raises(NoisyCountError) as caught:
                work()
            error = caught.value
            assert (error.__cause__, error.__context__) == (None, None)
            assert CANARY not in "".join(traceback.format_exception(error))


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("tags = 'a'", "'tags', whose type text[] no question can use: use "),
        ("history is null", "'history', whose type json no question can use: use "),
        ("nothing = 1", "nothing"),
    ],
)
def test_what_has_no_meaning_here(run: Run, here: Path, clinic: Clinic, where: str, said: str) -> None:
    """A question about an array or a document is refused by what its column is; it is free."""
    clinic.configure(here)
    assert said in line(run("count", "visits", "--where", where, "--epsilon", "1"), 2)
    assert said in line(run("count", "visits", "--by", where.split(maxsplit=1)[0], "--epsilon", "1"), 2)
    assert "nothing was asked yet" in run("ledger", "show").output


def test_addresses_that_lead_nowhere(run: Run, clinic: Clinic, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each refusal is a single line with a remedy; no ledger is made."""
    words = ("--unit", "row", *WORDS)
    bare = clinic.address().partition("#")[0]
    assert "names no table: write it after a #" in line(run("count", bare, *words), 2)
    assert "cannot be read: write it as" in line(run("count", f"x://a@b:{CANARY}@c#t", *words), 2)
    assert "is neither a file nor a data set" in line(run("count", f"9{bare}", *words), 2)
    assert "Got unexpected extra argument" in line(run("count", "a", clinic.address(), *words), 2)
    odd = clinic.address().replace("postgresql+psycopg", "orcale")
    assert "needs the package that brings SQLAlchemy the dialect 'orcale'" in line(run("count", odd, *words))
    nowhere = clinic.address().replace("?host=", "?host=/nowhere")
    assert "cannot be reached: check that its server runs" in line(run("count", nowhere, *words))
    assert "cannot be reached: " in line(run("check", nowhere))
    assert "cannot be reached: " in line(run("init", nowhere))
    with monkeypatch.context() as without_driver:
        without_driver.setitem(sys.modules, "psycopg", None)
        told = line(run("count", clinic.address(), *words))
    assert "needs a driver that is not installed: install noisycount's extra postgres: pip " in told
    assert "nothing was asked yet" in run("ledger", "show").output
