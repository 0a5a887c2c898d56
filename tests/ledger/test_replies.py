"""Replies, written with their answers, and what becomes of those that somebody changed in the database."""

import json
import sqlite3
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

import pytest
from sqlalchemy import event, exc

from noisycount.errors import LedgerError
from noisycount.ledger.chain import chained_row, reply_columns
from noisycount.ledger.entries import Analyst, Entry, Head, TableAnswer
from noisycount.ledger.ledger import Ledger
from noisycount.ledger.replies import Reply
from noisycount.ledger.verification import verification
from tests.helpers.ledgers import TENTH, asked, refusal

START = datetime(2026, 1, 1, tzinfo=UTC)
NAMES = ("ana:1", "bo:1", "ana:table")
TABLE = TableAnswer.from_levels([[5, -1], [4]])


def told(name: str, answer: int | list[int]) -> Reply:
    """Give a reply as a service writes it, of a count or of a table."""
    said: dict[str, object] = {"key": name, "analyst": name.partition(":")[0], "dataset": "survey"}
    rows = answer if isinstance(answer, int) else [{"answer": each} for each in answer]
    said["answer" if isinstance(answer, int) else "rows"] = rows
    return Reply(name, "survey", f"digest of {name}", json.dumps(said).encode())


REPLIES = {"ana:1": told("ana:1", 103), "bo:1": told("bo:1", 103), "ana:table": told("ana:table", [5, -1, 4])}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Give the file of a ledger with a count, a table, and a count that was repeated."""
    path = tmp_path / "ledger.db"
    with Ledger.open(f"sqlite:///{path}") as ledger:
        replies = ledger.replies
        for number, (name, answer) in enumerate([("ana:1", 103), ("ana:table", TABLE)]):
            entry, _ = ledger.reserve(name, asked(number), Fraction(1), Analyst("ana"))
            ledger.store(entry, answer, replies.attached_write(REPLIES[name]))
        replies.store(REPLIES["bo:1"])
    return path


@pytest.fixture
def older(path: Path) -> Path:
    """Give the same as an older noisycount left it: no row is of a reply."""
    with closing(sqlite3.connect(path)) as shell:
        kept = shell.execute("SELECT * FROM replies").fetchall()
    path.unlink()
    with Ledger.open(f"sqlite:///{path}") as ledger:
        for number, (name, answer) in enumerate([("ana:1", 103), ("ana:table", TABLE)]):
            entry, _ = ledger.reserve(name, asked(number), Fraction(1), Analyst("ana"))
            ledger.store(entry, answer)
        with ledger.transactions.writing.begin() as connection:
            connection.exec_driver_sql(
                "CREATE TABLE replies (name TEXT NOT NULL, dataset TEXT NOT NULL,"
                " request TEXT NOT NULL, reply BLOB NOT NULL, PRIMARY KEY (name))"
            )
            for row in kept:
                connection.exec_driver_sql("INSERT INTO replies VALUES (?, ?, ?, ?)", row)
    return path


def changed(path: Path, statement: str, *values: object) -> None:
    """Change the table of replies as somebody does who may write to the file."""
    with closing(sqlite3.connect(path)) as shell, shell:
        assert shell.execute(statement, values).rowcount == 1


def packed(name: str, answer: int | list[int]) -> bytes:
    """Give the bytes that keep a reply."""
    return zlib.compress(told(name, answer).content, 1)


CHANGES: dict[str, Callable[[Path], None]] = {
    "an answer": lambda path: changed(path, "UPDATE replies SET reply = ? WHERE name = 'ana:1'", packed("ana:1", 104)),
    "an asker": lambda path: changed(path, "UPDATE replies SET name = 'e:1' WHERE name = 'bo:1'"),
    "a data set": lambda path: changed(path, "UPDATE replies SET dataset = 'other' WHERE name = 'bo:1'"),
    "a question": lambda path: changed(path, "UPDATE replies SET request = 'other' WHERE name = 'bo:1'"),
    "one removed": lambda path: changed(path, "DELETE FROM replies WHERE name = 'ana:table'"),
    "one added": lambda path: changed(path, "INSERT INTO replies VALUES ('e:1', 'survey', 'd', ?)", packed("e:1", 103)),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_reply_that_is_not_as_it_was_given_is_told_and_given_to_nobody(path: Path, what: str) -> None:
    """`verify` names it, and whoever asks for it is refused in one line; all others get theirs."""
    CHANGES[what](path)
    with Ledger.open(f"sqlite:///{path}") as ledger:
        found, replies = ledger.verify(), ledger.replies
        assert found.broken is not None
        assert "reply '" in found.why
        refused = dict[str, str]()
        for name in (*NAMES, "e:1"):
            try:
                assert replies.get(name) == REPLIES.get(name)
            except LedgerError as error:
                refused[name] = str(error)
    assert len(refused) == (2 if what == "an asker" else 1)
    for name, message in refused.items():
        assert f"reply {name!r}" in message
        assert "restore it from a copy" in message


def test_a_table_of_replies_that_is_gone_is_told(path: Path) -> None:
    """The rows of the ledger know what it held."""
    with closing(sqlite3.connect(path)) as shell, shell:
        shell.execute("DROP TABLE replies")
    with Ledger.open(f"sqlite:///{path}") as ledger:
        assert ledger.verify().broken == 3
        assert "was changed after it was given" in refusal(lambda: ledger.replies.get("ana:1"))


def test_no_other_reply_takes_the_place_of_one_that_is_gone(path: Path) -> None:
    """A repeat under the key of a removed reply is refused, and nothing is written."""
    CHANGES["one removed"](path)
    with Ledger.open(f"sqlite:///{path}") as ledger:
        again = told("ana:table", [7, 7, 7])
        assert "was changed after it was given" in refusal(lambda: ledger.replies.store(again))
        assert ledger.verify().broken is not None


def test_two_rows_of_one_reply_are_found() -> None:
    """A forged second reply with a right hash is refused."""
    first = chained_row(Head(), reply_columns("ana:1", "a", START))
    second = chained_row(Head(1, first["hash"]), reply_columns("ana:1", "b", START))
    found = verification([first, second])
    assert (found.broken, found.why) == (2, "is a second reply to one request")


def test_replies_of_an_older_form_are_given_byte_for_byte(older: Path) -> None:
    """Of a count, of a table and of a repetition; `verify` says that it knows less of them."""
    with Ledger.open(f"sqlite:///{older}") as ledger:
        found = ledger.verify()
        assert (found.broken, found.older_replies, found.head.number) == (None, 3, 4)
        for name in NAMES:
            assert ledger.replies.get(name) == REPLIES[name]


def older_changes() -> Iterator[tuple[str, str, tuple[object, ...]]]:
    """Give what somebody may do to replies of an older form."""
    yield "ana:1", "UPDATE replies SET reply = ? WHERE name = 'ana:1'", (packed("ana:1", 104),)
    yield "bo:1", "UPDATE replies SET reply = ? WHERE name = 'bo:1'", (packed("bo:1", 104),)
    rows = packed("ana:table", [5, 5, 4])
    yield "ana:table", "UPDATE replies SET reply = ? WHERE name = 'ana:table'", (rows,)
    yield "eve:1", "UPDATE replies SET name = 'eve:1' WHERE name = 'bo:1'", ()
    yield "bo:1", "UPDATE replies SET reply = x'00' WHERE name = 'bo:1'", ()
    yield "bo:1", "UPDATE replies SET reply = 'text' WHERE name = 'bo:1'", ()


@pytest.mark.parametrize(("name", "statement", "values"), list(older_changes()))
def test_a_reply_of_an_older_form_must_repeat_an_answer(
    older: Path, name: str, statement: str, values: tuple[object, ...]
) -> None:
    """Another answer, or another asker, is told by `verify` and given to nobody, then and later."""
    changed(older, statement, *values)
    with Ledger.open(f"sqlite:///{older}") as ledger:
        assert f"reply {name!r}" in refusal(ledger.verify)
        assert f"reply {name!r}" in refusal(lambda: ledger.replies.get(name))
        ledger.replies.store(told("cleo:1", 103))
        assert f"reply {name!r}" in refusal(lambda: ledger.replies.get(name))
        found = ledger.verify()
        assert found.broken is not None
        assert f"reply {name!r} is in no row" in found.why


def test_replies_of_an_older_form_come_into_the_ledger_with_the_next(older: Path) -> None:
    """From then on each byte counts, and none can be added."""
    with Ledger.open(f"sqlite:///{older}") as ledger:
        ledger.replies.store(told("cleo:1", 103))
        found = ledger.verify()
        assert (found.broken, found.older_replies, found.head.number) == (None, 0, 8)
        for name in NAMES:
            assert ledger.replies.get(name) == REPLIES[name]
    spaced = zlib.compress(REPLIES["bo:1"].content + b" ", 1)
    changed(older, "UPDATE replies SET reply = ? WHERE name = 'bo:1'", spaced)
    with Ledger.open(f"sqlite:///{older}") as ledger:
        assert "reply 'bo:1'" in ledger.verify().why
        assert "was changed after it was given" in refusal(lambda: ledger.replies.get("bo:1"))


FIRST = Reply("ana:1", "survey", "a digest", b"103")


@pytest.fixture
def replying(ledger_url: str) -> Iterator[Ledger]:
    """Give a ledger with a table of replies."""
    with Ledger.open(ledger_url) as ledger:
        ledger.replies.store(Reply("ana:0", "survey", "another digest", b"7"))
        yield ledger


def debit(ledger: Ledger, number: int) -> Entry:
    """Give a debit without an answer."""
    return ledger.reserve(f"ana:{number}", asked(number, TENTH), Fraction(1))[0]


def test_a_reply_is_kept_with_its_answer_in_one_commit(replying: Ledger) -> None:
    """It is there afterwards, and the write says so."""
    entry, replies, commits = debit(replying, 1), replying.replies, list[object]()
    attached = replies.attached_write(FIRST)
    event.listen(replying.transactions.writing, "commit", commits.append)
    assert not attached.is_written
    assert replying.store(entry, 103, attached).answer == 103
    assert attached.is_written
    assert len(commits) == 1
    assert replying.replies.get("ana:1") == FIRST
    assert replying.verify().broken is None


def test_what_goes_with_a_second_answer_is_not_written(replying: Ledger) -> None:
    """The first answer stays, and nothing reveals another."""
    entry, replies = debit(replying, 1), replying.replies
    replying.store(entry, 103)
    attached = replies.attached_write(FIRST)
    assert replying.store(entry, 99, attached).answer == 103
    assert not attached.is_written
    assert replies.get("ana:1") is None


def test_a_reply_that_was_kept_before_stays(replying: Ledger) -> None:
    """The answer is stored, and the write beside it was not made."""
    entry, replies = debit(replying, 1), replying.replies
    replies.store(FIRST)
    attached = replies.attached_write(Reply("ana:1", "survey", "a digest", b"99"))
    assert replying.store(entry, 99, attached).answer == 99
    assert not attached.is_written
    assert replies.get("ana:1") == FIRST


def test_no_answer_is_stored_with_a_reply_whose_place_is_taken(path: Path) -> None:
    """Somebody added a row to the table of replies. It is neither given nor replaced."""
    CHANGES["one added"](path)
    with Ledger.open(f"sqlite:///{path}") as ledger:
        entry, _ = ledger.reserve("e:1", asked(9, TENTH), Fraction(1))
        attached = ledger.replies.attached_write(Reply("e:1", "survey", "a digest", b"103"))
        with pytest.raises(LedgerError):
            ledger.store(entry, 103, attached)
        assert not attached.is_written
        assert ledger.entries()[-1].answer is None
        assert "is in no row" in refusal(lambda: ledger.replies.get("e:1"))


def test_where_the_commit_is_refused_neither_is_there(replying: Ledger) -> None:
    """No answer without its reply, and no reply without its answer."""
    entry, replies = debit(replying, 1), replying.replies
    attached = replies.attached_write(FIRST)

    def fail(*_: object) -> None:
        raise exc.OperationalError("a statement", {}, OSError("no room"))

    event.listen(replying.transactions.writing, "commit", fail)
    with pytest.raises(LedgerError):
        replying.store(entry, 103, attached)
    event.remove(replying.transactions.writing, "commit", fail)
    assert not attached.is_written
    assert replies.get("ana:1") is None
    assert replying.entries()[-1].answer is None
    assert replying.store(entry, 104, attached).answer == 104
    assert attached.is_written
