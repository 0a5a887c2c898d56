"""Whether the service is there."""

from fastapi import APIRouter

from noisycount.app.server.api.shapes import members, responses

__all__ = ["router"]

router = APIRouter(tags=["health"])


@router.get("/healthz", responses=responses(members(status="string"), {"status": "ok"}))
async def healthz() -> dict[str, str]:
    """Whether the service is there; it says nothing of any data set, and needs no key."""
    return {"status": "ok"}
