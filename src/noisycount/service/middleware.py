"""Middleware that every request passes before its route, outermost first: log, body, crowd, late routes.

The log is lines of JSON without counts, literals and durations.
"""

import json
import re
import secrets
import sys
from collections import Counter
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from datetime import UTC, datetime
from json import JSONDecodeError
from threading import Lock
from traceback import extract_tb
from types import TracebackType
from typing import Any

from anyio import move_on_after, to_thread
from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Router
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from noisycount.service import errors
from noisycount.service.state import RateLimiter

Write = Callable[[dict[str, Any]], None]


def write_line(entry: dict[str, Any]) -> None:
    """Write a line of JSON on standard error, which a service manager keeps."""
    sys.stderr.write(json_line(entry, datetime.now(UTC)) + "\n")
    sys.stderr.flush()


def json_line(entry: dict[str, Any], now: datetime) -> str:
    """Return a log entry as a line of JSON, with the time in whole seconds."""
    return json.dumps({"time": now.replace(microsecond=0).isoformat(), **entry})


def error_place(trace: TracebackType | None) -> str:
    """Return the file and line where an error arose, without its message."""
    frames = extract_tb(trace)
    return f"{frames[-1].filename.rpartition('/')[2]}:{frames[-1].lineno}" if frames else ""


@dataclass(slots=True, eq=False)
class LimitedLog:
    """A log with a limited number of lines a minute for each kind of entry, so that no client can fill it.

    A kind is an event, the place of a fault, or the requests of one user; unknown users count as one. The next line of
    a kind has the number of entries that were not written.
    """

    max_lines: int
    write: Write = write_line
    _rates: RateLimiter = field(init=False)
    _unwritten: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._rates = RateLimiter(self.max_lines)

    def __call__(self, entry: dict[str, Any]) -> None:
        """Write an entry, or count it."""
        kind = repr([entry.get(name) for name in ("event", "from", "at", "visitor")])
        if self._rates.wait(kind):
            self._unwritten[kind] += 1
            return
        unwritten = self._unwritten.pop(kind, 0)
        self.write({**entry, "unwritten": unwritten} if unwritten else entry)


class RequestLog:
    """Middleware that writes a log line for each request, and replaces unexpected errors by a problem."""

    def __init__(self, application: ASGIApp, write: Write = write_line) -> None:
        self.application, self.write = application, write

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self.application(scope, receive, send)
            return
        request, status = secrets.token_hex(8), 500

        async def send_marked(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = (b"x-request-id", request.encode()), (b"cache-control", b"no-store")
                header_names = {name for name, _ in message["headers"]}
                message["headers"] += [header for header in headers if header[0] not in header_names]
            await send(message)

        fault = dict[str, Any]()
        try:
            await self.application(scope, receive, send_marked)
        except Exception as error:  # noqa: BLE001 - its text could contain data
            fault = {"error": type(error).__name__, "at": error_place(error.__traceback__)}
            handler = scope["app"].exception_handlers[Exception]
            reply = await handler(Request(scope), error)
            await reply(scope, receive, send_marked)
        finally:
            self.write({"request": request, **_user_and_route(scope), "status": status, **fault})


def _user_and_route(scope: Scope) -> dict[str, Any]:
    """Return the user and the route of a request for the log: the template of the route, without its values."""
    state = scope.get("state", {})
    user = state.get("user")
    facts = {
        "visitor": None if user is None else user.name,
        "method": scope["method"],
        "route": getattr(scope.get("route"), "path", None),
    }
    return facts | {name: state[name] for name in ("problem", "why") if state.get(name)}


# Headers that a request may have once: of two, a proxy could use the first, and the service the last.
SINGLE = frozenset(
    {
        *("authorization", "content-length", "content-type", "cookie", "host", "idempotency-key"),
        *("origin", "sec-fetch-site", "transfer-encoding", "x-csrf-token"),
    }
)

_TIMEOUT = 30.0  # seconds, enough for a megabyte on any line
_FORMS = (b"application/x-www-form-urlencoded", b"multipart/form-data")


class BodyLimit:
    """Middleware that reads a request completely before it is handled.

    It refuses a request with a repeated header, with more than `max_bytes` bytes, with JSON nested deeper than `depth`,
    or that takes longer than `patience` seconds to arrive. A slow client delays no other request.
    """

    def __init__(self, application: ASGIApp, max_bytes: int, depth: int, patience: float = _TIMEOUT) -> None:
        self.application, self.max_bytes, self.depth = application, max_bytes, depth
        self.patience = patience

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] == "http":
            try:
                receive = await self._receive_whole_body(scope, receive)
            except (errors.RepeatedNameError, errors.LargeError, errors.SlowError, errors.DepthError) as refusal:
                await errors.problem_reply(refusal)(scope, receive, send)
                return
        await self.application(scope, receive, send)

    async def _receive_whole_body(self, scope: Scope, receive: Receive) -> Receive:
        """Receive the whole request. Return a function that yields it again."""
        names = [name.lower() for name, _ in scope["headers"]]
        if len(set(names)) < len(names):
            for name, times in Counter(name.decode("latin-1") for name in names).items():
                if times > 1 and name in SINGLE:
                    raise errors.RepeatedNameError(name.title())
        if scope["method"] in {"GET", "HEAD"}:
            return receive
        with move_on_after(self.patience):
            body = await self._body(receive)
            kind = dict(scope["headers"]).get(b"content-type", b"")
            if not kind.startswith(_FORMS) and depth_of(body) > self.depth:
                raise errors.DepthError(self.depth)  # texts of a form may contain any brackets
            return replay_body(body, receive)
        raise errors.SlowError(self.patience)

    async def _body(self, receive: Receive) -> bytes:
        parts, length, has_more = list[bytes](), 0, True
        while has_more:
            message = await receive()
            if message["type"] != "http.request":  # the client has closed the connection: the body may be incomplete
                raise errors.SlowError(self.patience)
            parts.append(message.get("body", b""))
            length += len(parts[-1])
            if length > self.max_bytes:
                raise errors.LargeError(self.max_bytes)
            has_more = message.get("more_body", False)
        return b"".join(parts)


