"""The report for an officer, for owners alone."""

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Request, Response
from markupsafe import Markup

from noisycount.app.access.visitor import Visitor
from noisycount.app.report.forms import MEDIA, written_report
from noisycount.app.report.page import report_fragment
from noisycount.app.report.report import report_on
from noisycount.app.report.words import TITLE
from noisycount.app.server.guard.visiting import owner_of
from noisycount.app.server.pages.downloads import download
from noisycount.app.server.pages.layout import page
from noisycount.app.server.visitors import Open

__all__ = ["router"]

router = APIRouter(include_in_schema=False)

Owning = Annotated[Visitor, Depends(owner_of)]
Form = Literal["html", "csv", "md", "json", "registry"]


@router.get("/report")
def report_page(request: Request, visitor: Owning, office: Open) -> Response:
    """The report in the frame of the pages."""
    report = report_on(office.ledger, office.configuration)
    fragment = report_fragment(report, office.configuration)
    told = Markup(fragment)  # noqa: S704 - all of it was escaped
    return page(request, "report.html", visitor, title=TITLE, told=told)


@router.get("/report/file")
def report_file(_: Owning, office: Open, form: Form = "html") -> Response:
    """The report as a file."""
    report = report_on(office.ledger, office.configuration)
    text = written_report(report, office.configuration, form)
    kind, ending = ("registry", "json") if form == "registry" else ("report", form)
    name = f"noisycount-{kind}-{report.made:%Y-%m-%d}.{ending}"
    return download(text, MEDIA[form], name)
