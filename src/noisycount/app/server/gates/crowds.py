"""How many requests are worked on at once."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from noisycount.app.server.api.problems import problem_reply
from noisycount.app.server.refusals import BusyError

__all__ = ["Crowds"]

_ALWAYS = "/healthz"


class Crowds:
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
