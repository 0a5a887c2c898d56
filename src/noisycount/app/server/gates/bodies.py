"""What a head may say once, how large a body is, how long it takes to arrive, how deep it is."""

import re
from collections import Counter

from anyio import move_on_after
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from noisycount.app.server.api.problems import problem_reply
from noisycount.app.server.refusals import DepthError, DoubledError, LargeError, SlowError

__all__ = ["SINGLE", "Bodies", "depth_of"]

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


class Bodies:
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
