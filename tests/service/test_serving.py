import asyncio
import os
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from threading import Event

import pytest
import uvicorn

from noisycount.errors import NoisyCountError
from noisycount.service import server
from noisycount.service.middleware import LazyRoutes
from noisycount.service.server import demonstration, listening_socket
from noisycount.service.state import WorkQueue
from tests.helpers.commands import Run
from tests.helpers.service_process import demo_process
from tests.service.conftest import PATIENCE


@pytest.mark.thorough
def test_control_c_ends_it(tmp_path: Path) -> None:
    """The shell is told, and nothing of Python is."""
    with demo_process(tmp_path) as (process, _):
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 130
    assert "Traceback" not in Path(tmp_path, "log").read_text(encoding="utf-8")


@pytest.mark.parametrize(("sig", "end"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, None)])
@pytest.mark.parametrize("moment", ["ready", "loop"])
def test_a_signal_before_the_loop_runs_ends_it_in_order(
    moment: str, sig: signal.Signals, end: type[BaseException] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It breaks nothing in the middle: all that is to be made is made, and closed again."""
    passed = []

    def told() -> None:
        signal.raise_signal(sig)
        passed.append(moment)

    def loop_factory(_: uvicorn.Config) -> Callable[[], asyncio.AbstractEventLoop]:
        if moment == "loop":
            told()
        return asyncio.new_event_loop

    monkeypatch.setattr(uvicorn.Config, "get_loop_factory", loop_factory)
    before = [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)]
    with demonstration() as (configuration, _), listening_socket("127.0.0.1", 0) as place:
        ready = told if moment == "ready" else (lambda: None)
        with pytest.raises(end) if end else nullcontext():
            server.run(configuration, place, ready, slots=False)
    assert passed == [moment]
    assert [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)] == before


def test_nothing_more_is_begun_once_it_is_told_to_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Routes that are being loaded are waited for; no records are opened after them."""
    begun, told, refuse = [], Event(), WorkQueue.refuse

    def refused(queue: WorkQueue) -> None:
        refuse(queue)
        told.set()

    def load(_: LazyRoutes) -> None:
        begun.append("routes")
        os.kill(os.getpid(), signal.SIGTERM)
        assert told.wait(PATIENCE)

    monkeypatch.setattr(WorkQueue, "refuse", refused)
    monkeypatch.setattr(LazyRoutes, "load", load)
    monkeypatch.setattr(server, "_open_all", lambda _: begun.append("records"))
    with demonstration() as (configuration, _), listening_socket("127.0.0.1", 0) as place:
        server.run(configuration, place, lambda: None, slots=False)
    assert begun == ["routes"]


def test_nothing_to_serve_is_refused(run: Run) -> None:
    """Without data sets there is no service, and the refusal says how to try one."""
    refused = run("serve")
    assert refused.status == 2
    assert "there is no data set to serve" in refused.errors
    assert "--demo" in refused.errors


def test_an_address_in_use_is_refused() -> None:
    """In one line that names it."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(NoisyCountError, match=rf"--port {port} cannot be used \(.*\): name"):
            listening_socket("127.0.0.1", port)
    with pytest.raises(NoisyCountError, match="cannot be used"):
        listening_socket("no.such.host.invalid", 0)


def test_a_missing_extra_is_one_line(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says what to install."""
    monkeypatch.setitem(sys.modules, "noisycount.service.server", None)
    refused = run("serve", "--demo")
    assert refused.status == 2
    assert "pip install '.[server]'" in refused.errors
