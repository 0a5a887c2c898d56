import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from fractions import Fraction
from threading import Event

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisycount.errors import BudgetError, PredicateError, SourceError
from noisycount.ledger.budget import Loss
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

SLOT = ReplyTick(0.2)
PATIENCE = 60.0  # seconds


@given(st.floats(1e-3, 3600), st.floats(0, 1e7))
def test_a_tick_depends_on_the_arrival_alone(seconds: float, arrival: float) -> None:
    """It is a multiple of the slot, one to two slots away; rounding moves it by a microsecond."""
    tick = ReplyTick(seconds).reply_time(arrival)
    assert abs(tick / seconds - round(tick / seconds)) * seconds < 1e-6
    assert seconds - 1e-6 <= tick - arrival <= 2 * seconds + 1e-6
    assert ReplyTick(seconds).reply_time(arrival, tick) == tick


@given(st.floats(1e-3, 3600), st.floats(0, 1e7), st.floats(0, 1e5))
def test_what_is_late_leaves_at_the_next_tick_of_a_sparse_grid(seconds: float, arrival: float, took: float) -> None:
    """A late reply leaves 1, 2, 4, 8, … slots after the first tick, so its time reveals little."""
    slot, done = ReplyTick(seconds), arrival + took
    first, left = slot.reply_time(arrival), slot.reply_time(arrival, done)
    later = round((left - first) / seconds) + 1
    assert left >= done
    assert later & (later - 1) == 0, "a power of two"
    assert later == 1 or first + (later / 2 - 1) * seconds < done, "and the first that is not too early"


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
    assert ReplyTick(0.001).hold_until_tick(lambda: 42) == 42
    assert ReplyTick(3600).reply_time(1.0) == 7200.0
    assert ReplyTick(Fraction(1, 2)).reply_time(7.2) == 8.0  # type: ignore[arg-type]


def fail() -> int:
    """Fail as work does."""
    raise SourceError("could not be counted")


@pytest.mark.few(0)
@pytest.mark.parametrize("work", [lambda: None, lambda: time.sleep(0.3), fail])
def test_nothing_leaves_before_its_tick(work: Callable[[], object]) -> None:
    """Quick work, slow work and errors alike; a loaded machine can only make it later."""
    arrival, finished = time.monotonic(), 0.0

    def timed() -> object:
        nonlocal finished
        try:
            return work()
        finally:
            finished = time.monotonic()

    with pytest.raises(SourceError) if work is fail else nullcontext() as raised:
        SLOT.hold_until_tick(timed)
    assert time.monotonic() >= SLOT.reply_time(arrival, finished)
    assert raised is None or all(entry.name != "fail" for entry in raised.traceback)


def test_what_is_too_late_is_stored_and_told_at_a_later_tick(ledger: Ledger) -> None:
    """It is charged once, and until that tick nobody can tell that it is there."""
    go_on, counted = Event(), Event()
    known = 0.0

    def count() -> int:
        nonlocal known
        assert go_on.wait(30)
        known = time.monotonic()  # this thread may sleep over a tick before the other one goes on
        counted.set()
        return CANARY

    desk = Desk(WatchedSource(count), ledger, SURVEY, SLOT)
    with ThreadPoolExecutor(1) as pool:
        arrival = time.monotonic()
        late = pool.submit(desk.release, "age >= 50", HALF)
        until(lambda: time.monotonic() > SLOT.reply_time(arrival) + 0.05)
        go_on.set()
        assert counted.wait(30)
        leaving = SLOT.reply_time(arrival, known)
        seen = [(len(ledger.rows()), time.monotonic())]
        while seen[-1][0] == 1:
            seen.append((len(ledger.rows()), time.monotonic()))
        assert late.result().charged == HALF
    assert seen[-1][1] >= leaving > SLOT.reply_time(arrival)
    assert ledger.spent("survey") == HALF


def test_a_failing_source_says_as_little_through_the_slot(ledger: Ledger) -> None:
    """The fixed text of the desk, at the tick, with the debit kept."""
    desk = Desk(WatchedSource(fail_with_a_cell), ledger, SURVEY, SLOT)
    with pytest.raises(SourceError, match=r"\Adata set 'survey' could not be [^\n]*\Z") as raised:
        desk.release("age >= 50", HALF)
    assert str(CANARY) not in everything_that_an_error_knows(raised.value)
    assert ledger.spent("survey") == HALF


@pytest.mark.parametrize(
    ("where", "price", "error"),
    [
        ("salary > 1", HALF, PredicateError),
        ("age > 1", Fraction(1, 3), BudgetError),
        ("age > 1", Fraction(0), ValueError),
        ("age >= 50", HALF, None),
    ],
)
def test_refusals_and_known_answers_read_no_record_and_wait_for_no_tick(
    ledger: Ledger, where: str, price: Fraction, error: type[Exception] | None
) -> None:
    """Refusals and repeats are immediate and equal, whatever the records."""
    dataset = Dataset("survey", HALF)
    Desk(WatchedSource(), ledger, dataset).release("age >= 50", HALF)
    unread = WatchedSource(fail_with_a_cell)
    with pytest.raises(error) if error else nullcontext():
        Desk(unread, ledger, dataset, ReplyTick(3600)).release(where, price)
    assert unread.counted == 0


def test_whoever_asks_the_same_meanwhile_cannot_tell_when_the_answer_was_stored(ledger: Ledger) -> None:
    """Before and after that moment, a reply says the same at a tick."""
    go_on = Event()
    slot = ReplyTick(1.0)
    desk = Desk(WatchedSource(lambda: None if go_on.wait(30) else CANARY), ledger, SURVEY, slot)

    def asked() -> Release:
        return desk.release("age >= 50", HALF)

    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(asked)
        until(lambda: len(ledger.rows()) == 1)
        before = pool.submit(asked)
        until(lambda: desk.source.counted == 2)
        go_on.set()
        until(lambda: len(ledger.rows()) == 2)
        into_slot = time.monotonic() % slot.seconds
        after = pool.submit(asked)
        bought, *others = (one.result() for one in (first, before, after))
    assert into_slot < 0.9 * slot.seconds, "it was stored at a tick"
    assert others == [replace(bought, paid=Loss())] * 2


def until(condition: Callable[[], bool]) -> None:
    """Wait for what another thread does, on a busy machine too."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)
