"""The application: routes for programs, pages for people, one state.

It answers as soon as it listens: the routes that need neither records nor laws are there at once,
the others are loaded behind the first answers, and who asks for one sooner waits for it.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from anyio import to_thread
from fastapi import APIRouter, FastAPI
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from noisycount.service import middleware
from noisycount.service.auth import Auth, SharedMemory
from noisycount.service.document import HEALTH, responses, with_examples
from noisycount.service.errors import add_handlers
from noisycount.service.pages.layout import router as layout
from noisycount.service.pages.layout import show_refusals_as_pages
from noisycount.service.state import ServiceState

_SPARE = 8  # threads for what does not wait
health = APIRouter(tags=["health"])


@health.get("/healthz", responses=responses(*HEALTH))
async def healthz() -> dict[str, str]:
    """Report that the service is running. Needs no key, and reveals nothing about a data set."""
    return {"status": "ok"}


def application(
    state: ServiceState, write: middleware.Write = middleware.write_line, shared: SharedMemory | None = None
) -> FastAPI:
    """Return the application of an open state, which its caller closes; it may be one of several that share memory.

    `.state.late` are the routes that are loaded later.
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
    made.state.service, made.state.auth = state, Auth.of(state.configuration, shared)
    for family in (health, layout):
        made.include_router(family)
    made.state.late = middleware.LazyRoutes(made.router, partial(_add_late, made))
    service = state.configuration.service
    made.add_middleware(middleware.Loading, late=made.state.late)
    made.add_middleware(middleware.ConcurrencyLimit, most=service.concurrency)
    made.add_middleware(middleware.BodyLimit, most=service.body, depth=service.depth)
    made.add_middleware(middleware.RequestLog, write=write)
    if service.proxies:
        made.add_middleware(ProxyHeadersMiddleware, trusted_hosts=list(service.proxies))
    add_handlers(made)
    show_refusals_as_pages(made)
    return made


def lazy_routers() -> tuple[APIRouter, ...]:
    """Return the routes that need distributions, engines or the question language."""
    from noisycount.service import analysis, questions  # noqa: PLC0415 - loads all that
    from noisycount.service.pages import answer, ask, explore, ledger  # noqa: PLC0415 - the same

    return questions.router, analysis.router, ask.router, answer.router, explore.router, ledger.router


def _add_late(made: FastAPI) -> None:
    """Add all routes, and the document that describes them."""
    for family in lazy_routers():
        made.include_router(family)
    made.openapi_url = "/openapi.json"
    made.openapi = partial(with_examples, made.openapi)  # type: ignore[method-assign]  # as FastAPI says it
    made.setup()


@asynccontextmanager
async def _threads(made: FastAPI) -> AsyncIterator[None]:
    """Allow a thread for each request in progress, as most of them wait for a tick."""
    state: ServiceState = made.state.service
    to_thread.current_default_thread_limiter().total_tokens = state.configuration.service.concurrency + _SPARE
    yield
