"""The page Explore: sliders and boxes for the parameters, and charts that use no data set."""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from textwrap import wrap
from typing import Literal
from urllib.parse import parse_qsl

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse
from markupsafe import Markup

from noisycount.charts.picture_svg import page_svg, picture_svg
from noisycount.charts.plot_picture import ChartView, view_picture
from noisycount.errors import NoisyCountError
from noisycount.frozen import frozen
from noisycount.readers.values import NOISE_KINDS
from noisycount.service.auth import ChartUser
from noisycount.service.keys import User
from noisycount.service.pages.conditions import FormError
from noisycount.service.pages.layout import (
    PAGE_HEADERS,
    download,
    has_png,
    page,
    picture_file,
    redirect,
    render,
    sheet,
)
from noisycount.tasks.explore.sliders import QUANTITIES, Quantity, Sliders
from noisycount.tasks.explore.views import VIEWS, chart_json, view
from noisycount.validation import exact_text

FROM = "from"  # field with the former values of the sliders
_SLIDER = "-slider"


@frozen
class Box:
    """A slider at one of its stops, and the text of the box beside it."""

    quantity: Quantity
    text: str
    stop: int

    @property
    def slider(self) -> str:
        """Name of the slider's field."""
        return f"{self.quantity.name}{_SLIDER}"

    @property
    def last(self) -> int:
        """Index of the last stop."""
        return len(self.quantity.stops) - 1

    @property
    def stops(self) -> str:
        """Values of the stops, for the script."""
        return " ".join(map(exact_text, self.quantity.stops))


def boxes(sliders: Sliders, typed_texts: Mapping[str, str]) -> Iterator[Box]:
    """Yield every slider, with the texts typed in a refused form, if any."""
    texts = sliders.texts | {name: text for name, text in typed_texts.items() if name in QUANTITIES}
    for name, quantity in QUANTITIES.items():
        yield Box(quantity, texts[name], quantity.nearest(getattr(sliders, name)))


def form_values(fields: Mapping[str, str]) -> dict[str, str]:
    """Return the values of a form: the value of each box, or of its slider if only the slider was moved."""
    before = dict(parse_qsl(fields.get(FROM, "")))
    stops = {name.removesuffix(_SLIDER): text for name, text in fields.items() if _is_slider(name)}
    values = {name: text for name, text in fields.items() if name != FROM and not _is_slider(name)}
    for name, stop in stops.items():
        text = _moved_value(name, stop, before.get(name))
        if text is not None and values.get(name, before[name]) == before[name]:
            values[name] = text
    return values


def _is_slider(name: str) -> bool:
    return name.removesuffix(_SLIDER) in QUANTITIES and name.endswith(_SLIDER)


def _moved_value(name: str, stop: str, before: str | None) -> str | None:
    """Return the value of a slider that was moved from its former stop, or None if it was not moved."""
    quantity = QUANTITIES[name]
    is_stop = stop.isascii() and stop.isdigit() and len(stop) < len("1000")
    if before is None or not is_stop or int(stop) >= len(quantity.stops):
        return None
    try:
        former_stop = quantity.nearest(quantity.value(before))
    except NoisyCountError:
        return None
    return None if int(stop) == former_stop else exact_text(quantity.stops[int(stop)])


_CHARACTERS = 48  # characters of a line above a picture, so that it is no wider than the picture
_FRAGMENTS, _VIEWS = 512, 128  # cached items of some 30 kB each


@lru_cache(_FRAGMENTS)
def fragment(name: str, sliders: Sliders) -> str:
    """Render a chart as a piece of the page: its picture, a sentence that explains it, and its numbers."""
    chart = cached_view(name, sliders)
    return render(
        "explore_chart.html",
        name=name,
        query=sliders.query,
        shown=chart,
        files=[("csv", "CSV"), ("svg", "SVG"), *([("png", "PNG")] if has_png() else []), ("json", "JSON")],
        picture=Markup(page_svg(view_picture(chart), name, _chart_description(chart))),  # noqa: S704  (page_svg escapes texts)
        rows=[[cell if isinstance(cell, str) else _number_text(cell) for cell in row] for row in chart.rows()],
    )


