"""The page of the ledger, and its entries as files."""

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from json import dumps
from typing import Literal, TypeVar

from fastapi import APIRouter, Request, Response

from noisycount.app.access.visitor import Visitor
from noisycount.app.report.sheet import releases_sheet
from noisycount.app.report.wire import release_object
from noisycount.app.report.words import HEADER
from noisycount.app.server.office import Office
from noisycount.app.server.pages.downloads import download
from noisycount.app.server.pages.layout import page
from noisycount.app.server.pages.ledger.filters import AT_ONCE, Filters
from noisycount.app.server.pages.ledger.shown import LedgerShown, releases_for
from noisycount.app.server.visitors import Asking, Open
from noisycount.errors import LedgerError
from noisycount.shown.told import told_name

__all__ = ["router"]

router = APIRouter(include_in_schema=False)

Result = TypeVar("Result")

_HEADER = (HEADER[0], "data set", *HEADER[1:])
_NOTHING = LedgerShown([], 0, (), (), [])


@router.get("/ledger")
def ledger_page(request: Request, visitor: Asking, office: Open) -> Response:
    """Who asked what, when, for what and at what price, and what is left."""
    filters = Filters.of(request.query_params)
    checks = visitor.is_owner and "check" in request.query_params
    work = partial(LedgerShown.of, office, visitor, filters, checks=checks)
    broken = ""
    try:
        shown = _reply(office, visitor, work)
    except LedgerError as error:
        if not visitor.is_owner:
            raise
        shown, broken = _NOTHING, str(error)
    return page(
        request,
        "ledger.html",
        visitor,
        shown=shown,
        filters=filters,
        broken=broken,
        header=_HEADER,
        pages=max(1, -(-shown.total // AT_ONCE)),
    )


@router.get("/ledger/export")
def export(
    request: Request, visitor: Asking, office: Open, form: Literal["csv", "json"] = "csv"
) -> Response:
    """What the filters let through, as a file."""
    filters = Filters.of(request.query_params)
    releases = _reply(office, visitor, partial(releases_for, office, visitor, filters))
    name = f"noisycount-ledger-{datetime.now(UTC):%Y-%m-%d}.{form}"
    if form == "csv":
        return download(releases_sheet(releases), "text/csv", name)
    told = [
        {"dataset": told_name(each.entry.request.dataset), **release_object(each)}
        for each in releases
    ]
    return download(dumps(told, indent=2, ensure_ascii=False), "application/json", name)


def _reply(office: Office, visitor: Visitor, work: Callable[[], Result]) -> Result:
    """What an owner may have at once, and an outsider when replies leave."""
    return work() if visitor.is_owner else office.reply(work)
