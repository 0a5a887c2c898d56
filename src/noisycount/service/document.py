"""How replies look, for the OpenAPI document: their schemas, and an example of each."""

from collections.abc import Sequence
from http import HTTPStatus
from json import loads
from typing import Any

from noisycount.service.errors import INTERNAL, MEDIA_TYPE, PROBLEMS, Problem

Shape = dict[str, Any]


def members(types: str, **shapes: Shape) -> Shape:
    """An object whose members are all there: `name:type`, or a name that `shapes` has a schema for.

    Example:
        >>> shape = members("answer:integer where:string|null")
        >>> shape["properties"]
        {'answer': {'type': 'integer'}, 'where': {'type': ['string', 'null']}}
        >>> shape["required"]
        ['answer', 'where']
    """
    properties = dict[str, Shape]()
    for member in types.split():
        name, _, kinds = member.partition(":")
        listed = kinds.split("|")
        properties[name] = shapes.get(name) or {"type": listed if len(listed) > 1 else kinds}
    return {"type": "object", "required": list(properties), "properties": properties}


def listed(of: Shape | str) -> Shape:
    """A list of such."""
    return {"type": "array", "items": {"type": of} if isinstance(of, str) else of}


def by_name(of: str) -> Shape:
    """An object with any members of a type."""
    return {"type": "object", "additionalProperties": {"type": of}}


_PROBLEM = members("type title:string status:integer detail:string", type={"type": "string", "format": "uri"}) | {
    "additionalProperties": False
}

_ALWAYS = (400, 401, 404, 405, 408, 413, 422, 429, 500, 503)


def responses(
    shape: Shape, example: object, *, status: int = 200, also: Sequence[int] = ()
) -> dict[int | str, dict[str, Any]]:
    """Every reply of a route."""
    told: dict[int | str, dict[str, Any]] = {
        refused: _reply(refused, MEDIA_TYPE, _PROBLEM, _refusal(refused)) for refused in (*_ALWAYS, *also)
    }
    return {status: _reply(status, "application/json", shape, example)} | told


def _reply(status: int, media: str, shape: Shape, example: object) -> dict[str, Any]:
    content = {media: {"schema": shape, "example": example}}
    return {"description": HTTPStatus(status).phrase, "content": content}


def _refusal(status: int) -> dict[str, Any]:
    """A problem of a status."""
    kinds = [problem for problem in (*PROBLEMS.values(), INTERNAL) if problem.status == status]
    one = kinds[0] if kinds else Problem("route", status, HTTPStatus(status).phrase)
    return {
        "type": f"urn:noisycount:{one.name}",
        "title": one.title,
        "status": status,
        "detail": one.detail or "one line that says what was wrong, and the remedy",
    }


# What is left of the budgets that pay for an answer: the members of `Remains.object`.
BUDGETS = (
    "remaining:string budget:string|object dataset_remaining:string dataset_budget:string|object"
    " quota_remaining:string|null quota:string|object|null"
)


def documented(types: str, example: str, **shapes: Shape) -> tuple[Shape, Any]:
    """The schema of a reply and an example, which is given as JSON."""
    return members(types, **shapes), loads(example)


DATASETS = documented("datasets", '{"datasets": [{"dataset": "survey"}]}', datasets=listed(members("dataset:string")))

DATASET = documented(
    f"dataset:string unit:string|null size:integer|null columns unreadable_as_missing {BUDGETS}"
    " price:string affordable:integer|null budget_words:string",
    """{
    "dataset": "survey", "unit": "person", "size": 5912,
    "columns": {"year": "integer", "age": "real", "health": "text"}, "unreadable_as_missing": [],
    "remaining": "0.95", "budget": "1", "dataset_remaining": "1.95", "dataset_budget": "2",
    "quota_remaining": "0.95", "quota": "1", "price": "0.15", "affordable": 6,
    "budget_words": "1.95 of 2 left, and of your own quota 0.95 of 1 left: at ε = 0.15 both pay for 6 such answers"
    }""",
    columns=by_name("string"),
    unreadable_as_missing=listed("string"),
)

