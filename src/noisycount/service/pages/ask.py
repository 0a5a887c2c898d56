"""The pages on which a question is built, previewed and asked."""

import re
import secrets
from asyncio import sleep
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import quote

import click
from fastapi import APIRouter, Request, Response
from pydantic import ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData

from noisycount.access.keys import User
from noisycount.errors import BudgetError, NoisyCountError, PredicateError
from noisycount.frozen import frozen
from noisycount.ledger.replies import entry_of_key
from noisycount.ledger.reply import Reply
from noisycount.service.api.questions import Question, Spend
from noisycount.service.auth import Asking
from noisycount.service.errors import InFlightError
from noisycount.service.pages.answer import Released
from noisycount.service.pages.calls import body_of, calls_of
from noisycount.service.pages.form import AskForm, FormError
from noisycount.service.pages.layout import page, redirect
from noisycount.service.pages.preview import Offer, Preview, RehearsedPanel
from noisycount.service.state import ServiceState, State
from noisycount.tasks.rehearsal import rehearsal_of

__all__ = ["router"]


router = APIRouter(include_in_schema=False)
_KEY = re.compile(r"[0-9a-f]{32}")
_PURPOSE = "what the answer is for"
_TRIES, _PAUSE = 40, 0.25  # seconds


@frozen
class Shown:
    """What the page of a data set shows.

    Attributes:
        offer: The data set.
        form: What was typed.
        error: What cannot be read, or was refused.
        preview: What an answer would cost and give.
        rehearsal: The same on made-up records.
    """

    offer: Offer
    form: AskForm
    error: FormError | None = None
    preview: Preview | None = None
    rehearsal: RehearsedPanel | None = None


@router.get("/")
def first_page() -> Response:
    """The way to what most people want."""
    return redirect("/ask")


@router.get("/ask")
def ask_list(request: Request, user: Asking, state: State) -> Response:
    """The data sets that are there for a user."""
    offers = state.reply(partial(_offers, state, user))
    return page(request, "ask_list.html", user, offers=offers)


@router.get("/ask/{name}")
def ask_page(request: Request, name: str, user: Asking, state: State) -> Response:
    """The empty form of a data set."""
    shown = state.reply(lambda: Shown(_offer(state, user, name), AskForm()))
    return _page(request, state, user, shown)


@router.post("/ask/{name}")
async def ask_form(request: Request, name: str, user: Asking, state: State) -> Response:
    """The form again: with a row more or less, a preview, or what is wrong with it."""
    sent = await request.form()
    work = partial(_shown, state, user, name, sent)
    return _page(request, state, user, await run_in_threadpool(state.reply, work))


@router.post("/ask/{name}/spend")
async def spend(request: Request, name: str, user: Asking, state: State) -> Response:
    """The way to an answer, once it is paid for: to load it again costs nothing."""
    sent = await request.form()
    paying = Spend(user, name, _key(sent), _question(sent))
    reply = await _paid(state, partial(paying.reply, state))
    return redirect(f"/releases/{quote(reply.name, safe='')}")


async def _paid(state: ServiceState, work: Callable[[], Reply]) -> Reply:
    """The reply to a form that may have been sent twice: the second waits for the first."""
    for _ in range(_TRIES - 1):
        with suppress(InFlightError):
            return await run_in_threadpool(state.reply, work)
        await sleep(_PAUSE)
    return await run_in_threadpool(state.reply, work)


def _offers(state: ServiceState, user: User) -> list[Offer]:
    return [_offer(state, user, dataset.name) for dataset in state.datasets(user)]


def _offer(state: ServiceState, user: User, name: str) -> Offer:
    return Offer.of(state.counter(user, name), state.analyst(user))


