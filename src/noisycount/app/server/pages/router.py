"""The pages that are loaded later: all but the login and its style."""

from fastapi import APIRouter

from noisycount.app.server.pages.ask.routes import router as ask
from noisycount.app.server.pages.explore.routes import router as explore
from noisycount.app.server.pages.ledger.routes import router as ledger
from noisycount.app.server.pages.report.routes import router as report

__all__ = ["router"]

router = APIRouter(include_in_schema=False)
for family in (ask, explore, ledger, report):
    router.include_router(family)
