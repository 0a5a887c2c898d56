"""The page Explore and its charts, one by one; both are about no data set."""

from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from noisycount.app.access.visitor import Visitor
from noisycount.app.explore.sliders import Sliders
from noisycount.app.explore.views import VIEWS
from noisycount.app.explore.wire import view_object
from noisycount.app.server.pages.explore.form import FROM, boxes, kinds, moved
from noisycount.app.server.pages.explore.fragment import fragment, remembered_view
from noisycount.app.server.pages.headers import PAGE_HEADERS
from noisycount.app.server.pages.layout import page
from noisycount.app.server.visitors import Looking
from noisycount.errors import NoisyCountError

__all__ = ["router"]

router = APIRouter(include_in_schema=False)

_CHART = "chart"
_REFUSED = 422


@router.get("/explore")
def explore_page(request: Request, visitor: Looking) -> Response:
    """The sliders and all charts; another spelling of an address leads to the one that is kept."""
    given = dict(request.query_params)
    said = moved(given)
    try:
        sliders = Sliders.of_query(said)
    except NoisyCountError as error:
        return _page(request, visitor, Sliders(), typed=said, refusal=str(error))
    if given and (FROM in given or request.url.query != sliders.query):
        return RedirectResponse(f"/explore?{sliders.query}", 303, headers=PAGE_HEADERS)
    return _page(request, visitor, sliders)


@router.get("/explore/fragment")
def explore_fragment(request: Request, visitor: Looking) -> Response:  # noqa: ARG001  (somebody known)
    """One chart as a piece of the page.

    Raises:
        NoisyCountError: No such chart, or a value that no slider reaches.
    """
    name, sliders = _asked(request)
    return HTMLResponse(fragment(name, sliders), headers=PAGE_HEADERS)


@router.get("/explore/data")
def explore_data(request: Request, visitor: Looking) -> dict[str, Any]:  # noqa: ARG001  (somebody known)
    """The numbers of one chart as JSON.

    Raises:
        NoisyCountError: No such chart, or a value that no slider reaches.
    """
    name, sliders = _asked(request)
    return view_object(name, sliders, remembered_view(name, sliders))


def _asked(request: Request) -> tuple[str, Sliders]:
    """A chart and where the sliders stand."""
    given = dict(request.query_params)
    name = given.pop(_CHART, "")
    if name not in VIEWS:
        raise NoisyCountError(f"chart must be {' or '.join(VIEWS)}, got {name[:20]!r}: choose one")
    return name, Sliders.of_query(given)


def _page(
    request: Request,
    visitor: Visitor,
    sliders: Sliders,
    *,
    typed: dict[str, str] | None = None,
    refusal: str = "",
) -> Response:
    """The page, without charts where the form is refused."""
    noise = (typed or {}).get("noise", sliders.noise)
    return page(
        request,
        "explore.html",
        visitor,
        status=_REFUSED if refusal else 200,
        query=sliders.query,
        boxes=list(boxes(sliders, typed or {})),
        kinds=kinds(),
        noise=noise,
        refusal=refusal,
        charts={name: "" if refusal else fragment(name, sliders) for name in VIEWS},
    )
