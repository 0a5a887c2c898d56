"""Events that only a ledger on a PostgreSQL server can meet."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from fractions import Fraction
from threading import Barrier

import psycopg
import pytest
from sqlalchemy import ExceptionContext, event

from noisycount.ledger import transactions as ledger_turns
from noisycount.ledger.budget import Loss
from noisycount.ledger.entries import Request
from noisycount.ledger.ledger import Ledger
from noisycount.ledger.transactions import LOCK
from tests.helpers.ledger_crowd import crowd
from tests.helpers.ledgers import TENTH, asked, refusal
from tests.helpers.postgresql import Server

BUDGET = Fraction(1)
WAITING = "SELECT count(*)::int FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"


@pytest.fixture
def database(postgresql: Server) -> str:
    """Give a database that holds a ledger of one debit."""
    database = postgresql.database()
    with Ledger.open(postgresql.url(database)) as ledger:
        ledger.reserve("mine", asked(1), BUDGET)
    return database


@pytest.fixture
def ledger(postgresql: Server, database: str) -> Iterator[Ledger]:
    """Give that ledger, which waits for no lock for long."""
    with Ledger.open(postgresql.url(database, options="&timeout=0.2")) as ledger:
        yield ledger


def settings(ledger: Ledger, *names: str) -> dict[str, str]:
    """Give what the server is set to while the ledger is written."""
    with ledger.transactions.writing.begin() as connection:
        return {name: connection.exec_driver_sql(f"SHOW {name}").scalar_one() for name in names}


def test_every_commit_outlasts_a_power_cut(postgresql: Server, database: str, ledger: Ledger) -> None:
    """Also where the database's owner preferred speed."""
    with postgresql.shell(database) as shell:
        shell.execute(f"ALTER DATABASE {database} SET synchronous_commit = off".encode())
        shell.execute(f"ALTER DATABASE {database} SET default_transaction_isolation = 'serializable'".encode())
    ledger.close()
    assert settings(ledger, "synchronous_commit", "fsync", "transaction_isolation") == {
        "synchronous_commit": "on",
        "fsync": "on",
        "transaction_isolation": "read committed",
    }


def test_a_server_without_fsync_is_refused(postgresql: Server, database: str) -> None:
    """It would lose what it acknowledged."""
    with postgresql.shell("postgres") as shell:
        shell.execute("ALTER SYSTEM SET fsync = off")
        try:
            shell.execute("SELECT pg_reload_conf()")
            wait_until(shell, "SHOW fsync", "off")
            message = refusal(lambda: Ledger.open(postgresql.url(database)))
        finally:
            shell.execute("ALTER SYSTEM RESET fsync")
            shell.execute("SELECT pg_reload_conf()")
            wait_until(shell, "SHOW fsync", "on")
    assert message.endswith("has a server whose fsync is 'off'; set it to 'on'")


def wait_until(shell: psycopg.Connection, query: str, value: object) -> None:
    """Wait until a setting was read."""
    for _ in range(3000):
        if shell.execute(query.encode()).fetchone() == (value,):
            return
        time.sleep(0.02)
    raise TimeoutError(query)


def test_a_database_that_cannot_hold_every_text_is_refused(postgresql: Server) -> None:
    """A name or a question may have any printable character."""
    database = postgresql.database()
    with postgresql.shell("postgres") as shell:
        shell.execute(f"DROP DATABASE {database}".encode())
        shell.execute(f"CREATE DATABASE {database} ENCODING 'LATIN1' TEMPLATE template0".encode())
    message = refusal(lambda: Ledger.open(postgresql.url(database)))
    assert message.endswith("whose server_encoding is 'LATIN1'; set it to 'UTF8'")


