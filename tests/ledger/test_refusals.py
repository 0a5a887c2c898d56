import errno
import os
import re
import shutil
import sqlite3
import sys
import tempfile
import traceback
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import suppress
from fractions import Fraction
from pathlib import Path

import pytest
from sqlalchemy import event, exc

from noisycount.errors import LedgerError
from noisycount.ledger import address as ledger_address
from noisycount.ledger.budget import Loss
from noisycount.ledger.entries import Entry, Request
from noisycount.ledger.ledger import Ledger
from noisycount.ledger.storage import RESTORE
from tests.helpers import workers as desk_workers
from tests.helpers.ledgers import change, refusal

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
        *("sqlite://", "sqlite:///:memory:", "sqlite:///file::memory:?uri=true"),
        *("sqlite:///a.db?mode=ro", "sqlite:///a.db?nolock=1&uri=true", "sqlite:///a.db?x=1"),
        *("sqlite:///file:a?mode=memory&uri=true", "sqlite:///a.db?timeout=soon"),
        *("sqlite:///a.db?uri=false", "sqlite+aiosqlite:///a.db", "sqlite:///a\nb", "what://a/b"),
        *("sqlite:///a.db?timeout=1&timeout=2", "postgresql://", "postgresql+psycopg://host"),
        *("postgresql+psycopg2://host/a", "postgresql://host/a?options=-csynchronous_commit=off"),
        *("postgresql://host/a?port=1&port=2", "postgresql://host/a%0Ab", "postgresql://host/?a=b"),
        *("postgresql://host:port/a", "postgresql://host:0/a", "postgresql://host:65536/a"),
        *("postgresql://host:-1/a", "postgresql://host/a?port=x", "postgresql://host/a?port=1,2"),
        *("postgresql://host/a?host=b:5432", "postgresql://host/a?host=[a:1]", "postgresql://host/a?sslmode=odd"),
        *("postgresql://host/a?connect_timeout=-1", "postgresql://host/a?timeout=1e9"),
        *("postgresql://me:\ud800@host/a", "postgresql://me:a\0b@host/a", "sqlite:///\ud800"),
        *("sqlite://folder/a.db", "sqlite://me@/a.db", "sqlite://me:secret@host/a.db"),
    ],
)
def test_an_address_that_would_not_last_is_refused(url: str) -> None:
    """Neither memory, which forgets, nor an option that gives up locking or lasting."""
    message = refusal(lambda: Ledger.open(url))
    scheme = url[: url.index("://") + 3]
    assert re.fullmatch(
        r"ledger must be a file, such as sqlite:///ledger\.db, or a PostgreSQL database, such as"
        r" postgresql\+psycopg://user@host/name"
        r"(, with no option but timeout, [a-z_, ]+, once each and well-formed)?"
        rf", got '{re.escape(scheme)}(\.\.\.)?'",
        message,
    )
    assert ("with no option but" in message) == ("?" in url)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        *((name, repr(name)) for name in ("ledger.db", "", "data/ledger.db", "~/ledger.db")),
        *(
            (text, "what is not shown, as it may hold a password")
            for text in ("me:hunter2@host/db", "host=h password=hunter2", "?password=hunter2", " ")
        ),
        *((value, f"a {type(value).__name__}") for value in (None, 2, b"sqlite:///a.db")),
    ],
)
def test_what_is_no_address_is_shown_if_it_is_a_plain_name(url: str, shown: str) -> None:
    """Nothing else is, as a password may be part of it."""
    message = refusal(lambda: Ledger.open(url))
    assert message.startswith("ledger must be a file, such as sqlite:///ledger.db, or")
    assert message.endswith(f", got {shown}")


@pytest.mark.parametrize("name", ["x.db", "/data/50% of all.db"])
def test_a_path_is_refused_with_the_address_to_write(name: str) -> None:
    """An address is text."""
    message = refusal(lambda: Ledger.open(Path(name)))  # type: ignore[arg-type]
    written = "sqlite:///x.db" if name == "x.db" else "sqlite:///"
    assert message == f"ledger must be an address, got a path; write {written!r}"


SECRET = "hunter2"  # noqa: S105 - of nothing
HERE = "127.0.0.1:1"  # where no server is


