"""Process of the service: its connections, start and end, and a demonstration.

`run` serves a configuration until a signal ends it, `demonstration` makes a configuration with the survey.
"""

import asyncio
import gc
import logging
import os
import signal
import socket
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from noisycount.config.config import Config, DatasetConfig
from noisycount.config.places import sqlite_url
from noisycount.config.service import ServiceConfig
from noisycount.data import survey_path
from noisycount.errors import NoisyCountError
from noisycount.service.app import application
from noisycount.service.auth import SharedMemory
from noisycount.service.errors import StoppingError
from noisycount.service.keys import Keyring, Role
from noisycount.service.middleware import LazyRoutes, LimitedLog, Write, error_place, write_line
from noisycount.service.state import ServiceState

# Seconds within which the head of a request must arrive after the connection was made or the last reply sent.
HEAD = 10.0
UNREAD = 30.0  # seconds after which a client must have read some of a waiting reply
_MOST = 4096  # connections, also if the process may open more files
_USUAL_FILES = 1024  # files that a process may have open if the system does not state the limit


class Connection(H11Protocol):
    """Connection that is closed if its client makes the service wait too long.

    If there are more connections than allowed, and more than half of them wait for their clients, the one that has
    waited longest is closed. If at most half of them wait, the new connection is closed. A connection for which the
    service is working is never closed for another one.
    """

    since = 0.0  # time from which it waits for the head of a request
    unread = 0  # unread bytes of replies at the last check
    read_at = 0.0  # last check at which their number had changed, or was 0
    is_late = False
    is_ended = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept the connection. If there are too many, close one that waits for its client, or this one."""
        super().connection_made(transport)
        self.since = self.loop.time()
        connections: Iterable[Any] = self.connections  # all of them are of this class
        open_connections: list[Connection] = [connection for connection in connections if not connection.is_ended]
        if len(open_connections) > largest_connection_count():
            waiting = [connection for connection in open_connections if connection.awaits_client]
            is_idle = len(waiting) > len(open_connections) // 2
            (min(waiting, key=lambda connection: connection.since) if is_idle else self).end()

    def on_response_complete(self) -> None:
        """Start to wait for the head of the next request."""
        self.since = self.loop.time()
        super().on_response_complete()

    @property
    def awaits_head(self) -> bool:
        """True if no request is in progress."""
        return self.cycle is None or self.cycle.response_complete

    @property
    def awaits_client(self) -> bool:
        """True if the service can do nothing before the client sends or reads something."""
        return self.awaits_head or self.cycle.more_body or self._unread > 0

    def is_overdue(self, now: float) -> bool:
        """Return True if the client has taken too long. Call this at regular intervals: it notes the unread bytes."""
        unread = self._unread
        if unread == 0 or unread != self.unread:
            self.unread, self.read_at = unread, now
        if unread:
            return now > self.read_at + UNREAD
        return self.awaits_head and now > self.since + HEAD

    def end(self) -> None:
        """Close the connection now, and drop unread bytes."""
        self.is_ended = True
        self.transport.abort()

    @property
    def _unread(self) -> int:
        return self.transport.get_write_buffer_size()


def end_overdue(connections: Iterable[Connection], now: float) -> None:
    """Close the connections that are overdue at this check and were overdue at the previous one.

    A single check may come late because the process was busy, and the connection is then not at fault.
    """
    for connection in list(connections):
        was_late, connection.is_late = connection.is_late, connection.is_overdue(now)
        if was_late and connection.is_late and not connection.is_ended:
            connection.end()


def largest_connection_count() -> int:
    """Return the largest number of connections: half of the files that the process may have open, from 4 to 4,096."""
    return max(4, min(_MOST, _open_file_limit() // 2))


def accept_batch_size() -> int:
    """Return the number of connections to accept before the first is handled: an eighth of the number of open files."""
    return max(1, min(_MOST, _open_file_limit() // 8))


def _open_file_limit() -> int:
    """Return the number of files that the process may have open."""
    try:
        import resource  # noqa: PLC0415 - only on POSIX
    except ImportError:
        return _USUAL_FILES
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MOST * 8 if soft == resource.RLIM_INFINITY else soft


# Seconds for each open connection that one of several processes waits before it accepts another one, and at most.
_ACCEPT_WAIT, _LONGEST_ACCEPT_WAIT = 0.00005, 0.002
_WAITING = 2048  # connections in the queue of the socket that are not accepted yet
_LINES = 600  # lines of each kind in the log a minute, in addition to the requests that an analyst may send a minute
_TICKS_OF_A_SECOND = 10  # calls of `on_tick` by uvicorn a second
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
# Thresholds of `gc.set_threshold`. With those of Python, every fifth answer starts a collection.
_GARBAGE_THRESHOLDS = (10_000, 20, 20)


class _Server(uvicorn.Server):
    """Server that listens before it loads slow modules and opens the data, and that admits no work after a signal."""

    def __init__(self, config: uvicorn.Config, state: ServiceState, lazy_routes: LazyRoutes) -> None:
        super().__init__(config)
        self.state, self.lazy_routes = state, lazy_routes
        self.signals: list[int] = []

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to answer requests, then load modules and data in a thread.

        A shutdown waits until the current step is done.
        """
        await super().startup(sockets)
        for listener in sockets or ():
            listener.listen(_WAITING)  # a longer queue than the number of connections accepted at once
        threading.Thread(target=self._get_ready, daemon=True).start()

    async def on_tick(self, counter: int) -> bool:
        """Close the connections of clients that take too long, once a second."""
        if counter % _TICKS_OF_A_SECOND == 0:
            connections: set[Any] = self.server_state.connections
            end_overdue(connections, asyncio.get_running_loop().time())
        return await super().on_tick(counter)

    def _get_ready(self) -> None:
        with suppress(StoppingError):  # raised once the service is stopping
            for work in (self.lazy_routes.load, partial(_open_all, self.state)):
                self.state.queue.admit(work).result()
        gc.collect()
        gc.freeze()  # loaded modules and data stay for good, so garbage collections need not scan them
        gc.set_threshold(*_GARBAGE_THRESHOLDS)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Admit no further work, and end the service as uvicorn does after a signal."""
        self.signals.append(sig)
        self.state.queue.refuse()
        super().handle_exit(sig, frame)

    @contextmanager
    def handle_signals(self) -> Iterator[None]:
        """Handle signals in the block. If the first signal was SIGINT, raise KeyboardInterrupt at the end.

        Without this, a signal before uvicorn's loop runs would interrupt the start in the middle.
        """
        before = {sig: signal.signal(sig, self.handle_exit) for sig in _SIGNALS}
        try:
            yield
        finally:
            for sig, handler in before.items():
                signal.signal(sig, handler)
        if self.signals[:1] == [signal.SIGINT]:
            raise KeyboardInterrupt

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture no signals: `handle_signals` handles them."""
        yield


