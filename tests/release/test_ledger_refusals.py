import errno
import os
import re
import shutil
import sqlite3
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import pytest
from sqlalchemy import event

from noisycount.errors import LedgerError
from noisycount.release import ledger_making
from noisycount.release.ledger import Entry, Ledger, Request
from tests.release import desk_workers
from tests.release.ledgers import change, refusal

REQUEST = Request("survey", "question", Fraction(1, 10))
BUDGET = Fraction(1)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Give a file that holds a ledger of one debit without an answer."""
    path = tmp_path / "ledger.db"
    with Ledger.open(f"sqlite:///{path}") as ledger:
        ledger.reserve("mine", REQUEST, BUDGET)
    return path


def other(number: int) -> Request:
    """Give one of many requests that are not in the ledger."""
    return Request("survey", f"question {number} {'?' * 500}", Fraction(1, 1000))


@pytest.mark.parametrize("create", [True, False])
def test_a_missing_folder_is_named(tmp_path: Path, *, create: bool) -> None:
    """The remedy is to make it; the ledger makes no folder."""
    url = f"sqlite:///{tmp_path}/nowhere/ledger.db"
    message = refusal(lambda: Ledger.open(url, create=create))
    assert message == f"ledger folder '{tmp_path}/nowhere' does not exist; make it first"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("query", ["", "?uri=true", "?uri=true&mode=rwc", "?uri=true&mode=ro"])
def test_a_reader_does_not_make_the_ledger(tmp_path: Path, query: str) -> None:
    """To show what is not there leaves no file."""
    scheme = "file:" if query else ""
    url = f"sqlite:///{scheme}{tmp_path}/ledger.db{query}"
    message = refusal(lambda: Ledger.open(url, create=False))
    assert re.search("does not exist; the first count makes it|cannot be opened; check", message)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "url",
    [
        *("ledger.db", "", "sqlite://", "sqlite:///:memory:", "sqlite:///file::memory:?uri=true"),
        *("sqlite:///a.db?mode=ro", "sqlite:///a.db?nolock=1&uri=true", "sqlite:///a.db?x=1"),
        *("sqlite:///file:a?mode=memory&uri=true", "sqlite:///a.db?timeout=soon"),
        *("sqlite:///a.db?uri=false", "sqlite+aiosqlite:///a.db", "sqlite:///a\nb", "what://a/b"),
        *("sqlite:///a.db?timeout=1&timeout=2", "postgresql://", "postgresql+psycopg://host"),
        *("postgresql+psycopg2://host/a", "postgresql://host/a?options=-csynchronous_commit=off"),
        *("postgresql://host/a?port=1&port=2", "postgresql://host/a%0Ab", "postgresql://host/?a=b"),
        "postgresql://host:port/a",
    ],
)
def test_an_address_that_would_not_last_is_refused(url: str) -> None:
    """Neither memory, which forgets, nor an option that gives up locking or lasting."""
    message = refusal(lambda: Ledger.open(url))
    assert message == (
        "ledger must be a file, such as sqlite:///ledger.db, or a PostgreSQL database, such as"
        f" postgresql+psycopg://user@host/name, got {url!r}"
    )


def test_a_password_is_not_shown() -> None:
    """An address of a kind that is not supported may carry one, and so may one that is."""
    message = refusal(lambda: Ledger.open("mysql://me:secret@host/ledger"))
    assert message.endswith("got 'host/ledger'")
    message = refusal(lambda: Ledger.open("postgresql://me:secret@localhost:1/ledger"))
    assert re.match(r"ledger 'localhost/ledger' cannot be reached; check its address", message)


def test_a_server_without_its_driver_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """PostgreSQL is an extra of the package."""
    monkeypatch.setitem(sys.modules, "psycopg", None)
    message = refusal(lambda: Ledger.open("postgresql://me:secret@host/ledger"))
    assert message == (
        "ledger 'host/ledger' needs the package psycopg; install noisycount[postgres]"
    )


def test_a_folder_is_not_a_ledger(tmp_path: Path) -> None:
    """A path that cannot be opened is refused with what to check."""
    message = refusal(lambda: Ledger.open(f"sqlite:///{tmp_path}"))
    assert message.startswith(f"ledger '{tmp_path}' cannot be opened; check")


@pytest.mark.parametrize("create", [True, False])
def test_a_file_of_another_kind_is_left_alone(tmp_path: Path, *, create: bool) -> None:
    """It is refused, and keeps every byte."""
    path = tmp_path / "people.csv"
    path.write_text("name,age\n" * 1000)
    message = refusal(lambda: Ledger.open(f"sqlite:///{path}", create=create))
    assert message == f"ledger '{path}' is not a ledger; name another file"
    assert path.read_text() == "name,age\n" * 1000


@pytest.mark.parametrize("create", [True, False])
def test_a_database_without_debits_is_not_a_ledger(tmp_path: Path, *, create: bool) -> None:
    """A database that something else made is refused, and nothing is added to it."""
    path = tmp_path / "other.db"
    shell = sqlite3.connect(path)
    shell.execute("CREATE TABLE people (name)")
    shell.close()
    before = path.read_bytes()
    message = refusal(lambda: Ledger.open(f"sqlite:///{path}", create=create))
    assert message == f"ledger '{path}' is not a ledger; name another file"
    assert path.read_bytes() == before


@pytest.mark.parametrize("create", [True, False])
def test_an_empty_file_is_not_a_new_ledger(path: Path, *, create: bool) -> None:
    """A ledger that lost all it held is not taken for one that has not begun."""
    path.write_bytes(b"")
    message = refusal(lambda: Ledger.open(f"sqlite:///{path}", create=create))
    assert message.startswith(f"ledger '{path}' is empty, as no ledger is; restore it from a copy")


def test_a_locked_ledger_refuses_in_time(path: Path) -> None:
    """Nothing is reserved or stored; once the lock is gone, everything is."""
    with Ledger.open(f"sqlite:///{path}?timeout=0.05") as ledger:
        (entry,) = ledger.entries()
        holder = sqlite3.connect(path, isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        for action in (
            lambda: ledger.reserve("other", other(1), BUDGET),
            lambda: ledger.store(entry, 5),
        ):
            assert refusal(action).endswith(
                "is locked by another process; wait for it and ask again"
            )
        assert ledger.entries() == [entry]
        holder.close()
        assert ledger.reserve("other", other(1), BUDGET)[1] == other(1).epsilon


def test_more_threads_than_connections_are_refused_in_our_words(path: Path) -> None:
    """Some wait for the lock, the others for a connection, none longer than it says."""
    with Ledger.open(f"sqlite:///{path}?timeout=0.2") as ledger:
        holder = sqlite3.connect(path, isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")

        def refused(number: int) -> str:
            return refusal(lambda: ledger.reserve(f"{number}", other(number), BUDGET))

        with ThreadPoolExecutor(40) as pool:
            told = {message.split("' ")[1] for message in pool.map(refused, range(40))}
        holder.close()
    assert told == {
        "is locked by another process; wait for it and ask again",
        "is busy with other questions; wait and ask again",
    }


def test_a_write_ahead_log_that_is_in_use_is_refused(path: Path) -> None:
    """No debit is written to the log that a power cut may lose."""
    shell = sqlite3.connect(path)
    shell.execute("PRAGMA journal_mode = WAL")
    shell.execute("BEGIN")
    shell.execute("SELECT * FROM ledger").fetchall()
    message = refusal(lambda: Ledger.open(f"sqlite:///{path}?timeout=0.05"))
    shell.close()
    assert message.endswith("is locked by another process; wait for it and ask again")


def test_a_read_only_ledger_is_read_and_refuses_to_reserve(path: Path) -> None:
    """What was spent may be seen; nothing may be spent."""
    url = f"sqlite:///file:{path}?mode=ro&uri=true"
    with Ledger.open(url, create=False) as ledger:
        (entry,) = ledger.entries()
        for action in (
            lambda: ledger.reserve("other", other(1), BUDGET),
            lambda: ledger.store(entry, 5),
        ):
            assert refusal(action).endswith("is read-only; make the file and its folder writable")
        assert ledger.spent("survey") == REQUEST.epsilon
        assert ledger.reserve("mine", REQUEST, BUDGET) == (entry, 0)


def test_a_full_disk_refuses_the_debit_that_does_not_fit(path: Path) -> None:
    """Every debit that was acknowledged is there, and no other."""
    with Ledger.open(f"sqlite:///{path}") as ledger:
        pages = len(path.read_bytes()) // 4096

        def limit(connection: sqlite3.Connection, _: object) -> None:
            connection.execute(f"PRAGMA max_page_count = {pages}")

        ledger.close()
        event.listen(ledger.reading, "connect", limit)
        granted, message = spend_until_refused(ledger)
    assert message.endswith("has no room to grow; make room on the disk and ask again")
    check_granted(path, granted)


def spend_until_refused(ledger: Ledger) -> tuple[list[str], str]:
    """Give the keys of the debits that were acknowledged, and the text of the first refusal."""
    granted = []
    while True:
        try:
            entry, _ = ledger.reserve(f"key {len(granted)}", other(len(granted)), Fraction(1000))
        except LedgerError as error:
            return granted, str(error)
        granted.append(entry.key)


def check_granted(path: Path, granted: list[str]) -> None:
    """Check that the ledger holds the acknowledged debits only, and works again with room."""
    with Ledger.open(f"sqlite:///{path}") as ledger:
        assert [entry.key for entry in ledger.entries()] == ["mine", *granted]
        assert ledger.spent("survey") == REQUEST.epsilon + len(granted) * Fraction(1, 1000)
        assert ledger.reserve("last", other(-1), BUDGET)[1] == other(-1).epsilon


def test_a_torn_file_is_refused_wherever_it_was_torn(path: Path) -> None:
    """A file of which a part is missing is never taken for a smaller ledger."""
    with Ledger.open(f"sqlite:///{path}") as ledger:
        for number in range(20):
            entry, _ = ledger.reserve(f"key {number}", other(number), BUDGET)
            ledger.store(entry, number)
    content = path.read_bytes()
    for length in range(0, len(content), 1024):
        path.write_bytes(content[:length])
        message = refusal(lambda: spend(path))
        assert re.search("is damaged; restore it|is not a ledger|is empty, as no ledger", message)
        assert path.read_bytes() == content[:length]
    path.write_bytes(content)
    assert spend(path).request == other(-1)


@pytest.mark.parametrize("part", [0, 1, 2, 3])
def test_a_file_that_is_torn_while_it_is_open_is_refused(path: Path, part: int) -> None:
    """Nothing is granted on what is left of it."""
    with Ledger.open(f"sqlite:///{path}") as ledger:
        ledger.store(*ledger.entries(), 5)
        content = path.read_bytes()
        length = len(content) * part // 4
        os.truncate(path, length)
        for action in (
            lambda: ledger.reserve("other", other(1), BUDGET),
            lambda: ledger.spent("survey"),
            ledger.verify,
        ):
            message = refusal(action)
            assert re.search(
                "is damaged; restore|holds a ledger no more; restore|is not a ledger", message
            )
        assert path.read_bytes() == content[:length]
        ledger.close()  # a file that is restored in place must be opened again
        path.write_bytes(content)
        assert ledger.reserve("other", other(1), BUDGET)[1] == other(1).epsilon


def spend(path: Path) -> Entry:
    """Open a ledger and make one debit."""
    with Ledger.open(f"sqlite:///{path}") as ledger:
        return ledger.reserve("last", other(-1), BUDGET)[0]


def test_a_ledger_that_was_moved_away_is_missed(path: Path) -> None:
    """No debit goes to a file that has no name any more, nor to the one that took its name."""
    with Ledger.open(f"sqlite:///{path}") as ledger:
        (entry,) = ledger.entries()
        aside = path.rename(path.with_name("aside.db"))
        message = refusal(lambda: ledger.reserve("other", other(1), BUDGET))
        assert message.endswith(
            "cannot be opened; check that the file and its folder exist and may be used"
        )
        assert not path.exists()
        with Ledger.open(f"sqlite:///{path}") as new:
            new.reserve("new", other(2), BUDGET)
        assert [each.key for each in ledger.entries()] == ["new"]
        aside.replace(path)
        assert ledger.entries() == [entry]


def test_a_ledger_is_made_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever fails while it is made, no file stays that is not a ledger."""
    path = tmp_path / "ledger.db"
    for module, name in [(ledger_making, "make"), (os, "link"), (os, "fsync")]:
        with monkeypatch.context() as patched:
            patched.setattr(module, name, fail_for_want_of_room)
            message = refusal(lambda: Ledger.open(f"sqlite:///{path}"))
            assert "cannot be made (No space left on device); check its folder" in message
        assert list(tmp_path.iterdir()) in ([], [path])
        path.unlink(missing_ok=True)
    with Ledger.open(f"sqlite:///{path}") as ledger:
        assert ledger.entries() == []
    assert list(tmp_path.iterdir()) == [path]


