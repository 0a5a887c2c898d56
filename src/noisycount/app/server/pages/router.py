"""Every page of the service, in one router."""

from fastapi import APIRouter

from noisycount.app.server.pages.ask.routes import router as ask
from noisycount.app.server.pages.explore.routes import router as explore
from noisycount.app.server.pages.ledger.routes import router as ledger
from noisycount.app.server.pages.login import router as login
from noisycount.app.server.pages.report.routes import router as report
from noisycount.app.server.pages.static_files import router as static_files

__all__ = ["router"]

router = APIRouter(include_in_schema=False)
for family in (static_files, login, ask, explore, ledger, report):
    router.include_router(family)
