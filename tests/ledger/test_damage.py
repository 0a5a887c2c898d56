"""A damaged file makes a ledger refuse, and do nothing else."""

import shutil
from collections.abc import Sequence
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection

from noisycount.ledger import replies, storage
from noisycount.ledger.budget import PureBudget
from noisycount.ledger.ledger import Ledger
from noisycount.ledger.storage import LEDGER, REPLIES
from noisycount.ledger.verification import verification
from tests.helpers.ledger_damage import (
    FORBIDDEN,
    OVERSPENT,
    REFUSED,
    SILENT,
    SMALL_PAGES,
    UNTRUE,
    Change,
    Sample,
    sample,
    served_sample,
)
from tests.helpers.ledgers import asked, refusal, watch_queries
from tests.helpers.postgresql import Server

RICH = Fraction(10)
PAGE_HEADER = 16  # bytes: what the page is, how many cells it holds, and where the first two are


@pytest.fixture
def small(tmp_path: Path) -> Sample:
    """Give a ledger of a few entries on small pages."""
    return sample(tmp_path / "ledger.db", SMALL_PAGES)


def test_the_sample_is_intact(small: Sample) -> None:
    """Nothing is refused where nothing was changed, whatever the length of its pages."""
    for is_open in (False, True):
        assert small.outcomes([{}, {}], is_open=is_open) == {}


@pytest.mark.parametrize("is_open", [False, True])
def test_no_page_without_its_cells_refills_a_budget(tmp_path: Path, *, is_open: bool) -> None:
    """Two zeroed bytes say that a page holds nothing: each page of a ledger as it is made."""
    made = sample(tmp_path / "ledger.db")
    starts = [100, *range(4096, len(made.content), 4096)]
    changes: list[Change] = [{start + 3: 0, start + 4: 0} for start in starts]
    found = made.outcomes(changes, is_open=is_open)
    assert not any(found[each] for each in FORBIDDEN)
    assert is_open or found[REFUSED] == len(changes)


@pytest.mark.thorough
@pytest.mark.always
@pytest.mark.parametrize("is_open", [False, True])
def test_no_byte_of_a_pages_header_overspends_or_answers_twice(small: Sample, *, is_open: bool) -> None:
    """Some changes of each page; `audits/test_ledger.py` changes every byte."""
    changes: list[Change] = [
        {start + place: value}
        for start in (100, *range(SMALL_PAGES, len(small.content), SMALL_PAGES))
        for place in range(PAGE_HEADER)
        for value in (0, 255, small.content[start + place] ^ 1)
        if value != small.content[start + place]
    ][:: 8 if is_open else 5]
    found = small.outcomes(changes, is_open=is_open)
    assert len(changes) > 50
    assert not any(found[each] for each in FORBIDDEN)


@pytest.mark.thorough
@pytest.mark.always
@pytest.mark.parametrize("page", [None, SMALL_PAGES])
def test_no_byte_changes_in_silence_what_a_ledger_tells(tmp_path: Path, page: int | None) -> None:
    """A letter of each column's name, where it stands in one piece, and a byte of some hundreds."""
    served = served_sample(tmp_path / "ledger.db", page)
    names = [column.name.encode() for each in (LEDGER, REPLIES) for column in each.columns]
    said = [b"\t" + each + b" " for each in names] + [b'\t"' + each + b'" ' for each in names]
    letters = [served.content.index(each) + 2 for each in said if each in served.content]
    places = [*letters, *range(0, len(served.content), 401 if page else 2003)]
    found = served.tellings({place: served.content[place] ^ 1} for place in places)
    assert len(letters) > 20
    assert found.keys() == {REFUSED}
    assert found[REFUSED] >= len(letters)


