"""What the service writes down: of requests no count, no literal and no duration; and faults."""

import json
import logging
import os
import secrets
import sys
import threading
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from traceback import extract_tb
from types import TracebackType
from typing import Any

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from noisycount.service.limits import RateLimiter
from noisycount.service.refusals import RateError

__all__ = ["Journal", "Lines", "faults_written", "line_of", "written"]


Write = Callable[[dict[str, Any]], None]


def written(told: dict[str, Any]) -> None:
    """A line of JSON on standard error, which a service manager keeps."""
    sys.stderr.write(line_of(told, datetime.now(UTC)) + "\n")
    sys.stderr.flush()


def line_of(told: dict[str, Any], now: datetime) -> str:
    """What is told, with the second in which it is.

    Example:
        >>> line_of({"event": "started"}, datetime(2026, 11, 22, 12, 30, 1, 999, UTC))
        '{"time": "2026-11-22T12:30:01+00:00", "event": "started"}'
    """
    return json.dumps({"time": now.replace(microsecond=0).isoformat(), **told})


@dataclass(slots=True, eq=False)
class Lines:
    """A log that nobody can fill: of each kind so many lines a minute.

    A kind is an event, where a fault arose, or the requests of one user; those of nobody who is
    known are one. What is not written is counted in the next line of its kind.

    Args:
        most: Lines of each kind a minute.
        write: Where a line goes.

    Example:
        >>> told = []
        >>> lines = Lines(1, told.append)
        >>> for _ in range(3):
        ...     lines({"event": "started"})
        >>> told
        [{'event': 'started'}]
    """

    most: int
    write: Write = written
    _rates: RateLimiter = field(init=False)
    _unwritten: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._rates = RateLimiter(self.most)

    def __call__(self, told: dict[str, Any]) -> None:
        """Write a line, or count it."""
        kind = repr([told.get(name) for name in ("event", "from", "at", "visitor")])
        try:
            self._rates.take(kind)
        except RateError:
            self._unwritten[kind] += 1
            return
        unwritten = self._unwritten.pop(kind, 0)
        self.write({**told, "unwritten": unwritten} if unwritten else told)


@contextmanager
def faults_written(write: Write) -> Iterator[None]:
    """Whatever libraries and threads say goes where the lines of requests go.

    Args:
        write: Where a line goes.
    """
    handler, root = _Faults(write), logging.getLogger()
    before = warnings.showwarning, threading.excepthook, sys.unraisablehook

    def warned(
        _: Warning | str, kind: type[Warning], file: str, line: int, *__: object, **___: object
    ) -> None:
        write(_fault("warnings", kind, f"{Path(file).name}:{line}"))

    def failed(args: threading.ExceptHookArgs) -> None:
        write(_fault("threading", args.exc_type, _place(args.exc_traceback)))

    def dropped(args: Any) -> None:  # noqa: ANN401 - the interpreter's
        write(_fault("interpreter", args.exc_type, _place(args.exc_traceback)))

    root.addHandler(handler)
    warnings.showwarning, threading.excepthook = warned, failed  # type: ignore[assignment]
    sys.unraisablehook = dropped
    try:
        yield
    finally:
        warnings.showwarning, threading.excepthook, sys.unraisablehook = before
        root.removeHandler(handler)


class _Faults(logging.Handler):
    """Writes what libraries log; their texts could hold anything, but for uvicorn's own."""

    def __init__(self, write: Write) -> None:
        super().__init__(logging.WARNING)
        self.write = write

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line."""
        kind, error, trace = record.exc_info or (None, None, None)
        at = _place(trace) or f"{record.filename}:{record.lineno}"
        told = _fault(record.name, kind, at)
        if record.name.startswith("uvicorn") and isinstance(record.msg, str):
            told["text"] = record.msg.strip()  # without its arguments
        if isinstance(error, OSError) and error.errno:
            told["why"] = os.strerror(error.errno)
        self.write(told)


def _fault(source: str, kind: type[BaseException] | None, at: str) -> dict[str, Any]:
    """What is written of a fault: who tells of it, and where it arose."""
    told = {"event": "fault", "from": source, "at": at}
    return told if kind is None else {**told, "error": kind.__name__}


class Journal:
    """Writes a line for each request, and lets no error out with what it knows.

    Args:
        application: What comes after.
        write: Where a line goes.
    """

    def __init__(self, application: ASGIApp, write: Write = written) -> None:
        self.application, self.write = application, write

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self.application(scope, receive, send)
            return
        request, status = secrets.token_hex(8), 500

        async def marked(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                named = (b"x-request-id", request.encode()), (b"cache-control", b"no-store")
                known = {name for name, _ in message["headers"]}
                message["headers"] += [each for each in named if each[0] not in known]
            await send(message)

        told = dict[str, Any]()
        try:
            await self.application(scope, receive, marked)
        except Exception as error:  # noqa: BLE001 - its text could hold anything
            told = {"error": type(error).__name__, "at": _place(error.__traceback__)}
            await _refuse(error, scope, receive, marked)
        finally:
            self.write({"request": request, **_facts(scope), "status": status, **told})


def _facts(scope: Scope) -> dict[str, Any]:
    """Who asked for what: the template of the route, not what was put into it."""
    state = scope.get("state", {})
    user = state.get("user")
    told = {
        "visitor": None if user is None else user.name,
        "method": scope["method"],
        "route": getattr(scope.get("route"), "path", None),
    }
    named = {name: state[name] for name in ("problem", "why") if state.get(name)}
    return told | named


async def _refuse(error: Exception, scope: Scope, receive: Receive, send: Send) -> None:
    """The reply to a request that failed."""
    reply = await scope["app"].exception_handlers[Exception](Request(scope), error)
    await reply(scope, receive, send)


def _place(trace: TracebackType | None) -> str:
    """Where an error arose, without what it was about."""
    frames = extract_tb(trace)
    return f"{frames[-1].filename.rpartition('/')[2]}:{frames[-1].lineno}" if frames else ""
