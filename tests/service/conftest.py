from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event

import httpx
import pytest

from noisycount.release.desk import Desk
from noisycount.service.state import ServiceState
from tests.helpers.service_callers import Caller, configured, serving

__all__ = ["PATIENCE", "Gate"]

PATIENCE = 60.0  # seconds


@pytest.fixture
def state(tmp_path: Path) -> Iterator[ServiceState]:
    """Give a service without slots, whose budget is 2."""
    with serving(configured(tmp_path)) as state:
        yield state


class Gate:
    """A desk at which counts wait until they are let go on, or the first of them alone."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.counting, self.goes_on, self.is_of_first = Event(), Event(), False
        answer: Callable[..., object] = Desk.answer

        def waiting(desk: Desk, *said: object, **named: object) -> object:
            is_free = self.is_of_first and self.counting.is_set()
            self.counting.set()
            assert is_free or self.goes_on.wait(PATIENCE)
            return answer(desk, *said, **named)

        monkeypatch.setattr(Desk, "answer", waiting)

    @contextmanager
    def asked(self, caller: Caller, body: object) -> Iterator[Future[httpx.Response]]:
        """Give what will be the reply to a spend of the key `one`, which is counted while the block lasts."""
        with ThreadPoolExecutor(1) as threads:
            first = threads.submit(caller.ask, body, "one")
            assert self.counting.wait(PATIENCE)
            try:
                yield first
            finally:
                self.goes_on.set()


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    """Give a closed gate, which is open in the end."""
    gate = Gate(monkeypatch)
    yield gate
    gate.goes_on.set()