def _shown(state: ServiceState, user: User, name: str, sent: FormData) -> Shown:
    """The page that answers a form."""
    counter, analyst = state.counter(user, name), state.analyst(user)
    offer, form = Offer.of(counter, analyst), AskForm.of(sent)
    if (changed := form.changed(sent)) is not None:
        return Shown(offer, changed)
    try:
        body = form.body(offer.kinds)
        preview = Preview.of(counter, analyst, body)
        shown = Shown(offer, form, preview=preview)
        if "rehearse" not in sent:
            return shown
        question = Question.model_validate(body)
        told = rehearsal_of(counter, question.asked(), question.pay)
        return replace(shown, rehearsal=RehearsedPanel.of(told))
    except (FormError, PredicateError, BudgetError, ValueError, click.ClickException) as error:
        return Shown(offer, form, _told(error))


def _told(error: Exception) -> FormError:
    """A refusal as the page tells it, with the field that it is about if that is known."""
    if isinstance(error, FormError):
        return error
    if isinstance(error, ValidationError):
        fault = error.errors(include_url=False, include_input=False)[0]
        return FormError(str(fault["loc"][0]), f"{fault['loc'][0]}: {fault['msg']}")
    words = error.message if isinstance(error, click.ClickException) else str(error)
    return FormError("where" if isinstance(error, PredicateError) else "", words)


def _page(request: Request, state: ServiceState, user: User, shown: Shown) -> Response:
    preview, name = shown.preview, shown.offer.name
    calls = []
    if preview is not None:
        body = _with_purpose(preview.body, shown)
        calls = calls_of(name, body, _address(request), _named(state, user))
    return page(
        request,
        "ask.html",
        user,
        status=200 if shown.error is None else 422,
        offer=shown.offer,
        columns=shown.offer.columns,
        form=shown.form,
        error=shown.error,
        preview=preview,
        rehearsal=shown.rehearsal,
        calls=calls,
        key=secrets.token_hex(16),
    )


def _with_purpose(body: Mapping[str, Any], shown: Shown) -> dict[str, Any]:
    """What a program sends, with what the answer is for where it must say so."""
    purpose = shown.form.purpose or (_PURPOSE if shown.offer.wants_purpose else "")
    return {**body, "purpose": purpose} if purpose else dict(body)


def _key(sent: FormData) -> str:
    """What the page called the request; a new name where a form was changed by hand."""
    said = str(sent.get("key", ""))
    return said if _KEY.fullmatch(said) else secrets.token_hex(16)


def _question(sent: FormData) -> Question:
    """The question that was confirmed, with what its answer is for.

    Raises:
        NoisyCountError: It is none.
    """
    try:
        question = Question.model_validate_json(str(sent.get("question", "")))
        purpose = str(sent.get("purpose", "")).strip()
        if not purpose:
            return question
        said = question.model_dump(exclude_unset=True)
        return Question.model_validate({**said, "purpose": purpose})
    except ValidationError:
        raise NoisyCountError(
            "the form was not sent whole: go back, preview the question and ask again"
        ) from None


@router.get("/releases/{name}")
def release_page(request: Request, name: str, user: Asking, state: State) -> Response:
    """An answer, however often it is loaded."""
    shown, body = state.reply(partial(_released, state, user, name))
    who = _named(state, user)
    calls = [] if body is None else calls_of(shown.dataset, body, _address(request), who)
    return page(request, "release.html", user, it=shown, calls=calls)


def _released(state: ServiceState, user: User, name: str) -> tuple[Released, dict[str, Any] | None]:
    """An answer, and what asks the same."""
    shown = Released.of(state, user, name)
    entry, body, wants = entry_of_key(state.ledger, shown.first), shown.body, False
    with suppress(NoisyCountError):  # the data set, or a column of the question, is gone
        counter = state.counter(user, shown.dataset)
        wants = counter.dataset.needs_purpose
        if entry is not None:
            body = body_of(entry, counter.records.schema, shown.told.get("confidence"))
    if body is None:
        return shown, None
    purpose = shown.purpose or (_PURPOSE if wants else "")
    return shown, {**body, "purpose": purpose} if purpose else body


def _named(state: ServiceState, user: User) -> str | None:
    """What a call without a key must say of its asker: a name, where the owner lists those."""
    return user.name if state.configuration.analysts else None


def _address(request: Request) -> str:
    """Where the service is, as its users reach it."""
    return str(request.base_url).rstrip("/")
