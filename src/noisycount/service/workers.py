"""Worker processes that serve one listening socket, and the process that starts and watches them.

The ledger stores what must outlast a process: debits, answers, replies. The watching process keeps in memory what all
workers share: rate limits, sessions with their drafts, and attempts with wrong keys. The ticks at which replies leave
need no sharing, as all workers use the clock of the machine.
"""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import connection, get_context, parent_process
from multiprocessing.context import SpawnProcess
from multiprocessing.managers import BaseManager
from multiprocessing.reduction import ForkingPickler
from socket import socket
from types import MappingProxyType

from noisycount.config.config import Config
from noisycount.errors import NoisyCountError
from noisycount.service.auth import FailedAttempts, LoginForm, Sessions, SharedMemory
from noisycount.service.middleware import write_line
from noisycount.service.server import run
from noisycount.service.state import RateLimiter, ServiceState

_CONTEXT = get_context("spawn")
_PAUSE = 1.0  # seconds from one start of a worker to the next in its place
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def shared_memory(configuration: Config) -> Iterator[SharedMemory]:
    """Hold the objects that all workers share in this process, and yield proxies to pass to the workers."""
    shared_objects = {
        "rates": RateLimiter(configuration.service.rate),
        "attempts": FailedAttempts(),
        "sessions": Sessions(),
    }

    class Manager(BaseManager):
        """A server of these objects at a socket of this account, which asks for a secret of this process."""

    for name, value in shared_objects.items():
        Manager.register(name, partial(_return_value, value))
    server = Manager().get_server()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    client = Manager(address=server.address)
    client.connect()
    yield SharedMemory(**{name: getattr(client, name)() for name in shared_objects}, login_form=LoginForm())


def _return_value(value: object) -> object:
    return value


def _read_only(mapping: dict[object, object]) -> MappingProxyType[object, object]:
    return MappingProxyType(mapping)


ForkingPickler.register(MappingProxyType, lambda mapping: (_read_only, (dict(mapping),)))  # those of a configuration


@dataclass(slots=True)
class _Worker:
    """A worker process, which is started again if it ends."""

    start: Callable[[], SpawnProcess]
    process: SpawnProcess | None = None
    started: float = field(default=-_PAUSE)  # seconds of the clock

    def keep_alive(self) -> float | None:
        """Start the process if it does not run. Return the seconds until the next attempt; None if it runs."""
        if self.process is not None:
            if self.process.exitcode is None:
                return None
            write_line({"event": "worker ended", "status": self.process.exitcode})
            self.process = None
        now = time.monotonic()
        if now < self.started + _PAUSE:
            return self.started + _PAUSE - now
        self.started, self.process = now, self.start()
        return None


def run_workers(
    configuration: Config, listener: socket, ready: Callable[[], None], number: int, *, slots: bool
) -> None:
    """Serve with several processes until a signal ends them. Requests that have begun by then are finished."""
    if os.name != "posix":
        raise NoisyCountError("--workers: processes of this system cannot share a socket; leave it out")
    ServiceState.open(configuration, slots=slots).close()  # what cannot be opened is refused here, in one line
    patience = configuration.service.deadline
    signals, awake, waker = list[int](), *os.pipe()

    def note_signal(sig: int, _: object) -> None:
        signals.append(sig)
        os.write(waker, b"!")

    before = {sig: signal.signal(sig, note_signal) for sig in _SIGNALS}
    try:
        with shared_memory(configuration) as shared:
            arguments = configuration, listener, shared, slots
            workers = [_Worker(partial(_start_worker, arguments)) for _ in range(number)]
            ready()
            while not signals:
                pauses = [pause for worker in workers if (pause := worker.keep_alive()) is not None]
                sentinels = [worker.process.sentinel for worker in workers if worker.process is not None]
                connection.wait([*sentinels, awake], min(pauses, default=None))
            _end_processes([worker.process for worker in workers if worker.process is not None], patience)
    finally:
        for sig, handler in before.items():
            signal.signal(sig, handler)
        os.close(awake)
        os.close(waker)
    if signals[0] == signal.SIGINT:
        raise KeyboardInterrupt


def _start_worker(arguments: tuple[Config, socket, SharedMemory, bool]) -> SpawnProcess:
    process = _CONTEXT.Process(target=_serve_as_worker, args=arguments)
    process.start()
    return process


def _end_processes(processes: list[SpawnProcess], patience: float) -> None:
    """Let processes finish their requests, and kill those that need longer than `patience` seconds."""
    for process in processes:
        process.terminate()
    end_time = time.monotonic() + 2 * patience
    for process in processes:
        process.join(max(0.0, end_time - time.monotonic()))
        if process.exitcode is None:
            process.kill()
            process.join()


def _serve_as_worker(configuration: Config, listener: socket, shared: SharedMemory, slots: bool) -> None:  # noqa: FBT001
    """Serve as one of several workers, until the watching process ends this one or has ended itself."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to all; the other process decides
    threading.Thread(target=_follow_parent, daemon=True).start()
    with suppress(KeyboardInterrupt):
        try:
            run(configuration, listener, lambda: None, slots=slots, shared=shared)
        except NoisyCountError as error:
            write_line({"event": "worker cannot serve", "why": str(error)})
            raise SystemExit(1) from None


def _follow_parent() -> None:
    """End this process as soon as the watching process has ended."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)
