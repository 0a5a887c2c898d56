"""The data sets that are there for a user, and what is left of each.

What a question would cost and give, without asking it.

The same question on made-up records, before one is paid for.

Answers that are paid for, and those that were.
"""

from fractions import Fraction
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Header, Path, Query, Response

from noisycount.access.keys import User
from noisycount.ledger.exact import exact_epsilon
from noisycount.service.bodies import BUDGETS, JsonRoute, Shape, listed, members, responses
from noisycount.service.spend import Question, Spend, found
from noisycount.service.state import ServiceState
from noisycount.service.users import Asking, Dataset, State
from noisycount.tasks.count_display import Trial, trial_object
from noisycount.tasks.rehearsal import rehearsal_object, rehearsal_of
from noisycount.tasks.show import View, budget_words, offer_object
from noisycount.tasks.table.trial import TableTrial, table_trial_object

__all__ = ["datasets_routes", "plans_routes", "rehearsals_routes", "releases_routes"]


datasets_routes = APIRouter(tags=["data sets"])


_SHAPE: Shape = members(
    dataset="string",
    unit="string|null",
    size="integer|null",
    columns={"type": "object", "additionalProperties": {"type": "string"}},
    unreadable_as_missing=listed({"type": "string"}),
    **BUDGETS,
    price="string",
    affordable="integer|null",
    budget_words="string",
)


_EXAMPLE = {
    "dataset": "survey",
    "unit": "person",
    "size": 5912,
    "columns": {"year": "integer", "age": "real", "health": "text"},
    "unreadable_as_missing": [],
    "remaining": "0.95",
    "budget": "1",
    "dataset_remaining": "1.95",
    "dataset_budget": "2",
    "quota_remaining": "0.95",
    "quota": "1",
    "price": "0.15",
    "affordable": 6,
    "budget_words": "1.95 of 2 left, and of your own quota 0.95 of 1 left: at ε = 0.15 both pay for"
    " 6 such answers",
}


_NAMES: Shape = members(datasets=listed(members(dataset="string")))


@datasets_routes.get(
    "/v1/datasets", responses=responses(_NAMES, {"datasets": [{"dataset": "survey"}]})
)
def datasets(user: Asking, state: State) -> dict[str, Any]:
    """The data sets that you may see."""
    return state.reply(
        lambda: {"datasets": [{"dataset": each.name} for each in state.datasets(user)]}
    )


@datasets_routes.get("/v1/datasets/{name}", responses=responses(_SHAPE, _EXAMPLE, also=[504]))
def dataset(
    name: Dataset,
    user: Asking,
    state: State,
    epsilon: Annotated[
        str, Query(max_length=100, description="ε of the answers that are to be paid for.")
    ] = "0.1",
) -> dict[str, Any]:
    """What may be asked of a data set, and what is left of its budget for you."""
    return state.reply(partial(_told, name, user, state, exact_epsilon(epsilon)))


def _told(name: str, user: User, state: ServiceState, price: Fraction) -> dict[str, Any]:
    view = View.at(state.counter(user, name), state.analyst(user), price)
    return {**offer_object(view), "budget_words": budget_words(view)}


plans_routes = APIRouter(tags=["questions"], route_class=JsonRoute)


_SHAPE_PLANS: Shape = members(
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


_EXAMPLE_PLANS: dict[str, Any] = {
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


@plans_routes.post(
    "/v1/datasets/{name}/plan", responses=responses(_SHAPE_PLANS, _EXAMPLE_PLANS, also=[504])
)
def plan(name: Dataset, question: Question, user: Asking, state: State) -> dict[str, Any]:
    """What a question would cost and give; nothing is counted or charged."""
    return state.reply(partial(_told_plans, name, question, user, state))


def _told_plans(name: str, question: Question, user: User, state: ServiceState) -> dict[str, Any]:
    counter, analyst = state.counter(user, name), state.analyst(user)
    asked, pay = question.asked(), question.pay
    if asked.is_table:
        table = TableTrial.at(counter, asked, pay, analyst)
        return {**table_trial_object(table), "affordable_answers": table.affordable_answers}
    (where,) = asked.wheres
    trial = Trial.at(counter, where, pay.price, pay.confidence, analyst)
    return {**trial_object(trial), "affordable_answers": trial.affordable_answers}


rehearsals_routes = APIRouter(tags=["questions"], route_class=JsonRoute)


_SHAPE_REHEARSALS: Shape = members(
    rehearsal="boolean",
    units="integer",
    note="string",
    where="string|null",
    unit="string|null",
    confidence="number",
    charged="string",
)


_EXAMPLE_REHEARSALS = {
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


@rehearsals_routes.post(
    "/v1/datasets/{name}/rehearsal",
    responses=responses(_SHAPE_REHEARSALS, _EXAMPLE_REHEARSALS, also=[504]),
)
def rehearsal(name: Dataset, question: Question, user: Asking, state: State) -> dict[str, Any]:
    """The same question on made-up records of the same columns; free."""
    return state.reply(partial(_told_rehearsals, name, question, user, state))


def _told_rehearsals(
    name: str, question: Question, user: User, state: ServiceState
) -> dict[str, Any]:
    counter = state.counter(user, name)
    return rehearsal_object(rehearsal_of(counter, question.asked(), question.pay))


releases_routes = APIRouter(tags=["releases"], route_class=JsonRoute)


_JSON = "application/json"


_SHAPE_RELEASES: Shape = members(
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


_EXAMPLE_RELEASES = {
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


@releases_routes.post(
    "/v1/datasets/{name}/releases",
    status_code=201,
    response_class=Response,
    responses=responses(_SHAPE_RELEASES, _EXAMPLE_RELEASES, status=201, also=[403, 409, 504]),
)
async def release(
    name: Dataset, question: Question, user: Asking, state: State, key: _Key
) -> Response:
    """An answer: one count, several, or a table; charged before anything is counted."""
    spend = Spend(user, name, key.strip('"'), question)
    reply = await state.awaited(partial(spend.reply, state))
    location = {"Location": f"/v1/releases/{reply.name}"}
    return Response(reply.content, 201, location, _JSON)


@releases_routes.get(
    "/v1/releases/{id}",
    response_class=Response,
    responses=responses(_FOUND, _EXAMPLE_RELEASES, also=[504]),
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
    user: Asking,
    state: State,
) -> Response:
    """An answer that was paid for: your own, or any for an owner."""
    return Response(state.reply(partial(found, id, user, state)), media_type=_JSON)
