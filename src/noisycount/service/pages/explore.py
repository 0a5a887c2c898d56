"""The page Explore: sliders with boxes beside them, and charts about no data set, one by one."""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Literal
from urllib.parse import parse_qsl

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse
from markupsafe import Markup

from noisycount.charts.svg import chart_svg
from noisycount.errors import NoisyCountError
from noisycount.frozen import frozen
from noisycount.readers.values import NOISE_KINDS
from noisycount.service.auth import ChartUser
from noisycount.service.keys import User
from noisycount.service.pages.form import FormError
from noisycount.service.pages.layout import (
    PAGE_HEADERS,
    download,
    has_png,
    page,
    picture_file,
    redirect,
    render,
    sheet,
    standalone_svg,
)
from noisycount.tasks.explore.sliders import QUANTITIES, Quantity, Sliders
from noisycount.tasks.explore.views import VIEWS, chart_json, view
from noisycount.validation import exact_text

FROM = "from"  # the field that says where the sliders stood before
_SLIDER = "-slider"


@frozen
class Box:
    """A slider at one of its stops, and the box beside it with a text."""

    quantity: Quantity
    text: str
    place: int

    @property
    def slider(self) -> str:
        """The name of the slider's field."""
        return f"{self.quantity.name}{_SLIDER}"

    @property
    def last(self) -> int:
        """The number of the last stop."""
        return len(self.quantity.stops) - 1

    @property
    def stops(self) -> str:
        """The values of the stops, for the script."""
        return " ".join(map(exact_text, self.quantity.stops))


def boxes(sliders: Sliders, typed: Mapping[str, str]) -> Iterator[Box]:
    """Every slider, with what was typed in a form that was refused; empty if none was."""
    texts = sliders.texts | {name: text for name, text in typed.items() if name in QUANTITIES}
    for name, quantity in QUANTITIES.items():
        yield Box(quantity, texts[name], quantity.nearest(getattr(sliders, name)))


def form_values(given: Mapping[str, str]) -> dict[str, str]:
    """What a form says: of a slider that was moved while its box was left alone, the slider."""
    before = dict(parse_qsl(given.get(FROM, "")))
    places = {name.removesuffix(_SLIDER): text for name, text in given.items() if _is_slider(name)}
    said = {n: text for n, text in given.items() if n != FROM and not _is_slider(n)}
    for name, place in places.items():
        text = _dragged(name, place, before.get(name))
        if text is not None and said.get(name, before[name]) == before[name]:
            said[name] = text
    return said


def _is_slider(name: str) -> bool:
    return name.removesuffix(_SLIDER) in QUANTITIES and name.endswith(_SLIDER)


def _dragged(name: str, place: str, before: str | None) -> str | None:
    """The value of a slider that was moved from where it stood; None where it was not."""
    quantity = QUANTITIES[name]
    is_stop = place.isascii() and place.isdigit() and len(place) < len("1000")
    if before is None or not is_stop or int(place) >= len(quantity.stops):
        return None
    try:
        stood = quantity.nearest(quantity.value(before))
    except NoisyCountError:
        return None
    return None if int(place) == stood else exact_text(quantity.stops[int(place)])


_FRAGMENTS, _VIEWS = 512, 128  # some 30 kB each


@lru_cache(_FRAGMENTS)
def fragment(name: str, sliders: Sliders) -> str:
    """The picture of a chart, the sentence that tells what it means, and its numbers."""
    shown = cached_view(name, sliders)
    return render(
        "explore_chart.html",
        name=name,
        query=sliders.query,
        shown=shown,
        files=[("csv", "CSV"), ("svg", "SVG"), *([("png", "PNG")] if has_png() else []), ("json", "JSON")],
        picture=Markup(chart_svg(shown, name)),  # noqa: S704  (which escapes its words)
        rows=[[cell if isinstance(cell, str) else _number(cell) for cell in row] for row in shown.rows()],
    )


cached_view = lru_cache(_VIEWS)(view)


def _number(value: float) -> str:
    """A number with four digits where it is not whole."""
    is_whole = value == int(value) and abs(value) < 2**53
    return (f"{value:,.0f}" if is_whole else f"{value:,.4g}").replace("-", "−")


router = APIRouter(include_in_schema=False)


@router.get("/explore")
def explore_page(request: Request, user: ChartUser) -> Response:
    """The sliders and all charts; another spelling of an address leads to the one that is kept."""
    given = dict(request.query_params)
    said = form_values(given)
    try:
        sliders = Sliders.of_query(said)
    except NoisyCountError as error:
        return _page(request, user, Sliders(), typed=said, error=_form_error(error))
    if given and (FROM in given or request.url.query != sliders.query):
        return redirect(f"/explore?{sliders.query}")
    return _page(request, user, sliders)


@router.get("/explore/fragment")
def explore_fragment(request: Request, user: ChartUser) -> Response:  # noqa: ARG001  (somebody known)
    """One chart as a piece of the page."""
    name, sliders = _asked(request)
    return HTMLResponse(fragment(name, sliders), headers=PAGE_HEADERS)


@router.get("/explore/data")
def explore_data(
    request: Request,
    user: ChartUser,  # noqa: ARG001  (somebody known)
    form: Literal["json", "csv", "svg", "png"] = "json",
) -> Response:
    """The numbers of one chart as JSON or as a file, or its picture."""
    name, sliders = _asked(request)
    shown = cached_view(name, sliders)
    if form == "json":
        return JSONResponse(chart_json(name, sliders, shown), headers=PAGE_HEADERS)
    called = f"noisycount-{name}"
    if form == "csv":
        return download(sheet([shown.header, *shown.rows()]), "text/csv", f"{called}.csv")
    told = [shown.plot.title, shown.sentence, ", ".join(f"{of}: {text}" for of, text in sliders.texts.items())]
    return picture_file(standalone_svg(chart_svg(shown, name), told), form, called)


def _asked(request: Request) -> tuple[str, Sliders]:
    """A chart and where the sliders stand."""
    given = {name: text for name, text in request.query_params.items() if name != "form"}
    name = given.pop("chart", "")
    if name not in VIEWS:
        raise NoisyCountError(f"chart must be {' or '.join(VIEWS)}, got {name[:20]!r}: choose one")
    return name, Sliders.of_query(given)


def _form_error(refusal: NoisyCountError) -> FormError:
    """A refusal with the box that it is about, which it names first."""
    name = str(refusal).partition(" ")[0]
    return FormError(name if name in QUANTITIES else "", str(refusal))


def _page(
    request: Request,
    user: User,
    sliders: Sliders,
    *,
    typed: Mapping[str, str] | None = None,
    error: FormError | None = None,
) -> Response:
    """The page, without charts where the form is refused."""
    return page(
        request,
        "explore.html",
        user,
        status=422 if error else 200,
        query=sliders.query,
        boxes=list(boxes(sliders, typed or {})),
        kinds=[(written, str(kind.name)) for written, kind in NOISE_KINDS.items()],
        noise=(typed or {}).get("noise", sliders.noise),
        error=error,
        charts={name: "" if error else fragment(name, sliders) for name in VIEWS},
    )
