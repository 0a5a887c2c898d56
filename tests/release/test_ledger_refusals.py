import re
import sqlite3
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest
from sqlalchemy import event

from noisycount.errors import LedgerError
from noisycount.release.ledger import Ledger, Request

REQUEST = Request("survey", "question", Fraction(1, 10))
BUDGET = Fraction(1)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Give a file that holds a ledger of one debit without an answer."""
    path = tmp_path / "ledger.db"
    with Ledger.open(f"sqlite:///{path}") as ledger:
        ledger.reserve("mine", REQUEST, BUDGET)
    return path


def refusal(action: Callable[[], object]) -> str:
    """Give the text of a refusal; it is one line of ours that shows nothing of the engine's."""
    with pytest.raises(LedgerError) as raised:
        action()
    message = str(raised.value)
    assert raised.value.__suppress_context__ or raised.value.__context__ is None
    assert "\n" not in message
    assert not re.search(r"sqlite3|sqlalche\.me|INSERT|SELECT|PRAGMA|BEGIN", message)
    return message


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
        "sqlite:///a.db?timeout=1&timeout=2",
    ],
)
def test_an_address_that_is_not_a_files_is_refused(url: str) -> None:
    """Neither memory, which forgets, nor an option that gives up locking."""
    message = refusal(lambda: Ledger.open(url))
    assert message == f"ledger must be a file, such as sqlite:///ledger.db, got {url!r}"


def test_a_password_is_not_shown() -> None:
    """An address of a kind that is not supported may carry one."""
    message = refusal(lambda: Ledger.open("postgresql://me:secret@host/ledger"))
    assert message.endswith("got 'host/ledger'")


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


def test_a_database_without_debits_is_not_a_ledger(tmp_path: Path) -> None:
    """A reader refuses a database that something else made."""
    sqlite3.connect(tmp_path / "other.db").close()
    (tmp_path / "other.db").touch()
    with Ledger.open(f"sqlite:///{tmp_path}/other.db", create=False) as ledger:
        message = refusal(lambda: ledger.spent("survey"))
    assert message.endswith("cannot be used; check that noisycount wrote it")


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


def test_a_write_ahead_log_that_is_in_use_is_refused(path: Path) -> None:
    """No debit is written to the log that a power cut may lose."""
    shell = sqlite3.connect(path)
    shell.execute("PRAGMA journal_mode = WAL")
    shell.execute("BEGIN")
    shell.execute("SELECT * FROM debits").fetchall()
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


@pytest.mark.parametrize(
    "damage",
    [
        *(
            f"debits SET epsilon = '{value}'"
            for value in ("", "x", "1/0", "0.2", "1e-1", "1e999999999", "1" * 5000)
        ),
        *(f"debits SET spent = '{value}'" for value in ("", "0", "1e999999999")),
        *(f"debits SET made = '{value}'" for value in ("today", "2026-01-01")),
        *(f"debits SET question = '{value}'" for value in ("", "another")),
        "debits SET dataset = 'census'",
        "answers SET answer = 'many'",
    ],
)
def test_a_damaged_row_is_refused(path: Path, damage: str) -> None:
    """A row that the ledger did not write is neither believed nor shown."""
    shell = sqlite3.connect(path)
    shell.execute("INSERT INTO answers VALUES ('mine', '5')")
    for table in ("debits", "answers"):
        shell.execute(f"DROP TRIGGER {table}_refuse_update")
    shell.execute(f"UPDATE {damage}")
    shell.commit()
    shell.close()
    with Ledger.open(f"sqlite:///{path}") as ledger:
        for action in (ledger.entries, lambda: ledger.reserve("mine", REQUEST, BUDGET)):
            message = refusal(action)
            assert message.startswith("row 1 of the ledger is damaged; restore it from a copy")


def test_a_torn_file_is_refused(path: Path) -> None:
    """A file of which a part is missing is not taken for a smaller ledger."""
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    message = refusal(lambda: Ledger.open(f"sqlite:///{path}", create=False))
    assert "is damaged; restore it from a copy" in message
