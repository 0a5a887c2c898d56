"""HTTP routes for data sets, previews, rehearsals and releases, with the JSON body of a question.

A release is charged once. A request with the same Idempotency-Key always gets the same bytes as its reply.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, partial
from hashlib import sha256
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Path, Response
from fastapi import Query as Parameter
from pydantic import BaseModel, ConfigDict, Field, JsonValue
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from noisycount.display.texts import redacted_name
from noisycount.errors import ReuseError
from noisycount.frozen import frozen
from noisycount.ledger.replies import Reply
from noisycount.ledger.transactions import AttachedWrite
from noisycount.query.query import Query
from noisycount.service.auth import LimitedUser, limited_user, user_of
from noisycount.service.document import DATASET, DATASETS, FOUND, PLAN, REHEARSAL, RELEASE, responses
from noisycount.service.errors import UnknownReleaseError
from noisycount.service.keys import User
from noisycount.service.middleware import JsonRoute, exact_json, replay_body
from noisycount.service.state import MOST_NAME, Dataset, ServiceState, State, state_of
from noisycount.tasks.answer import Answer, PaidQuery, answer_in_session
from noisycount.tasks.answer_json import answer_json, preview_json
from noisycount.tasks.preview import preview_in_session
from noisycount.tasks.show import View, budget_words, entry_json, offer_json, rehearsal_json, rehearsal_of
from noisycount.validation import exact_epsilon

_EXAMPLES: list[JsonValue] = [
    {"where": "health = 'poor'", "within": "20%", "at_most": "0.5"},
    {"where": ["health = 'poor'", "age >= 50"], "epsilon": "0.2"},
    {
        "by": ["health"],
        "keys": {"health": ["poor", "fair", "good", "excellent"]},
        "epsilon": "0.5",
        "groups_per_unit": 1,
    },
]

_Text = Annotated[str, Field(min_length=1, max_length=20_000)]
_Short = Annotated[str, Field(min_length=1, max_length=100)]
_Price = Annotated[_Short, Field(examples=["0.15"])]
_Key = Annotated[str, Field(max_length=1000)] | int | bool | None


class Question(BaseModel):
    """A question about one count, several counts or a table, with its price. Its members are options of `count`."""

    model_config = ConfigDict(extra="forbid", strict=True, json_schema_extra={"examples": _EXAMPLES})

    where: Annotated[
        _Text | Annotated[list[_Text], Field(max_length=10_000)],
        Field(description="Condition to count, as in SQL's WHERE. A list: one row each. Default: all records."),
    ] = Field(default=[])
    epsilon: Annotated[_Price | None, Field(description="Price in ε as text, such as 0.1 or 1/3.")] = None
    within: Annotated[
        _Short | None,
        Field(description="Accuracy instead of a price: largest error as a share of the count, such as 20%."),
    ] = None
    at_most: Annotated[
        _Price | None, Field(description="With within: largest price in ε. Only what the accuracy needs is charged.")
    ] = None
    of: Annotated[
        _Short | None,
        Field(description="With at_most: counts of a table that need the accuracy: largest, total or 90%-of-cells."),
    ] = None
    guess: Annotated[
        int | float | None,
        Field(gt=0, le=2**53, description="With within and without at_most: public guess of the count."),
    ] = None
    confidence: Annotated[_Short, Field(description="Probability with which the stated errors hold.")] = "95%"
    by: Annotated[
        _Text | Annotated[list[_Text], Field(max_length=16)],
        Field(description="Columns of a table, such as town, age:0,18,65 or visit:month."),
    ] = Field(default=[])
    keys: Annotated[dict[str, list[_Key]], Field(max_length=16, description="Keys of the table, listed by column.")] = (
        Field(default={})
    )
    other: Annotated[bool, Field(description="True to add one row for all other keys together.")] = False
    margins: Annotated[list[_Text], Field(max_length=64, description="Sums to measure besides the cells, or all.")] = (
        Field(default=[])
    )
    groups_per_unit: Annotated[
        int | None, Field(ge=1, le=2**53, description="Contribution bound: number of cells in which a person counts.")
    ] = None
    cumulative: Annotated[bool, Field(description="True to measure ranges of cells as well.")] = False
    noise: Annotated[
        Literal["laplace", "gaussian"] | None,
        Field(description="Noise of a table. Default: laplace, or gaussian with rho."),
    ] = None
    rho: Annotated[_Price | None, Field(description="Price of Gaussian noise in ρ, as text.")] = None
    delta: Annotated[_Price | None, Field(description="δ of hidden keys, or of Gaussian noise with a price in ε.")] = (
        None
    )
    purpose: Annotated[
        str | None, Field(max_length=1000, description="Purpose of the answer, which the ledger stores.")
    ] = None

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the given members, in hexadecimal digits.

        Members that are left out do not count, so that members of later versions change no digest.
        """
        members = self.model_dump(mode="json", exclude_unset=True)
        return sha256(json.dumps(members, sort_keys=True).encode("ascii")).hexdigest()

    def query(self) -> Query:
        """Return the query of this body, without its purpose."""
        return Query.from_json(self.model_dump(exclude_none=True, exclude={"purpose"}))


