"""What a head may say once, how large a body is, how long it takes to arrive, how deep it is.

How many requests are worked on at once.

How often a user may ask: a bucket of tokens each, which fills as time passes.

The requests that are worked on, each once.

What is worked on, which ends before the service does.

How long an asker waits where replies leave as soon as they are there.
"""

import asyncio
import math
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Condition, Lock
from typing import TypeVar

from anyio import move_on_after
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from noisycount.frozen import frozen
from noisycount.release.reply_tick import Outcome
from noisycount.service.refusals import (
    BusyError,
    DepthError,
    DoubledError,
    InFlightError,
    LargeError,
    RateError,
    SlowError,
    StoppingError,
    problem_reply,
)

__all__ = [
    "SINGLE",
    "BodyLimit",
    "ConcurrencyLimit",
    "Deadline",
    "InFlight",
    "RateLimiter",
    "WorkQueue",
    "depth_of",
]


SINGLE = frozenset(
    {
        *("authorization", "content-length", "content-type", "cookie", "host", "idempotency-key"),
        *("origin", "sec-fetch-site", "transfer-encoding", "x-csrf-token"),
    }
)


"""What a request may say once: of two, one gate could look at the first and one at the last."""


_PATIENCE = 30.0  # seconds: a megabyte comes over any line by then


_OPENING = b"[{"


_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


_FORMS = (b"application/x-www-form-urlencoded", b"multipart/form-data")


_TEXT = re.compile(rb'"(?:[^"\\]|\\.)*"?', re.DOTALL)


def depth_of(body: bytes) -> int:
    """How many brackets of JSON are open at once at most; those in texts are none.

    Example:
        >>> depth_of(b'{"keys": {"town": ["[[[", null]]}}'), depth_of(b'"["'), depth_of(b"")
        (3, 0, 0)
    """
    depth = deepest = 0
    for bracket in _TEXT.sub(b"", body).translate(None, _NO_BRACKETS):
        if bracket in _OPENING:
            depth += 1
            deepest = max(deepest, depth)
        else:
            depth = max(0, depth - 1)
    return deepest


class BodyLimit:
    """Reads a request whole before anybody else sees it.

    What says something twice, is too large, too deep or too slow is refused; who is slow keeps
    nobody else waiting.

    Args:
        application: What comes after.
        most: So many bytes a request may have.
        depth: So deep may its JSON be.
        patience: So many seconds it may take to arrive.
    """

    def __init__(
        self, application: ASGIApp, most: int, depth: int, patience: float = _PATIENCE
    ) -> None:
        self.application, self.most, self.depth = application, most, depth
        self.patience = patience

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self.application(scope, receive, send)
            return
        try:
            whole = await self._whole(scope, receive)
        except (DoubledError, LargeError, SlowError, DepthError) as refusal:
            await problem_reply(refusal)(scope, receive, send)
            return
        await self.application(scope, whole, send)

    async def _whole(self, scope: Scope, receive: Receive) -> Receive:
        """A request that is here.

        Raises:
            DoubledError: It says something twice.
            SlowError: It did not arrive in time, or not to its end.
            LargeError: It has too many bytes.
            DepthError: Its JSON is too deep.
        """
        if doubled := _doubled(scope):
            raise DoubledError(doubled)
        if scope["method"] in {"GET", "HEAD"}:
            return receive
        with move_on_after(self.patience):
            body = await self._body(receive)
            if not _is_form(scope) and depth_of(body) > self.depth:
                raise DepthError(self.depth)
            return _Again(body, receive)
        raise SlowError(self.patience)

    async def _body(self, receive: Receive) -> bytes:
        """All bytes of a request.

        Raises:
            SlowError: The client is gone, and what came may be a part.
            LargeError: They are too many.
        """
        parts, length, more = list[bytes](), 0, True
        while more:
            message = await receive()
            if message["type"] != "http.request":
                raise SlowError(self.patience)
            parts.append(message.get("body", b""))
            length += len(parts[-1])
            if length > self.most:
                raise LargeError(self.most)
            more = message.get("more_body", False)
        return b"".join(parts)


def _doubled(scope: Scope) -> str:
    """The name of a header that is there twice and may be there once; empty: there is none."""
    names = Counter(name.decode("latin-1").lower() for name, _ in scope["headers"])
    return next((name for name, times in names.items() if times > 1 and name in SINGLE), "")


def _is_form(scope: Scope) -> bool:
    """Whether a browser sent a form, whose texts may hold any brackets."""
    headers: dict[bytes, bytes] = dict(scope["headers"])
    return headers.get(b"content-type", b"").startswith(_FORMS)


class _Again:
    """A body that was read, as if it came now; then what comes after it."""

    def __init__(self, body: bytes, receive: Receive) -> None:
        self.body: bytes | None = body
        self.receive = receive

    async def __call__(self) -> Message:
        """The next message."""
        body, self.body = self.body, None
        if body is None:
            return await self.receive()
        return {"type": "http.request", "body": body, "more_body": False}


_ALWAYS = "/healthz"


