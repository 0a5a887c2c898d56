"""What a question would cost and give, without asking it."""

from functools import partial
from typing import Any

from fastapi import APIRouter

from noisycount.app.access.visitor import Visitor
from noisycount.app.count.trial import Trial
from noisycount.app.count.wire import trial_object
from noisycount.app.server.api.bodies import JsonRoute
from noisycount.app.server.api.shapes import BUDGETS, Shape, members, responses
from noisycount.app.server.office import Office
from noisycount.app.server.spending.question import Question
from noisycount.app.server.visitors import Asking, Dataset, Open
from noisycount.app.table.trial import TableTrial
from noisycount.app.table.wire import table_trial_object

__all__ = ["router"]

router = APIRouter(tags=["questions"], route_class=JsonRoute)

_SHAPE: Shape = members(
    dry_run="boolean",
    confidence="number",
    dataset="string",
    where="string|null",
    meaning="string|null",
    unit="string|null",
    odds="string",
    cost="string|object",
    **BUDGETS,
    affordable="boolean",
    affordable_answers="integer|null",
    repeated="boolean",
)
_EXAMPLE: dict[str, Any] = {
    "dry_run": True,
    "answer": None,
    "error": 20,
    "confidence": 0.95,
    "dataset": "survey",
    "where": "health = 'poor'",
    "meaning": "health is 'poor'",
    "unit": "person",
    "unreadable_as_missing": [],
    "neighbours": "replacement",
    "epsilon": "0.15",
    "odds": "a 50:50 guess about one person becomes at most 54:46",
    "cost": "0.15",
    "charged": "0",
    "remaining": "1",
    "budget": "1",
    "dataset_remaining": "2",
    "dataset_budget": "2",
    "quota_remaining": "1",
    "quota": "1",
    "affordable": True,
    "affordable_answers": 6,
    "analyst": "ana",
    "repeated": False,
    "hints": [],
}


@router.post("/v1/datasets/{name}/plan", responses=responses(_SHAPE, _EXAMPLE, also=[504]))
def plan(name: Dataset, question: Question, visitor: Asking, office: Open) -> dict[str, Any]:
    """What a question would cost and give; nothing is counted or charged."""
    return office.reply(partial(_told, name, question, visitor, office))


def _told(name: str, question: Question, visitor: Visitor, office: Office) -> dict[str, Any]:
    counter, analyst = office.counter(visitor, name), office.analyst(visitor)
    asked, pay = question.asked(), question.pay
    if asked.is_table:
        table = TableTrial.at(counter, asked, pay, analyst)
        return {**table_trial_object(table), "affordable_answers": table.affordable_answers}
    (where,) = asked.wheres
    trial = Trial.at(counter, where, pay.price, pay.confidence, analyst)
    return {**trial_object(trial), "affordable_answers": trial.affordable_answers}
