"""The report for an officer, for owners alone.

The pages that are loaded later: all but the login and its style.
"""

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Request, Response
from markupsafe import Markup

from noisycount.access.keys import User
from noisycount.service.auth import owner_of
from noisycount.service.pages.ask import router as ask_routes
from noisycount.service.pages.explore import router as explore_routes
from noisycount.service.pages.layout import download, page
from noisycount.service.pages.ledger import router as ledger_routes
from noisycount.service.state import State
from noisycount.tasks.report.forms import MEDIA, report_fragment, written_report
from noisycount.tasks.report.report import report_on
from noisycount.tasks.report.words import TITLE

__all__ = ["router"]


report_routes = APIRouter(include_in_schema=False)


Owning = Annotated[User, Depends(owner_of)]


Form = Literal["html", "csv", "md", "json", "registry"]


@report_routes.get("/report")
def report_page(request: Request, user: Owning, state: State) -> Response:
    """The report in the frame of the pages."""
    report = report_on(state.ledger, state.configuration)
    fragment = report_fragment(report, state.configuration)
    told = Markup(fragment)  # noqa: S704 - all of it was escaped
    return page(request, "report.html", user, title=TITLE, told=told)


@report_routes.get("/report/file")
def report_file(_: Owning, state: State, form: Form = "html") -> Response:
    """The report as a file."""
    report = report_on(state.ledger, state.configuration)
    text = written_report(report, state.configuration, form)
    kind, ending = ("registry", "json") if form == "registry" else ("report", form)
    name = f"noisycount-{kind}-{report.made:%Y-%m-%d}.{ending}"
    return download(text, MEDIA[form], name)


router = APIRouter(include_in_schema=False)


for family in (ask_routes, explore_routes, ledger_routes, report_routes):
    router.include_router(family)
