"""Refusals of the service, and their replies as problems of RFC 9457: a type, a status, a title and a sentence."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from http import HTTPStatus
from typing import Any

from click import ClickException
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from noisycount.errors import (
    BudgetError,
    ConfigError,
    LedgerError,
    NoisyCountError,
    OverrunError,
    PredicateError,
    QueryError,
    ReuseError,
    SourceError,
)
from noisycount.frozen import frozen
from noisycount.tasks.documentation import with_addresses


class ServiceError(NoisyCountError):
    """A refusal that only the service makes. The message of each class is one sentence."""

    sentence = ""

    def __init__(self, limit: object = None) -> None:
        super().__init__(self.sentence.format(limit))


class UnknownError(ServiceError):
    """Error: a data set does not exist, or this user may not see it. The reply is the same for both."""

    sentence = "there is no such data set, or you may not see it: use a data set of your list"


class UnknownReleaseError(ServiceError):
    """Error: a release does not exist, or this user may not see it. The reply is the same for both."""

    sentence = "there is no such answer, or you may not see it: the ledger lists your answers"


class InFlightError(ServiceError):
    """A request whose idempotency key belongs to a request in progress."""

    sentence = "this request is still in progress: send it again a little later, which costs nothing more"


class StoppingError(ServiceError):
    """A request that arrived while the service stops."""

    sentence = "the service is stopping: try again when it has restarted"


class BusyError(ServiceError):
    """A request that arrived while too many others are in progress."""

    sentence = "too many requests are in progress: try again a little later"


class RateError(ServiceError):
    """A request of a user who sent too many requests. The user may send the next one after `seconds` seconds."""

    sentence = "you sent too many requests: wait {} s, then try again"

    def __init__(self, seconds: int) -> None:
        self.seconds = seconds
        super().__init__(seconds)


class LargeError(ServiceError):
    """A request of too many bytes."""

    sentence = "a request may have {:,} bytes: send less, or split the question"


class SlowError(ServiceError):
    """A request that did not arrive in time."""

    sentence = "a request must arrive whole within {:g} s: send it again"


class DepthError(ServiceError):
    """A request whose JSON is nested too deeply."""

    sentence = "JSON may have {} nested brackets: send what /openapi.json describes"


class RepeatedNameError(ServiceError):
    """A request with several headers of a name that it may have once."""

    sentence = "a request may have one header {}, got several: send one"


class UnauthenticatedError(ServiceError):
    """A request without a valid key, token or session. The reply does not say which check failed."""

    sentence = (
        "no valid key: send `Authorization: Bearer` and a key that is neither expired nor"
        " revoked; an owner issues one by `noisycount analysts add`"
    )


class UncheckedError(ServiceError):
    """A request whose key or token cannot be checked at present. The owner can find the cause."""

    sentence = (
        "keys cannot be checked at present: try again a little later; the owner finds the cause by"
        " `noisycount analysts list`, and in the keys of the issuer"
    )


class ForbiddenError(ServiceError):
    """A request of an analyst for something that only owners and officers may see."""

    sentence = "only an owner or an officer may see this: ask an owner, or log in with a key of that role"


class ForgedError(ServiceError):
    """A form that was not sent from a page of this session."""

    sentence = "the form is not from this session, or too old: open its page again and send it from there"


MEDIA_TYPE = "application/problem+json"
_AGAIN = {"Retry-After": "5"}
_CHALLENGE = {"WWW-Authenticate": 'Bearer realm="noisycount"'}
_ASK_OWNER = (
    "the owner finds the cause in the log of the service, and by `noisycount check` and `noisycount ledger verify`"
)


@frozen
class Problem:
    """A kind of refusal, as RFC 9457 describes problems."""

    name: str  # end of its `type`
    status: int  # HTTP status
    title: str
    when: str = ""  # cause, for the OpenAPI document; empty if the routes of the document never reply with it
    # Sentence that replaces the text of the error, as that may name files or engines that users must not see. None: the
    # text is shown.
    detail: str | None = None
    again: bool = False  # True if the request may succeed later
    challenge: bool = False  # True if the request needs a key

    def reply(self, sentence: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
        """Return the reply to a request."""
        content = {
            "type": f"urn:noisycount:{self.name}",
            "title": self.title,
            "status": self.status,
            "detail": self.detail or sentence,
        }
        usual = (_AGAIN if self.again else {}) | (_CHALLENGE if self.challenge else {})
        return JSONResponse(content, self.status, {**usual, **(headers or {})}, MEDIA_TYPE)


_REQUEST = Problem("request", 422, "Cannot be asked", "members contradict each other, or are out of range")

PROBLEMS: Mapping[type[Exception], Problem] = {  # each class before its parents
    UnauthenticatedError: Problem("unauthenticated", 401, "No valid key", "no valid key was sent", challenge=True),
    UncheckedError: Problem(
        "unchecked",
        503,
        "Keys cannot be checked",
        "the file of keys, or the keys of the issuer, cannot be read",
        again=True,
    ),
    ForbiddenError: Problem("forbidden", 403, "For owners and officers only"),
    ForgedError: Problem("forged", 403, "Not a form of this session"),
    UnknownError: Problem(
        "unknown", 404, "No such data set", "the data set does not exist, or your key does not include it"
    ),
    UnknownReleaseError: Problem(
        "unknown", 404, "No such answer", "the answer does not exist, or another analyst asked for it"
    ),
    ReuseError: Problem(
        "key-reuse", 422, "The key names another request", "the Idempotency-Key was used with another body"
    ),
    InFlightError: Problem(
        "in-flight", 409, "Still in progress", "a request with this Idempotency-Key is in progress", again=True
    ),
    StoppingError: Problem("stopping", 503, "Stopping", "the service is stopping", again=True),
    BusyError: Problem(
        "busy", 503, "Too many requests at once", "more than [server] concurrency requests are in progress", again=True
    ),
    RateError: Problem("rate", 429, "Too many requests", "you sent more than [server] rate requests in a minute"),
    LargeError: Problem("large", 413, "Too large", "the body has more than [server] body bytes"),
    SlowError: Problem(
        "slow", 408, "Too slow", "the body took longer than 30 s to arrive, or the head longer than 10 s"
    ),
    DepthError: Problem("deep", 400, "Nested too deeply", "the JSON has more than [server] depth nested brackets"),
    RepeatedNameError: Problem("doubled", 400, "Repeated header", "a header such as Idempotency-Key was sent twice"),
    QueryError: _REQUEST,
    PredicateError: Problem(
        "question", 422, "Outside the question language", "the condition is not in the question language"
    ),
    BudgetError: Problem(
        "budget", 403, "More than the remaining budget", "the price exceeds a budget; nothing was charged"
    ),
    OverrunError: Problem(
        "overrun",
        504,
        "Not ready in time",
        "[server] deadline passed; a debit stays, so repeat the request",
        again=True,
    ),
    SourceError: Problem(
        "records",
        503,
        "The records cannot be counted",
        "the records cannot be counted; the log of the service states why",
        f"the records cannot be used: {_ASK_OWNER}",
    ),
    LedgerError: Problem(
        "ledger",
        503,
        "The ledger cannot be used",
        "the ledger cannot be used; the log states why",
        f"the ledger cannot be used: {_ASK_OWNER}",
    ),
    ConfigError: Problem(
        "configuration",
        503,
        "Not configured",
        "the configuration does not fit the records; the log states why",
        f"the data set is not ready: {_ASK_OWNER}",
    ),
    NoisyCountError: _REQUEST,
    ClickException: _REQUEST,
    ValueError: _REQUEST,
}

INTERNAL = Problem(
    "internal",
    500,
    "An error of the service",
    "noisycount failed; the log of the service states where",
    "the service failed",
)
_FORM = Problem("form", 422, "Wrong form", "a member, a header or the path has a wrong form")
_NO_JSON = Problem(
    "form",
    400,
    "No JSON",
    "the body is ambiguous or invalid JSON: a repeated member, NaN, or another encoding than UTF-8",
)
_ROUTES = {
    404: Problem("route", 404, "No such route", "the path does not exist"),
    405: Problem("route", 405, "No such route", "the path does not have this method"),
}


def documented_problems() -> Mapping[int, Sequence[Problem]]:
    """Return the kinds of refusals that the OpenAPI document describes, by status."""
    kinds = dict.fromkeys((*PROBLEMS.values(), _FORM, _NO_JSON, *_ROUTES.values(), INTERNAL))
    return {status: [kind for kind in kinds if kind.status == status and kind.when] for status in HTTPStatus}


def problem_of(error: Exception) -> Problem:
    """Return the kind of a refusal.

    Example:
        >>> problem_of(BudgetError("no budget remains")).status, problem_of(KeyError("x")).status
        (403, 500)
    """
    problems = (problem for kind, problem in PROBLEMS.items() if isinstance(error, kind))
    return next(problems, INTERNAL)


def problem_reply(error: Exception) -> JSONResponse:
    """Return the reply for a refusal, with its sentence on one line."""
    wait = {"Retry-After": str(error.seconds)} if isinstance(error, RateError) else None
    words = error.spelled(member_spelling) if isinstance(error, QueryError) else str(error)
    return problem_of(error).reply(with_addresses(_one_line(words)), wait)


_NUMBERS = {"groups_per_unit", "known", "known_positives", "sample"}  # members that are numbers, not texts


def member_spelling(name: str, value: str) -> str:
    """Return a part of a query as a member of the body of a request."""
    member = "where" if name == "wheres" else name
    if name == "keys" and value:
        column, _, keys_text = value.partition("=")
        return f'"keys": {json.dumps({column: keys_text.split(",")}, ensure_ascii=False)}'
    if name == "margins" and value:
        return f'"margins": ["{value}"]'
    if name in _NUMBERS and value:
        return f'"{name}": {value}'
    return f'"{member}": "{value}"' if value else member


def add_handlers(application: FastAPI) -> None:
    """Reply to every refusal of an application with a problem."""
    for kind in (NoisyCountError, ClickException, ValueError, Exception):
        application.add_exception_handler(kind, _reply_to_error)
    application.add_exception_handler(RequestValidationError, _reply_to_invalid_request)
    application.add_exception_handler(HTTPException, _reply_to_unknown_path)


async def _reply_to_error(request: Request, error: Exception) -> JSONResponse:
    problem = problem_of(error)
    request.state.problem = problem.name
    if problem.detail and problem is not INTERNAL:
        request.state.why = _one_line(str(error))  # for the owner, who reads the log
    return problem_reply(error)


async def _reply_to_invalid_request(request: Request, error: Exception) -> JSONResponse:
    """Reply to a request whose body, header or path has a wrong form."""
    request.state.problem = "form"
    faults: list[Any] = list(error.errors()) if isinstance(error, RequestValidationError) else []
    is_json = all(fault["type"] != "json_invalid" for fault in faults)
    sentence = "; ".join(map(fault_words, faults[:5]))
    return (_FORM if is_json else _NO_JSON).reply(_one_line(sentence))


async def _reply_to_unknown_path(request: Request, error: Exception) -> JSONResponse:
    """Reply to a request for an unknown path, or with a method that the path does not have."""
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for this class only
    request.state.problem = "route"
    return replace(_ROUTES[404], status=error.status_code).reply(error.detail, error.headers)


def _one_line(words: str) -> str:
    return " ".join(words.split())


_REPEATED = 2**53  # largest number that a message repeats
_NAME = "Idempotency-Key"
_MISSING = f"the header {_NAME} is missing: choose a new name for each question that may cost ε"
_MALFORMED = f'{_NAME} must be 1 to 100 of the characters A-Z a-z 0-9 . _ ~ -, such as "poor-1"'


def fault_words(fault: Mapping[str, Any]) -> str:
    """Describe a fault that pydantic found.

    The description repeats nothing of the request, except a number that must be a text.
    """
    part, *within = fault["loc"] or ("request",)
    name, kind = ".".join(map(str, within)), fault["type"]
    if kind == "json_invalid":
        return f"the body is ambiguous or invalid JSON ({fault['ctx']['error']}): correct it"
    if (part, name) == ("header", _NAME):
        return _MISSING if kind == "missing" else _MALFORMED
    if part == "body" and kind == "string_type" and len(within) == 1 and _is_short_number(fault):
        return f'{name} must be a text: write the number in quotes, "{fault["input"]}"'
    if part == "body" and kind == "missing" and within:
        return f"{name} is missing from the body: add it"
    if part == "body" and kind == "extra_forbidden":
        return f"{name!r} is no member of this body: leave it out, or correct its name"
    return f"{'.'.join(map(str, fault['loc'])) or 'request'}: {fault['msg']}"


def _is_short_number(fault: Mapping[str, Any]) -> bool:
    number = fault.get("input")
    if isinstance(number, bool) or not isinstance(number, int | float):
        return False
    return abs(number) <= _REPEATED