def test_a_locked_ledger_refuses_in_time(postgresql: Server, database: str, ledger: Ledger) -> None:
    """Nothing is reserved or stored while another process holds the lock; then everything is."""
    (entry,) = ledger.entries()
    with psycopg.connect(dbname=database, user="owner", host=str(postgresql.folder)) as holder:
        holder.execute("SELECT pg_advisory_xact_lock(%s::bigint)", [LOCK])
        for action in (lambda: ledger.reserve("other", asked(2), BUDGET), lambda: ledger.store(entry, 5)):
            started = time.monotonic()
            message = refusal(action)
            assert message.endswith("is locked by another process; wait for it and ask again")
            assert time.monotonic() - started < 20  # of the 30 that are waited by default
        assert ledger.entries() == [entry]
    assert ledger.reserve("other", asked(2), BUDGET)[1].epsilon == TENTH


def test_without_the_lock_the_chain_still_grants_no_debit_too_many(
    postgresql: Server, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two rows cannot follow the same row: a second wall behind the lock. Disturbed batches are tried again alone."""
    url = postgresql.url(database)
    with Ledger.open(url) as ledger, Ledger.open(url) as another, ThreadPoolExecutor(8) as pool:
        monkeypatch.setattr(ledger_turns, "lock_out_writers", lambda *_: None)
        two_have_read, first_two = Barrier(2), iter((True, True))
        refused_rows = list[str]()

        @event.listens_for(ledger.transactions.writing, "before_cursor_execute")
        @event.listens_for(another.transactions.writing, "before_cursor_execute")
        def meet(_connection: object, _cursor: object, statement: str, *_: object) -> None:
            if statement.startswith("INSERT") and next(first_two, False):
                two_have_read.wait(20)

        @event.listens_for(ledger.transactions.writing, "handle_error")
        @event.listens_for(another.transactions.writing, "handle_error")
        def note(context: ExceptionContext) -> None:
            refused_rows.append(type(context.original_exception).__name__)

        def spend(number: int) -> str:
            try:
                request = Request("census", f"{number}", Fraction(1, 3))
                (ledger, another)[number % 2].reserve(f"{number}", request, Fraction(7, 3))
            except Exception as error:  # noqa: BLE001 - all are counted
                return repr(error)
            return ""

        told = list(pool.map(spend, range(200)))
        assert all("was disturbed by another process" in text or "exceeds" in text for text in told if text)
        assert ledger.spent("census") == told.count("") * Fraction(1, 3) == Fraction(7, 3)
        assert "UniqueViolation" in refused_rows, "no two ledgers met: nothing was tested"
        assert ledger.verify().broken is None


def test_a_read_only_server_refuses_to_reserve(postgresql: Server, database: str, ledger: Ledger) -> None:
    """A read-only server shows its spends and refuses new ones."""
    with postgresql.shell(database) as shell:
        shell.execute(f"ALTER DATABASE {database} SET default_transaction_read_only = on".encode())
    ledger.close()
    (entry,) = ledger.entries()
    for action in (lambda: ledger.reserve("other", asked(2), BUDGET), lambda: ledger.store(entry, 5)):
        assert refusal(action).endswith("is read-only; make it writable")
    assert ledger.reserve("mine", asked(1), BUDGET) == (entry, Loss())


def test_an_account_that_may_only_add_rows_is_enough(postgresql: Server, database: str) -> None:
    """Such an account cannot change the ledger even with the shell of the database."""
    with postgresql.shell(database) as shell:
        shell.execute(f"CREATE ROLE clerk_{database} LOGIN".encode())
        shell.execute(f"GRANT SELECT, INSERT ON ledger TO clerk_{database}".encode())
    with Ledger.open(postgresql.url(database, user=f"clerk_{database}")) as ledger:
        entry, charged = ledger.reserve("other", asked(2), BUDGET)
        assert charged == Loss.from_epsilon(TENTH)
        assert ledger.store(entry, 5).answer == 5
        assert ledger.verify().head.number == 3
    with postgresql.shell(database, user=f"clerk_{database}") as shell:
        for statement in (
            "UPDATE ledger SET key = 'b'",
            "DELETE FROM ledger",
            "TRUNCATE ledger",
            "DROP TRIGGER ledger_refuses_update ON ledger",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                shell.execute(statement.encode())


def test_an_account_that_may_not_look_is_refused(postgresql: Server, database: str) -> None:
    """And told to have its permissions mended."""
    with postgresql.shell(database) as shell:
        shell.execute(f"CREATE ROLE stranger_{database} LOGIN".encode())
    with Ledger.open(postgresql.url(database, user=f"stranger_{database}")) as ledger:
        message = refusal(ledger.entries)
    assert message.endswith("may not be used by this account; mend its permissions")


def test_a_table_is_not_emptied(postgresql: Server, database: str) -> None:
    """TRUNCATE is refused as DELETE is."""
    with (
        postgresql.shell(database) as shell,
        pytest.raises(psycopg.errors.RaiseException, match="the ledger is append-only"),
    ):
        shell.execute("TRUNCATE ledger")


def test_a_reader_does_not_make_the_ledger(postgresql: Server) -> None:
    """To show what is not there leaves no table."""
    url = postgresql.new_url()
    with Ledger.open(url, create=False) as ledger:
        assert not ledger.is_made()
        assert refusal(ledger.entries).endswith("holds no ledger; the first count makes it")
    with Ledger.open(url) as ledger:
        assert ledger.is_made()
        assert ledger.entries() == []


@pytest.mark.parametrize("user", ["owner", "nobody"])
def test_a_server_that_cannot_be_reached_is_refused(postgresql: Server, user: str) -> None:
    """A database that is not there, an account that is not known."""
    message = refusal(lambda: Ledger.open(postgresql.url("nowhere", user=user)))
    assert message == (
        f"ledger '{postgresql.folder}/nowhere' cannot be reached; check its address, its account,"
        " and that its server runs"
    )


@pytest.mark.thorough
def test_a_server_that_was_started_again_is_used_again(postgresql: Server, ledger: Ledger) -> None:
    """An open ledger needs no new opening; meanwhile it refuses."""
    (entry,) = ledger.entries()
    postgresql.stop()
    assert "cannot be reached" in refusal(lambda: ledger.reserve("other", asked(2), BUDGET))
    postgresql.start()
    assert ledger.entries() == [entry]
    assert ledger.reserve("other", asked(2), BUDGET)[1].epsilon == TENTH


@pytest.mark.thorough
def test_a_crowd_overspends_and_loses_nothing_while_its_server_is_killed() -> None:
    """Sixteen clients of four processes; the audit has 64 for a minute, and kills three times."""
    server = Server()

    def kill_and_start() -> None:
        server.stop("immediate")
        server.start()

    try:
        url = server.url(server.database())
        found = crowd(url, 4, 3, threads=4, meanwhile=kill_and_start)
    finally:
        server.close()
    assert (found.overspent, found.lost, found.unfilled, found.intact) == (0, 0, 0, True)
    assert any(spend.refusals for spend in found.spends), "no client met the dead server"


def test_a_busy_server_lets_every_writer_have_its_turn(postgresql: Server, database: str) -> None:
    """A process that waited reads the rows of the others, and writes the row after them."""
    url = postgresql.url(database)
    with Ledger.open(url) as ledger, ExitStack() as stack:
        writers = [stack.enter_context(Ledger.open(url)) for _ in range(8)]
        with psycopg.connect(dbname=database, user="owner", host=str(postgresql.folder)) as holder:
            holder.execute("SELECT pg_advisory_xact_lock(%s::bigint)", [LOCK])
            with ThreadPoolExecutor(8) as pool:
                waiting = [
                    pool.submit(writer.reserve, f"{number}", asked(number + 2, TENTH / 10), BUDGET)
                    for number, writer in enumerate(writers)
                ]
                wait_until(holder, WAITING, 8)
                holder.rollback()
                entries = [each.result()[0] for each in waiting]
        assert {entry.spent.epsilon for entry in entries} == {TENTH + TENTH / 10 * number for number in range(1, 9)}
        assert ledger.verify().head.number == 9


def test_several_processes_that_make_a_ledger_make_one(postgresql: Server) -> None:
    """The second opening finds the table."""
    url = postgresql.new_url()
    with ThreadPoolExecutor(8) as pool:
        for ledger in pool.map(lambda _: Ledger.open(url), range(8)):
            assert ledger.entries() == []
            ledger.close()
