"""The pages on which a question is built, previewed and asked."""

import re
import secrets
from asyncio import sleep
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any
from urllib.parse import quote

import click
from fastapi import APIRouter, Request, Response
from pydantic import ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData

from noisycount.errors import BudgetError, NoisyCountError, PredicateError
from noisycount.ledger.replies import Reply
from noisycount.service.auth import Asking
from noisycount.service.errors import InFlightError
from noisycount.service.keys import User
from noisycount.service.pages.answer import Released
from noisycount.service.pages.calls import calls_of, with_purpose
from noisycount.service.pages.form import AskForm, FormError, operators_of
from noisycount.service.pages.layout import page, redirect
from noisycount.service.pages.preview import Offer, Preview, RehearsedPanel
from noisycount.service.questions import Question, Spend
from noisycount.service.state import ServiceState, State
from noisycount.tasks.rehearsal import rehearsal_of

router = APIRouter(include_in_schema=False)
_KEY = re.compile(r"[0-9a-f]{32}")
_TRIES, _PAUSE = 40, 0.25  # seconds


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
    offer = state.reply(partial(_offer, state, user, name))
    return _page(request, state, user, {"offer": offer, "form": AskForm()})


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


def _shown(state: ServiceState, user: User, name: str, sent: FormData) -> dict[str, Any]:
    """What the page shows that answers a form."""
    counter, analyst = state.counter(user, name), state.analyst(user)
    offer, form = Offer.of(counter, analyst), AskForm.of(sent)
    if (changed := form.changed(sent)) is not None:
        return {"offer": offer, "form": changed}
    shown: dict[str, Any] = {"offer": offer, "form": form}
    try:
        body = form.body(offer.columns)
        answered = {"preview": Preview.of(counter, analyst, body)}
        if "rehearse" not in sent:
            return shown | answered
        question = Question.model_validate(body)
        told = rehearsal_of(counter, question.query())
        return shown | answered | {"rehearsal": RehearsedPanel.of(told)}
    except (FormError, PredicateError, BudgetError, ValueError, click.ClickException) as error:
        return shown | {"error": _told(error)}


def _told(error: Exception) -> FormError:
    """A refusal as the page tells it, with the field that it is about if that is known."""
    if isinstance(error, FormError):
        return error
    if isinstance(error, ValidationError):
        fault = error.errors(include_url=False, include_input=False)[0]
        return FormError(str(fault["loc"][0]), f"{fault['loc'][0]}: {fault['msg']}")
    words = error.message if isinstance(error, click.ClickException) else str(error)
    return FormError("where" if isinstance(error, PredicateError) else "", words)


def _page(request: Request, state: ServiceState, user: User, shown: dict[str, Any]) -> Response:
    offer, form, preview = shown["offer"], shown["form"], shown.get("preview")
    calls = []
    if preview is not None:
        body = with_purpose(preview.body, form.purpose, wants=offer.wants_purpose)
        calls = _calls(request, state, user, offer.name, body)
    return page(
        request,
        "ask.html",
        user,
        status=422 if "error" in shown else 200,
        **{"error": None, "preview": None, "rehearsal": None, **shown},
        columns=offer.columns,
        operators=operators_of,
        calls=calls,
        key=secrets.token_hex(16),
    )


def _calls(
    request: Request, state: ServiceState, user: User, dataset: str, body: Mapping[str, Any]
) -> list[tuple[str, str]]:
    """The calls, at the address by which users reach the service.

    A call without a key must name its asker, where the owner lists those.
    """
    who = user.name if state.configuration.analysts else None
    return calls_of(dataset, body, str(request.base_url).rstrip("/"), who)


def _key(sent: FormData) -> str:
    """What the page called the request; a new name where a form was changed by hand."""
    said = str(sent.get("key", ""))
    return said if _KEY.fullmatch(said) else secrets.token_hex(16)


def _question(sent: FormData) -> Question:
    """The question that was confirmed, with what its answer is for."""
    try:
        question = Question.model_validate_json(str(sent.get("question", "")))
        purpose = str(sent.get("purpose", "")).strip()
        if not purpose:
            return question
        said = question.model_dump(exclude_unset=True)
        return Question.model_validate({**said, "purpose": purpose})
    except ValidationError:
        raise NoisyCountError("the form was not sent whole: go back, preview the question and ask again") from None


@router.get("/releases/{name}")
def release_page(request: Request, name: str, user: Asking, state: State) -> Response:
    """An answer, however often it is loaded."""
    shown = state.reply(partial(Released.of, state, user, name))
    calls = [] if shown.body is None else _calls(request, state, user, shown.dataset, shown.body)
    return page(request, "release.html", user, it=shown, calls=calls)
