"""Answers that are paid for, and those that were."""

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Header, Path, Response

from noisycount.app.server.api.bodies import JsonRoute
from noisycount.app.server.api.shapes import BUDGETS, Shape, members, responses
from noisycount.app.server.spending.found import found
from noisycount.app.server.spending.question import Question
from noisycount.app.server.spending.spend import Spend
from noisycount.app.server.visitors import Asking, Dataset, Open

__all__ = ["router"]

router = APIRouter(tags=["releases"], route_class=JsonRoute)

_JSON = "application/json"
_SHAPE: Shape = members(
    confidence="number",
    dataset="string",
    where="string|null",
    odds="string",
    charged="string|object",
    **BUDGETS,
    analyst="string",
    repeated="boolean",
    key="string",
)
_EXAMPLE = {
    "answer": 107,
    "error": 20,
    "low": 87,
    "high": 127,
    "confidence": 0.95,
    "dataset": "survey",
    "where": "health = 'poor'",
    "meaning": "health is 'poor'",
    "unit": "person",
    "unreadable_as_missing": [],
    "neighbours": "replacement",
    "mechanism": "discrete Laplace",
    "scale": "20/3",
    "epsilon": "0.15",
    "odds": "a 50:50 guess about one person becomes at most 54:46",
    "charged": "0.15",
    "remaining": "0.85",
    "budget": "1",
    "dataset_remaining": "1.85",
    "dataset_budget": "2",
    "quota_remaining": "0.85",
    "quota": "1",
    "analyst": "ana",
    "repeated": False,
    "key": "ana:2026-11-22-poor-health",
    "better": None,
    "hints": [],
}
_FOUND: Shape = members(dataset="string", analyst="string", key="string")

_Key = Annotated[
    str,
    Header(
        alias="Idempotency-Key",
        pattern=r'^("[A-Za-z0-9._~-]{1,100}"|[A-Za-z0-9._~-]{1,100})$',
        description="What you call this request: the same key and body get the same bytes for"
        " ever, and are charged once.",
        examples=["2026-11-22-poor-health"],
    ),
]


@router.post(
    "/v1/datasets/{name}/releases",
    status_code=201,
    response_class=Response,
    responses=responses(_SHAPE, _EXAMPLE, status=201, also=[403, 409, 504]),
)
async def release(
    name: Dataset, question: Question, visitor: Asking, office: Open, key: _Key
) -> Response:
    """An answer: one count, several, or a table; charged before anything is counted."""
    spend = Spend(visitor, name, key.strip('"'), question)
    reply = await office.awaited(partial(spend.reply, office))
    location = {"Location": f"/v1/releases/{reply.name}"}
    return Response(reply.content, 201, location, _JSON)


@router.get(
    "/v1/releases/{id}",
    response_class=Response,
    responses=responses(_FOUND, _EXAMPLE, also=[504]),
)
def released(
    id: Annotated[  # noqa: A002 - what everybody calls it
        str,
        Path(
            max_length=200,
            description="The `key` of a reply.",
            examples=["ana:2026-11-22-poor-health"],
        ),
    ],
    visitor: Asking,
    office: Open,
) -> Response:
    """An answer that was paid for: your own, or any for an owner."""
    return Response(office.reply(partial(found, id, visitor, office)), media_type=_JSON)
