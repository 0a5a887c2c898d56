import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from fractions import Fraction
from threading import Event, active_count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisycount.errors import BudgetError, OverrunError, PredicateError, SourceError
from noisycount.ledger.ledger import Ledger
from noisycount.release.dataset import Dataset
from noisycount.release.desk import Desk
from noisycount.release.reply_tick import ReplyTick
from noisycount.release.results import Release
from tests.release.test_desk import (
    CANARY,
    HALF,
    SURVEY,
    WatchedSource,
    everything_that_an_error_knows,
    fail_with_a_cell,
)

SLOT = ReplyTick(1.0)  # long enough for what it does on a busy machine
SHORT = ReplyTick(0.05)
PATIENCE = 60.0  # seconds


def leaving(slot: ReplyTick, work: Callable[[], object]) -> tuple[float, float]:
    """Give the tick at which a reply should leave, and when it left."""
    while True:
        arrival = time.monotonic()
        slot.reply(work)
        left = time.monotonic()
        if slot.leaving(arrival) == slot.leaving(arrival + slot.seconds / 10):
            return slot.leaving(arrival), left


@given(st.floats(1e-3, 3600), st.floats(0, 1e7))
def test_a_tick_depends_on_the_arrival_alone(seconds: float, arrival: float) -> None:
    """It is a multiple of the slot, one to two slots away; rounding moves it by a microsecond."""
    tick = ReplyTick(seconds).leaving(arrival)
    assert abs(tick / seconds - round(tick / seconds)) * seconds < 1e-6
    assert seconds - 1e-6 <= tick - arrival <= 2 * seconds + 1e-6


@pytest.mark.parametrize(
    "seconds",
    [*(0.0, -1.0, float("nan"), float("inf"), 3600.1, 1e-320, 0.000999, 10**400), *("1", None, True, 1j, b"1", [1.0])],
)
def test_a_slot_has_a_length(seconds: object) -> None:
    """Nothing else is a slot."""
    with pytest.raises(ValueError, match=r"\Aslot must be from 0\.001 to 3600 s, got [^\n]+\Z"):
        ReplyTick(seconds)  # type: ignore[arg-type]


def test_the_shortest_and_the_longest_slot_have_ticks() -> None:
    """Also those that are given as another kind of number."""
    assert ReplyTick(0.001).reply(lambda: 42) == 42
    assert ReplyTick(3600).leaving(1.0) == 7200.0
    assert ReplyTick(Fraction(1, 2)).leaving(7.2) == 8.0  # type: ignore[arg-type]


@pytest.mark.few(0)
@pytest.mark.parametrize("work", [lambda: None, lambda: time.sleep(0.1)])
def test_no_reply_leaves_before_its_tick(work: Callable[[], object]) -> None:
    """Quick work and slow work alike; a loaded machine can only make it later."""
    tick, left = leaving(SLOT, work)
    assert left >= tick


def fail() -> int:
    """Fail as work does."""
    raise SourceError("could not be counted")


def test_an_error_leaves_at_the_tick_too() -> None:
    """Neither its time nor its frames tell what happened."""
    arrival = time.monotonic()
    with pytest.raises(SourceError, match=r"\Acould not be counted\Z") as raised:
        SLOT.reply(fail)
    assert time.monotonic() >= SLOT.leaving(arrival)
    assert all(entry.name != "fail" for entry in raised.traceback)


def test_work_that_overruns_is_answered_at_the_tick_with_a_fixed_text() -> None:
    """The asker does not wait for it, and learns nothing but that."""
    done, texts = Event(), set()
    for _ in range(3):
        arrival = time.monotonic()
        with pytest.raises(OverrunError) as raised:
            SHORT.reply(lambda: done.wait(30))
        texts.add(str(raised.value))
        assert SHORT.leaving(arrival) <= time.monotonic() < arrival + 25
    done.set()
    (text,) = texts
    assert text == (
        "the answer was not ready when replies left; its price may be charged: ask the same"
        " question again, which is charged once, however often it is asked"
    )