def _open_all(state: ServiceState) -> None:
    """Open the records of all data sets before the first question. Write a line to the log if one cannot be opened."""
    for dataset in state.configuration.datasets.values():
        try:
            state.sources.records(dataset).prepare()
        except NoisyCountError as error:
            write_line({"event": "not open", "dataset": dataset.name, "why": str(error)})


@contextmanager
def log_faults(write: Write) -> Iterator[None]:
    """Write warnings and faults of libraries, threads and the interpreter to the log of requests, within the block."""
    handler, root = _FaultHandler(write), logging.getLogger()
    before = warnings.showwarning, threading.excepthook, sys.unraisablehook

    def write_warning(_: Warning | str, kind: type[Warning], file: str, line: int, *__: object, **___: object) -> None:
        write(_fault("warnings", kind, f"{Path(file).name}:{line}"))

    def write_thread_fault(args: threading.ExceptHookArgs) -> None:
        write(_fault("threading", args.exc_type, error_place(args.exc_traceback)))

    def write_unraisable_fault(args: Any) -> None:  # noqa: ANN401 - the interpreter's
        write(_fault("interpreter", args.exc_type, error_place(args.exc_traceback)))

    root.addHandler(handler)
    warnings.showwarning, threading.excepthook = write_warning, write_thread_fault  # type: ignore[assignment]
    sys.unraisablehook = write_unraisable_fault
    try:
        yield
    finally:
        warnings.showwarning, threading.excepthook, sys.unraisablehook = before
        root.removeHandler(handler)


