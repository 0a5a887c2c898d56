"""What is written with an answer, in its transaction."""

from collections.abc import Iterator
from fractions import Fraction

import pytest
from sqlalchemy import event, exc

from noisycount.errors import LedgerError
from noisycount.ledger.entries import Entry
from noisycount.ledger.ledger import Ledger
from noisycount.ledger.replies import Reply
from tests.ledger.ledgers import TENTH, asked

FIRST = Reply("ana:1", "survey", "a digest", b"103")


@pytest.fixture
def ledger(ledger_url: str) -> Iterator[Ledger]:
    """Give a ledger with a table of replies."""
    with Ledger.open(ledger_url) as ledger:
        ledger.replies.kept(Reply("ana:0", "survey", "another digest", b"7"))
        yield ledger


def debit(ledger: Ledger, number: int) -> Entry:
    """Give a debit without an answer."""
    return ledger.reserve(f"ana:{number}", asked(number, TENTH), Fraction(1))[0]


def test_a_reply_is_kept_with_its_answer_in_one_commit(ledger: Ledger) -> None:
    """It is there afterwards, and the write says so."""
    entry, replies, commits = debit(ledger, 1), ledger.replies, list[object]()
    attached = replies.attached(FIRST)
    event.listen(ledger.writing, "commit", commits.append)
    assert not attached.is_written
    assert ledger.store(entry, 103, attached).answer == 103
    assert attached.is_written
    assert len(commits) == 1
    assert ledger.replies.of("ana:1") == FIRST
    assert ledger.verify().broken is None


def test_what_goes_with_a_second_answer_is_not_written(ledger: Ledger) -> None:
    """The first answer stays, and nothing tells of another."""
    entry, replies = debit(ledger, 1), ledger.replies
    ledger.store(entry, 103)
    attached = replies.attached(FIRST)
    assert ledger.store(entry, 99, attached).answer == 103
    assert not attached.is_written
    assert replies.of("ana:1") is None


def test_a_reply_that_was_kept_before_stays(ledger: Ledger) -> None:
    """The answer is stored, and the write beside it was not made."""
    entry, replies = debit(ledger, 1), ledger.replies
    replies.kept(FIRST)
    attached = replies.attached(Reply("ana:1", "survey", "a digest", b"99"))
    assert ledger.store(entry, 99, attached).answer == 99
    assert not attached.is_written
    assert replies.of("ana:1") == FIRST


def test_where_the_commit_is_refused_neither_is_there(ledger: Ledger) -> None:
    """No answer without its reply, and no reply without its answer."""
    entry, replies = debit(ledger, 1), ledger.replies
    attached = replies.attached(FIRST)

    def fail(*_: object) -> None:
        raise exc.OperationalError("a statement", {}, OSError("no room"))

    event.listen(ledger.writing, "commit", fail)
    with pytest.raises(LedgerError):
        ledger.store(entry, 103, attached)
    event.remove(ledger.writing, "commit", fail)
    assert not attached.is_written
    assert replies.of("ana:1") is None
    assert ledger.entries()[-1].answer is None
    assert ledger.store(entry, 104, attached).answer == 104
    assert attached.is_written
