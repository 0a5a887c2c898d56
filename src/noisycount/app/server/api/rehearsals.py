"""The same question on made-up records, before one is paid for."""

from functools import partial
from typing import Any

from fastapi import APIRouter

from noisycount.app.access.visitor import Visitor
from noisycount.app.rehearsal.rehearsal import rehearsal_of
from noisycount.app.rehearsal.wire import rehearsal_object
from noisycount.app.server.api.bodies import JsonRoute
from noisycount.app.server.api.shapes import Shape, members, responses
from noisycount.app.server.office import Office
from noisycount.app.server.spending.question import Question
from noisycount.app.server.visitors import Asking, Dataset, Open

__all__ = ["router"]

router = APIRouter(tags=["questions"], route_class=JsonRoute)

_SHAPE: Shape = members(
    rehearsal="boolean",
    units="integer",
    note="string",
    where="string|null",
    unit="string|null",
    confidence="number",
    charged="string",
)
_EXAMPLE = {
    "rehearsal": True,
    "units": 5912,
    "note": "5,912 made-up persons with these columns: no record of the data set was read, nothing"
    " was charged, and the numbers say nothing about it",
    "where": "health = 'poor'",
    "unit": "person",
    "made_up": 1475,
    "answer": 1481,
    "error": 20,
    "confidence": 0.95,
    "epsilon": "0.15",
    "charged": "0",
}


@router.post("/v1/datasets/{name}/rehearsal", responses=responses(_SHAPE, _EXAMPLE, also=[504]))
def rehearsal(name: Dataset, question: Question, visitor: Asking, office: Open) -> dict[str, Any]:
    """The same question on made-up records of the same columns; free."""
    return office.reply(partial(_told, name, question, visitor, office))


def _told(name: str, question: Question, visitor: Visitor, office: Office) -> dict[str, Any]:
    counter = office.counter(visitor, name)
    return rehearsal_object(rehearsal_of(counter, question.asked(), question.pay))
