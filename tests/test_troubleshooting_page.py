"""Every message of `docs/how-to/troubleshooting.md` is provoked here, so that the page shows what noisycount says."""

import re
import shlex
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import duckdb
import polars as pl
import pytest

import noisycount as nc
from noisycount.config.config import load_config
from noisycount.ledger.ledger import Ledger
from noisycount.service.app import application
from noisycount.service.keys import Keyring, Role
from tests.helpers.commands import Run, configure
from tests.helpers.reference_pages import tables
from tests.helpers.service_callers import Caller, serving
from tests.helpers.transcripts import PROJECT

PAGE = PROJECT / "docs/how-to/troubleshooting.md"
SURVEY = 'unit = "person"\nbudget = "2"'
PUBLIC = f'{SURVEY}\n[datasets.survey.values]\nhealth = ["excellent", "good", "fair", "poor"]'
COUNT = "count survey --where 'age >= 50' --epsilon 0.1"
HEAD = "9:0123456789abcdef0123456789abcdef"

Cause = Callable[[Run, Path], str]

pytestmark = pytest.mark.skipif(not PAGE.is_file(), reason="the tests run outside the project's folder")


def refusal(run: Run, command: str) -> str:
    """Return the line with which a command refuses."""
    result = run(*shlex.split(command))
    assert result.status, result.output
    return result.errors.strip().removeprefix("error: ")


def refuse(command: str, run: Run, here: Path, dataset: str = SURVEY) -> str:
    """Return the refusal of a command about the survey, or about another configuration of it."""
    configure(here, dataset)
    return refusal(run, command)


def refused(command: str, dataset: str = SURVEY) -> Cause:
    """Return the cause that is one command."""
    return partial(refuse, command, dataset=dataset)


def count_file(content: str, run: Run, here: Path, unit: str = "person", more: str = "") -> str:
    """Return the refusal of a count of a file of texts."""
    (here / "visits.csv").write_text(content, encoding="utf-8")
    text = f'[datasets.visits]\nsource = "visits.csv"\nunit = "{unit}"\n{more}\n'
    (here / "noisycount.toml").write_text(text, encoding="utf-8")
    return refusal(run, "count visits --where 'age > 3' --epsilon 0.1")


def count_changed_columns(run: Run, here: Path) -> str:
    """Return the refusal of a file whose column became another kind after the ledger had described it."""
    frame = pl.DataFrame({"person": [1, 2], "age": [30, 40]})
    frame.write_parquet(here / "visits.parquet")
    text = '[datasets.visits]\nsource = "visits.parquet"\nunit = "person"\n'
    (here / "noisycount.toml").write_text(text, encoding="utf-8")
    assert run("count", "visits", "--epsilon", "0.1").status == 0
    frame.with_columns(pl.col("age").cast(pl.String)).write_parquet(here / "visits.parquet")
    return refusal(run, "count visits --epsilon 0.2")


def count_two_tables(run: Run, here: Path) -> str:
    """Return the refusal of a DuckDB file with two tables."""
    with duckdb.connect(here / "clinic.duckdb") as database:
        database.execute("CREATE TABLE visits (person integer, age integer)")
        database.execute("CREATE TABLE staff (name text)")
    return refusal(run, "count clinic.duckdb --unit person --epsilon 0.1")


def count_joined_view(run: Run, here: Path) -> str:
    """Return the refusal of a view in which one person changes rows of others."""
    with duckdb.connect(here / "clinic.duckdb") as database:
        database.execute("CREATE TABLE visits (person integer, town text)")
        database.execute("CREATE VIEW pairs AS SELECT a.person FROM visits AS a JOIN visits AS b ON a.town = b.town")
    return refusal(run, "count clinic.duckdb --table pairs --unit person --epsilon 0.1")


def count_another_unit(run: Run, here: Path) -> str:
    """Return the refusal of a file that was counted by another unit before."""
    assert run(*shlex.split("count survey.parquet --unit person --epsilon 0.1")).status == 0
    assert here.is_dir()
    return refusal(run, "count survey.parquet --unit row --epsilon 0.1")


