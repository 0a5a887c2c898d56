"""The routes for programs that are loaded later: all but that of health."""

from fastapi import APIRouter

from noisycount.app.server.api.datasets import router as datasets_routes
from noisycount.app.server.api.plans import router as plans_routes
from noisycount.app.server.api.refining import router as refining_routes
from noisycount.app.server.api.rehearsals import router as rehearsals_routes
from noisycount.app.server.api.releases import router as releases_routes
from noisycount.app.server.api.risks import router as risks_routes

__all__ = ["router"]

router = APIRouter()
for family in (datasets_routes, plans_routes, rehearsals_routes, releases_routes, refining_routes, risks_routes):
    router.include_router(family)
