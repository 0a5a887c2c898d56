"""Replies in the OpenAPI document of the service.

`replies.json` holds an example of each reply. The schema of a reply is derived from its example.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from noisycount.service.errors import MEDIA_TYPE, documented_problems

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


def document_reply(name: str, description: str, types: str = "", *, some: str = "") -> tuple[Schema, str, str]:
    """Return the schema of a reply, the name of its example, and its description.

    `some` lists members that not every reply has.
    """
    example = _EXAMPLES[name]
    shape = schema_of(example, dict(each.split(":") for each in types.split()))
    required = [member for member in example if member not in some.split()]
    return {**shape, "required": required}, name, description


def with_examples(openapi: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return the OpenAPI document that `openapi` makes, with examples in place of their names.

    FastAPI itself would drop the null members of examples.
    """
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

HEALTH = document_reply("health", "The service is running.")
DATASETS = document_reply("datasets", "The names of the data sets.")
_OFFER = (
    "The columns, the unit and the budgets, as `show --json` prints them, with `budget_words`: the budgets in words."
)
DATASET = document_reply(
    "dataset", _OFFER, f"unit:string|null size:integer|null affordable:integer|null columns:map {_VALUES}"
)
_PREVIEW = (
    "The preview, as `count --dry-run --json` prints it, with `affordable_answers`: the number of such answers that the"
    " remaining budget pays for."
)
PLAN = document_reply(
    "plan", _PREVIEW, f"affordable_answers:integer|null {_QUESTION} {_BUDGETS}", some="answer error epsilon"
)
REHEARSAL = document_reply(
    "rehearsal",
    "The answer about `made_up` records, with a `note` that says so.",
    "where:string|null unit:string|null made_up:integer|null",
    some="made_up answer error epsilon",
)
RELEASE = document_reply(  # `some` also lists the members that a stored reply of an older service may lack
    "release",
    "The answer, as `count --json` prints it, without `ledger`. The header Location is its address.",
    f"better:object|null {_QUESTION} {_BUDGETS}",
    some="answer error low high meaning unit unreadable_as_missing neighbours mechanism scale epsilon better hints",
)
_FOUND = "The stored reply. If the service did not give the answer: its entry in the ledger."
FOUND = schema_of(dict.fromkeys(("dataset", "analyst", "key"), ""), {}), "release", _FOUND
REFINEMENT = document_reply(
    "refinement",
    "The estimate, as `refine --json` prints it.",
    f"answer:number answers:number epsilon:string|null warning:string|null {_ASSUMED}",
)
RISKS = document_reply(
    "risks",
    "The bounds, as `risk --json` prints them.",
    "scale:string|null sample:integer|null known:integer|null known_positives:integer|null"
    f" usual_epsilon:number|null overlapping_delta:number|null cautions:map {_ASSUMED}",
)

_PROBLEMS = documented_problems()
_ALWAYS = (400, 401, 404, 405, 408, 413, 422, 429, 500, 503)


def responses(
    schema: Schema, example: object, description: str, *, status: int = 200, also: Sequence[int] = ()
) -> dict[int | str, dict[str, Any]]:
    """Return the descriptions of all replies of a route by status: the successful reply, and all errors."""
    refusals: dict[int | str, dict[str, Any]] = {}
    for refused in (*_ALWAYS, *also):
        problem = _error_example(refused)
        shape = {**schema_of(problem, {}), "additionalProperties": False}
        shape["properties"]["type"]["format"] = "uri"
        refusals[refused] = _reply_description(MEDIA_TYPE, shape, problem, _error_causes_text(refused))
    return {status: _reply_description("application/json", schema, example, description)} | refusals


def _reply_description(media: str, schema: Schema, example: object, description: str) -> dict[str, Any]:
    return {"description": description, "content": {media: {"schema": schema, "example": example}}}


def _error_causes_text(status: int) -> str:
    """Describe an error reply: the end of each `type` that it can have, with its cause."""
    causes: dict[str, list[str]] = {}
    for problem in _PROBLEMS[status]:
        causes.setdefault(problem.name, []).append(problem.when)
    return " ".join(f"`{name}`: {'; or '.join(when)}." for name, when in causes.items())


def _error_example(status: int) -> dict[str, Any]:
    """Return an example of the error reply with a status."""
    one = _PROBLEMS[status][0]
    return {
        "type": f"urn:noisycount:{one.name}",
        "title": one.title,
        "status": status,
        "detail": one.detail or "one line that says what was wrong, and the remedy",
    }