def asker_of_name(name: str) -> str:
    """Return the user who made a request, from its name in the ledger, `user:key`. A key has no colon."""
    return name.rpartition(":")[0]


def visible_keys(keys: Sequence[str], user: User) -> tuple[str, ...]:
    """Return the keys of the answers that an answer tops up. Keys of other users are shown only to owners."""
    return tuple(key if user.reads_all or asker_of_name(key) == user.name else "of another analyst" for key in keys)


@frozen
class Spend:
    """Request for an answer that is charged to the budget."""

    user: User  # user who asks
    dataset: str  # name of the data set
    key: str  # the user's name of the request (Idempotency-Key); it has no colon
    question: Question  # the body of the request

    @property
    def name(self) -> str:
        """Name of the request in the ledger: `user:key`, so that users never share a name."""
        return f"{self.user.name}:{self.key}"

    def reply(self, state: ServiceState) -> Reply:
        """Return the stored reply of the request, or answer the question and store the reply.

        Raise ReuseError if the name was used for another request.
        """
        state.dataset(self.user, self.dataset)
        with state.in_flight.hold(self.name):
            reply = state.ledger.transactions.with_one_reading(
                lambda: state.ledger.replies.get(self.name) or self._answer_question(state)
            )
        if (reply.dataset, reply.request) != (self.dataset, self.question.digest):
            raise ReuseError(
                "this Idempotency-Key was used for another request, and names that one for ever: choose another key"
            )
        return reply

    def _answer_question(self, state: ServiceState) -> Reply:
        """Answer the question, store the reply in the transaction of the answer if possible, and return it."""
        drafts: dict[AttachedWrite, Reply] = {}

        def attach(answered: Answer) -> AttachedWrite:
            reply = self._unstored_reply(answered)
            attached = state.ledger.replies.attached_write(reply)
            drafts[attached] = reply
            return attached

        session, analyst = state.session(self.user, self.dataset), state.analyst(self.user)
        paid_query = PaidQuery(self.question.query(), analyst, self.name, self.question.purpose, state.tick)
        try:
            answered = answer_in_session(session, paid_query, attach=attach)
        except BaseException:
            drafts.clear()  # so that the frames of the error hold no answer
            raise
        written_replies = [reply for attached, reply in drafts.items() if attached.is_written]
        return written_replies[0] if written_replies else state.ledger.replies.store(self._unstored_reply(answered))

    def _unstored_reply(self, answered: Answer) -> Reply:
        """Return the reply with an answer as JSON."""
        members = answer_json(answered)
        reply_members = {**members, "key": self.name, "replaces": visible_keys(members["replaces"], self.user)}
        del reply_members["ledger"]  # the address of the ledger is not for users
        if members["key"] != self.name and asker_of_name(members["key"]) == self.user.name:
            reply_members["first"] = members["key"]  # the user's own request that was charged for it
        content = json.dumps(reply_members, ensure_ascii=False, allow_nan=False).encode()
        return Reply(self.name, self.dataset, self.question.digest, content)


def stored_reply(name: str, user: User, state: ServiceState) -> bytes:
    """Return the bytes of a stored reply; if an answer was not given by the service, those of its ledger entry.

    Raise UnknownReleaseError if there is no such answer, or if the user may not see it.
    """
    if not name.isprintable():
        raise UnknownReleaseError
    reply = state.ledger.replies.get(name)
    if reply is not None:
        asker, dataset, content = asker_of_name(name), reply.dataset, reply.content
    else:
        entry = state.ledger.entry(name)
        if entry is None:
            raise UnknownReleaseError
        asker, dataset = entry.analyst, state.dataset_name(entry.request.dataset)
        entry = replace(entry, replaces=visible_keys(entry.replaces, user))
        members: dict[str, Any] = {"dataset": redacted_name(dataset), **entry_json(entry)}
        content = json.dumps(members, ensure_ascii=False).encode()
    if not user.reads_all and not (asker == user.name and user.may_see(dataset)):
        raise UnknownReleaseError
    return content


router = APIRouter(route_class=JsonRoute)
_JSON = "application/json"


@router.get("/v1/datasets", summary="List data sets", tags=["data sets"], responses=responses(*DATASETS))
def datasets(user: LimitedUser, state: State) -> dict[str, Any]:
    """List the data sets that you may see."""
    return state.reply(lambda: {"datasets": [{"dataset": each.name} for each in state.datasets(user)]})