def spend_ledger(run: Run, here: Path) -> sqlite3.Connection:
    """Ask one question of the survey, and return a connection to its ledger without its triggers."""
    configure(here, SURVEY)
    assert run(*shlex.split(COUNT)).status == 0
    database = sqlite3.connect(here / "ledger.db", isolation_level=None)
    for name in ("update", "delete"):
        database.execute(f"DROP TRIGGER ledger_refuses_{name}")
    return database


def change_row(command: str, run: Run, here: Path) -> str:
    """Return the refusal after a price in the ledger was changed."""
    database = spend_ledger(run, here)
    database.execute("UPDATE ledger SET epsilon = '0.01' WHERE number = 2")
    database.close()
    return refusal(run, command)


def verify_older_copy(run: Run, here: Path) -> str:
    """Return the refusal of a ledger that lacks the row of a head."""
    spend_ledger(run, here).close()
    return refusal(run, f"ledger verify --head {HEAD}")


def hold_ledger(run: Run, here: Path) -> str:
    """Return the refusal while another process holds the lock of the ledger, which may last a tenth of a second."""
    database = spend_ledger(run, here)
    configure(here, SURVEY, "sqlite:///ledger.db?timeout=0.1")
    database.execute("BEGIN EXCLUSIVE")
    result = refusal(run, "ledger show")
    database.close()
    return result


def empty_ledger(run: Run, here: Path) -> str:
    """Return the refusal of a file of no bytes."""
    (here / "ledger.db").touch()
    return refuse(COUNT, run, here)


def lose_ledger(run: Run, here: Path) -> str:
    """Return the refusal if a head is configured and the ledger is gone."""
    configure(here, SURVEY)
    file = here / "noisycount.toml"
    file.write_text(file.read_text("utf-8").replace("[ledger]", f'[ledger]\nhead = "{HEAD}"'), encoding="utf-8")
    return refusal(run, COUNT)


def set_clock_back(run: Run, here: Path) -> str:
    """Return the refusal if the newest row of the ledger was written tomorrow."""
    spend_ledger(run, here).close()
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    with Ledger.open(f"sqlite:///{here}/ledger.db") as ledger:
        replace(ledger, clock=lambda: tomorrow).describe("another", ledger.descriptions()["survey"])
    return refusal(run, "count survey --where 'age >= 60' --epsilon 0.1")


def stop_ledger_server(run: Run, here: Path) -> str:
    """Return the refusal of a ledger on a server that does not run."""
    configure(here, SURVEY)
    file = here / "noisycount.toml"
    address = 'url = "postgresql+psycopg://a@127.0.0.1:1/ledger"'
    file.write_text(re.sub(r'url = ".*"', address, file.read_text("utf-8")), encoding="utf-8")
    return refusal(run, "ledger verify")


def block_keys(run: Run, here: Path) -> str:
    """Return the refusal of a key where the folder of keys cannot be made."""
    (here / "ledger.db.data").touch()
    return refuse("analysts add ana --data-set survey", run, here)


def keep_output(run: Run, here: Path) -> str:
    """Return the refusal of an output whose file exists."""
    (here / "ages.csv").touch()
    return refuse("count survey --by age:0,18 --epsilon 0.1 --groups-per-unit 1 --output ages.csv", run, here)


def call(key: str, path: str, bodies: list[dict[str, str]], _: Run, here: Path) -> str:
    """Return the sentence with which a service refuses the last of some requests with one Idempotency-Key."""
    configure(here, f"{SURVEY}\n[server]\nrate = 2")
    config = load_config(here / "noisycount.toml")
    secret = Keyring.from_config(config).issue("ana", Role.ANALYST, ["survey"])[0].text
    headers = {"Authorization": f"Bearer {secret if key == 'valid' else key}", "Idempotency-Key": "one"}
    with serving(config) as state:
        caller = Caller(application(state), headers)
        replies = [caller.post(path, body) for body in bodies]
    assert replies[-1].status_code >= 400, replies[-1].text
    return f"{replies[-1].status_code} {replies[-1].json()['detail']}"


RELEASES = "/v1/datasets/survey/releases"
FIFTY = {"where": "age >= 50", "epsilon": "0.1"}