@pytest.mark.parametrize("scheme", ["postgresql", "postgresql+psycopg", "postgres", "mysql", "x"])
@pytest.mark.parametrize(
    "rest",
    [
        *(f"me:{word}@{HERE}/db" for word in (SECRET, f"p@{SECRET}", f"{SECRET}@p", f"@{SECRET}")),
        *(f"me:{word}@{HERE}/db" for word in (f"p/{SECRET}", f"p?{SECRET}", f"p:{SECRET}", "a b")),
        *(f"me:{word}@{HERE}/db" for word in (f"p@/{SECRET}", f"p@?{SECRET}", f"p@{SECRET}/", "@")),
        *(f"me:{word}@{HERE}/db" for word in (f"p@a@b@{SECRET}", f"%zz{SECRET}", f"%00{SECRET}")),
        *(f"me:{word}@{HERE}/db" for word in (f"\n{SECRET}", f"\ud800{SECRET}", f"{SECRET}\u00e9")),
        *(f"{HERE}/db?user=me&{name}={SECRET}" for name in ("password", "sslpassword", "passwd")),
        *(f"{HERE}/db?{name}={SECRET}" for name in ("port", "sslmode", "timeout", "connect_timeout")),
        *(f"{HERE}/db{sign}password={SECRET}" for sign in "&;?, %"),
        *(f"{HERE}/db%3Fpassword={SECRET}", f"{HERE}/db?password&{SECRET}", f"{HERE}/db@{SECRET}"),
        *(f"{HERE}/me:{SECRET}", f"{HERE}/db?host=me:{SECRET}@{HERE}", f"me:{SECRET}/db"),
        *(f"me:{SECRET}", f"me:{SECRET}@", f":{SECRET}@/", f"me/{SECRET}@{HERE}/db"),
        *(f"/db?host=me:{SECRET}", f"/db?host=me@{SECRET}", f"[me:{SECRET}]/db", f"@{SECRET}@/db"),
        *(f"me;password={SECRET}/db", f"me,p:{SECRET}@{HERE}/db", f"me:{SECRET}@[::1]:1/db"),
        *(f"me:{SECRET}@[::1/db", f"me:{SECRET}@::1:1/db", f"{SECRET}:x/db", f"me@{SECRET}:x/db"),
    ],
)
def test_a_password_is_never_shown(scheme: str, rest: str) -> None:
    """Wherever it stands, and however it is mistyped; neither in what led to the refusal."""
    with pytest.raises(LedgerError) as raised:
        Ledger.open(f"{scheme}://{rest}")
    told = "".join(traceback.format_exception(raised.value))
    assert SECRET not in told[told.rindex("LedgerError") :]
    assert SECRET not in "".join(map(str, raised.value.args))
    assert "\n" not in str(raised.value)


def test_an_at_sign_in_a_password_is_told_its_remedy() -> None:
    """It is what most often makes a part of a password the host."""
    for url in (f"postgresql://me:p@{SECRET}@{HERE}/db", f"postgresql://me/p@{HERE}/db"):
        assert refusal(lambda: Ledger.open(url)) == (  # noqa: B023
            "ledger must have no @ in its host or its name; write an @ of a password as %40, got 'postgresql://...'"
        )
    message = refusal(lambda: Ledger.open(f"postgresql://me:p%40{SECRET}@{HERE}/db"))
    assert message.startswith("ledger '127.0.0.1/db' cannot be reached")


@pytest.mark.parametrize("host", ["a" * 70, "a..b"])
def test_a_host_that_no_name_may_be_cannot_be_reached(host: str) -> None:
    """The driver fails before it connects, in words of another kind."""
    message = refusal(lambda: Ledger.open(f"postgresql://me:{SECRET}@{host}/db"))
    assert message.startswith(f"ledger '{host}/db' cannot be reached; check its address")


@pytest.mark.parametrize(
    "options", ["?host=/nowhere", "?host=::1", "?host=127.0.0.1,/nowhere", "?host=::1%25lo", "?port=1"]
)
def test_several_forms_of_a_host_are_tried(options: str) -> None:
    """A folder, an address of six, a list."""
    message = refusal(lambda: Ledger.open(f"postgresql://127.0.0.1:1/db{options}"))
    assert "cannot be reached; check its address" in message


def test_a_servers_address_shows_no_password() -> None:
    """A text that may be an address is shown by its host and database only."""
    message = refusal(lambda: Ledger.open("postgresql://me:secret@localhost:1/ledger"))
    assert re.match(r"ledger 'localhost/ledger' cannot be reached; check its address", message)


