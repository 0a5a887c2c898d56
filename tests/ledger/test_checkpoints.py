"""Checkpoints: a ledger that goes on from one does what it would do after all of its rows were read.

Tests of `ledger/resuming.py`.
"""

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from noisycount.errors import BudgetError
from noisycount.ledger import checkpoints
from noisycount.ledger.budget import Loss
from noisycount.ledger.chain import CHECKPOINT, row_hash
from noisycount.ledger.checkpoints import UnreadRowsError
from noisycount.ledger.entries import Analyst, Head
from noisycount.ledger.ledger import Ledger
from noisycount.ledger.replies import Reply
from tests.helpers.ledger_damage import FORBIDDEN, REFUSED, SMALL_PAGES, Change, Sample, sample, served_sample
from tests.helpers.ledgers import asked, change, refusal, watch_queries

EVERY = 4  # rows: a checkpoint
RICH = Fraction(100)
ANA, BEN = Analyst("ana"), Analyst("ben")


@pytest.fixture(autouse=True)
def frequent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every fourth row is a checkpoint."""
    monkeypatch.setattr(checkpoints, "INTERVAL", EVERY)


def filled(path: Path, number: int = 20) -> str:
    """Make a ledger of some answers; return its address."""
    url = f"sqlite:///{path}"
    with Ledger.open(url) as ledger:
        for each in range(number):
            entry, _ = ledger.reserve(f"key {each}", asked(each), RICH, ANA)
            ledger.store(entry, 100 + each)
    return url


def test_the_rows_at_the_multiples_are_checkpoints(tmp_path: Path) -> None:
    """And no other row is."""
    with Ledger.open(filled(tmp_path / "ledger.db")) as ledger:
        kinds = {row["number"]: row["kind"] for row in ledger.rows()}
        assert ledger.verify().broken is None
    assert {number for number, kind in kinds.items() if kind == CHECKPOINT} == set(range(EVERY, len(kinds), EVERY))


def test_an_opening_reads_the_rows_from_the_newest_checkpoint_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of others it reads the checkpoints alone, and a debit and its answer once they are asked for."""
    read = list[int]()
    with Ledger.open(filled(tmp_path / "ledger.db", 40)) as ledger:
        rows = len(ledger.rows())

    def note(_: object, query: str, values: Sequence[int]) -> None:
        if query.startswith("SELECT ledger."):
            read.extend(values or [0])

    with Ledger.open(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        watch_queries(ledger, monkeypatch, note)
        assert ledger.spent("survey") == 4
        newest = rows - rows % EVERY
        assert sorted(read) == [*range(EVERY, newest, EVERY), newest, newest + 1]
        read.clear()
        entry = ledger.entry("key 7")
        assert entry is not None
        assert entry.answer == 107
        assert len(set(read) - {rows}) <= 2


def test_what_was_sealed_is_free_and_has_one_answer(tmp_path: Path) -> None:
    """A repeat, a top-up's debit, a reply and a used key are known as if all rows had been read."""
    url = filled(tmp_path / "ledger.db")
    with Ledger.open(url) as ledger:
        reply = Reply("ana:1", "survey", "a digest", b"100")
        ledger.replies.store(reply)
        for each in range(3):
            ledger.reserve(f"later {each}", asked(100 + each), RICH, ANA)
    with Ledger.open(url) as ledger:
        assert ledger.replies.get("ana:1") == reply
        assert ledger.replies.store(replace(reply, content=b"another")).content == b"100"
        for each in range(20):
            entry, charged = ledger.reserve(f"again {each}", asked(each), RICH, BEN)
            assert (entry.answer, bool(charged), entry.key) == (100 + each, False, f"key {each}")
        assert [entry.answer for entry in ledger.entries_asking(asked(3), (), BEN)] == [103]
        assert "was used for another question" in refusal(lambda: ledger.reserve("key 3", asked(999), RICH, ANA))
        with pytest.raises(BudgetError):
            ledger.reserve("new", asked(999), Fraction(23, 10), ANA)
    with Ledger.open(url) as ledger:
        found = ledger.entry("key 3")
        assert found is not None
        assert found.askers == ("ana", "ben")
        assert ledger.verify().broken is None


def test_a_new_question_reads_no_row_before_it_charges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After an opening from a checkpoint too. A reply and a question of sealed rows are read, and are free."""
    url, queries = filled(tmp_path / "ledger.db"), list[str]()
    reply = Reply("ana:0", "survey", "a digest", b"100")
    with Ledger.open(url) as ledger:
        ledger.replies.store(reply)
        for number in range(EVERY):
            ledger.reserve(f"later {number}", asked(100 + number), RICH, ANA)

    def spend(number: int) -> tuple[Reply | None, Loss, bool]:
        queries.clear()
        found, reads_row = ledger.replies.get(f"ana:{number}"), bool(queries)
        charged = ledger.reserve(
            f"ana:{number}", asked(number), RICH, ANA, prepare=lambda: prepared.append(len(queries))
        )
        return found, charged[1], reads_row

    prepared = list[int]()
    with Ledger.open(url) as ledger:
        ledger.paid("survey")
        watch_queries(ledger, monkeypatch, lambda _, query, __: queries.append(query))
        assert ledger.transactions.with_one_reading(lambda: spend(200)) == (
            None,
            Loss.from_epsilon(Fraction(1, 10)),
            False,
        )
        assert prepared == [0]
        assert ledger.transactions.with_one_reading(lambda: spend(0)) == (reply, Loss(), True)
        assert ledger.transactions.with_one_reading(lambda: spend(1)) == (None, Loss(), False)
        assert prepared == [0]
        with pytest.raises(UnreadRowsError, match="ask again"):
            ledger.transactions.known.entry(None, "key 2")  # type: ignore[arg-type] - no transaction


def test_a_key_that_is_the_digest_of_a_question_hides_no_answer(tmp_path: Path) -> None:
    """Keys and subjects have names of their own in the index."""
    url = f"sqlite:///{tmp_path}/ledger.db"
    subject = asked(1).digest
    with Ledger.open(url) as ledger:
        ledger.reserve(subject, asked(2), RICH, ANA)
        entry, _ = ledger.reserve("own", asked(1), RICH, ANA)
        ledger.store(entry, 5)
        for each in range(10, 15):
            ledger.reserve(f"{each}", asked(each), RICH, ANA)
    with Ledger.open(url) as ledger:
        assert ledger.entry(subject) is not None
        assert ledger.reserve("another", asked(1), RICH, ANA)[0].answer == 5


@pytest.mark.parametrize("part", ["datasets", "analysts", "rows", "has_replies", "previous"])
@pytest.mark.parametrize("is_rewritten", [False, True])
def test_a_forged_checkpoint_is_found(tmp_path: Path, part: str, *, is_rewritten: bool) -> None:
    """By every opening while the rows after it are as they were; by `verify` and by a head if these are rewritten."""
    url = filled(tmp_path / "ledger.db")
    with Ledger.open(url) as ledger:
        head, rows = ledger.verify().head, ledger.rows()
    newest = max(row["number"] for row in rows if row["kind"] == CHECKPOINT)
    forge(tmp_path / "ledger.db", newest, part, is_rewritten=is_rewritten)
    with Ledger.open(url, create=False) as ledger:
        found = ledger.verify()
        assert found.broken == newest
        assert "is a checkpoint that does not hold what the rows before it add up to" in found.why
        if not is_rewritten:
            assert f"row {newest} of the ledger is damaged" in refusal(lambda: ledger.spent("survey"))
            return
    message = refusal(lambda: Ledger.open(url, create=False, known_head=head))
    assert "does not hold the row of the stated head" in message


def forge(path: Path, number: int, part: str, *, is_rewritten: bool) -> None:
    """Change a part of a checkpoint and its hash; and those of all rows after it, if these are rewritten."""
    forged = {
        "datasets": {"survey": ["0", "0", "0"]},
        "analysts": {},
        "rows": "",
        "has_replies": True,
        "previous": str(Head()),
    }
    with Ledger.open(f"sqlite:///{path}") as ledger:
        rows = {row["number"]: row for row in ledger.rows()}
        statements = list[str]()
        row = rows[number]
        row["question"] = json.dumps({**json.loads(row["question"]), part: forged[part]})
        for each in range(number, len(rows) + 1 if is_rewritten else number + 1):
            if each > number:
                rows[each]["previous"] = rows[each - 1]["hash"]
            rows[each]["hash"] = row_hash(rows[each])
            values = ", ".join(f"{name} = '{rows[each][name]}'" for name in ("question", "previous", "hash"))
            statements.append(f"UPDATE ledger SET {values} WHERE number = {each}".replace("'None'", "NULL"))  # noqa: S608 - ours
        change(ledger, *statements)


def test_a_head_from_before_a_checkpoint_leaves_it_out(tmp_path: Path) -> None:
    """A forged checkpoint cannot hide spends that are older than a known head."""
    url = filled(tmp_path / "ledger.db", 5)
    with Ledger.open(url) as ledger:
        head = ledger.verify().head
    filled(tmp_path / "ledger.db", 8)
    with Ledger.open(url) as ledger:
        newest = max(row["number"] for row in ledger.rows() if row["kind"] == CHECKPOINT)
    assert newest > head.number
    forge(tmp_path / "ledger.db", newest, "datasets", is_rewritten=True)
    with Ledger.open(url, known_head=head) as ledger:
        assert f"row {newest} of the ledger is damaged" in refusal(lambda: ledger.spent("survey"))


def test_a_sealed_row_that_was_rewritten_is_refused_where_it_is_needed(tmp_path: Path) -> None:
    """Its own hash is right; that in the index of the checkpoint is another."""
    url = filled(tmp_path / "ledger.db")
    with Ledger.open(url) as ledger:
        row = next(row for row in ledger.rows() if row["answer"] == "101")
        row["answer"] = "999"
        change(ledger, f"UPDATE ledger SET answer = '999', hash = '{row_hash(row)}' WHERE number = {row['number']}")  # noqa: S608
    with Ledger.open(url) as ledger:
        assert ledger.spent("survey") == 2
        assert f"row {row['number']} of the ledger is damaged" in refusal(lambda: ledger.entry("key 1"))
        assert ledger.verify().broken == row["number"] + 1


def test_newest_rows_that_a_page_hides_are_missed(tmp_path: Path) -> None:
    """The rows that are left are an intact chain, but the index of hashes knows a follower."""
    url = filled(tmp_path / "ledger.db")
    shell = sqlite3.connect(tmp_path / "ledger.db")
    shell.execute("PRAGMA writable_schema = ON")
    shell.execute("DROP TRIGGER ledger_refuses_delete")
    shell.execute("CREATE TABLE kept AS SELECT * FROM ledger")
    root = shell.execute("SELECT rootpage FROM sqlite_master WHERE name = 'kept'").fetchone()[0]
    shell.execute("DELETE FROM kept WHERE number > 30")
    shell.commit()
    shell.execute("UPDATE sqlite_master SET rootpage = ? WHERE name = 'ledger'", (root,))
    shell.commit()
    shell.close()
    with Ledger.open(url) as ledger:
        assert "is damaged; restore it" in refusal(lambda: ledger.spent("survey"))


@pytest.mark.thorough
@pytest.mark.always
@pytest.mark.parametrize("is_open", [False, True])
def test_no_byte_overspends_or_answers_twice_where_there_are_checkpoints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_open: bool
) -> None:
    """Bytes of each page's header, and some hundred others, on small pages."""
    monkeypatch.setattr(checkpoints, "INTERVAL", 3)
    made = sample(tmp_path / "ledger.db", SMALL_PAGES)
    starts = (100, *range(SMALL_PAGES, len(made.content), SMALL_PAGES))
    headers = [{start + place: made.content[start + place] ^ 1} for start in starts for place in range(12)]
    zeroed: list[Change] = [{start + 3: 0, start + 4: 0} for start in starts]
    others = [{place: made.content[place] ^ 255} for place in range(0, len(made.content), 67)]
    changes = [*headers[:: 3 if is_open else 1], *zeroed, *others]
    found = made.outcomes(changes, is_open=is_open)
    assert not any(found[each] for each in FORBIDDEN)


@pytest.mark.thorough
@pytest.mark.always
def test_verify_finds_every_byte_that_changes_what_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some hundred bytes of a served ledger with checkpoints: nothing that it tells changes in silence."""
    monkeypatch.setattr(checkpoints, "INTERVAL", 3)
    served = served_sample(tmp_path / "ledger.db", SMALL_PAGES)
    assert is_untouched(served)
    found = served.tellings({place: served.content[place] ^ 1} for place in range(0, len(served.content), 101))
    assert found.keys() == {REFUSED}


def is_untouched(served: Sample) -> bool:
    """Return True if a sample holds a checkpoint, and all its rows verify."""
    with Ledger.open(f"sqlite:///{served.path}") as ledger:
        kinds = {row["kind"] for row in ledger.rows()}
        return CHECKPOINT in kinds and ledger.verify().broken is None
