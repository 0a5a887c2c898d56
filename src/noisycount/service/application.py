"""Routes that are loaded when they are asked for, or ahead of that.

The application: routes for programs, pages for people, one state.

A service answers as soon as it listens: the routes that need neither records nor laws are there at
once, the others are loaded behind the first answers, and whoever asks for one sooner waits for it.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from threading import Lock

from anyio import to_thread
from fastapi import FastAPI
from starlette.routing import Match, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from noisycount.service.auth.guard import Guard
from noisycount.service.bodies import router as health
from noisycount.service.journal import Journal, Write, written
from noisycount.service.limits import BodyLimit, ConcurrencyLimit
from noisycount.service.pages.layout import router as static_files
from noisycount.service.pages.layout import show_refusals_as_pages
from noisycount.service.pages.login import router as login
from noisycount.service.refusals import add_handlers
from noisycount.service.state import ServiceState

__all__ = ["Rest", "application"]


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


_SPARE = 8  # threads for what does not wait


def application(state: ServiceState, write: Write = written) -> FastAPI:
    """The application of an open state, which whoever opened it closes.

    Args:
        state: What all requests share; `request.app.state.service`.
        write: Where a line about each request goes.

    `application(state).state.rest` are the routes that are loaded later.
    """
    made = FastAPI(
        title="noisycount",
        summary="Private counts: exact noise, a budget, and what the answer means.",
        version="1",
        docs_url=None,
        redoc_url=None,
        openapi_url=None,  # until all is there that it tells of
        redirect_slashes=False,  # to wherever the head of a request says that it is
        lifespan=_threads,
    )
    made.state.service, made.state.guard = state, Guard.of(state.configuration)
    for family in (health, static_files, login):
        made.include_router(family)
    made.state.rest = Rest(made.router, partial(_add_rest, made))
    service = state.configuration.service
    made.add_middleware(Loading, rest=made.state.rest)
    made.add_middleware(ConcurrencyLimit, most=service.concurrency)
    made.add_middleware(BodyLimit, most=service.body, depth=service.depth)
    made.add_middleware(Journal, write=write)
    add_handlers(made)
    show_refusals_as_pages(made)
    return made


def _add_rest(made: FastAPI) -> None:
    """The routes that need laws, engines or the question language, and the document of all."""
    from noisycount.service.api.analysis import router as api  # noqa: PLC0415 - loads all that
    from noisycount.service.pages.routes import router as pages  # noqa: PLC0415 - the same

    made.include_router(api)
    made.include_router(pages)
    made.openapi_url = "/openapi.json"
    made.setup()


@asynccontextmanager
async def _threads(made: FastAPI) -> AsyncIterator[None]:
    """A thread for each request that may be there at once, as most of them wait for a tick."""
    state: ServiceState = made.state.service
    to_thread.current_default_thread_limiter().total_tokens = (
        state.configuration.service.concurrency + _SPARE
    )
    yield
