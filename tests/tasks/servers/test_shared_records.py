"""Tables of a server by other addresses, and views of them: they have one budget."""

import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Thread

import pytest

import noisycount as nc
from noisycount.catalog.catalog import DatasetRecord
from noisycount.engines import opening
from noisycount.engines.places import ServerPlace
from noisycount.errors import ConfigError
from noisycount.ledger.ledger import Ledger
from noisycount.release import records
from tests.helpers.commands import Run
from tests.tasks.servers.conftest import EXACTLY, Clinic
from tests.tasks.servers.test_questions import asked

OLD = "age >= 65"
OTHERS = """
CREATE VIEW old AS SELECT person, age, town FROM visits WHERE age >= 65;
CREATE VIEW oldest AS SELECT person, age FROM old WHERE age >= 80;
CREATE MATERIALIZED VIEW stored AS SELECT person, age FROM visits;
CREATE TABLE staff (person integer NOT NULL, age integer);
CREATE VIEW hired AS SELECT person, age FROM staff;
CREATE TABLE measured (person integer NOT NULL, age integer, made date) PARTITION BY RANGE (made);
CREATE TABLE measured_2026 PARTITION OF measured FOR VALUES FROM ('2026-01-01') TO ('2027-01-01');
"""
JOINED = """
CREATE TABLE towns (town text PRIMARY KEY);
CREATE VIEW places AS SELECT town FROM towns;
CREATE VIEW one AS SELECT v.person, v.age FROM visits v JOIN towns t ON v.town = t.town;
CREATE VIEW two AS SELECT s.person, s.age FROM staff s JOIN towns t ON t.town = 'Bern';
CREATE VIEW three AS SELECT s.person, s.age FROM staff s JOIN places p ON p.town = 'Bern';
"""
SHARED = [("visits", "old"), ("old", "visits"), ("oldest", "old"), ("visits", "stored"), ("measured_2026", "measured")]
SEPARATE = [("visits", "staff"), ("old", "hired"), ("staff", "measured")]


def forward(source: socket.socket, target: socket.socket) -> None:
    """Hand on what one side sends until it ends."""
    with suppress(OSError):
        while content := source.recv(1 << 16):
            target.sendall(content)
        target.shutdown(socket.SHUT_WR)


@pytest.fixture
def port(clinic: Clinic) -> Iterator[int]:
    """Give a port of this machine that leads to the server, which itself listens at a socket alone."""

    def lead(caller: socket.socket) -> None:
        with caller, socket.socket(socket.AF_UNIX) as server:
            server.connect(f"{clinic.server.folder}/.s.PGSQL.5432")
            back = Thread(target=forward, args=(server, caller))
            back.start()
            forward(caller, server)
            back.join()

    def serve() -> None:
        with suppress(OSError):
            while True:
                callers.append(Thread(target=lead, args=listener.accept()[:1]))
                callers[-1].start()

    callers: list[Thread] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        callers.append(Thread(target=serve))
        callers[0].start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)
        for caller in callers:
            caller.join()


def configure(folder: Path, **sources: str) -> None:
    """Write a configuration of these addresses, in which every person is counted."""
    tables = (f'[datasets.{n}]\nsource = "{s}"\nunit = "person"\nbudget = "1000"\n' for n, s in sources.items())
    (folder / "noisycount.toml").write_text("\n".join(tables), encoding="utf-8")


def test_addresses_of_one_server_have_one_budget(run: Run, here: Path, clinic: Clinic, port: int) -> None:
    """Of a socket, `localhost` and two forms of 127.0.0.1; an address without a name is the data set that was asked."""
    addresses = [f"postgresql://owner@{host}:{port}/{clinic.database}" for host in ("localhost", "127.1", "127.0.0.1")]
    first = ServerPlace.read(clinic.address())
    identities = opening.relation_identities(first)
    assert len(identities) == 1
    for address in addresses:
        assert opening.relation_identities(ServerPlace.read(f"{address}#visits")) == identities
    configure(here, visits=clinic.address(), second=f"{addresses[1]}#visits")
    assert asked(run, "visits", "--where", OLD)["dataset"] == "visits"
    refused = run("count", "second", "--where", OLD, "--epsilon", "1")
    assert (refused.status, "the records of 'second' are those of 'visits' in this ledger" in refused.errors) == (
        2,
        True,
    )
    assert asked(run, f"{addresses[0]}#visits", "--where", "age >= 66")["dataset"] == "visits"
    assert {entry["dataset"] for entry in run("ledger", "show", "--json").object["entries"]} == {"visits"}


@pytest.mark.parametrize(("first", "second"), SHARED)
def test_a_view_has_the_budget_of_its_tables(here: Path, clinic: Clinic, first: str, second: str) -> None:
    """So have a view of a view, a materialised view, and the parts of a table."""
    clinic.run(OTHERS)
    configure(here, first=clinic.address(first), second=clinic.address(second))
    with nc.open_desk("first") as desk:
        desk.release(OLD, 1)
    for name in ("second", clinic.address(second)):
        with pytest.raises(ConfigError, match="are partly those of 'first' in this ledger, and a second"):
            nc.open_desk(name).release(OLD, 1)