CAUSES: list[Cause] = [
    refused("count survey --where 'aeg >= 50' --epsilon 0.1"),
    refused("count survey --where 'health = poor' --epsilon 0.1"),
    refused("count survey --where \"health == 'poor'\" --epsilon 0.1"),
    refused("count survey --where 'health = null' --epsilon 0.1"),
    refused("count survey --where \"health = 'por'\" --epsilon 0.1", PUBLIC),
    refused("count survey --where 'age >= 50'"),
    refused("count survey --within 20%"),
    refused("count survey --by site --epsilon 0.1"),
    refused("count survey --by age --epsilon 0.1"),
    refused("count survey --epsilon 3"),
    refused(f"{COUNT} --analyst ana", f'{SURVEY}\n[analysts.ana]\nbudget = "0.05"'),
    refused("count survey --by site --delta 1e-6 --groups-per-unit 1 --epsilon 0.1"),
    refused(f"{COUNT} --analyst bo", f"{SURVEY}\n[analysts.ana]"),
    refused("count visits --epsilon 0.1"),
    count_another_unit,
    partial(count_file, "person,age\n1,30\n2,4o\n3,50\n4,51\n5,52\n6,53\n"),
    partial(count_file, "person,age\n1,30\n,40\n3,50\n"),
    partial(count_file, "person,age\n1,30\n2\n3,50\n"),
    count_changed_columns,
    count_two_tables,
    count_joined_view,
    refused("count postgresql+psycopg://a@127.0.0.1:1/b#c --unit row --epsilon 0.1"),
    refused("count mysql://a@127.0.0.1:1/b#c --unit row --epsilon 0.1"),
    refused("count s3://a/b.parquet --epsilon 0.1"),
    refused(COUNT, 'unit = "person"\nbudget = 0.3'),
    refused(COUNT, f'{SURVEY}\ncolour = "red"'),
    refused(COUNT, f'{SURVEY}\n[datasets.again]\nsource = "survey.parquet"\nunit = "person"'),
    partial(change_row, COUNT),
    partial(change_row, "ledger verify"),
    verify_older_copy,
    lose_ledger,
    empty_ledger,
    hold_ledger,
    stop_ledger_server,
    set_clock_back,
    keep_output,
    block_keys,
    partial(call, "nc_wrong", RELEASES, [FIFTY]),
    partial(call, "valid", "/v1/datasets/payroll/releases", [FIFTY]),
    partial(call, "valid", RELEASES, [FIFTY, FIFTY, FIFTY, FIFTY]),
]


def messages() -> list[str]:
    """Return the messages of the page, in order; `…` stands for any text."""
    page = PAGE.read_text(encoding="utf-8")
    return [row[0] for heading, listed in tables(page) if heading == ("message", "what to do") for row in listed]


MESSAGES = messages() if PAGE.is_file() else []


def test_every_message_has_a_cause() -> None:
    """The page has at least 40 messages, and this module a cause for each."""
    assert len(MESSAGES) == len(CAUSES) >= 40


@pytest.mark.parametrize(("message", "cause"), [*zip(MESSAGES, CAUSES, strict=False)])
def test_the_cause_gives_the_message(message: str, cause: Cause, run: Run, here: Path) -> None:
    """A refusal has the words of the page."""
    pattern = ".*".join(re.escape(part) for part in message.split("…"))
    assert re.fullmatch(pattern, " ".join(cause(run, here).split()))


@pytest.mark.thorough
def test_answers_to_the_questions_of_readers_hold(here: Path) -> None:
    """A repeat is free, and a failed count stays charged once; another meaning is another question."""
    frame = pl.DataFrame({"person": range(200), "age": [20.0 + n % 60 for n in range(200)]})
    with nc.open_desk(frame, unit="person", ledger=here / "questions.db", name="frame") as desk:
        first, again = desk.release("age > 50", "0.2"), desk.release("not age <= 50", "0.1")
        other = desk.release("age >= 51", "0.2")
    assert (again.answer, again.charged) == (first.answer, 0)
    assert other.charged == first.charged