class ConcurrencyLimit:
    """Turns away whoever comes while too many others are there.

    Whose reply has begun to leave is there no more: a client may take its time to read it.

    Args:
        application: What comes after.
        most: So many requests may be there at once.
    """

    def __init__(self, application: ASGIApp, most: int) -> None:
        self.application, self.most, self.present = application, most, 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http" or scope["path"] == _ALWAYS:
            await self.application(scope, receive, send)
            return
        if self.present >= self.most:
            await problem_reply(BusyError())(scope, receive, send)
            return
        self.present += 1
        is_there = True

        async def leaving(message: Message) -> None:
            nonlocal is_there
            self.present -= is_there
            is_there = False
            await send(message)

        try:
            await self.application(scope, receive, leaving)
        finally:
            self.present -= is_there


_MINUTE = 60.0


@dataclass(slots=True, eq=False)
class RateLimiter:
    """A token is taken by each request; a full bucket holds those of a minute.

    Attributes:
        rate: So many tokens a minute come into each bucket.
        clock: Seconds, from any beginning.

    Example:
        >>> rates = RateLimiter(rate=2, clock=lambda: 0.0)
        >>> rates.take("ana"), rates.take("ana"), rates.take("bo")
        (None, None, None)
    """

    rate: int
    clock: Callable[[], float] = time.monotonic
    _levels: dict[str, tuple[float, float]] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def take(self, name: str, tokens: float = 1.0) -> None:
        """Some tokens of a user's bucket, or a part of one.

        Args:
            name: The user's.
            tokens: How many.

        Raises:
            RateError: It has not so many; the error says when it will.
        """
        with self._lock:
            now = self.clock()
            level, then = self._levels.get(name, (float(self.rate), now))
            level = min(float(self.rate), level + (now - then) * self.rate / _MINUTE)
            if level < tokens:
                raise RateError(math.ceil((tokens - level) * _MINUTE / self.rate))
            self._levels[name] = level - tokens, now


@dataclass(slots=True, eq=False)
class InFlight:
    """The names of requests that are worked on in this process.

    Two processes that work on one name are kept from a second answer by the ledger alone.

    Example:
        >>> in_flight = InFlight()
        >>> with in_flight.of("ana:1"), in_flight.of("ana:2"):
        ...     pass
    """

    _names: set[str] = field(default_factory=set)
    _lock: Lock = field(default_factory=Lock)

    @contextmanager
    def of(self, name: str) -> Iterator[None]:
        """The time in which a request is worked on.

        Raises:
            InFlightError: It is already.
        """
        with self._lock:
            if name in self._names:
                raise InFlightError
            self._names.add(name)
        try:
            yield
        finally:
            with self._lock:
                self._names.remove(name)


Result = TypeVar("Result")


@dataclass(slots=True, eq=False)
class WorkQueue:
    """The work of all requests, also of those whose askers wait no more.

    Attributes:
        most: So many are worked on at once; others take their turns.

    Example:
        >>> queue = WorkQueue(1)
        >>> queue.admitted(lambda: 42)(), queue.stop(0.0)
        (42, True)
    """

    most: int
    _admitted: int = 0
    _running: int = 0
    _is_stopping: bool = False
    _change: Condition = field(default_factory=Condition)

    def admitted(self, work: Callable[[], Result]) -> Callable[[], Result]:
        """Work that waits for its turn, and for whose end the service waits.

        Raises:
            StoppingError: No more is taken.
        """
        with self._change:
            if self._is_stopping:
                raise StoppingError
            self._admitted += 1
        return lambda: self._done(work)

    def refuse(self) -> None:
        """The end of admissions."""
        with self._change:
            self._is_stopping = True

    def stop(self, seconds: float) -> bool:
        """Whether all that was admitted ended within some seconds; no more is taken."""
        self.refuse()
        with self._change:
            return self._change.wait_for(lambda: self._admitted == 0, seconds)

    def _done(self, work: Callable[[], Result]) -> Result:
        with self._change:
            self._change.wait_for(lambda: self._running < self.most)
            self._running += 1
        try:
            return work()
        finally:
            with self._change:
                self._running -= 1
                self._admitted -= 1
                self._change.notify_all()


@frozen
class Deadline:
    """Lets replies leave at once, and nobody wait longer than some seconds.

    Attributes:
        seconds: After which the asker gets a fixed text; the work goes on.

    Example:
        >>> Deadline(30.0).reply(lambda: 42)
        42
    """

    seconds: float

    def reply(self, work: Callable[[], Result]) -> Result:
        """What work gives; what it raises is raised.

        Raises:
            OverrunError: The work was not done in time; it goes on without its asker.
        """
        outcome = Outcome.of(work)
        outcome.finished.wait(self.seconds)
        return outcome.now()

    async def awaited(self, work: Callable[[], Result], crew: Executor) -> Result:
        """The same without a thread that waits.

        Args:
            work: What is done, also where its asker is gone meanwhile.
            crew: Whose threads do it.

        Raises:
            OverrunError: The work was not done in time; it goes on without its asker.
        """
        outcome = Outcome[Result]()
        done = asyncio.get_running_loop().run_in_executor(crew, outcome.become, work)
        await asyncio.wait([done], timeout=self.seconds)
        return outcome.now()
