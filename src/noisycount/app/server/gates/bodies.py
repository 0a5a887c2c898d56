"""How large a request may be, how long it may take to arrive, and how deep its JSON may be."""

import re

from anyio import move_on_after
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from noisycount.app.server.api.problems import problem_reply
from noisycount.app.server.refusals import DepthError, LargeError, SlowError

__all__ = ["Bodies", "depth_of"]

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


class Bodies:
    """Reads a request whole before anybody else sees it.

    What is too large, too deep or too slow is refused; who is slow keeps nobody else waiting.

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
        if scope["type"] != "http" or scope["method"] in {"GET", "HEAD"}:
            await self.application(scope, receive, send)
            return
        body = None
        with move_on_after(self.patience) as arriving:
            body = await self._body(receive)
        if arriving.cancelled_caught:
            await problem_reply(SlowError(self.patience))(scope, receive, send)
        elif body is None:
            await problem_reply(LargeError(self.most))(scope, receive, send)
        elif not _is_form(scope) and depth_of(body) > self.depth:
            await problem_reply(DepthError(self.depth))(scope, receive, send)
        else:
            await self.application(scope, _Again(body, receive), send)

    async def _body(self, receive: Receive) -> bytes | None:
        """All bytes of a request; None where they are too many."""
        parts, length, more = list[bytes](), 0, True
        while more:
            message = await receive()
            if message["type"] != "http.request":
                break
            parts.append(message.get("body", b""))
            length += len(parts[-1])
            if length > self.most:
                return None
            more = message.get("more_body", False)
        return b"".join(parts)


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
