"""The service as a process: its connections, its start, its end, and one for anyone to try."""

import asyncio
import gc
import logging
import os
import signal
import socket
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
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

# Seconds that the head of a request may take to arrive, from the connection or the last reply.
HEAD = 10.0
UNREAD = 30.0  # seconds for which a client may read nothing of a reply that waits for it
_MOST = 4096
_USUAL_FILES = 1024  # that a process may have open where nobody says


class Connection(H11Protocol):
    """A connection that is ended where the client lets the service wait for too long.

    Where there are as many as may be, the newest takes the place of the one that waits for its
    client the longest, or has none where most are worked on: these are never ended.
    """

    since = 0.0  # when it began to wait for a head
    unread = 0  # bytes of replies at the last look
    read_at = 0.0  # when the client last took some of them
    is_late = False
    is_ended = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a place, which may be another's."""
        super().connection_made(transport)
        self.since = self.loop.time()
        connections: Iterable[Any] = self.connections  # the service makes no others
        there: list[Connection] = [each for each in connections if not each.is_ended]
        if len(there) > most_connections():
            waiting = [each for each in there if each.awaits_client]
            is_idle = len(waiting) > len(there) // 2
            (min(waiting, key=lambda each: each.since) if is_idle else self).end()

    def on_response_complete(self) -> None:
        """Wait for the next head."""
        self.since = self.loop.time()
        super().on_response_complete()

    @property
    def awaits_head(self) -> bool:
        """Whether no request is here."""
        return self.cycle is None or self.cycle.response_complete

    @property
    def awaits_client(self) -> bool:
        """Whether nothing happens before the client sends or reads something."""
        return self.awaits_head or self.cycle.more_body or self._unread > 0

    def is_overdue(self, now: float) -> bool:
        """Whether the client took too long; to be asked again and again."""
        unread = self._unread
        if unread == 0 or unread != self.unread:
            self.unread, self.read_at = unread, now
        if unread:
            return now > self.read_at + UNREAD
        return self.awaits_head and now > self.since + HEAD

    def end(self) -> None:
        """Close it now, whatever is unread."""
        self.is_ended = True
        self.transport.abort()

    @property
    def _unread(self) -> int:
        return self.transport.get_write_buffer_size()


def end_overdue(connections: Iterable[Connection], now: float) -> None:
    """End the connections that are overdue at this look and were at the last: what was busy between blames nobody."""
    for each in list(connections):
        was_late, each.is_late = each.is_late, each.is_overdue(now)
        if was_late and each.is_late and not each.is_ended:
            each.end()


