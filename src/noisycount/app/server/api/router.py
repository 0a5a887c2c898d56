"""The routes for programs that are loaded later: all but that of health."""

from fastapi import APIRouter

from noisycount.app.server.api.datasets import router as datasets
from noisycount.app.server.api.plans import router as plans
from noisycount.app.server.api.refining import router as refining
from noisycount.app.server.api.rehearsals import router as rehearsals
from noisycount.app.server.api.releases import router as releases
from noisycount.app.server.api.risks import router as risks

__all__ = ["router"]

router = APIRouter()
for family in (datasets, plans, rehearsals, releases, refining, risks):
    router.include_router(family)
