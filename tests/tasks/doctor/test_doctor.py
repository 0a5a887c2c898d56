"""The doctor: certificates of engines that are right, and of no others."""

import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from noisycount.cli.main import STATUSES
from noisycount.engines.conformance.suite import examine, suite
from noisycount.errors import SourceError
from tests.helpers.commands import Refused, Run
from tests.helpers.engine_mutants import MUTANTS
from tests.helpers.engines_under_test import MemoryUnderTest
from tests.helpers.postgresql import Server

EXAMINED = "noisycount.engines.conformance.suite.examine"

CONFORMANCE = "noisycount.engines.conformance"
KEPT = "ledger.db.data/certificates.json"
Wrong = Callable[[], None]
(IGNORES_CASE,) = (one for one in MUTANTS if one.__name__ == "IgnoresCase")


@pytest.fixture(autouse=True)
def _some_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    """A small part of the suite: all of it is asked in tests/engines/conformance/."""
    monkeypatch.setattr(EXAMINED, partial(examine, exercises=suite(200)))


@pytest.fixture
def wrong(monkeypatch: pytest.MonkeyPatch) -> Wrong:
    """Return a function that replaces every engine by a wrong one."""

    def make() -> None:
        monkeypatch.setattr("noisycount.release.records.engine_under_test", lambda _: MemoryUnderTest(IGNORES_CASE))

    return make


@pytest.fixture
def configured(here: Path) -> Path:
    """A configuration with a ledger beside it; where its certificates are kept."""
    text = '[ledger]\nurl = "sqlite:///ledger.db"\n[datasets.survey]\nsource = "survey.parquet"\n'
    (here / "noisycount.toml").write_text(text)
    return here / KEPT


@pytest.mark.thorough
def test_engine_that_is_right_gets_a_certificate(run: Run, configured: Path) -> None:
    """It is shown and, for the owner's eyes alone, kept with all that it says."""
    told = run("doctor", "survey")
    assert (told.status, told.errors) == (0, "")
    words = told.words
    assert re.match(r"certificate: duckdb 2\.\d+ with binary \(UTF8\) gave every answer", words)
    assert re.search(r"suite [0-9a-f]{64} answers compared [0-9,]+ differences 0", words)
    assert words.endswith(f"kept in {KEPT}")
    (kept,) = json.loads(configured.read_text())
    assert kept["identity"]["engine"] == "duckdb"
    assert kept["unheld"] == ["columns that differ in case"]
    assert configured.stat().st_mode & 0o077 == configured.parent.stat().st_mode & 0o077 == 0


@pytest.mark.thorough
def test_json_says_the_same(run: Run, configured: Path) -> None:
    """The JSON object has every field, whatever the result."""
    told = run("doctor", "survey.parquet", "--json").object
    assert (told["certified"], told["server"], told["engine"]) == (True, None, "duckdb")
    assert (told["differences"], told["file"]) == ([], str(configured))
    assert told["answers"] > 0


@pytest.mark.thorough
def test_wrong_engine_gets_none_and_loses_what_it_had(
    run: Run, configured: Path, wrong: Wrong, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The status is 1, the first questions are shown with both numbers."""
    monkeypatch.setattr("noisycount.release.records.engine_under_test", lambda _: MemoryUnderTest())
    assert run("doctor", "survey").status == 0
    assert len(json.loads(configured.read_text())) == 1
    wrong()
    told = run("doctor", "survey")
    assert (told.status, told.errors) == (1, "")
    assert "python 3 with code points gave wrong answers" in told.output
    assert "should be" in told.output
    assert "text_a" in told.output
    assert json.loads(configured.read_text()) == []
    said = run("doctor", "survey", "--json")
    found = json.loads(said.output)
    assert (said.status, found["certified"], found["file"], found["date"]) == (1, False, None, None)
    assert all(each["expected"] != each["found"] for each in found["differences"])


@pytest.mark.thorough
def test_doctor_of_nothing_configured_keeps_the_certificate_at_home(run: Run, here: Path) -> None:
    """A file needs no configuration."""
    told = run("doctor", "survey.parquet", "--json").object
    assert Path(told["file"]).is_relative_to(here.parent / "home")


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("nothing", "is neither a file nor a data set"),
        ("foo://host/db", "needs the package that brings SQLAlchemy the dialect 'foo'"),
        ("postgresql+psycopg://me:canary-7c1@/db?host=/nowhere", "cannot be reached"),
    ],
)
def test_bad_sources_are_refused_in_one_line(refused: Refused, source: str, words: str) -> None:
    """A refusal shows no password, and nothing is written."""
    message = refused("doctor", source)
    assert words in message
    assert "canary" not in message


def test_certificate_that_could_not_be_kept_is_refused_before_the_work(
    refused: Refused, configured: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody waits for minutes to hear that a folder cannot be written."""
    asked: list[object] = []
    monkeypatch.setattr(EXAMINED, lambda *each: asked.append(each))
    configured.parent.touch()
    assert "cannot be written" in refused("doctor", "survey")
    assert asked == []


@pytest.mark.thorough
def test_account_that_may_make_no_temporary_table_is_told_so(refused: Refused, run: Run, postgresql: Server) -> None:
    """The right is named; with it a server gets its certificate, whatever table is named."""
    name = postgresql.database()
    statements = f"""
        CREATE ROLE patient_{name} LOGIN; REVOKE ALL ON DATABASE {name} FROM public;
        GRANT CONNECT ON DATABASE {name} TO patient_{name}
    """
    with postgresql.shell("postgres") as shell:
        shell.execute(statements.encode())
    address = postgresql.url(name, f"patient_{name}")
    assert "grant TEMPORARY on the database" in refused("doctor", address)
    with postgresql.shell("postgres") as shell:
        shell.execute(f"GRANT TEMPORARY ON DATABASE {name} TO patient_{name}".encode())
    told = run("doctor", f"{address}#visits", "--json").object
    assert (told["engine"], told["collation"]) == ("postgresql", "C (UTF8)")
    assert told["unheld"] == ["the character NUL"]
    assert told["server"].startswith("postgresql://")


@pytest.mark.thorough
def test_engine_is_counted_once_its_owner_has_a_certificate(
    run: Run, here: Path, postgresql: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before, it is refused by name with what to do, and nothing is charged."""
    monkeypatch.setattr(f"{CONFORMANCE}.certificate._CERTIFIED", frozenset())
    name = postgresql.database()
    with postgresql.shell(name) as shell:
        shell.execute("CREATE TABLE visits (age integer); INSERT INTO visits VALUES (31)")
    source = f"{postgresql.url(name)}#visits"
    text = f'[ledger]\nurl = "sqlite:///ledger.db"\n[datasets.visits]\nsource = "{source}"\n'
    (here / "noisycount.toml").write_text(f'{text}unit = "row"\n')
    count = ("count", "visits", "--where", "age > 30", "--epsilon", "1", "--json")
    told = run(*count)
    assert told.status == STATUSES[SourceError]
    assert re.search(r"is on postgresql \d+ with C \(UTF8\), which is not counted", told.errors)
    assert "never tested here: its owner tests it by `noisycount doctor SOURCE`" in told.errors
    part = run("doctor", "visits", "--json").object["suite"]
    assert "is of another suite" in run(*count).errors
    monkeypatch.setattr(f"{CONFORMANCE}.suite._HASH", part)
    assert run("check", "visits").status == 0
    assert run(*count).object["charged"] == "1"
    (here / KEPT).write_text("[{}]")
    again = run("count", "visits", "--where", "age > 31", "--epsilon", "1")
    assert "holds a certificate of another form: remove it, and make" in again.errors
