import json
import re
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from traceback import walk_tb
from typing import Any

import pytest
from sqlalchemy import Connection

from noisycount.engines.duckdb.source import DuckDBSource
from noisycount.errors import LedgerError
from noisycount.ledger import storage
from noisycount.ledger.storage import execute
from noisycount.model.noises.laplace import DiscreteLaplace
from noisycount.query.predicate import Predicate
from noisycount.release.reply_tick import ReplyTick
from noisycount.service.keys import User
from noisycount.service.questions import Question, Spend
from noisycount.service.state import ServiceState
from tests.helpers.service_callers import ANA, LITERAL, OWNER, calling, configured, serving

NEAR_NOTHING = "0.000001"  # at such a price no answer is near the count
TRUTH = 878  # persons from LITERAL
TOWN = {"where": f"town = '{LITERAL}'", "epsilon": NEAR_NOTHING}
SPLIT = {"by": "town", "keys": {"town": [LITERAL, "Bern"]}, "epsilon": NEAR_NOTHING}
REQUESTS: list[tuple[str, str, object]] = [
    ("GET", "/v1/datasets", None),
    ("GET", "/v1/datasets/stay", None),
    ("POST", "/v1/datasets/stay/plan", TOWN),
    ("POST", "/v1/datasets/stay/rehearsal", TOWN),
    ("POST", "/v1/datasets/stay/releases", TOWN),
    ("POST", "/v1/datasets/stay/releases", SPLIT),
    ("POST", "/v1/datasets/stay/releases", {**TOWN, "epsilon": "7"}),
    ("POST", "/v1/datasets/stay/releases", {**TOWN, "where": "nothing = 1"}),
    ("GET", "/v1/releases/ana:key-4", None),
    ("GET", "/v1/releases/ana:none", None),
    ("GET", "/v1/datasets/payroll", None),
    ("POST", "/v1/datasets/payroll/releases", {"where": "pay > 1", "epsilon": "0.1"}),
    ("GET", "/v1/datasets/nowhere", None),
]


def requested(state: ServiceState, user: User, log: list[dict[str, Any]]) -> Iterator[Any]:
    """Give the reply to each of the requests, in order."""
    caller = calling(state, user, log.append)
    for place, (method, path, body) in enumerate(REQUESTS):
        said = {} if body is None else {"json": body}
        yield caller.request(method, path, headers={"Idempotency-Key": f"key-{place}"}, **said)


@pytest.mark.thorough
def test_records_and_counts_are_in_no_log_and_no_reply(state: ServiceState) -> None:
    """A line tells who asked which route, and the status; a reply only what the asker wrote."""
    log: list[dict[str, Any]] = []
    replies = [*requested(state, ANA, log), *requested(state, OWNER, log)]
    assert {reply.status_code for reply in replies} == {200, 201, 403, 404, 422}
    for reply in replies:
        assert not re.search(rf"\b{TRUTH}\b", reply.text)
        assert "\n" not in reply.text
    assert len(log) == len(replies)
    for line in log:
        told = json.dumps(line)
        assert LITERAL not in told
        assert not re.search(rf"\b{TRUTH}\b|where|town|pay|0\.000001", told)
        assert line.keys() <= {"request", "visitor", "method", "route", "status", "problem"}
        assert "{" in str(line["route"]) or line["route"] == "/v1/datasets"


def test_a_spend_that_cannot_be_stored_is_refused_without_its_answer(
    state: ServiceState, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither its text nor a frame through which the refusal came holds what was drawn."""
    drawn = 867_530_900
    monkeypatch.setattr(DiscreteLaplace, "release", lambda *_: drawn)

    def fail(connection: Connection, statement: str, values: Sequence[object] = ()) -> object:
        if statement.startswith("INSERT INTO replies"):
            raise sqlite3.OperationalError("no room")
        return execute(connection, statement, values)

    spend = Spend(ANA, "stay", "one", Question.model_validate(TOWN))
    with monkeypatch.context() as patched:
        patched.setattr(storage, "execute", fail)
        with pytest.raises(LedgerError, match="the debit stays") as raised:
            spend.reply(state)
    frames = [frame.f_locals for frame, _ in walk_tb(raised.value.__traceback__)][1:]
    assert "service/questions.py" in str(raised.traceback), "it came through the spend"
    assert str(drawn) not in f"{frames} {raised.value}"
    assert json.loads(spend.reply(state).content)["answer"] == drawn


@pytest.mark.thorough
@pytest.mark.always
@pytest.mark.parametrize("slot", [3600.0])
def test_what_needs_no_record_waits_for_no_tick_and_reads_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slot: float
) -> None:
    """Lists, plans, rehearsals, refusals, pages, the ledger and known answers: at once, where a count would wait."""
    configuration = configured(tmp_path, slot=slot)
    with serving(configuration) as state:  # what was asked before, and is known now
        known = [reply.status_code for reply in requested(state, ANA, [])]

    def read(*_: object) -> object:
        raise AssertionError("a record was read")

    with serving(configuration, slots=True) as state:
        state.sources.tick = None  # who waits for records to be opened goes on at a tick
        for dataset in configuration.datasets.values():
            state.sources.records(dataset)
        for name in ("count", "count_cells"):
            monkeypatch.setattr(DuckDBSource, name, read)
        arrival = time.monotonic()
        assert [reply.status_code for reply in requested(state, ANA, [])] == known
        caller = calling(state)
        form = {"column": "age", "operator": ">=", "low": "65", "high": "", "within": "20", "confidence": "95%"}
        for path in ("/ask/stay", "/ledger", "/releases/ana:key-4", "/ledger/export", "/explore"):
            assert caller.get(path).status_code == 200, path
        for button in ("preview", "rehearse", "add"):
            assert caller.request("POST", "/ask/stay", data={**form, button: "1"}).status_code == 200
        assert caller.request("POST", "/ask/stay", data={**form, "low": "old"}).status_code == 422
        assert time.monotonic() - arrival < slot


def test_nobody_can_tell_when_a_count_was_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until its tick every page and reply says what it said while it was counted."""
    seen, counted, go_on = Event(), Event(), Event()
    count = DuckDBSource.count

    def watched(source: DuckDBSource, predicates: Sequence[Predicate]) -> list[int]:
        assert seen.wait(30)
        counts = count(source, predicates)
        counted.set()
        return counts

    def held(_: ReplyTick, work: Callable[[], Any]) -> object:
        result = work()
        assert go_on.wait(30)
        return result

    paths = ("/v1/datasets/stay", "/v1/releases/ana:one", "/releases/ana:one", "/ledger", "/ledger/export?form=json")
    with serving(configured(tmp_path), slots=True) as state, ThreadPoolExecutor(1) as threads:
        caller = calling(state)
        caller.get("/v1/datasets/stay")
        monkeypatch.setattr(ReplyTick, "hold_until_tick", held)
        monkeypatch.setattr(DuckDBSource, "count", watched)
        asked = threads.submit(calling(state).ask, TOWN, "one")
        while not state.ledger.entries():
            time.sleep(0.01)
        during = [caller.get(path).text for path in paths]
        assert not counted.is_set()
        seen.set()
        assert counted.wait(30)
        time.sleep(0.05)
        assert [caller.get(path).text for path in paths] == during
        go_on.set()
        assert asked.result().status_code == 201
        assert [caller.get(path).text for path in paths] != during
