"""A service as a process with few files, and clients who keep it waiting, over loopback."""

import asyncio
import json
import re
import resource
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
import uvicorn
from starlette.types import Receive, Scope, Send
from uvicorn.server import ServerState

from noisycount.service import server
from noisycount.service.server import (
    Connection,
    SharedListener,
    accept_batch_size,
    end_overdue,
    largest_connection_count,
    listening_socket,
)
from tests.helpers.service_process import demo_process
from tests.service.conftest import PATIENCE

CROWD = 400
FILES = 256
SHORT = 2.0  # seconds, in place of those that heads and replies have
CODE = f"""
import resource
from noisycount.cli.main import main
from noisycount.service import server
resource.setrlimit(resource.RLIMIT_NOFILE, ({FILES}, {FILES}))
server.HEAD = server.UNREAD = {SHORT}
main()
"""
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
HALVES = {
    "a head": b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: ",
    "a body": b"POST /v1/refine HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{",
    "the body of a GET": b"GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{",
    "nothing": b"",
}


@dataclass(frozen=True, slots=True)
class Served:
    """A demonstration as a process that may have few files open."""

    port: int  # where it listens
    key: str  # that opens it
    process: int  # its number
    log: Path  # what it writes down

    def seconds(self) -> float:
        """Measure the time of a health check."""
        begun = time.monotonic()
        with socket.create_connection(("127.0.0.1", self.port), PATIENCE) as line:
            line.sendall(HEALTH)
            assert line.recv(15) == b"HTTP/1.1 200 OK"
        return time.monotonic() - begun

    def files(self) -> int:
        """Return the number of open files."""
        return len(list(Path(f"/proc/{self.process}/fd").iterdir()))

    @contextmanager
    def crowd(self, said: bytes) -> Iterator[list[socket.socket]]:
        """Many connections that say so much and no more."""
        lines = [socket.socket() for _ in range(CROWD)]
        try:
            for line in lines:
                line.setblocking(False)  # noqa: FBT003 - as sockets have it
                line.connect_ex(("127.0.0.1", self.port))
            time.sleep(0.2)
            for line in lines:
                with suppress(OSError):
                    line.send(said)
            yield lines
        finally:
            for line in lines:
                line.close()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Give one for all tests: told to stop it does, and leaves nothing; its log has no key and no question."""
    home = tmp_path_factory.mktemp("home")
    with demo_process(home, CODE) as (process, told):
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+", told["address"])
        yield Served(int(told["address"].rpartition(":")[2]), told["key"], process.pid, home / "log")
        process.terminate()
        assert process.wait(PATIENCE) == 0
    log = Path(home, "log").read_text(encoding="utf-8")
    lines = [json.loads(line) for line in log.splitlines()]
    assert (lines[0]["event"], lines[-1]["event"]) == ("started", "stopped")
    assert told["key"] not in log
    assert "poor" not in log
    assert not list(home.glob("noisycount-*"))


@pytest.mark.few(0)
@pytest.mark.parametrize("half", HALVES)
def test_who_keeps_the_service_waiting_keeps_nobody_else_waiting(served: Served, half: str) -> None:
    """Under 400 such clients at 256 files it answers within a second; and then they are ended.

    That a body ends is for the gate of bodies: `test_limits.py`.
    """
    before = served.log.stat().st_size
    with served.crowd(HALVES[half]):
        assert sorted(served.seconds() for _ in range(5))[2] < 1
        with httpx.Client(base_url=f"http://127.0.0.1:{served.port}", timeout=PATIENCE) as client:
            assert client.get("/login").status_code == 200
        end = time.monotonic() + PATIENCE
        while half != "a body" and served.files() > FILES // 4:
            assert time.monotonic() < end, "connections are not ended"
            time.sleep(0.1)
    written = served.log.read_bytes()[before:]
    assert all("time" in json.loads(line) for line in written.splitlines())
    assert len(written) < 300 * (CROWD + 10)


@pytest.mark.thorough
def test_what_is_worked_on_is_not_ended_for_a_crowd(served: Served) -> None:
    """A spend that waits for its tick is answered while half heads come, one after the other."""
    headers = {"Authorization": f"Bearer {served.key}", "Idempotency-Key": "one"}
    body = {"where": "health = 'poor'", "epsilon": "0.1"}
    url = f"http://127.0.0.1:{served.port}/v1/datasets/survey/releases"
    with ThreadPoolExecutor(1) as threads:
        asked = threads.submit(httpx.post, url, json=body, headers=headers, timeout=PATIENCE)
        time.sleep(0.3)
        while not asked.done():
            with served.crowd(HALVES["a head"]):
                pass
        assert asked.result().status_code in {201, 504}
    while (reply := httpx.post(url, json=body, headers=headers, timeout=PATIENCE)).status_code in {409, 504}:
        pass  # a busy machine overran a slot
    assert (reply.status_code, reply.json()["remaining"]) == (201, "1.9")


@pytest.mark.thorough
@pytest.mark.always
def test_the_log_is_lines_of_json_that_nobody_can_fill(served: Served) -> None:
    """Garbage and unknown callers are logged some hundred times, then only counted."""
    before = served.log.stat().st_size
    for said in (b"garbage\r\n\r\n", HEALTH):
        for _ in range(1000):
            with socket.create_connection(("127.0.0.1", served.port), PATIENCE) as line:
                line.sendall(said)
                assert line.recv(9) == b"HTTP/1.1 "
    lines = [json.loads(line) for line in served.log.read_bytes()[before:].splitlines()]
    faults = [line for line in lines if line.get("event") == "fault"]
    assert {(line["from"], line["text"]) for line in faults} == {("uvicorn.error", "Invalid HTTP request received.")}
    assert all(line["at"].startswith("h11_impl.py:") for line in faults)
    assert 300 < len(faults) < 900
    assert len(lines) - len(faults) < 900
    assert any(line.get("unwritten", 0) > 0 for line in lines)


async def large(_: Scope, __: Receive, send: Send) -> None:
    """Reply with more than all buffers hold."""
    await send({"type": "http.response.start", "status": 200, "headers": []})
    for _ in range(20):
        await send({"type": "http.response.body", "body": b"x" * 1_000_000, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


async def ended_while(reads: int, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Return True if a connection ends whose client reads that much of a large reply at each look."""
    monkeypatch.setattr(server, "UNREAD", SHORT)
    config, state = uvicorn.Config(large, http=Connection, log_config=None), ServerState()
    loop, now = asyncio.get_running_loop(), 1000.0
    place = await loop.create_server(lambda: Connection(config, state, {}, _loop=loop), "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*place.sockets[0].getsockname(), limit=1000)
    writer.write(HEALTH)
    await reader.read(1)
    (connection,) = state.connections
    for _ in range(10):
        await asyncio.sleep(0.02)
        now += SHORT
        end_overdue([connection], now)  # type: ignore[list-item]  # there are no others
        if connection.is_ended:
            break
        await asyncio.wait_for(reader.readexactly(reads), PATIENCE)
    writer.close()
    place.close()
    return bool(connection.is_ended)


@pytest.mark.thorough
@pytest.mark.parametrize(("reads", "is_ended"), [(0, True), (10**6, False)])
def test_who_reads_nothing_of_a_reply_is_not_waited_for(
    reads: int, monkeypatch: pytest.MonkeyPatch, *, is_ended: bool
) -> None:
    """While who takes some of it, however slowly, gets all."""
    assert asyncio.run(ended_while(reads, monkeypatch)) is is_ended


@pytest.mark.thorough
def test_places_follow_from_the_files_that_may_be_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """Connections, those that are accepted at once, and all else that is open find room."""
    for files in (64, 256, 1024, 65_536, resource.RLIM_INFINITY):
        monkeypatch.setattr(resource, "getrlimit", lambda _, soft=files: (soft, soft))
        most, at_once = largest_connection_count(), accept_batch_size()
        assert most >= at_once >= 1
        assert files == resource.RLIM_INFINITY or most + at_once <= files * 5 / 8
        assert most <= 4096
    assert server.HEAD == 10


def test_a_process_with_more_connections_accepts_the_next_one_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of several processes at one socket, that with fewer connections accepts first. None waits longer than 2 ms."""
    waits: list[float] = []
    with SharedListener(fileno=listening_socket("127.0.0.1", 0).detach()) as listener:
        monkeypatch.setattr(time, "sleep", waits.append)
        for number in (0, 10, 30, 1000):
            listener.connections = range(number)
            with socket.create_connection(listener.getsockname(), PATIENCE), listener.accept()[0] as accepted:
                assert accepted.getsockname() == listener.getsockname()
    assert waits == pytest.approx([0, 0.0005, 0.0015, 0.002])
