"""The pages that are loaded later: all but the login and its style."""

from fastapi import APIRouter

from noisycount.app.server.pages.ask.routes import router as ask_routes
from noisycount.app.server.pages.explore.routes import router as explore_routes
from noisycount.app.server.pages.ledger.routes import router as ledger_routes
from noisycount.app.server.pages.report.routes import router as report_routes

__all__ = ["router"]

router = APIRouter(include_in_schema=False)
for family in (ask_routes, explore_routes, ledger_routes, report_routes):
    router.include_router(family)
