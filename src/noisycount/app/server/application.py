"""The application: routes for programs, pages for people, one office.

A service answers as soon as it listens: the routes that need neither records nor laws are there at
once, the others are loaded behind the first answers, and whoever asks for one sooner waits for it.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from anyio import to_thread
from fastapi import FastAPI

from noisycount.app.server.api.health import router as health
from noisycount.app.server.api.problems import add_handlers
from noisycount.app.server.gates.bodies import Bodies
from noisycount.app.server.gates.crowds import Crowds
from noisycount.app.server.gates.loading import Loading, Rest
from noisycount.app.server.guard.guard import Guard
from noisycount.app.server.journal import Journal, Write, written
from noisycount.app.server.office import Office
from noisycount.app.server.pages.login import router as login
from noisycount.app.server.pages.refused import show_refusals_as_pages
from noisycount.app.server.pages.static_files import router as static_files

__all__ = ["application"]

_SPARE = 8  # threads for what does not wait


def application(office: Office, write: Write = written) -> FastAPI:
    """The application of an open office, which whoever opened it closes.

    Args:
        office: What all requests share; `request.app.state.office`.
        write: Where a line about each request goes.

    `application(office).state.rest` are the routes that are loaded later.
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
    made.state.office, made.state.guard = office, Guard.of(office.configuration)
    for family in (health, static_files, login):
        made.include_router(family)
    made.state.rest = Rest(made.router, partial(_add_rest, made))
    service = office.configuration.service
    made.add_middleware(Loading, rest=made.state.rest)
    made.add_middleware(Crowds, most=service.concurrency)
    made.add_middleware(Bodies, most=service.body, depth=service.depth)
    made.add_middleware(Journal, write=write)
    add_handlers(made)
    show_refusals_as_pages(made)
    return made


def _add_rest(made: FastAPI) -> None:
    """The routes that need laws, engines or the question language, and the document of all."""
    from noisycount.app.server.api.router import router as api  # noqa: PLC0415 - loads all that
    from noisycount.app.server.pages.router import router as pages  # noqa: PLC0415 - the same

    made.include_router(api)
    made.include_router(pages)
    made.openapi_url = "/openapi.json"
    made.setup()


@asynccontextmanager
async def _threads(made: FastAPI) -> AsyncIterator[None]:
    """A thread for each request that may be there at once, as most of them wait for a tick."""
    office: Office = made.state.office
    to_thread.current_default_thread_limiter().total_tokens = (
        office.configuration.service.concurrency + _SPARE
    )
    yield
