"""Routes that are loaded when they are asked for, or ahead of that."""

from collections.abc import Callable
from threading import Lock

from anyio import to_thread
from starlette.routing import Match, Router
from starlette.types import ASGIApp, Receive, Scope, Send

__all__ = ["Loading", "Rest"]


class Rest:
    """The routes that are not there at once.

    Args:
        router: Has those that are.
        add: Loads the others and adds them to it.
    """

    def __init__(self, router: Router, add: Callable[[], None]) -> None:
        self.router, self.add, self.is_there = router, add, False
        self._turn = Lock()

    def load(self) -> None:
        """Add them, unless they are there; whoever comes meanwhile waits."""
        with self._turn:
            if not self.is_there:
                self.add()
                self.is_there = True

    def may_have(self, scope: Scope) -> bool:
        """Whether none of the routes that are there takes a request."""
        found = (route.matches(scope)[0] for route in self.router.routes)
        return not self.is_there and all(match is Match.NONE for match in found)


class Loading:
    """Lets a request wait until the routes are there that may take it.

    Args:
        application: What comes after.
        rest: The routes that are not there at once.
    """

    def __init__(self, application: ASGIApp, rest: Rest) -> None:
        self.application, self.rest = application, rest

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] == "http" and self.rest.may_have(scope):
            await to_thread.run_sync(self.rest.load)
        await self.application(scope, receive, send)
