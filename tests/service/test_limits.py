import asyncio
import json
import re
from itertools import product
from pathlib import Path
from threading import Event

import httpx
import pytest
from fastapi import FastAPI
from starlette.types import Message, Receive, Scope, Send

from noisycount import service
from noisycount.release.desk import Desk
from noisycount.service.app import application
from noisycount.service.errors import StoppingError
from noisycount.service.middleware import SINGLE, BodyLimit, ConcurrencyLimit, depth_of
from noisycount.service.state import LeasedRates, RateLimiter, ServiceState, WorkQueue
from tests.helpers.service_callers import BO, calling, configured, problem, serving
from tests.service.conftest import PATIENCE, Gate

COUNT = {"where": "age >= 65", "epsilon": "0.1"}


def test_what_is_too_large_or_too_deep_is_not_read(tmp_path: Path) -> None:
    """It is refused before it is parsed; what is as large and as deep as may be is read."""
    with serving(configured(tmp_path, body=2000, depth=4)) as state:
        caller, path = calling(state), "/v1/datasets/stay/plan"
        assert problem(caller.request("POST", path, content=b" " * 2001)) == (413, "large")
        assert problem(caller.request("POST", path, content=b"[" * 5)) == (400, "deep")
        brackets = {"where": "town = '[[[[[[[{{{{'", "epsilon": "1", "keys": {}}
        assert caller.post(path, brackets).status_code == 200
        padded = json.dumps(COUNT).ljust(2000).encode()
        assert caller.request("POST", path, content=padded).status_code == 422, "no content type"
        typed = {"Content-Type": "application/json"}
        assert caller.request("POST", path, content=padded, headers=typed).status_code == 200


def test_depth_is_that_of_brackets_outside_texts() -> None:
    """Escapes, texts without an end and closing brackets alone are no brackets that open."""
    assert depth_of(rb'{"a": "\"[[[", "b": [[1], {"c": []}]}') == 4
    assert depth_of(b'"[[[[') == 0
    assert depth_of(b"]]]][") == 1
    assert depth_of(b"[" * 100_000) == 100_000


def test_a_question_too_long_is_refused_by_the_language(state: ServiceState) -> None:
    """The bound of a question's text is the language's own, in its own words."""
    long = {**COUNT, "where": " or ".join(["age = 1"] * 1500)}
    assert problem(calling(state).post("/v1/datasets/stay/plan", long)) == (422, "question")


def test_a_bucket_fills_as_time_passes() -> None:
    """Three a minute: three at once, the fourth after twenty seconds, others untouched."""
    now = [100.0]
    rates = RateLimiter(3, clock=lambda: now[0])
    for passes, tokens in ((0, 3), (20, 1), (1e6, 3)):
        now[0] += passes
        assert [rates.wait("ana") for _ in range(tokens)] == [0] * tokens
        assert rates.wait("ana") == 20
    assert rates.wait("bo") == 0


