"""Refusals as RFC 9457 has them: a class of errors, its status, and the sentence of the refusal."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from click import ClickException
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from noisycount.app.server.api.faults import fault_words
from noisycount.app.server.refusals import (
    BusyError,
    DepthError,
    DoubledError,
    ForbiddenError,
    ForgedError,
    InFlightError,
    LargeError,
    RateError,
    SlowError,
    StoppingError,
    UnauthenticatedError,
    UncheckedError,
    UnknownError,
    UnknownReleaseError,
)
from noisycount.errors import (
    BudgetError,
    ConfigError,
    LedgerError,
    NoisyCountError,
    OverrunError,
    PredicateError,
    ReuseError,
    SourceError,
)

__all__ = ["MEDIA_TYPE", "Problem", "add_handlers", "problem_of", "problem_reply"]

MEDIA_TYPE = "application/problem+json"
_AGAIN = {"Retry-After": "5"}
_CHALLENGE = {"WWW-Authenticate": 'Bearer realm="noisycount"'}


@dataclass(frozen=True, slots=True)
class Problem:
    """A kind of refusal.

    Attributes:
        name: The end of its `type`.
        status: Of the reply.
        title: What it is, for people.
        detail: What is said in place of the refusal's own sentence, which may name files or
            engines that are none of a visitor's business; None: nothing needs to be hidden.
        again: Whether to ask again helps.
        challenge: Whether a key would help.
    """

    name: str
    status: int
    title: str
    detail: str | None = None
    again: bool = False
    challenge: bool = False

    def reply(self, sentence: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
        """The reply that tells it."""
        content = {
            "type": f"urn:noisycount:{self.name}",
            "title": self.title,
            "status": self.status,
            "detail": self.detail or sentence,
        }
        told = {
            **(_AGAIN if self.again else {}),
            **(_CHALLENGE if self.challenge else {}),
            **(headers or {}),
        }
        return JSONResponse(content, self.status, told, MEDIA_TYPE)


_ASK_OWNER = "the owner finds why in the log of the service, and by `noisycount check`"
PROBLEMS: Mapping[type[Exception], Problem] = {
    UnauthenticatedError: Problem("unauthenticated", 401, "Who asks?", challenge=True),
    UncheckedError: Problem("unchecked", 503, "Who asks cannot be checked", again=True),
    ForbiddenError: Problem("forbidden", 403, "An owner's"),
    ForgedError: Problem("forged", 403, "Not a form of this session"),
    UnknownError: Problem("unknown", 404, "No such data set"),
    UnknownReleaseError: Problem("unknown", 404, "No such release"),
    ReuseError: Problem("key-reuse", 422, "The key names another request"),
    InFlightError: Problem("in-flight", 409, "Still worked on", again=True),
    StoppingError: Problem("stopping", 503, "Stopping", again=True),
    BusyError: Problem("busy", 503, "Too much at once", again=True),
    RateError: Problem("rate", 429, "Too often"),
    LargeError: Problem("large", 413, "Too large"),
    SlowError: Problem("slow", 408, "Too slow"),
    DepthError: Problem("deep", 400, "Too deep"),
    DoubledError: Problem("doubled", 400, "Said twice"),
    PredicateError: Problem("question", 422, "Outside the question language"),
    BudgetError: Problem("budget", 403, "More than is left"),
    OverrunError: Problem("overrun", 504, "Not ready in time", again=True),
    SourceError: Problem(
        "records", 503, "The records cannot be counted", f"the records cannot be used: {_ASK_OWNER}"
    ),
    LedgerError: Problem(
        "ledger", 503, "The ledger cannot be used", f"the ledger cannot be used: {_ASK_OWNER}"
    ),
    ConfigError: Problem(
        "configuration", 503, "Not configured", f"the data set cannot be asked yet: {_ASK_OWNER}"
    ),
    NoisyCountError: Problem("request", 422, "Cannot be asked"),
    ClickException: Problem("request", 422, "Cannot be asked"),
    ValueError: Problem("request", 422, "Cannot be asked"),
}
"""Each class before its parents."""

INTERNAL = Problem("internal", 500, "An error of the service", "the service failed")


def problem_of(error: Exception) -> Problem:
    """The kind of a refusal.

    Example:
        >>> problem_of(BudgetError("all is spent")).status, problem_of(KeyError("x")).status
        (403, 500)
    """
    found = (problem for kind, problem in PROBLEMS.items() if isinstance(error, kind))
    return next(found, INTERNAL)


def problem_reply(error: Exception) -> JSONResponse:
    """The reply that tells a refusal, in one line."""
    wait = {"Retry-After": str(error.seconds)} if isinstance(error, RateError) else None
    return problem_of(error).reply(_sentence(error), wait)


def add_handlers(application: FastAPI) -> None:
    """Let every refusal of an application be a problem."""
    for kind in (NoisyCountError, ClickException, ValueError, Exception):
        application.add_exception_handler(kind, _refused)
    application.add_exception_handler(RequestValidationError, _invalid)
    application.add_exception_handler(HTTPException, _unrouted)


async def _refused(request: Request, error: Exception) -> JSONResponse:
    problem = problem_of(error)
    request.state.problem = problem.name
    if problem.detail and problem is not INTERNAL:
        request.state.why = _sentence(error)  # for the owner, who reads the log
    return problem_reply(error)


async def _invalid(request: Request, error: Exception) -> JSONResponse:
    """A body, a header or a path of another form."""
    request.state.problem = "form"
    faults: list[Any] = list(error.errors()) if isinstance(error, RequestValidationError) else []
    is_json = all(fault["type"] != "json_invalid" for fault in faults)
    told = "; ".join(map(fault_words, faults[:5]))
    status, title = (422, "Of another form") if is_json else (400, "No JSON")
    return Problem("form", status, title).reply(" ".join(told.split()))


async def _unrouted(request: Request, error: Exception) -> JSONResponse:
    """What has no route, or not that method."""
    assert isinstance(error, HTTPException)  # noqa: S101 - it handles no other
    request.state.problem = "route"
    return Problem("route", error.status_code, "No such route").reply(error.detail, error.headers)


def _sentence(error: Exception) -> str:
    return " ".join(str(error).split())