def replay_body(body: bytes, receive: Receive) -> Receive:
    """Return a function that yields a body that was received already, and then what follows it."""
    messages = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def receive_again() -> Message:
        return next(messages, None) or await receive()

    return receive_again


_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_TEXT = re.compile(rb'"(?:[^"\\]|\\.)*"?', re.DOTALL)


def depth_of(body: bytes) -> int:
    """Return the largest number of nested brackets of a JSON text, without those in strings."""
    depth = deepest = 0
    for bracket in _TEXT.sub(b"", body).translate(None, _NO_BRACKETS):
        depth = depth + 1 if bracket in b"[{" else max(0, depth - 1)
        deepest = max(deepest, depth)
    return deepest


class ConcurrencyLimit:
    """Middleware that refuses a request while `max_requests` others are in progress.

    A request is in progress until its reply begins.
    """

    def __init__(self, application: ASGIApp, max_requests: int) -> None:
        self.application, self.max_requests, self.present = application, max_requests, 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http" or scope["path"] == "/healthz":
            await self.application(scope, receive, send)
            return
        if self.present >= self.max_requests:
            await errors.problem_reply(errors.BusyError())(scope, receive, send)
            return
        self.present += 1
        is_counted = True

        async def end_and_send(message: Message) -> None:
            nonlocal is_counted
            self.present -= is_counted
            is_counted = False
            await send(message)

        try:
            await self.application(scope, receive, end_and_send)
        finally:
            self.present -= is_counted


class LazyRoutes:
    """Routes that are loaded after the start: `add` loads them and adds them to the `router`."""

    def __init__(self, router: Router, add: Callable[[], None]) -> None:
        self.router, self.add, self.is_there = router, add, False
        self._turn = Lock()

    def load(self) -> None:
        """Add the routes, if this is the first call. Requests that arrive meanwhile wait."""
        with self._turn:
            if not self.is_there:
                self.add()
                self.is_there = True

    def may_have(self, scope: Scope) -> bool:
        """Return True if no present route matches a request."""
        matches = (route.matches(scope)[0] for route in self.router.routes)
        return not self.is_there and all(match is Match.NONE for match in matches)


class Loading:
    """Middleware that delays a request until the lazy routes are loaded, if one of them may match it."""

    def __init__(self, application: ASGIApp, lazy_routes: LazyRoutes) -> None:
        self.application, self.lazy_routes = application, lazy_routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] == "http" and self.lazy_routes.may_have(scope):
            await to_thread.run_sync(self.lazy_routes.load)
        await self.application(scope, receive, send)


_MOST_DIGITS = 400  # of a whole number: more than any double has


def exact_json(content: bytes) -> Any:  # noqa: ANN401  (any JSON value)
    """Parse JSON that all readers read alike. Raise ValueError for other JSON.

    It is UTF-8 without a byte order mark (RFC 8259, section 8.1), and no object has a member twice: section 4 lets a
    reader use the first or the last, so that a proxy or a log could show another price than the one that is charged.
    """
    try:
        return json.loads(
            content.decode("utf-8"),
            object_pairs_hook=_object_without_repeats,
            parse_constant=_refuse_constant,
            parse_int=_whole_number,
        )
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _object_without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a member occurs twice")
    return members


def _refuse_constant(name: str) -> float:
    """Raise ValueError: Python reads NaN and Infinity, which JSON does not have."""
    raise ValueError(f"{name} is not a number in JSON")


def _whole_number(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise ValueError(f"a number has more than {_MOST_DIGITS} digits")
    return int(digits)


class _JsonRequest(Request):
    """A request whose JSON body is unambiguous."""

    async def json(self) -> Any:  # noqa: ANN401  (as in the base class)
        """Return the value of the JSON body."""
        try:
            return exact_json(await self.body())
        except JSONDecodeError:
            raise
        except UnicodeDecodeError as error:
            raise JSONDecodeError("it is not UTF-8", "", error.start) from None
        except ValueError as error:
            raise JSONDecodeError(str(error), "", 0) from None


class JsonRoute(APIRoute):
    """A route that parses its body with `exact_json`."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler of the route."""
        handler = super().get_route_handler()

        async def handle(request: Request) -> Response:
            return await handler(_JsonRequest(request.scope, request.receive))

        return handle
