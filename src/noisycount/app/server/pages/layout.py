"""The frame of every page: its head, the way around, and the templates that fill it."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from noisycount.app.access.visitor import Visitor
from noisycount.app.server.pages.headers import PAGE_HEADERS
from noisycount.app.server.pages.static_files import address
from noisycount.shown.numbers import percent, plus_minus, signed

__all__ = ["Place", "page", "piece", "places"]

_TEMPLATES = Path(__file__).parent / "templates"


@dataclass(frozen=True, slots=True)
class Place:
    """A page that the navigation leads to.

    Attributes:
        name: What people call it.
        path: Where it is.
    """

    name: str
    path: str


_PLACES = (Place("Ask", "/ask"), Place("Explore", "/explore"), Place("Ledger", "/ledger"))
_REPORT = Place("Report", "/report")


def places(visitor: Visitor | None) -> Iterator[Place]:
    """Where a visitor may go.

    Args:
        visitor: Who asks; None: nobody who is known.
    """
    if visitor is not None:
        yield from _PLACES
        if visitor.is_owner:
            yield _REPORT


def page(
    request: Request,
    template: str,
    visitor: Visitor | None,
    *,
    status: int = 200,
    **values: object,
) -> HTMLResponse:
    """A page in its frame.

    Args:
        request: What was asked for; its path says which place of the navigation is here.
        template: A file of the folder `templates`, which extends `layout.html`.
        visitor: Who asks; None: nobody who is known.
        status: Of the reply.
        values: What the template shows; all of it is escaped.
    """
    text = (
        _environment()
        .get_template(template)
        .render(
            path=request.url.path,
            visitor=visitor,
            places=list(places(visitor)),
            csrf=getattr(request.state, "csrf", ""),
            **values,
        )
    )
    return HTMLResponse(text, status_code=status, headers=PAGE_HEADERS)


def piece(template: str, **values: object) -> str:
    """A piece of a page, without its frame.

    Args:
        template: A file of the folder `templates`.
        values: What the template shows; all of it is escaped.
    """
    return _environment().get_template(template).render(**values)


@cache
def _environment() -> Environment:
    """What fills the templates: it escapes everything, and refuses a name that nobody gave."""
    made = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals["static"] = address
    made.filters |= {"percent": percent, "plus_minus": plus_minus, "signed": signed}
    return made
