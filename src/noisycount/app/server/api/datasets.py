"""The data sets that are there for a visitor, and what is left of each."""

from fractions import Fraction
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Query

from noisycount.app.access.visitor import Visitor
from noisycount.app.server.api.shapes import BUDGETS, Shape, listed, members, responses
from noisycount.app.server.office import Office
from noisycount.app.server.visitors import Asking, Dataset, Open
from noisycount.app.show.view import View
from noisycount.app.show.wire import offer_object
from noisycount.app.show.words import budget_words
from noisycount.release.budget.exact import exact_epsilon

__all__ = ["router"]

router = APIRouter(tags=["data sets"])

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


@router.get("/v1/datasets", responses=responses(_NAMES, {"datasets": [{"dataset": "survey"}]}))
def datasets(visitor: Asking, office: Open) -> dict[str, Any]:
    """The data sets that you may see."""
    return office.reply(
        lambda: {"datasets": [{"dataset": each.name} for each in office.datasets(visitor)]}
    )


@router.get("/v1/datasets/{name}", responses=responses(_SHAPE, _EXAMPLE, also=[504]))
def dataset(
    name: Dataset,
    visitor: Asking,
    office: Open,
    epsilon: Annotated[
        str, Query(max_length=100, description="ε of the answers that are to be paid for.")
    ] = "0.1",
) -> dict[str, Any]:
    """What may be asked of a data set, and what is left of its budget for you."""
    return office.reply(partial(_told, name, visitor, office, exact_epsilon(epsilon)))


def _told(name: str, visitor: Visitor, office: Office, price: Fraction) -> dict[str, Any]:
    view = View.at(office.counter(visitor, name), office.analyst(visitor), price)
    return {**offer_object(view), "budget_words": budget_words(view)}
