"""Replies in the OpenAPI document of the service.

`replies.json` holds an example of each reply. The schema of a reply is derived from its example.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from itertools import chain
from pathlib import Path
from typing import Any

from noisycount.service.errors import INTERNAL, MEDIA_TYPE, PROBLEMS, Problem

Schema = dict[str, Any]
_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}


def schema_of(value: Any, types: Mapping[str, str], name: str = "") -> Schema:  # noqa: ANN401 - any JSON
    """Return the JSON schema of values like an example. The items of a list are like its first item, or texts.

    `types` names the members whose type does not follow from the example, such as `string|null`. The type `map` is an
    object with members of any name, all like the first one. `name` is the name of the member with this value.

    Example:
        >>> shape = schema_of({"answer": 7, "where": "age > 3"}, {"where": "string|null"})
        >>> shape["properties"]
        {'answer': {'type': 'integer'}, 'where': {'type': ['string', 'null']}}
        >>> shape["required"]
        ['answer', 'where']
    """
    kind = types.get(name)
    if isinstance(value, list) and kind is not None and kind.startswith("array"):
        return {"type": kind.split("|")}
    if isinstance(value, list):
        return {"type": "array", "items": schema_of(value[0] if value else "", types, name)}
    if isinstance(value, dict) and kind in {None, "map"}:
        members = {each: schema_of(inner, types, each) for each, inner in value.items()}
        if kind == "map":
            return {"type": "object", "additionalProperties": next(iter(members.values()))}
        return {"type": "object", "required": list(members), "properties": members}
    if kind is None:
        return {"type": _TYPES[type(value)]}
    return {"type": kind.split("|") if "|" in kind else kind}


_EXAMPLES: Mapping[str, Any] = json.loads(Path(__file__).with_name("replies.json").read_text(encoding="utf-8"))


def documented(name: str, types: str = "", *, some: str = "") -> tuple[Schema, str]:
    """Return the schema of a reply and the name of its example. `some` lists members that not every reply has."""
    example = _EXAMPLES[name]
    shape = schema_of(example, dict(each.split(":") for each in types.split()))
    return {**shape, "required": [member for member in example if member not in some.split()]}, name


def with_examples(openapi: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return the document with the examples in place of their names: FastAPI would drop null members of an example."""
    document = openapi()
    replies = (operation["responses"] for path in document["paths"].values() for operation in path.values())
    for reply in chain.from_iterable(each.values() for each in replies):
        for content in reply["content"].values():
            if isinstance(content["example"], str):
                content["example"] = _EXAMPLES[content["example"]]
    return document


_QUESTION = "where:string|null meaning:string|null unit:string|null charged:string|object cost:string|object"
_BUDGETS = "budget:string|object dataset_budget:string|object quota_remaining:string|null quota:string|object|null"
_VALUES = f"values:map listed:array|null low:string|number|null high:string|number|null {_BUDGETS}"
_ASSUMED = "rate:number|null rate_deviation:number|null groups:integer|null"

HEALTH = documented("health")
DATASETS = documented("datasets")
DATASET = documented("dataset", f"unit:string|null size:integer|null affordable:integer|null columns:map {_VALUES}")
PLAN = documented("plan", f"affordable_answers:integer|null {_QUESTION} {_BUDGETS}", some="answer error epsilon")
REHEARSAL = documented(
    "rehearsal", "where:string|null unit:string|null made_up:integer|null", some="made_up answer error epsilon"
)
RELEASE = documented(  # `some` also lists the members that a stored reply of an older service may lack
    "release",
    f"better:object|null {_QUESTION} {_BUDGETS}",
    some="answer error low high meaning unit unreadable_as_missing neighbours mechanism scale epsilon better hints",
)
FOUND = schema_of(dict.fromkeys(("dataset", "analyst", "key"), ""), {}), "release"
REFINEMENT = documented(
    "refinement", f"answer:number answers:number epsilon:string|null warning:string|null {_ASSUMED}"
)
RISKS = documented(
    "risks",
    "scale:string|null sample:integer|null known:integer|null known_positives:integer|null"
    f" usual_epsilon:number|null overlapping_delta:number|null cautions:map {_ASSUMED}",
)

_ALWAYS = (400, 401, 404, 405, 408, 413, 422, 429, 500, 503)


def responses(
    schema: Schema, example: object, *, status: int = 200, also: Sequence[int] = ()
) -> dict[int | str, dict[str, Any]]:
    """Return the descriptions of all replies of a route by status: the successful reply, and all errors."""
    refusals: dict[int | str, dict[str, Any]] = {}
    for refused in (*_ALWAYS, *also):
        problem = _refusal(refused)
        shape = {**schema_of(problem, {}), "additionalProperties": False}
        shape["properties"]["type"]["format"] = "uri"
        refusals[refused] = _reply(refused, MEDIA_TYPE, shape, problem)
    return {status: _reply(status, "application/json", schema, example)} | refusals


def _reply(status: int, media: str, schema: Schema, example: object) -> dict[str, Any]:
    content = {media: {"schema": schema, "example": example}}
    return {"description": HTTPStatus(status).phrase, "content": content}


def _refusal(status: int) -> dict[str, Any]:
    """Return an example of the error reply with a status."""
    kinds = [problem for problem in (*PROBLEMS.values(), INTERNAL) if problem.status == status]
    one = kinds[0] if kinds else Problem("route", status, HTTPStatus(status).phrase)
    return {
        "type": f"urn:noisycount:{one.name}",
        "title": one.title,
        "status": status,
        "detail": one.detail or "one line that says what was wrong, and the remedy",
    }
