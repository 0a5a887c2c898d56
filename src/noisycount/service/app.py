"""The application: routes for programs, pages for people, one state.

The service answers as soon as it listens. Routes that need neither records nor distributions are there at once. The
others are loaded after the first replies, and a request for one of them waits until it is loaded.
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
from noisycount.service.pages.documentation import router as documentation
from noisycount.service.pages.layout import router as layout
from noisycount.service.pages.layout import show_refusals_as_pages
from noisycount.service.state import ServiceState

_SPARE = 8  # threads for work that does not wait for a tick
health = APIRouter(tags=["health"])


@health.get("/healthz", summary="Check the service", responses=responses(*HEALTH))
async def healthz() -> dict[str, str]:
    """Report that the service is running. Needs no key, and reveals nothing about a data set."""
    return {"status": "ok"}


def application(
    state: ServiceState, write: middleware.Write = middleware.write_line, shared: SharedMemory | None = None
) -> FastAPI:
    """Return the application for an open state, which the caller closes. Several applications may share memory.

    `.state.late` are the routes that are loaded later.
    """
    app = FastAPI(
        title="noisycount",
        summary="Private counts: exact noise, a budget, and what the answer means.",
        version="1",
        docs_url=None,
        redoc_url=None,
        openapi_url=None,  # until all routes that it describes are loaded
        redirect_slashes=False,  # to wherever the head of a request says that it is
        lifespan=_thread_limit,
    )
    app.state.service, app.state.auth = state, Auth.from_config(state.configuration, shared)
    for family in (health, layout, documentation):
        app.include_router(family)
    app.state.late = middleware.LazyRoutes(app.router, partial(_add_lazy_routes, app))
    service = state.configuration.service
    app.add_middleware(middleware.Loading, lazy_routes=app.state.late)
    app.add_middleware(middleware.ConcurrencyLimit, max_requests=service.concurrency)
    app.add_middleware(middleware.BodyLimit, max_bytes=service.body, depth=service.depth)
    app.add_middleware(middleware.RequestLog, write=write)
    if service.proxies:
        app.add_middleware(ProxyHeadersMiddleware, trusted_hosts=list(service.proxies))
    add_handlers(app)
    show_refusals_as_pages(app)
    return app


def lazy_routers() -> tuple[APIRouter, ...]:
    """Return the routes that need distributions, engines or the question language."""
    from noisycount.service import analysis, questions  # noqa: PLC0415 - loads all that
    from noisycount.service.pages import answer, answer_files, ask, explore, ledger  # noqa: PLC0415 - the same

    return (
        questions.router,
        analysis.router,
        ask.router,
        answer.router,
        answer_files.router,
        explore.router,
        ledger.router,
    )


def _add_lazy_routes(app: FastAPI) -> None:
    """Add all routes, and the document that describes them."""
    from noisycount.service.questions import spends  # noqa: PLC0415 - loads the question language

    routes, early = app.router.routes, len(app.router.routes)
    for family in lazy_routers():
        app.include_router(family)
    # a request tries them in this order: spends come first, and are not included, as an included route is found twice
    routes[:] = [*spends.routes, *routes[early:], *routes[:early]]
    app.openapi_url = "/openapi.json"
    app.openapi = partial(with_examples, app.openapi)  # type: ignore[method-assign]  # as FastAPI says it
    app.setup()


@asynccontextmanager
async def _thread_limit(app: FastAPI) -> AsyncIterator[None]:
    """Allow a thread for each request in progress.

    Most requests only wait for the time of their reply (`ReplyTick`).
    """
    state: ServiceState = app.state.service
    to_thread.current_default_thread_limiter().total_tokens = state.configuration.service.concurrency + _SPARE
    yield
