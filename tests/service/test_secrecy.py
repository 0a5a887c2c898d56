import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from traceback import walk_tb
from typing import Any

import pytest
from sqlalchemy import event, exc

from noisycount.errors import LedgerError
from noisycount.model.noises.laplace import DiscreteLaplace
from noisycount.release import reply_tick as slots
from noisycount.release.reply_tick import Outcome
from noisycount.service.keys import User
from noisycount.service.questions import Question, Spend
from noisycount.service.state import ServiceState
from tests.service.callers import ANA, LITERAL, OWNER, calling, configured, serving

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

    def fail(_: object, __: object, statement: str, *___: object) -> None:
        if statement.startswith("INSERT INTO replies"):
            raise exc.OperationalError(statement, {}, OSError("no room"))

    event.listen(state.ledger.writing, "before_cursor_execute", fail)
    spend = Spend(ANA, "stay", "one", Question.model_validate(TOWN))
    with pytest.raises(LedgerError, match="the debit stays") as raised:
        spend.reply(state)
    event.remove(state.ledger.writing, "before_cursor_execute", fail)
    frames = [frame.f_locals for frame, _ in walk_tb(raised.value.__traceback__)][1:]
    assert "service/questions.py" in str(raised.traceback), "it came through the spend"
    assert str(drawn) not in f"{frames} {raised.value}"
    assert json.loads(spend.reply(state).content)["answer"] == drawn


@dataclass(slots=True)
class Clock:
    """A clock that stands still while there is work, and on which waiting takes no time."""

    now: float = 1000.3  # seconds
    left: list[float] = field(default_factory=list)  # when replies left

    def monotonic(self) -> float:
        """Give the time."""
        return self.now

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds
        self.left.append(self.now)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Give the clock of all slots, while work is done at once."""

    def at_once(cls: type[Outcome[Any]], work: Callable[[], Any]) -> Outcome[Any]:
        outcome = cls()
        outcome.become(work)
        return outcome

    clock = Clock()
    monkeypatch.setattr(slots, "time", clock)
    monkeypatch.setattr(Outcome, "of", classmethod(at_once))
    return clock


def test_answers_and_refusals_leave_at_ticks(tmp_path: Path, clock: Clock) -> None:
    """Whatever is told of a data set waits for the tick after the next: also that there is none."""
    with serving(configured(tmp_path, slot=2.0), slots=True) as state:
        for place, reply in enumerate(requested(state, ANA, [])):
            expected = [1004.0 + 4 * each for each in range(place + 1)]
            assert clock.left == expected, reply.text
            clock.now += 0.3 if place % 2 else 1.9