@pytest.mark.parametrize(
    "change",
    [
        "CREATE OR REPLACE VIEW v AS SELECT person, age FROM visits UNION ALL SELECT person, age FROM others",
        "CREATE OR REPLACE VIEW v AS SELECT person, age FROM visits WHERE person IN (SELECT f())",
    ],
)
def test_a_view_that_came_to_share_records_is_refused(here: Path, clinic: Clinic, change: str) -> None:
    """Neither of two data sets would pay for what the other reveals of common records."""
    clinic.run("CREATE TABLE others AS SELECT person + 1000 AS person, age FROM visits")
    clinic.run("CREATE VIEW v AS SELECT person, age FROM visits")
    configure(here, first=clinic.address("v"), second=clinic.address("others"))
    for name in ("first", "second"):
        with nc.open_desk(name) as desk:
            desk.release(OLD, 1)
    clinic.run("CREATE FUNCTION f() RETURNS SETOF int LANGUAGE sql AS 'SELECT person FROM others'")
    clinic.run(change)
    with pytest.raises(ConfigError, match="the records of 'first' are partly those of 'second' in this ledger"):
        nc.open_desk("first").release("age >= 66", 1)


def test_a_partition_of_another_data_set_is_refused(here: Path, clinic: Clinic) -> None:
    """A table that becomes a part of another keeps the budget that it had."""
    clinic.run("CREATE TABLE parts (person integer, age integer, town text) PARTITION BY LIST (town)")
    clinic.run("CREATE TABLE one PARTITION OF parts FOR VALUES IN ('A')")
    clinic.run("CREATE TABLE two (person integer, age integer, town text)")
    configure(here, first=clinic.address("parts"), second=clinic.address("two"))
    for name in ("first", "second"):
        with nc.open_desk(name) as desk:
            desk.release(OLD, 1)
    clinic.run("ALTER TABLE parts ATTACH PARTITION two FOR VALUES IN ('B')")
    with pytest.raises(ConfigError, match="the records of 'first' are partly those of 'second' in this ledger"):
        nc.open_desk("first").release("age >= 66", 1)


@pytest.mark.parametrize(("first", "second"), SEPARATE)
def test_tables_without_common_records_have_their_own_budgets(
    here: Path, clinic: Clinic, first: str, second: str
) -> None:
    """A view of one of them is no view of the other."""
    clinic.run(OTHERS)
    configure(here, first=clinic.address(first), second=clinic.address(second))
    for name in ("first", "second"):
        with nc.open_desk(name) as desk:
            desk.release(OLD, 1)


def test_a_table_of_an_older_ledger_keeps_its_answers(
    run: Run, here: Path, clinic: Clinic, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its description gets the identity of the table with the next question, and no answer is paid again."""
    clinic.run(OTHERS)
    configure(here, visits=clinic.address(), old=clinic.address("old"), third=clinic.address("oldest"))
    with monkeypatch.context() as patch:
        patch.setattr(records, "relation_identities", lambda *_: ())
        first = asked(run, "visits", "--where", OLD)
        asked(run, "old", "--where", OLD)
    again = asked(run, "visits", "--where", OLD)
    assert (again["answer"], again["charged"]) == (first["answer"], "0")
    asked(run, "visits", "--where", "age >= 66")
    with Ledger.open(f"sqlite:///{here}/ledger.db") as ledger:
        written = DatasetRecord.read(ledger.descriptions()["visits"])
    assert written.relations == opening.relation_identities(ServerPlace.read(clinic.address()))
    assert asked(run, "old", "--where", "age >= 66")["charged"] == EXACTLY
    assert "are partly those of" in run("count", "third", "--where", OLD, "--epsilon", "1").errors


def test_an_account_without_rights_knows_the_server_by_its_address(clinic: Clinic) -> None:
    """A view is resolved all the same; only another address of the server is another table."""
    clinic.run("CREATE VIEW old AS SELECT person FROM visits")
    clinic.run(f"GRANT SELECT ON old TO {clinic.clerk}")
    revoke = "REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC"
    clinic.run(revoke)
    table, view = (
        opening.relation_identities(ServerPlace.read(clinic.address(name, clinic.clerk))) for name in ("visits", "old")
    )
    assert table[0] == view[1] != opening.relation_identities(ServerPlace.read(clinic.address()))[0]
    clinic.run(revoke.replace("REVOKE", "GRANT").replace("FROM", "TO"))
    as_public = opening.relation_identities(ServerPlace.read(clinic.address("visits", clinic.clerk)))
    assert as_public == opening.relation_identities(ServerPlace.read(clinic.address()))


def test_views_may_share_public_tables(clinic: Clinic) -> None:
    """A table that the owner declares public has no budget, and a view of it that is public neither."""
    clinic.run(OTHERS + JOINED)
    one, two = (opening.relation_identities(ServerPlace.read(clinic.address(name))) for name in ("one", "two"))
    assert len({*one} & {*two}) == 1
    public = ServerPlace.read(clinic.address("two"))
    assert {*one}.isdisjoint(opening.relation_identities(public, ["towns"]))
    three = ServerPlace.read(clinic.address("three"))
    assert {*one}.isdisjoint(opening.relation_identities(three, ["places"]))
    assert not {*one}.isdisjoint(opening.relation_identities(three, ["another"]))