def fail_for_want_of_room(*_: object, **__: object) -> None:
    """Fail as a full disk does."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_disk_without_second_names_holds_a_ledger(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no link can be made, the whole file is copied; one that is there is kept."""

    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", refuse)
    with Ledger.open(f"sqlite:///{tmp_path}/new.db") as ledger:
        ledger.reserve("mine", REQUEST, BUDGET)
        assert ledger.verify().head.number == 1
    before = path.read_bytes()
    draft = tmp_path / "draft"
    draft.write_bytes(b"another")
    ledger_making._publish(draft, path)  # noqa: SLF001 - a race that is hard to win
    assert path.read_bytes() == before


def test_a_read_only_file_is_read_and_refuses_to_reserve(path: Path) -> None:
    """A real one: its permissions let this account read and not write."""
    with tempfile.TemporaryDirectory() as folder:  # every account may look into its parent
        path = Path(shutil.copy(path, folder))
        with ProcessPoolExecutor(1, mp_context=desk_workers.processes()) as pool:
            spent, message = pool.submit(desk_workers.spend_without_permission, path).result()
        path.parent.chmod(0o755)
        with Ledger.open(f"sqlite:///{path}") as ledger:
            assert ledger.verify().head.number == 1
    assert spent == REQUEST.epsilon
    assert message.endswith("is read-only; make the file and its folder writable")


@pytest.mark.parametrize("statement", ["UPDATE ledger SET number = 1", "DELETE FROM ledger"])
def test_the_tests_can_do_damage(path: Path, statement: str) -> None:
    """Without its guards, a ledger can be changed: only its hashes tell."""
    with Ledger.open(f"sqlite:///{path}") as ledger:
        change(ledger, statement)