@pytest.mark.parametrize("rate", [3, 60, 6000])
def test_workers_never_exceed_a_shared_limit_and_rarely_ask_for_it(rate: int) -> None:
    """Two workers admit at most `rate` requests; all but the tokens of a second that the other worker holds."""
    calls = []

    class Counted(RateLimiter):
        """A limiter whose calls are counted, as each asks another process."""

        def wait(self, name: str, tokens: float = 1.0) -> int:
            """Take tokens."""
            calls.append(tokens)
            return RateLimiter.wait(self, name, tokens)

    shared = Counted(rate, clock=lambda: 0.0)
    workers = [LeasedRates(shared, rate) for _ in range(2)]
    assert workers[1].wait("ana") == 0
    admitted = 1
    while not workers[0].wait("ana"):
        admitted += 1
    assert rate - rate // 60 <= admitted <= rate
    assert len(calls) <= rate / max(1, rate // 60) + rate // 60 + 2
    assert workers[0].wait("bo") == 0


def test_who_asks_too_often_waits(tmp_path: Path) -> None:
    """The reply says how long, and nobody else has to."""
    with serving(configured(tmp_path, rate=2)) as state:
        state.rates.clock = lambda: 0.0
        caller = calling(state)
        assert [caller.get("/v1/datasets").status_code for _ in range(2)] == [200, 200]
        refused = caller.get("/v1/datasets")
        assert (problem(refused), refused.headers["retry-after"]) == ((429, "rate"), "30")
        assert calling(state, BO).get("/v1/datasets").status_code == 200


def test_pages_are_limited_like_routes(tmp_path: Path) -> None:
    """Both take of one bucket; a chart of Explore takes a tenth, as a slider asks for four."""
    with serving(configured(tmp_path, rate=2)) as state:
        caller = calling(state)
        charts = [caller.get("/explore/fragment?chart=error&size=50") for _ in range(9)]
        pages = [caller.get("/ask/stay"), caller.get("/ledger")]
        assert {chart.status_code for chart in charts} == {200}
        assert [page.status_code for page in pages] == [200, 429]


def test_who_comes_while_too_many_are_there_is_turned_away(tmp_path: Path, gate: Gate) -> None:
    """Nothing is charged for it, and whether the service is there is told all the same."""
    with serving(configured(tmp_path, concurrency=1)) as state:
        caller = calling(state)
        with gate.asked(caller, COUNT):
            assert problem(caller.ask({**COUNT, "where": "age < 65"}, "two")) == (503, "busy")
            assert caller.get("/healthz").status_code == 200
        assert caller.get("/v1/datasets/stay").json()["remaining"] == "1.9"


def test_who_reads_slowly_takes_no_place_of_those_who_are_worked_on() -> None:
    """A reply that has begun to leave is done; one that has not, and a refusal, count till then."""
    begun = list[Message]()

    async def application(_: Scope, __: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def send(message: Message) -> None:
        begun.append(message)
        if message["status"] == 200:
            await asyncio.Event().wait()

    async def three() -> int:
        gate = ConcurrencyLimit(application, max_requests=1)
        readers = [asyncio.create_task(gate(posted("/"), nowhere_to_receive, send)) for _ in range(3)]
        await asyncio.wait(readers, timeout=0.1)
        for reader in readers:
            reader.cancel()
        await asyncio.gather(*readers, return_exceptions=True)
        return gate.present

    assert asyncio.run(three()) == 0
    assert [message["status"] for message in begun] == [200] * 3


async def nowhere_to_receive() -> Message:
    """Receive nothing."""
    raise AssertionError


def test_who_sends_slowly_keeps_nobody_else_waiting(tmp_path: Path) -> None:
    """A body that does not arrive takes no place of those who are worked on, and is given up."""
    with serving(configured(tmp_path, concurrency=1)) as state:
        made = application(state, lambda _: None)
        statuses = asyncio.run(beside_a_slow_one(made))
    assert statuses == [401, 401]


async def beside_a_slow_one(made: FastAPI) -> list[int]:
    """Give the statuses of requests that come while another does not arrive."""
    waiting = asyncio.Event()

    async def receive() -> Message:
        waiting.set()
        await asyncio.Event().wait()
        return {"type": "http.disconnect"}

    slow = asyncio.create_task(made(posted("/v1/refine"), receive, nowhere))
    await waiting.wait()
    transport = httpx.ASGITransport(made)
    async with httpx.AsyncClient(transport=transport, base_url="http://here") as client:
        replies = [await client.post("/v1/refine", json={}), await client.get("/v1/datasets")]
    slow.cancel()
    return [reply.status_code for reply in replies]


@pytest.mark.parametrize(
    ("begun", "more"),
    [
        (b" ", {"type": "http.request", "body": b" ", "more_body": True}),
        (json.dumps(COUNT).encode(), {"type": "http.disconnect"}),
    ],
    ids=["slow", "cut off"],
)
def test_a_body_that_does_not_arrive_is_given_up(begun: bytes, more: Message) -> None:
    """After as many seconds as it may take, or where its sender is gone, though what came could be read."""
    said, sent = [{"type": "http.request", "body": begun, "more_body": True}], list[Message]()

    async def receive() -> Message:
        await asyncio.sleep(0.02)
        return said.pop() if said else more

    async def send(message: Message) -> None:
        sent.append(message)

    gate = BodyLimit(nowhere_application, max_bytes=10**9, depth=4, patience=0.2)
    asyncio.run(gate(posted("/v1/refine"), receive, send))
    assert sent[0]["status"] == 408
    assert b"must arrive whole within 0.2 s" in sent[1]["body"]


def test_what_a_request_says_twice_is_refused(state: ServiceState) -> None:
    """In one line that names it, before anything is read or charged, also where both say the same."""
    caller, usual = calling(state), {"idempotency-key": "a", "content-type": "application/json"}
    for name in sorted(SINGLE):
        others = [each for each in usual.items() if each[0] != name]
        for method, said in product(("GET", "POST"), ("multipart/form-data", usual.get(name, "1"))):
            twice = [*others, (name, usual.get(name, "1")), (name.upper(), said)]
            path, content = "/v1/datasets/stay/releases", json.dumps(COUNT)
            reply = caller.request(method, path, content=content, headers=twice)
            assert problem(reply) == (400, "doubled")
            assert f" {name.title()}, got several" in reply.json()["detail"]
    assert state.ledger.entries() == []


def test_every_header_that_is_looked_at_is_there_once() -> None:
    """But that of `accept`, which is a list: the sources are searched for all others."""
    read = re.compile(r"""headers(?:\.get(?:list)?\(|\[)\s*(?:b?["']([\w-]+)|(CSRF_HEADER))|alias="([\w-]+)\"""")
    found = {
        "x-csrf-token" if constant else (name or alias).lower()
        for path in Path(service.__file__).parent.rglob("*.py")
        for name, constant, alias in read.findall(path.read_text(encoding="utf-8"))
    }
    assert {"idempotency-key", "authorization", "content-type", "origin", "host"} <= found
    assert found - {"accept", "retry-after"} <= SINGLE


def posted(path: str) -> Scope:
    """Give the head of a POST."""
    head = {"type": "http", "method": "POST", "path": path, "raw_path": path.encode()}
    return {**head, "headers": [], "query_string": b"", "scheme": "http", "state": {}}


async def nowhere(_: Message) -> None:
    """Send nothing."""


async def nowhere_application(_: Scope, __: Receive, ___: Send) -> None:
    """Fail: nobody gets so far."""
    raise AssertionError


def test_nobody_waits_past_the_deadline(tmp_path: Path, gate: Gate) -> None:
    """The asker gets a fixed text, the debit stays, and the same key gives the answer later."""
    with serving(configured(tmp_path, deadline=0.3)) as state:
        caller = calling(state)
        assert problem(caller.ask(COUNT, "one")) == (504, "overrun")
        assert problem(caller.ask(COUNT, "one")) == (409, "in-flight")
        gate.goes_on.set()
        assert state.queue.stop(PATIENCE)
    with serving(configured(tmp_path)) as state:
        told = calling(state).ask(COUNT, "one")
        assert (told.status_code, told.json()["charged"]) == (201, "0.1")
        assert told.json()["remaining"] == "1.9"


def test_what_was_begun_is_done_before_the_end(state: ServiceState, gate: Gate) -> None:
    """From the moment it stops, new spends are refused, and the one in flight gets its answer."""
    caller = calling(state)
    with gate.asked(caller, COUNT) as first:
        state.queue.refuse()
        refused = caller.ask({**COUNT, "where": "age < 65"}, "two")
        assert (problem(refused), refused.headers["retry-after"]) == ((503, "stopping"), "5")
    assert first.result(PATIENCE).status_code == 201


def test_work_takes_its_turn() -> None:
    """No more are worked on at once than may be; none is lost, and none begins after the end."""
    queue, running, most = WorkQueue(2), list[int](), list[int]()
    both, goes_on = Event(), Event()

    def work() -> None:
        running.append(1)
        most.append(len(running))
        if len(running) == 2:
            both.set()
        assert goes_on.wait(PATIENCE)
        running.pop()

    for _ in range(5):
        queue.admit(work)
    assert both.wait(PATIENCE)
    assert not queue.stop(0.0)
    goes_on.set()
    assert queue.stop(PATIENCE)
    assert (len(most), max(most)) == (5, 2)
    with pytest.raises(StoppingError):
        queue.admit(work)


def test_an_error_of_the_service_tells_nothing(state: ServiceState, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its text, which could hold anything, is in no reply and in no line of the log."""
    lines: list[dict[str, object]] = []

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("a canary of 815 persons")

    monkeypatch.setattr(Desk, "answer", fail)
    failed = calling(state, write=lines.append).ask(COUNT, "one")
    assert (failed.status_code, failed.json()["detail"]) == (500, "the service failed")
    (line,) = lines
    assert (line["status"], line["error"]) == (500, "RuntimeError")
    assert "canary" not in failed.text + json.dumps(line)
