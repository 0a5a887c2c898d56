"""JSON that can be read in one way alone.

The bodies of requests, of which all who read them see the same.

How replies look, for the OpenAPI document.

Whether the service is there.
"""

import json
from collections.abc import Callable, Coroutine, Mapping, Sequence
from http import HTTPStatus
from json import JSONDecodeError
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.routing import APIRoute

from noisycount.service.refusals import INTERNAL, MEDIA_TYPE, PROBLEMS, Problem

__all__ = [
    "BUDGETS",
    "JsonRoute",
    "Shape",
    "exact_json",
    "listed",
    "members",
    "responses",
    "router",
]


_ENCODING = "utf-8"  # RFC 8259, section 8.1: no other encoding, and no mark of one


_MOST_DIGITS = 400  # of a whole number: more than any real has


def exact_json(content: bytes) -> Any:  # noqa: ANN401  (what came from outside has no type)
    """What JSON says of which no two readers can see two things.

    RFC 8259, section 4, lets a reader take the first or the last of two members of one name: a
    proxy or a log may then show another price than the one that is charged.

    Raises:
        ValueError: It is not UTF-8, no JSON, too deep, says a member twice at any depth, or has a
            number that JSON does not have or that is too long to read.

    Example:
        >>> exact_json(b'{"epsilon": "0.1"}')
        {'epsilon': '0.1'}
    """
    try:
        return json.loads(
            content.decode(_ENCODING),
            object_pairs_hook=_members,
            parse_constant=_no_number,
            parse_int=_whole,
        )
    except RecursionError:
        raise ValueError("it is too deep") from None


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a member is said twice")
    return members


def _no_number(name: str) -> float:
    """Nothing: Python reads NaN and Infinity, which JSON does not have."""
    raise ValueError(f"{name} is no number of JSON")


def _whole(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise ValueError(f"a number has more than {_MOST_DIGITS} digits")
    return int(digits)


class _JsonRequest(Request):
    """A request whose body has one meaning."""

    async def json(self) -> Any:  # noqa: ANN401  (as the class above has it)
        """What the body says.

        Raises:
            JSONDecodeError: Nothing, or two things.
        """
        try:
            return exact_json(await self.body())
        except JSONDecodeError:
            raise
        except UnicodeDecodeError as error:
            raise JSONDecodeError("it is not UTF-8", "", error.start) from None
        except ValueError as error:
            raise JSONDecodeError(str(error), "", 0) from None


class JsonRoute(APIRoute):
    """A route that takes JSON."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The route, which reads a body as `exact_json` does."""
        handler = super().get_route_handler()

        async def handled(request: Request) -> Response:
            return await handler(_JsonRequest(request.scope, request.receive))

        return handled


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


router = APIRouter(tags=["health"])


@router.get("/healthz", responses=responses(members(status="string"), {"status": "ok"}))
async def healthz() -> dict[str, str]:
    """Whether the service is there; it says nothing of any data set, and needs no key."""
    return {"status": "ok"}