def most_connections() -> int:
    """How many there may be: half of the files that the process may have open."""
    return max(4, min(_MOST, _files() // 2))


def accepted_at_once() -> int:
    """How many may be accepted before the first of them is looked at: an eighth of the files."""
    return max(1, min(_MOST, _files() // 8))


def _files() -> int:
    """How many files the process may have open."""
    try:
        import resource  # noqa: PLC0415 - POSIX alone has it
    except ImportError:
        return _USUAL_FILES
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MOST * 8 if soft == resource.RLIM_INFINITY else soft


_WAITING = 2048  # connections that nobody took yet
_LINES = 600  # of the log a minute, beside as many as an analyst may send requests
_TICKS_OF_A_SECOND = 10  # of uvicorn's
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class _Server(uvicorn.Server):
    """A server that loads what questions need once it listens, and takes no more spends once it is told to stop."""

    def __init__(self, config: uvicorn.Config, state: ServiceState, late: LazyRoutes) -> None:
        super().__init__(config)
        self.state, self.late = state, late
        self.signals: list[int] = []

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """From here on it answers, and gets ready behind that; the end waits for what was begun."""
        await super().startup(sockets)
        for place in sockets or ():
            place.listen(_WAITING)  # more than are accepted at once
        threading.Thread(target=self._get_ready, daemon=True).start()

    async def on_tick(self, counter: int) -> bool:
        """Once a second, the end of connections whose clients took too long."""
        if counter % _TICKS_OF_A_SECOND == 0:
            connections: set[Any] = self.server_state.connections
            end_overdue(connections, asyncio.get_running_loop().time())
        return await super().on_tick(counter)

    def _get_ready(self) -> None:
        with suppress(StoppingError):  # once it is told to stop, nothing more is begun
            for work in (self.late.load, partial(_open_all, self.state)):
                self.state.queue.admitted(work)()
        gc.collect()
        gc.freeze()  # all that was loaded stays: no collection looks at it again

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """The end, as a signal asks for it."""
        self.signals.append(sig)
        self.state.queue.refuse()
        super().handle_exit(sig, frame)

    @contextmanager
    def heeding(self) -> Iterator[None]:
        """Signals end the service from here on: one before uvicorn has its loop would break it in the middle."""
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
        """Nothing that `heeding` has not caught."""
        yield


def _open_all(state: ServiceState) -> None:
    """Open all records ahead of the first questions; which cannot be opened, the log says."""
    for dataset in state.configuration.datasets.values():
        try:
            state.sources.records(dataset).prepare()
        except NoisyCountError as error:
            write_line({"event": "not open", "dataset": dataset.name, "why": str(error)})


@contextmanager
def log_faults(write: Write) -> Iterator[None]:
    """Write what libraries, threads and the interpreter report where the lines of requests go."""
    handler, root = _FaultHandler(write), logging.getLogger()
    before = warnings.showwarning, threading.excepthook, sys.unraisablehook

    def warned(_: Warning | str, kind: type[Warning], file: str, line: int, *__: object, **___: object) -> None:
        write(_fault("warnings", kind, f"{Path(file).name}:{line}"))

    def failed(args: threading.ExceptHookArgs) -> None:
        write(_fault("threading", args.exc_type, error_place(args.exc_traceback)))

    def dropped(args: Any) -> None:  # noqa: ANN401 - the interpreter's
        write(_fault("interpreter", args.exc_type, error_place(args.exc_traceback)))

    root.addHandler(handler)
    warnings.showwarning, threading.excepthook = warned, failed  # type: ignore[assignment]
    sys.unraisablehook = dropped
    try:
        yield
    finally:
        warnings.showwarning, threading.excepthook, sys.unraisablehook = before
        root.removeHandler(handler)


class _FaultHandler(logging.Handler):
    """Writes what libraries log; their texts could hold anything, but for uvicorn's own."""

    def __init__(self, write: Write) -> None:
        super().__init__(logging.WARNING)
        self.write = write

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line."""
        kind, error, trace = record.exc_info or (None, None, None)
        told = _fault(record.name, kind, error_place(trace) or f"{record.filename}:{record.lineno}")
        if record.name.startswith("uvicorn") and isinstance(record.msg, str):
            told["text"] = record.msg.strip()  # without its arguments
        if isinstance(error, OSError) and error.errno:
            told["why"] = os.strerror(error.errno)
        self.write(told)


def _fault(source: str, kind: type[BaseException] | None, at: str) -> dict[str, Any]:
    told = {"event": "fault", "from": source, "at": at}
    return told if kind is None else {**told, "error": kind.__name__}


def listening(host: str, port: int) -> socket.socket:
    """A socket that takes connections from now on; port 0 is any that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=_WAITING)
    except (OSError, OverflowError) as error:
        why = error.strerror if isinstance(error, OSError) else "there is no such port"
        raise NoisyCountError(f"--host {host!r} --port {port} cannot be used ({why}): name another") from None


def run(
    configuration: Config,
    place: socket.socket,
    ready: Callable[[], None],
    *,
    slots: bool,
    shared: SharedMemory | None = None,
) -> None:
    """Serve until a signal ends it, alone or as one of several that share memory; what was begun by then is done."""
    state = ServiceState.open(configuration, slots=slots, rates=None if shared is None else shared.rates)
    try:
        service = configuration.service
        lines = LimitedLog(_LINES + service.rate)
        made = application(state, lines, shared)
        config = uvicorn.Config(
            made,
            log_config=None,
            loop="asyncio",
            http=Connection,
            ws="none",
            backlog=accepted_at_once() if shared is None else 1,  # of several, each takes its part
            access_log=False,
            server_header=False,
            proxy_headers=False,  # the application reads those of configured proxies
            timeout_graceful_shutdown=round(state.patience) + 1,
        )
        server = _Server(config, state, made.state.late)
        with server.heeding(), log_faults(lines):
            ready()
            lines({"event": "started"})
            server.run(sockets=[place])
    finally:
        is_done = state.close()
        write_line({"event": "stopped" if is_done else "stopped while a query went on"})
        if not is_done:
            os._exit(1)  # an engine that is still at work cannot be taken down in order


_SURVEY_SIZE = 5912
_SLOT = 0.05  # seconds: the survey is counted in a fifth of that
_LIFETIME = timedelta(days=1)


@contextmanager
def demonstration() -> Iterator[tuple[Config, str]]:
    """The survey with a throw-away ledger and budget, and an owner's key; its folder is removed in the end."""
    with TemporaryDirectory(prefix="noisycount-") as folder:
        survey = DatasetConfig("survey", survey_path(), unit="person", size=_SURVEY_SIZE)
        url = sqlite_url(Path(folder).resolve() / "ledger.db")
        configuration = Config(None, url, {"survey": survey}, service=ServiceConfig(slot=_SLOT))
        key, _ = Keyring.of(configuration).issue("demo", Role.OWNER, None, _LIFETIME)
        yield configuration, key.text
