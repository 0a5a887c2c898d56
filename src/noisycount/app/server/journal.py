"""What the service writes down of each request: no count, no literal and no duration."""

import json
import secrets
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from traceback import extract_tb
from typing import Any

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["Journal", "line_of", "written"]

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
            told = {"error": type(error).__name__, "at": _place(error)}
            await _refuse(error, scope, receive, marked)
        finally:
            self.write({"request": request, **_facts(scope), "status": status, **told})


def _facts(scope: Scope) -> dict[str, Any]:
    """Who asked for what: the template of the route, not what was put into it."""
    state = scope.get("state", {})
    visitor = state.get("visitor")
    told = {
        "visitor": None if visitor is None else visitor.name,
        "method": scope["method"],
        "route": getattr(scope.get("route"), "path", None),
    }
    named = {name: state[name] for name in ("problem", "why") if state.get(name)}
    return told | named


async def _refuse(error: Exception, scope: Scope, receive: Receive, send: Send) -> None:
    """The reply to a request that failed."""
    reply = await scope["app"].exception_handlers[Exception](Request(scope), error)
    await reply(scope, receive, send)


def _place(error: Exception) -> str:
    """Where an error arose, without what it was about."""
    frames = extract_tb(error.__traceback__)
    return f"{frames[-1].filename.rpartition('/')[2]}:{frames[-1].lineno}" if frames else ""