PLAN = documented(
    "dry_run:boolean confidence:number dataset:string where:string|null meaning:string|null"
    f" unit:string|null odds:string cost:string|object {BUDGETS} affordable:boolean"
    " affordable_answers:integer|null repeated:boolean",
    """{
    "dry_run": true, "answer": null, "error": 20, "confidence": 0.95, "dataset": "survey",
    "where": "health = 'poor'", "meaning": "health is 'poor'", "unit": "person",
    "unreadable_as_missing": [], "neighbours": "replacement", "epsilon": "0.15",
    "odds": "a 50:50 guess about one person becomes at most 54:46", "cost": "0.15", "charged": "0",
    "remaining": "1", "budget": "1", "dataset_remaining": "2", "dataset_budget": "2",
    "quota_remaining": "1", "quota": "1", "affordable": true, "affordable_answers": 6,
    "analyst": "ana", "repeated": false, "hints": []
    }""",
)

REHEARSAL = documented(
    "rehearsal:boolean units:integer note:string where:string|null unit:string|null confidence:number charged:string",
    """{
    "rehearsal": true, "units": 5912,
    "note": "5,912 made-up persons with these columns: no record of the data set was read, nothing was charged, and the numbers say nothing about it",
    "where": "health = 'poor'", "unit": "person", "made_up": 1475, "answer": 1481, "error": 20,
    "confidence": 0.95, "epsilon": "0.15", "charged": "0"
    }""",  # noqa: E501 - one text
)

RELEASE = documented(
    "confidence:number dataset:string where:string|null odds:string charged:string|object"
    f" {BUDGETS} analyst:string repeated:boolean key:string",
    """{
    "answer": 107, "error": 20, "low": 87, "high": 127, "confidence": 0.95, "dataset": "survey",
    "where": "health = 'poor'", "meaning": "health is 'poor'", "unit": "person",
    "unreadable_as_missing": [], "neighbours": "replacement", "mechanism": "discrete Laplace",
    "scale": "20/3", "epsilon": "0.15",
    "odds": "a 50:50 guess about one person becomes at most 54:46", "charged": "0.15",
    "remaining": "0.85", "budget": "1", "dataset_remaining": "1.85", "dataset_budget": "2",
    "quota_remaining": "0.85", "quota": "1", "analyst": "ana", "repeated": false,
    "key": "ana:2026-11-22-poor-health", "better": null, "hints": []
    }""",
)

FOUND = members("dataset:string analyst:string key:string"), RELEASE[1]

REFINEMENT = documented(
    "answer:number answers size:integer epsilon:string|null mechanism:string scale:string"
    " mean:number median:integer mode:integer standard_deviation:number interval level:number"
    " surprise:number warning:string|null",
    """{
    "answer": 107, "answers": [107], "answer_deviation": 9.4, "size": 5912, "rate": 0.017,
    "rate_deviation": 0.0, "groups": null, "flat": false, "expected": 100.5,
    "expected_deviation": 9.9, "epsilon": "0.15", "mechanism": "discrete Laplace", "scale": "20/3",
    "mean": 103.4, "median": 104, "mode": 106, "standard_deviation": 7.0, "interval": [89, 117],
    "level": 0.95, "surprise": 0.57, "warning": null
    }""",
    answers=listed("number"),
    interval=listed("integer"),
)

RISKS = documented(
    "size:integer mechanism:string scale:string|null epsilon:string odds:string"
    " standard_error:number adversaries cautions",
    """{
    "size": 1000, "mechanism": "discrete Laplace", "scale": "20/3", "epsilon": "0.15",
    "odds": "a 50:50 guess about one person becomes at most 54:46", "standard_error": 9.4,
    "adversaries": [{
        "adversary": "worst case", "knows": "all other records", "delta": 0.0,
        "bracket": [0.0, 1e-16], "guess": 0.537, "usual_delta": 1e-6, "usual_epsilon": 0.15,
        "meaning": "the best guess about one person is right in 53.7 % of cases"
    }],
    "cautions": {}
    }""",
    adversaries=listed(
        members(
            "adversary:string knows:string delta:number bracket guess:number usual_delta:number"
            " usual_epsilon:number|null meaning:string",
            bracket=listed("number"),
        )
    ),
    cautions=by_name("string"),
)