def test_the_experiment_finds_a_ledger_that_tells_something_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mutant whose digest of a reply is blind to the data set and the question of its request."""
    blind = replies._row_digest  # noqa: SLF001 - the mutant's
    monkeypatch.setattr(replies, "_row_digest", lambda row: blind(replies._StoredReply(row.name, "", "", row.reply)))  # noqa: SLF001 - as before
    served = served_sample(tmp_path / "ledger.db")
    place = served.content.index(sha256(b"carol:1").hexdigest().encode())
    found = served.tellings([{place: ord("g")}])
    assert {key.partition(":")[0] for key in found if found[key]} == {SILENT, UNTRUE}


def test_the_damage_is_seen_where_the_newest_row_is_hidden(tmp_path: Path) -> None:
    """The chain that is left is an intact one; `verify` refuses all the same."""
    made = sample(tmp_path / "ledger.db")
    cells = 4096 + 4  # in the page of the table, which follows that of the schema
    assert made.content[cells] == 6
    with Ledger.open(f"sqlite:///{made.path}") as ledger:
        ledger.close()
        made.write({cells: 5})
        assert verification(ledger.rows()).broken is None
        assert len(ledger.rows()) == 5
        for action in (ledger.verify, ledger.entries, lambda: ledger.spent("survey")):
            assert "is damaged; restore it from a copy that holds every debit" in refusal(action)


def test_the_experiment_finds_a_ledger_that_overspends(small: Sample, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mutant whose budgets admit everything is found without any damage."""
    monkeypatch.setattr(PureBudget, "admits", lambda *_: True)
    assert small.outcomes([{}]) == {OVERSPENT: 1}


def test_no_statement_of_a_ledger_asks_an_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite tells how it would answer each of them: by the numbers of the table itself."""
    plans = []

    def explain(connection: Connection, query: str, values: Sequence[int]) -> None:
        if query.startswith("SELECT ledger."):
            rows = connection.connection.cursor().execute(f"EXPLAIN QUERY PLAN {query}", values)
            plans.extend(row[-1] for row in rows)

    with Ledger.open(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        watch_queries(ledger, monkeypatch, explain)
        for _ in range(2):
            entry, _ = ledger.reserve("1", asked(1), RICH)
            ledger.store(entry, 5)
            ledger.spent("survey")
        ledger.entries()
        ledger.verify()
    assert set(plans) == {
        "SCAN ledger",
        "SEARCH ledger USING INTEGER PRIMARY KEY (rowid=?)",
        "SEARCH ledger USING INTEGER PRIMARY KEY (rowid>?)",
    }


def test_an_older_copy_under_an_open_ledger_is_refused(tmp_path: Path) -> None:
    """Rows that were read before must still exist; the newest copy continues."""
    path = tmp_path / "ledger.db"
    with Ledger.open(f"sqlite:///{path}") as ledger:
        ledger.reserve("1", asked(1), RICH)
        shutil.copy(path, tmp_path / "older.db")
        ledger.reserve("2", asked(2), RICH)
        ledger.spent("survey")
        shutil.copy(path, tmp_path / "newest.db")
        (tmp_path / "older.db").replace(path)
        for action in (lambda: ledger.reserve("3", asked(3), RICH), lambda: ledger.spent("survey")):
            assert refusal(action).startswith(
                "row 2 of the ledger, which was read before, is missing: this is an older copy"
            )
        (tmp_path / "newest.db").replace(path)
        assert ledger.reserve("3", asked(3), RICH)[0].spent.epsilon == Fraction(3, 10)


@pytest.mark.thorough
@pytest.mark.always
def test_no_stale_index_of_a_server_hides_a_row(postgresql: Server) -> None:
    """An index that a crash left behind its table, as from an older copy, is not believed."""
    database = postgresql.database()
    url = postgresql.url(database)
    with Ledger.open(url) as ledger:
        ledger.reserve("1", asked(1), RICH)
        with postgresql.shell(database) as shell:
            shell.execute("CHECKPOINT")
            (name,) = shell.execute("SELECT pg_relation_filepath('ledger_pkey')").fetchone() or ()
        older = (postgresql.data / name).read_bytes()
        ledger.reserve("2", asked(2), RICH)
    postgresql.stop()
    (postgresql.data / name).write_bytes(older)
    postgresql.start()
    with Ledger.open(url) as ledger:
        assert ledger.spent("survey") == Fraction(2, 10)
        assert ledger.verify().head.number == 2
        assert [entry.key for entry in ledger.entries()] == ["1", "2"]


def test_a_row_whose_number_is_a_text_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A changed byte of the schema can make SQLite read another column, which has texts, as the number."""
    url = f"sqlite:///{tmp_path}/ledger.db"
    with Ledger.open(url) as ledger:
        ledger.reserve("1", asked(1), RICH)
    execute = storage.execute

    def read_another_column(connection: Connection, query: str, *values: Any) -> Any:  # noqa: ANN401 - as it is called
        return execute(connection, query.replace("max(number)", "max(hash)"), *values)

    monkeypatch.setattr(storage, "execute", read_another_column)
    assert "is damaged" in refusal(lambda: Ledger.open(url).spent("survey"))
