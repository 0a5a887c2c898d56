"""What the service writes down: lines of JSON without counts, literals and durations."""

import json
import logging
import os
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

from noisycount.service.errors import RateError
from noisycount.service.state import RateLimiter

Write = Callable[[dict[str, Any]], None]


def written(told: dict[str, Any]) -> None:
    """Write a line of JSON on standard error, which a service manager keeps."""
    sys.stderr.write(line_of(told, datetime.now(UTC)) + "\n")
    sys.stderr.flush()


def line_of(told: dict[str, Any], now: datetime) -> str:
    """What is told, with the second in which it is."""
    return json.dumps({"time": now.replace(microsecond=0).isoformat(), **told})


def place_of(trace: TracebackType | None) -> str:
    """Where an error arose, without what it was about."""
    frames = extract_tb(trace)
    return f"{frames[-1].filename.rpartition('/')[2]}:{frames[-1].lineno}" if frames else ""


@dataclass(slots=True, eq=False)
class Lines:
    """A log that nobody can fill: of each kind at most so many lines a minute.

    A kind is an event, where a fault arose, or the requests of one user; those of all who are not
    known are one. What is not written is counted in the next line of its kind.
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
    """Write what libraries, threads and the interpreter report where the lines of requests go."""
    handler, root = _FaultHandler(write), logging.getLogger()
    before = warnings.showwarning, threading.excepthook, sys.unraisablehook

    def warned(_: Warning | str, kind: type[Warning], file: str, line: int, *__: object, **___: object) -> None:
        write(_fault("warnings", kind, f"{Path(file).name}:{line}"))

    def failed(args: threading.ExceptHookArgs) -> None:
        write(_fault("threading", args.exc_type, place_of(args.exc_traceback)))

    def dropped(args: Any) -> None:  # noqa: ANN401 - the interpreter's
        write(_fault("interpreter", args.exc_type, place_of(args.exc_traceback)))

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
        told = _fault(record.name, kind, place_of(trace) or f"{record.filename}:{record.lineno}")
        if record.name.startswith("uvicorn") and isinstance(record.msg, str):
            told["text"] = record.msg.strip()  # without its arguments
        if isinstance(error, OSError) and error.errno:
            told["why"] = os.strerror(error.errno)
        self.write(told)


def _fault(source: str, kind: type[BaseException] | None, at: str) -> dict[str, Any]:
    told = {"event": "fault", "from": source, "at": at}
    return told if kind is None else {**told, "error": kind.__name__}