def test_work_that_ends_its_thread_overruns(capsys: pytest.CaptureFixture[str]) -> None:
    """It neither ends the process nor prints."""

    def leave() -> None:
        raise SystemExit(CANARY)

    with pytest.raises(OverrunError):
        SHORT.reply(leave)
    assert "".join(capsys.readouterr()) == ""


def test_a_count_that_overruns_is_charged_and_answered_later(ledger: Ledger) -> None:
    """What it stored in the end is given to whoever asks again, free of charge."""
    go_on = Event()
    source = WatchedSource(lambda: None if go_on.wait(30) else CANARY)
    desk = Desk(source, ledger, SURVEY, SHORT)
    with pytest.raises(OverrunError) as raised:
        desk.release("age >= 50", HALF)
    assert str(CANARY) not in everything_that_an_error_knows(raised.value)
    until(lambda: ledger.spent("survey") == HALF)
    threads = active_count()
    go_on.set()
    until(lambda: active_count() < threads)
    (entry,) = ledger.entries()
    again = Desk(source, ledger, SURVEY).release("age >= 50", HALF)
    assert (again.answer, again.charged, again.repeated) == (entry.answer, 0, True)
    assert source.counted == 1


def test_a_failing_source_says_as_little_through_the_slot(ledger: Ledger) -> None:
    """The fixed text of the desk, at the tick, with the debit kept."""
    desk = Desk(WatchedSource(fail_with_a_cell), ledger, SURVEY, SLOT)
    with pytest.raises(SourceError, match=r"\Adata set 'survey' could not be [^\n]*\Z") as raised:
        desk.release("age >= 50", HALF)
    assert str(CANARY) not in everything_that_an_error_knows(raised.value)
    assert ledger.spent("survey") == HALF


@pytest.mark.few(0)
@pytest.mark.parametrize(
    ("where", "price", "error"),
    [
        ("salary > 1", HALF, PredicateError),
        ("age > 1", Fraction(1, 3), BudgetError),
        ("age > 1", Fraction(0), ValueError),
        ("age >= 50", HALF, None),
    ],
)
def test_refusals_and_known_answers_leave_at_a_tick_too(
    ledger: Ledger, where: str, price: Fraction, error: type[Exception] | None
) -> None:
    """Each waits for the ledger, or for a processor, while something else is counted."""
    dataset = Dataset("survey", HALF)
    Desk(WatchedSource(), ledger, dataset).release("age >= 50", HALF)
    arrival = time.monotonic()
    with pytest.raises(error) if error else nullcontext():
        Desk(WatchedSource(), ledger, dataset, SLOT).release(where, price)
    assert time.monotonic() >= SLOT.leaving(arrival)


def test_whoever_asks_the_same_meanwhile_cannot_tell_when_the_answer_was_stored(ledger: Ledger) -> None:
    """Before and after that moment, a reply says the same at a tick."""
    go_on = Event()
    slot = ReplyTick(2.0)
    desk = Desk(WatchedSource(lambda: None if go_on.wait(30) else CANARY), ledger, SURVEY, slot)

    def asked() -> tuple[Release, float, float]:
        arrival = time.monotonic()
        return desk.release("age >= 50", HALF), slot.leaving(arrival), time.monotonic()

    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(asked)
        until(lambda: len(ledger.rows()) == 1)
        before = pool.submit(asked)
        until(lambda: desk.source.counted == 2)
        go_on.set()
        until(lambda: len(ledger.rows()) == 2)
        after = pool.submit(asked)
        replies = [one.result() for one in (first, before, after)]
    assert all(left >= tick for _, tick, left in replies)
    bought, *others = (release for release, _, _ in replies)
    assert others == [replace(bought, charged=Fraction(0))] * 2


def until(condition: Callable[[], bool]) -> None:
    """Wait for what another thread does, on a busy machine too."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)