class _FaultHandler(logging.Handler):
    """Handler for the log records of libraries. It omits their texts, which may hold confidential values.

    Only the texts of uvicorn are written, without their arguments.
    """

    def __init__(self, write: Write) -> None:
        super().__init__(logging.WARNING)
        self.write = write

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line for a log record."""
        kind, error, trace = record.exc_info or (None, None, None)
        entry = _fault(record.name, kind, error_place(trace) or f"{record.filename}:{record.lineno}")
        if record.name.startswith("uvicorn") and isinstance(record.msg, str):
            entry["text"] = record.msg.strip()  # without its arguments
        if isinstance(error, OSError) and error.errno:
            entry["why"] = os.strerror(error.errno)
        self.write(entry)


def _fault(source: str, kind: type[BaseException] | None, at: str) -> dict[str, Any]:
    entry = {"event": "fault", "from": source, "at": at}
    return entry if kind is None else {**entry, "error": kind.__name__}


def listening_socket(host: str, port: int) -> socket.socket:
    """Return a socket that listens on a host and port; port 0 is any free port. Raise NoisyCountError if it cannot."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=_WAITING)
    except (OSError, OverflowError) as error:
        why = error.strerror if isinstance(error, OSError) else "there is no such port"
        raise NoisyCountError(f"--host {host!r} --port {port} cannot be used ({why}): name another") from None


class SharedListener(socket.socket):
    """Listening socket of several processes. The more connections a process has, the later it accepts another one.

    So the connections spread evenly: a process with two thirds of them would be busy while another one is idle.
    """

    connections: Sized = ()  # open connections of this process

    def accept(self) -> tuple[socket.socket, Any]:
        """Accept a connection, after a wait in which a process with fewer connections may accept it."""
        time.sleep(min(_LONGEST_ACCEPT_WAIT, _ACCEPT_WAIT * len(self.connections)))
        return super().accept()


def run(
    configuration: Config,
    listener: socket.socket,
    ready: Callable[[], None],
    *,
    slots: bool,
    shared: SharedMemory | None = None,
) -> None:
    """Serve until a signal ends the service. Work that was admitted by then is finished first, within a time limit.

    Args:
        configuration: The configuration.
        listener: A listening socket.
        ready: A function to call just before the server starts.
        slots: True makes replies wait for a tick (`ReplyTick`), so that their times reveal nothing.
        shared: Memory shared with the other processes of the service; None if this is the only process.
    """
    state = ServiceState.open(configuration, slots=slots, shared_rates=None if shared is None else shared.rates)
    try:
        service = configuration.service
        lines = LimitedLog(_LINES + service.rate)
        app = application(state, lines, shared)
        config = uvicorn.Config(
            app,
            log_config=None,
            loop="asyncio",
            http=Connection,
            ws="none",
            backlog=accept_batch_size() if shared is None else 1,  # of several processes, each accepts one at a time
            access_log=False,
            server_header=False,
            proxy_headers=False,  # the application itself reads the headers of configured proxies
            timeout_graceful_shutdown=round(state.patience) + 1,
        )
        server = _Server(config, state, app.state.late)
        if shared is not None:
            listener = SharedListener(fileno=listener.detach())
            listener.connections = server.server_state.connections
        with server.handle_signals(), log_faults(lines):
            ready()
            lines({"event": "started"})
            server.run(sockets=[listener])
    finally:
        is_done = state.close()
        write_line({"event": "stopped" if is_done else "stopped while a query went on"})
        if not is_done:
            os._exit(1)  # an engine that still runs cannot be shut down in order


_SURVEY_SIZE = 5912  # persons
_SLOT = 0.05  # seconds of an answer slot; counting the survey takes a fifth of that
_LIFETIME = timedelta(days=1)  # of the owner's key


@contextmanager
def demonstration() -> Iterator[tuple[Config, str]]:
    """Yield a configuration of the survey with a temporary ledger, and an owner's key. Remove its folder at the end."""
    with TemporaryDirectory(prefix="noisycount-") as folder:
        survey = DatasetConfig("survey", survey_path(), unit="person", size=_SURVEY_SIZE)
        url = sqlite_url(Path(folder).resolve() / "ledger.db")
        configuration = Config(None, url, {"survey": survey}, service=ServiceConfig(slot=_SLOT))
        key, _ = Keyring.from_config(configuration).issue("demo", Role.OWNER, None, _LIFETIME)
        yield configuration, key.text
