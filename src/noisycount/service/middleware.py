"""What every request passes before its route, outermost first: log, body, crowd, late routes.

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


def write_line(told: dict[str, Any]) -> None:
    """Write a line of JSON on standard error, which a service manager keeps."""
    sys.stderr.write(json_line(told, datetime.now(UTC)) + "\n")
    sys.stderr.flush()


def json_line(told: dict[str, Any], now: datetime) -> str:
    """What is told, with the second in which it is."""
    return json.dumps({"time": now.replace(microsecond=0).isoformat(), **told})


def error_place(trace: TracebackType | None) -> str:
    """Where an error arose, without what it was about."""
    frames = extract_tb(trace)
    return f"{frames[-1].filename.rpartition('/')[2]}:{frames[-1].lineno}" if frames else ""


@dataclass(slots=True, eq=False)
class LimitedLog:
    """A log that nobody can fill: of each kind at most so many lines a minute.

    A kind is an event, where a fault arose, or the requests of one user; those of all who are not
    known are one. What is not written is counted in the next line of its kind.
    """

    most: int
    write: Write = write_line
    _rates: RateLimiter = field(init=False)
    _unwritten: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._rates = RateLimiter(self.most)

    def __call__(self, told: dict[str, Any]) -> None:
        """Write a line, or count it."""
        kind = repr([told.get(name) for name in ("event", "from", "at", "visitor")])
        if self._rates.wait(kind):
            self._unwritten[kind] += 1
            return
        unwritten = self._unwritten.pop(kind, 0)
        self.write({**told, "unwritten": unwritten} if unwritten else told)


class RequestLog:
    """Writes a line for each request, and lets no error out with what it knows."""

    def __init__(self, application: ASGIApp, write: Write = write_line) -> None:
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
            told = {"error": type(error).__name__, "at": error_place(error.__traceback__)}
            refused = scope["app"].exception_handlers[Exception]
            reply = await refused(Request(scope), error)
            await reply(scope, receive, marked)
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
    return told | {name: state[name] for name in ("problem", "why") if state.get(name)}


# Headers that a request may have once: of two, one reader could take the first, one the last.
SINGLE = frozenset(
    {
        *("authorization", "content-length", "content-type", "cookie", "host", "idempotency-key"),
        *("origin", "sec-fetch-site", "transfer-encoding", "x-csrf-token"),
    }
)

_PATIENCE = 30.0  # seconds: a megabyte comes over any line by then
_FORMS = (b"application/x-www-form-urlencoded", b"multipart/form-data")


class BodyLimit:
    """Reads a request whole before anybody else sees it.

    What says something twice, has more than `most` bytes, JSON deeper than `depth`, or takes longer
    than `patience` seconds to arrive is refused; who is slow keeps nobody else waiting.
    """

    def __init__(self, application: ASGIApp, most: int, depth: int, patience: float = _PATIENCE) -> None:
        self.application, self.most, self.depth = application, most, depth
        self.patience = patience

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] == "http":
            try:
                receive = await self._whole(scope, receive)
            except (errors.RepeatedNameError, errors.LargeError, errors.SlowError, errors.DepthError) as refusal:
                await errors.problem_reply(refusal)(scope, receive, send)
                return
        await self.application(scope, receive, send)

    async def _whole(self, scope: Scope, receive: Receive) -> Receive:
        """What gives a request that is here."""
        names = Counter(name.decode("latin-1").lower() for name, _ in scope["headers"])
        for name, times in names.items():
            if times > 1 and name in SINGLE:
                raise errors.RepeatedNameError(name.title())
        if scope["method"] in {"GET", "HEAD"}:
            return receive
        with move_on_after(self.patience):
            body = await self._body(receive)
            kind = dict(scope["headers"]).get(b"content-type", b"")
            if not kind.startswith(_FORMS) and depth_of(body) > self.depth:
                raise errors.DepthError(self.depth)  # the texts of a form may hold any brackets
            messages = iter([{"type": "http.request", "body": body, "more_body": False}])

            async def again() -> Message:
                return next(messages, None) or await receive()

            return again
        raise errors.SlowError(self.patience)

    async def _body(self, receive: Receive) -> bytes:
        parts, length, more = list[bytes](), 0, True
        while more:
            message = await receive()
            if message["type"] != "http.request":  # the client is gone: what came may be a part
                raise errors.SlowError(self.patience)
            parts.append(message.get("body", b""))
            length += len(parts[-1])
            if length > self.most:
                raise errors.LargeError(self.most)
            more = message.get("more_body", False)
        return b"".join(parts)


_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_TEXT = re.compile(rb'"(?:[^"\\]|\\.)*"?', re.DOTALL)


def depth_of(body: bytes) -> int:
    """How many brackets of JSON are open at once at most; those in texts are none."""
    depth = deepest = 0
    for bracket in _TEXT.sub(b"", body).translate(None, _NO_BRACKETS):
        depth = depth + 1 if bracket in b"[{" else max(0, depth - 1)
        deepest = max(deepest, depth)
    return deepest


class ConcurrencyLimit:
    """Turns away who comes while `most` others are worked on; one whose reply has begun to leave is done."""

    def __init__(self, application: ASGIApp, most: int) -> None:
        self.application, self.most, self.present = application, most, 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http" or scope["path"] == "/healthz":
            await self.application(scope, receive, send)
            return
        if self.present >= self.most:
            await errors.problem_reply(errors.BusyError())(scope, receive, send)
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


class LazyRoutes:
    """The routes that are not there at once: `add` loads them and adds them to the `router`."""

    def __init__(self, router: Router, add: Callable[[], None]) -> None:
        self.router, self.add, self.is_there = router, add, False
        self._turn = Lock()

    def load(self) -> None:
        """Add them, unless they are there; who comes meanwhile waits."""
        with self._turn:
            if not self.is_there:
                self.add()
                self.is_there = True

    def may_have(self, scope: Scope) -> bool:
        """Whether none of the routes that are there takes a request."""
        found = (route.matches(scope)[0] for route in self.router.routes)
        return not self.is_there and all(match is Match.NONE for match in found)


class Loading:
    """Lets a request wait until the routes are there that may take it."""

    def __init__(self, application: ASGIApp, late: LazyRoutes) -> None:
        self.application, self.late = application, late

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] == "http" and self.late.may_have(scope):
            await to_thread.run_sync(self.late.load)
        await self.application(scope, receive, send)


_MOST_DIGITS = 400  # of a whole number: more than any real has


def exact_json(content: bytes) -> Any:  # noqa: ANN401  (what came from outside has no type)
    """What JSON says of which no two readers can see two things.

    It is UTF-8 without a mark (RFC 8259, section 8.1). Section 4 lets a reader take the first or the last of two
    members of one name: a proxy or a log may then show another price than the one that is charged.
    """
    try:
        return json.loads(
            content.decode("utf-8"), object_pairs_hook=_members, parse_constant=_no_number, parse_int=_whole
        )
    except RecursionError:
        raise ValueError("it is too deep") from None


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a member is said twice")
    return members


def _no_number(name: str) -> float:
    """Nothing: Python reads NaN and Infinity, which JSON does not have."""
    raise ValueError(f"{name} is no number of JSON")


def _whole(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise ValueError(f"a number has more than {_MOST_DIGITS} digits")
    return int(digits)


class _JsonRequest(Request):
    """A request whose body has one meaning."""

    async def json(self) -> Any:  # noqa: ANN401  (as the class above has it)
        """What the body says."""
        try:
            return exact_json(await self.body())
        except JSONDecodeError:
            raise
        except UnicodeDecodeError as error:
            raise JSONDecodeError("it is not UTF-8", "", error.start) from None
        except ValueError as error:
            raise JSONDecodeError(str(error), "", 0) from None


class JsonRoute(APIRoute):
    """A route that reads its body as `exact_json` does."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The route."""
        handler = super().get_route_handler()

        async def handled(request: Request) -> Response:
            return await handler(_JsonRequest(request.scope, request.receive))

        return handled
