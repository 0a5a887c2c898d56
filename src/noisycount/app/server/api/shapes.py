"""How replies look, for the OpenAPI document."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from noisycount.app.server.api.problems import INTERNAL, MEDIA_TYPE, PROBLEMS, Problem

__all__ = ["BUDGETS", "Shape", "listed", "members", "responses"]

Shape = dict[str, Any]
BUDGETS = {
    "remaining": "string",
    "budget": "string|object",
    "dataset_remaining": "string",
    "dataset_budget": "string|object",
    "quota_remaining": "string|null",
    "quota": "string|object|null",
}
"""What is left of the budgets that pay for an answer: the members of `Remains.object`."""

_PROBLEM_OBJECT: Shape = {
    "type": "object",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string", "format": "uri"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
    },
    "additionalProperties": False,
}
_ALWAYS = (400, 401, 404, 405, 408, 413, 422, 429, 500, 503)


def members(**types: str | Shape) -> Shape:
    """An object whose members are all there, each of a type such as `string|null`.

    Example:
        >>> members(answer="integer")["properties"], members(answer="integer")["required"]
        ({'answer': {'type': 'integer'}}, ['answer'])
    """
    properties = {name: _typed(kind) for name, kind in types.items()}
    return {"type": "object", "required": list(types), "properties": properties}


def listed(of: Shape) -> Shape:
    """A list of such."""
    return {"type": "array", "items": of}


def responses(
    shape: Shape, example: object, *, status: int = 200, also: Sequence[int] = ()
) -> dict[int | str, dict[str, Any]]:
    """Every reply of a route.

    Args:
        shape: Of what it replies.
        example: Such a reply.
        status: Of it.
        also: Statuses of refusals that only this route and few others have.
    """
    told: dict[int | str, dict[str, Any]] = {
        status: {
            "description": HTTPStatus(status).phrase,
            "content": {"application/json": {"schema": shape, "example": example}},
        }
    }
    return told | {refused: _refusal(refused) for refused in (*_ALWAYS, *also)}


def _refusal(status: int) -> dict[str, Any]:
    """A problem of a status, with one that has it as the example."""
    kinds = [problem for problem in (*PROBLEMS.values(), INTERNAL) if problem.status == status]
    phrase = HTTPStatus(status).phrase
    one = kinds[0] if kinds else Problem("route", status, phrase)
    example = {
        "type": f"urn:noisycount:{one.name}",
        "title": one.title,
        "status": status,
        "detail": one.detail or "one line that says what was wrong, and the remedy",
    }
    content: Mapping[str, object] = {"schema": _PROBLEM_OBJECT, "example": example}
    return {"description": phrase, "content": {MEDIA_TYPE: content}}


def _typed(kind: str | Shape) -> Shape:
    """The schema of a member."""
    if not isinstance(kind, str):
        return kind
    names = kind.split("|")
    return {} if kind == "any" else {"type": names if len(names) > 1 else kind}