def test_a_server_without_its_driver_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """PostgreSQL is an extra of the package."""
    monkeypatch.setitem(sys.modules, "psycopg", None)
    message = refusal(lambda: Ledger.open("postgresql://me:secret@host/ledger"))
    assert message == (
        "ledger 'host/ledger' needs the package psycopg; install noisycount's extra postgres: "
        "pip install '.[postgres]' in the folder of its sources, or 'PATH.whl[postgres]' from a "
        "wheel of it (Install and first count: noisycount docs start/install)"
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
    assert message.startswith(f"ledger '{path}' is empty, and a ledger never is; restore it from a copy")


def test_a_locked_ledger_refuses_in_time(path: Path) -> None:
    """Nothing is reserved or stored; once the lock is gone, everything is."""
    with Ledger.open(f"sqlite:///{path}?timeout=0.05") as ledger:
        (entry,) = ledger.entries()
        holder = sqlite3.connect(path, isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        for action in (lambda: ledger.reserve("other", other(1), BUDGET), lambda: ledger.store(entry, 5)):
            assert refusal(action).endswith("is locked by another process; wait for it and ask again")
        assert ledger.entries() == [entry]
        holder.close()
        assert ledger.reserve("other", other(1), BUDGET)[1] == other(1).price


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
    """A read-only ledger shows its spends and refuses new ones."""
    url = f"sqlite:///file:{path}?mode=ro&uri=true"
    with Ledger.open(url, create=False) as ledger:
        (entry,) = ledger.entries()
        for action in (lambda: ledger.reserve("other", other(1), BUDGET), lambda: ledger.store(entry, 5)):
            assert refusal(action).endswith("is read-only; make the file and its folder writable")
        assert ledger.spent("survey") == REQUEST.epsilon
        assert ledger.reserve("mine", REQUEST, BUDGET) == (entry, Loss())


def test_a_full_disk_refuses_the_debit_that_does_not_fit(path: Path) -> None:
    """Every debit that was acknowledged is there, and no other."""
    with Ledger.open(f"sqlite:///{path}") as ledger:
        pages = len(path.read_bytes()) // 4096

        def limit(connection: sqlite3.Connection, _: object) -> None:
            connection.execute(f"PRAGMA max_page_count = {pages}")

        ledger.close()
        event.listen(ledger.transactions.reading, "connect", limit)
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
        assert ledger.reserve("last", other(-1), BUDGET)[1] == other(-1).price


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
        assert re.search("is damaged; restore it|is not a ledger|is empty, and a ledger never is", message)
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
            assert re.search("is damaged; restore|holds a ledger no more; restore|is not a ledger", message)
        assert path.read_bytes() == content[:length]
        ledger.close()  # a file that is restored in place must be opened again
        path.write_bytes(content)
        assert ledger.reserve("other", other(1), BUDGET)[1] == other(1).price


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
        assert message.endswith("cannot be opened; check that the file and its folder exist and may be used")
        assert not path.exists()
        with Ledger.open(f"sqlite:///{path}") as new:
            new.reserve("new", other(2), BUDGET)
        assert [each.key for each in ledger.entries()] == ["new"]
        aside.replace(path)
        assert ledger.entries() == [entry]


def test_a_ledger_is_made_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever fails while it is made, no file stays that is not a ledger."""
    path = tmp_path / "ledger.db"
    for module, name in [(ledger_address, "make"), (os, "link"), (os, "fsync")]:
        with monkeypatch.context() as patched:
            patched.setattr(module, name, fail_for_want_of_room)
            message = refusal(lambda: Ledger.open(f"sqlite:///{path}"))
            assert "cannot be used (No space left on device); check its name, its folder" in message
        assert list(tmp_path.iterdir()) in ([], [path])
        path.unlink(missing_ok=True)
    with Ledger.open(f"sqlite:///{path}") as ledger:
        assert ledger.entries() == []
    assert list(tmp_path.iterdir()) == [path]


def fail_for_want_of_room(*_: object, **__: object) -> None:
    """Fail as a full disk does."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("links", [True, False])
def test_a_ledger_and_its_journal_are_their_owners(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, links: bool
) -> None:
    """No other account may read them, however little the process hides otherwise."""
    if not links:
        monkeypatch.setattr(os, "link", refuse_a_link)
    path, before = tmp_path / "ledger.db", os.umask(0)
    modes = set()

    def note(*_: object) -> None:
        modes.update(each.stat().st_mode & 0o777 for each in tmp_path.iterdir())
        seen.update(each.name for each in tmp_path.iterdir())

    seen = set[str]()
    try:
        with Ledger.open(f"sqlite:///{path}") as ledger:
            event.listen(ledger.transactions.writing, "commit", note)
            ledger.reserve("mine", REQUEST, BUDGET)
    finally:
        os.umask(before)
    assert seen == {"ledger.db", "ledger.db-journal"}
    assert modes == {0o600}


def refuse_a_link(*_: object) -> None:
    """Refuse as a disk does that knows no second names."""
    raise OSError(errno.EPERM, os.strerror(errno.EPERM))


def test_the_draft_of_a_maker_that_was_killed_is_removed(tmp_path: Path) -> None:
    """When the ledger is opened next, a minute later: another maker's draft may be fresh."""
    path = tmp_path / "ledger.db"
    if os.fork() == 0:
        ledger_address._publish_draft = lambda *_: os._exit(0)  # noqa: SLF001 - killed right there
        Ledger.open(f"sqlite:///{path}")
    os.wait()
    (draft,) = tmp_path.iterdir()
    journal = draft.with_name(f"{draft.name}-journal")
    journal.touch()
    kept = [tmp_path / name for name in (f"other{draft.name}", "ledger.db.new", f"{draft.name}x")]
    for file in kept:
        file.touch()
    Ledger.open(f"sqlite:///{path}").close()
    assert set(tmp_path.iterdir()) == {path, draft, journal, *kept}
    for file in tmp_path.iterdir():
        os.utime(file, (0, 0))
    Ledger.open(f"sqlite:///{path}", create=False).close()
    assert draft.exists(), "who only reads removes nothing"
    Ledger.open(f"sqlite:///{path}").close()
    assert set(tmp_path.iterdir()) == {path, *kept}


def test_a_disk_without_second_names_holds_a_ledger(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If no hard link can be made, the whole file is copied; an existing ledger is kept."""
    monkeypatch.setattr(os, "link", refuse_a_link)
    with Ledger.open(f"sqlite:///{tmp_path}/new.db") as ledger:
        ledger.reserve("mine", REQUEST, BUDGET)
        assert ledger.verify().head.number == 1
    before = path.read_bytes()
    draft = tmp_path / "draft"
    draft.write_bytes(b"another")
    ledger_address._publish_draft(draft, path)  # noqa: SLF001 - a race that is hard to win
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


@pytest.mark.parametrize("statement", ["UPDATE ledger SET epsilon = '0.01'", "DELETE FROM ledger"])
def test_the_tests_can_do_damage(path: Path, statement: str) -> None:
    """Without its guards, a ledger can be changed: only its hashes tell."""
    with Ledger.open(f"sqlite:///{path}") as ledger:
        written = ledger.verify().head
        assert (written.number, ledger.verify(written).broken) == (1, None)
        change(ledger, statement)
        assert ledger.verify(written).broken == 1


@pytest.mark.parametrize(
    ("name", "why"), [("locked/ledger.db", "Permission denied"), ("x" * 300, "File name too long")]
)
@pytest.mark.parametrize("create", [True, False])
def test_a_file_that_cannot_be_looked_for_is_refused(name: str, why: str, *, create: bool) -> None:
    """A folder that the account may not enter, a name that no disk holds."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        (Path(folder) / "locked").mkdir(mode=0o000)
        with ProcessPoolExecutor(1, mp_context=desk_workers.processes()) as pool:
            file = f"{folder}/{name}"
            message = pool.submit(refusal_without_permission, file, create=create).result()
    assert message == (f"ledger '{file}' cannot be used ({why}); check its name, its folder and its disk")


def refusal_without_permission(file: str, *, create: bool) -> str:
    """Give the refusal that an account meets that may not enter every folder."""
    with suppress(LedgerError):
        Ledger.open("sqlite:///nowhere/ledger.db")  # nobody may not read what this imports
    if os.geteuid() == 0:
        os.setresuid(desk_workers.NOBODY, desk_workers.NOBODY, desk_workers.NOBODY)
    return refusal(lambda: Ledger.open(f"sqlite:///{file}", create=create))


def test_the_longest_names_hold_a_ledger(tmp_path: Path) -> None:
    """The file that it is drafted in needs no longer name; a longer one is refused in our words."""
    with Ledger.open(f"sqlite:///{tmp_path}/{'x' * 240}") as ledger:
        assert ledger.reserve("mine", REQUEST, BUDGET)[1] == REQUEST.price
    assert [len(path.name) for path in tmp_path.iterdir()] == [240]
    with Ledger.open(f"sqlite:///{tmp_path}/{'x' * 254}") as ledger:
        message = refusal(lambda: ledger.reserve("mine", REQUEST, BUDGET))
    assert "cannot be opened; check that the file and its folder exist" in message


def test_a_text_that_cannot_be_read_is_damage(path: Path) -> None:
    """SQLite keeps bytes that are no text; Python cannot read them."""
    with Ledger.open(f"sqlite:///{path}") as ledger:
        change(ledger, "UPDATE ledger SET question = CAST(X'ff' AS TEXT)")
        for action in (ledger.entries, ledger.rows, ledger.verify):
            assert refusal(action).endswith(f"is damaged; {RESTORE}")


def every_action(ledger: Ledger, entry: Entry) -> list[Callable[[], object]]:
    """Give all that can be done with an open ledger."""
    return [
        lambda: ledger.reserve("other", other(1), BUDGET),
        lambda: ledger.store(entry, 5),
        lambda: ledger.spent("survey"),
        lambda: ledger.paid("survey"),
        lambda: ledger.paid_by("analyst"),
        ledger.entries,
        ledger.rows,
        ledger.verify,
        ledger.is_made,
    ]


def test_a_closed_ledger_connects_again(path: Path) -> None:
    """However often it is closed; nothing of the engine's is raised."""
    with Ledger.open(f"sqlite:///{path}") as ledger:
        (entry,) = ledger.entries()
        for action in every_action(ledger, entry):
            ledger.close()
            ledger.close()
            action()
        assert ledger.verify().head.number == 3


FAILURES = [
    *(sqlite3.OperationalError("odd"), sqlite3.ProgrammingError("Cannot operate on a closed")),
    *(sqlite3.InterfaceError("odd"), sqlite3.DatabaseError("odd"), sqlite3.InternalError("odd")),
    *(OSError(errno.EIO, "odd"), UnicodeDecodeError("utf-8", b"odd", 0, 1, "odd")),
    *(exc.InvalidRequestError("odd"), exc.ResourceClosedError("odd"), exc.NoSuchTableError("odd")),
    *(exc.PendingRollbackError("odd"), exc.DisconnectionError("odd"), exc.TimeoutError("odd")),
]


@pytest.mark.parametrize("failure", FAILURES, ids=lambda failure: type(failure).__name__)
@pytest.mark.parametrize("when", ["do_connect", "do_execute", "do_commit"])
def test_whatever_the_engine_raises_is_refused_in_our_words(path: Path, failure: Exception, when: str) -> None:
    """When it connects, reads or writes; afterwards the ledger is as it was, and goes on."""
    with Ledger.open(f"sqlite:///{path}") as ledger:
        (entry,) = ledger.entries()

        def fail(*_: object, **__: object) -> None:
            raise failure

        dialect = ledger.transactions.reading.dialect
        broken = {"do_connect": "connect", "do_execute": "do_execute", "do_commit": "do_commit"}
        for action in every_action(ledger, entry):
            ledger.close()
            with pytest.MonkeyPatch.context() as patched:
                patched.setattr(dialect, broken[when], fail)
                message = refusal(action)
            assert message.startswith(f"ledger '{path}' ")
            assert "odd" not in message
        assert ledger.entries() == [entry]
        assert ledger.verify().broken is None


def test_a_ledger_works_on_after_a_fork(path: Path) -> None:
    """The child connects anew; what it and its parent write is one chain."""
    with ProcessPoolExecutor(1, mp_context=desk_workers.processes()) as pool:
        assert pool.submit(what_a_fork_tells, path).result() == ["", ""]
    with Ledger.open(f"sqlite:///{path}") as ledger:
        assert [entry.key for entry in ledger.entries()] == ["mine", "other", "parent's"]
        assert ledger.verify().broken is None


def what_a_fork_tells(path: Path) -> list[str]:
    """Give what went wrong in a child that uses its parent's open ledger, and in the parent."""
    told = []
    reading, writing = os.pipe()
    with Ledger.open(f"sqlite:///{path}") as ledger:
        (entry,) = ledger.entries()
        if os.fork() == 0:
            wrong = ""
            try:
                for action in every_action(ledger, entry):
                    action()
            except BaseException as error:  # noqa: BLE001 - the child must end here
                wrong = repr(error)
            os.write(writing, wrong.encode())
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading) as pipe:
            told.append(pipe.read())
        os.wait()
        ledger.reserve("parent's", other(2), BUDGET)
        told.append(ledger.verify().why)
    return told