cached_view = lru_cache(_VIEWS)(view)


def _number_text(value: float) -> str:
    """Return a number as text, with four digits if it is not whole."""
    is_whole = value == int(value) and abs(value) < 2**53
    return (f"{value:,.0f}" if is_whole else f"{value:,.4g}").replace("-", "−")


router = APIRouter(include_in_schema=False)


@router.get("/explore")
def explore_page(request: Request, user: ChartUser) -> Response:
    """Return the page with the sliders and all charts. Redirect other spellings of its address to the usual one."""
    fields = dict(request.query_params)
    values = form_values(fields)
    try:
        sliders = Sliders.from_query(values)
    except NoisyCountError as error:
        return _explore_page(request, user, Sliders(), typed_texts=values, error=_form_error(error))
    if fields and (FROM in fields or request.url.query != sliders.query):
        return redirect(f"/explore?{sliders.query}")
    return _explore_page(request, user, sliders)


@router.get("/explore/fragment")
def explore_fragment(request: Request, user: ChartUser) -> Response:  # noqa: ARG001  (requires a user)
    """Return one chart as a piece of the page."""
    name, sliders = _chart_request(request)
    return HTMLResponse(fragment(name, sliders), headers=PAGE_HEADERS)


@router.get("/explore/data")
def explore_data(
    request: Request,
    user: ChartUser,  # noqa: ARG001  (requires a user)
    form: Literal["json", "csv", "svg", "png"] = "json",
) -> Response:
    """Return the numbers of one chart as JSON or CSV, or its picture."""
    name, sliders = _chart_request(request)
    chart = cached_view(name, sliders)
    if form == "json":
        return JSONResponse(chart_json(name, sliders, chart), headers=PAGE_HEADERS)
    file_name = f"noisycount-{name}"
    if form == "csv":
        return download(sheet([chart.header, *chart.rows()]), "text/csv", f"{file_name}.csv")
    parameters = ", ".join(f"{parameter}: {text}" for parameter, text in sliders.texts.items())
    notes = [line for text in (chart.sentence, parameters) for line in wrap(text, _CHARACTERS)]
    svg = picture_svg(view_picture(chart, notes), description=_chart_description(chart))
    return picture_file(svg, form, file_name)


def _chart_description(chart: ChartView) -> str:
    """Return a description of a chart for readers who cannot see it."""
    return f"{chart.sentence} {chart.plot.description}"


def _chart_request(request: Request) -> tuple[str, Sliders]:
    """Return the requested chart and the values of the sliders."""
    fields = {name: text for name, text in request.query_params.items() if name != "form"}
    name = fields.pop("chart", "")
    if name not in VIEWS:
        raise NoisyCountError(f"chart must be {' or '.join(VIEWS)}, got {name[:20]!r}: choose one")
    return name, Sliders.from_query(fields)


def _form_error(refusal: NoisyCountError) -> FormError:
    """Return a refusal as the error of a box, whose name is the first word of the refusal."""
    name = str(refusal).partition(" ")[0]
    return FormError(name if name in QUANTITIES else "", str(refusal))


def _explore_page(
    request: Request,
    user: User,
    sliders: Sliders,
    *,
    typed_texts: Mapping[str, str] | None = None,
    error: FormError | None = None,
) -> Response:
    """Render the page, without charts if the form is refused."""
    return page(
        request,
        "explore.html",
        user,
        status=422 if error else 200,
        query=sliders.query,
        boxes=list(boxes(sliders, typed_texts or {})),
        kinds=[(keyword, str(kind.name)) for keyword, kind in NOISE_KINDS.items()],
        noise=(typed_texts or {}).get("noise", sliders.noise),
        error=error,
        charts={name: "" if error else fragment(name, sliders) for name in VIEWS},
    )