@router.get(
    "/v1/datasets/{name}",
    summary="Describe a data set",
    tags=["data sets"],
    responses=responses(*DATASET, also=[504]),
)
def dataset(
    name: Dataset,
    user: LimitedUser,
    state: State,
    epsilon: Annotated[
        str, Parameter(max_length=100, description="Price in ε of one answer, for the number `affordable`.")
    ] = "0.1",
) -> dict[str, Any]:
    """Return the columns of a data set and your remaining budget."""
    price = exact_epsilon(epsilon)

    def describe() -> dict[str, Any]:
        view = View.for_analyst(state.session(user, name), state.analyst(user), price)
        return {**offer_json(view), "budget_words": budget_words(view)}

    return state.reply(describe)


@router.post("/v1/datasets/{name}/plan", summary="Preview", tags=["questions"], responses=responses(*PLAN, also=[504]))
def plan(name: Dataset, question: Question, user: LimitedUser, state: State) -> dict[str, Any]:
    """Preview the price and accuracy of a question. Charges and counts nothing."""

    def preview_question() -> dict[str, Any]:
        session, analyst = state.session(user, name), state.analyst(user)
        preview = preview_in_session(session, question.query(), analyst)
        return {**preview_json(preview), "affordable_answers": preview.affordable_answers}

    return state.reply(preview_question)


@router.post(
    "/v1/datasets/{name}/rehearsal", summary="Rehearse", tags=["questions"], responses=responses(*REHEARSAL, also=[504])
)
def rehearsal(name: Dataset, question: Question, user: LimitedUser, state: State) -> dict[str, Any]:
    """Answer the question on made-up records with the same columns. Charges nothing."""
    return state.reply(lambda: rehearsal_json(rehearsal_of(state.session(user, name), question.query())))


_KEY_FORM = r'^("[A-Za-z0-9._~-]{1,100}"|[A-Za-z0-9._~-]{1,100})$'
_Name = Annotated[
    str,
    Header(
        alias="Idempotency-Key",
        pattern=_KEY_FORM,
        description="Your name of the request: 1 to 100 of the characters A-Z a-z 0-9 . _ ~ -, with or without double"
        " quotes. The same key and body always get the same bytes, and are charged once.",
        examples=["2026-11-22-poor-health"],
    ),
]


class SpendRoute(JsonRoute):
    """The route that answers paid questions. It reads a valid request itself, as FastAPI's dependencies take much time.

    FastAPI describes the route, and replies to every other request.
    """

    def __init__(self, *args: Any, **options: Any) -> None:  # noqa: ANN401 - as the base class takes them
        super().__init__(*args, **options)
        self.by_fastapi, self.app = self.app, self.serve

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Reply to one request."""
        request = Request(scope, receive)
        question = _question_of(request, await request.body())
        key = request.headers.get("idempotency-key", "")
        if question is None or not re.fullmatch(_KEY_FORM, key):
            await self.by_fastapi(scope, replay_body(await request.body(), receive), send)
            return
        user = await limited_user(request, await user_of(request))
        reply = await release(scope["path_params"]["name"], question, user, await state_of(request), key)
        await reply(scope, receive, send)


def _question_of(request: Request, body: bytes) -> Question | None:
    """Return the question in the body of a request, or None if it is not valid JSON of a question."""
    if request.headers.get("content-type") != _JSON or len(request.path_params["name"]) > MOST_NAME:
        return None
    try:
        return Question.model_validate(exact_json(body))
    except ValueError:
        return None


spends = APIRouter(route_class=SpendRoute)


@spends.post(
    "/v1/datasets/{name}/releases",
    summary="Answer a question",
    tags=["releases"],
    status_code=201,
    response_class=Response,
    responses=responses(*RELEASE, status=201, also=[403, 409, 504]),
)
async def release(name: Dataset, question: Question, user: LimitedUser, state: State, key: _Name) -> Response:
    """Answer a question: one count, several, or a table. Charges before it counts."""
    spend = Spend(user, name, key.strip('"'), question)
    reply = await state.reply_async(partial(spend.reply, state))
    return Response(reply.content, 201, {"Location": f"/v1/releases/{reply.name}"}, _JSON)


@router.get(
    "/v1/releases/{id}",
    summary="Read an answer",
    tags=["releases"],
    response_class=Response,
    responses=responses(*FOUND, also=[504]),
)
def released(
    id: Annotated[  # noqa: A002 - the usual name in a route
        str, Path(max_length=200, description="Member `key` of a reply.", examples=["ana:2026-11-22-poor-health"])
    ],
    user: LimitedUser,
    state: State,
) -> Response:
    """Return a paid answer: your own, or any if you are an owner."""
    return Response(state.reply(partial(stored_reply, id, user, state)), media_type=_JSON)
