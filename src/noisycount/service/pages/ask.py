"""The pages on which a question is built, previewed and asked."""

import json
import re
import secrets
import shlex
from asyncio import sleep
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, Request, Response
from pydantic import ValidationError
from starlette.datastructures import FormData

from noisycount.config.config import DatasetConfig
from noisycount.errors import NoisyCountError, PredicateError, QueryError, ReuseError
from noisycount.ledger.budget import Loss
from noisycount.ledger.entries import Analyst
from noisycount.ledger.ledger import Selection
from noisycount.ledger.replies import Reply
from noisycount.model.tables.levels import Label
from noisycount.query.predicate import quoted_name
from noisycount.query.query import Query, parse_by_text
from noisycount.readers.values import parse_share
from noisycount.release.dataset import RemainingBudget
from noisycount.service.auth import LimitedUser, draft_of
from noisycount.service.drafts import request_key
from noisycount.service.errors import InFlightError, problem_of
from noisycount.service.keys import User
from noisycount.service.pages.form import AskForm, FormError, Price, operators_of
from noisycount.service.pages.layout import draft_address, page, redirect
from noisycount.service.pages.preview import Offer, Preview, RehearsedPanel
from noisycount.service.questions import Question, Spend
from noisycount.service.state import ServiceState, State
from noisycount.tasks.opening import DatasetSession
from noisycount.tasks.rehearsal import rehearsal_of
from noisycount.tasks.show import View, budget_words

router = APIRouter(include_in_schema=False)
# Where the focus is once a button of the form was pressed: in the last row of a list, or at the choice of another.
_FOCUSED = {"add": "rows", "add_group": "groups", "remove": "chosen", "remove_group": "chosen_group"}
_PAUSE = 0.25  # seconds


@router.get("/")
def first_page() -> Response:
    """The way to what most people want."""
    return redirect("/ask")


@router.get("/ask")
def ask_list(request: Request, user: LimitedUser, state: State, find: str = "") -> Response:
    """The data sets that are there for a user, or the only one; none is opened for that."""
    offered = state.datasets(user)
    if len(offered) == 1:
        return redirect(f"/ask/{quote(offered[0].name, safe='')}")
    found = [each for each in offered if find.strip().casefold() in each.name.casefold()]
    budgets = state.reply(partial(_budgets, state, user, found))
    return page(request, "ask_list.html", user, budgets=budgets, find=find, number=len(offered))


@router.get("/ask/{name}")
def ask_page(request: Request, name: str, user: LimitedUser, state: State, draft: str = "") -> Response:
    """Return the empty form of a data set, or the form and the preview of a draft."""
    kept = draft_of(request, draft)
    if kept is not None:
        shown = state.reply(partial(_shown, state, user, name, FormData(list(kept.fields))))
        refused = {"error": FormError("", kept.refusal)} if kept.refusal else {}
        return _page(request, state, user, {**refused, **shown, "key": kept.key})
    shown = state.reply(partial(_empty, state, user, name))
    if draft:
        shown["error"] = FormError("", "This question is not kept any more: ask it again.")
    return _page(request, state, user, shown)


@router.post("/ask/{name}")
async def ask_form(request: Request, name: str, user: LimitedUser, state: State) -> Response:
    """Keep the form and redirect to its page, so that Back and Reload send no form again.

    A request with a key in a header has no session that could keep the form: its page is the reply.
    """
    state.dataset(user, name)
    kept = draft_address(request)
    if kept is not None:
        return redirect(kept)
    work = partial(_shown, state, user, name, await request.form())
    return _page(request, state, user, await state.awaited(work))


@router.post("/ask/{name}/spend")
async def spend(request: Request, name: str, user: LimitedUser, state: State) -> Response:
    """The way to an answer, once it is paid for: to load it again costs nothing."""
    sent = await request.form()
    paying = Spend(user, name, request_key(str(sent.get("key", ""))), _question(sent))
    try:
        reply = await _reply_to_form(state, partial(paying.reply, state))
    except ReuseError:
        raise ReuseError("this form was sent before and changed since: preview the question again") from None
    return redirect(f"/releases/{quote(reply.name, safe='')}")


async def _reply_to_form(state: ServiceState, work: Callable[[], Reply]) -> Reply:
    """The reply to a form that may have been sent twice: the second waits for the first."""
    for _ in range(int(state.patience / _PAUSE)):
        with suppress(InFlightError):
            return await state.awaited(work)
        await sleep(_PAUSE)
    return await state.awaited(work)


def _budgets(state: ServiceState, user: User, datasets: list[DatasetConfig]) -> list[tuple[str, str]]:
    """The names of data sets, each with what is left of its budget."""
    analyst, spent = state.analyst(user), state.ledger.select(Selection(frozenset()), 0, 0)  # one look for all
    own, of_datasets = spent.analysts.get(analyst.name, Loss()), spent.datasets
    remains = [RemainingBudget.of(of.budget, of_datasets.get(of.account, Loss()), analyst, own) for of in datasets]
    views = (View(of, None, True, {}, {}, left) for of, left in zip(datasets, remains, strict=True))  # noqa: FBT003
    return [(view.dataset.name, budget_words(view)) for view in views]


def _empty(state: ServiceState, user: User, name: str, purpose: str = "") -> dict[str, Any]:
    """Return the offer of a data set and its empty form."""
    offer = Offer.of(state.session(user, name), state.analyst(user))
    return {"offer": offer, "form": AskForm(price=Price(at_most=offer.at_most), purpose=purpose)}


def _shown(state: ServiceState, user: User, name: str, sent: FormData) -> dict[str, Any]:
    """What the page shows that answers a form."""
    session, analyst = state.session(user, name), state.analyst(user)
    if "question" in sent:  # a confirmation from the page of an answer, where there is no form of a question
        shown = _empty(state, user, name, str(sent.get("purpose", "")))
        return {**shown, **previewed(session, analyst, lambda: _question(sent).query(), shown["form"])}
    offer, form = Offer.of(session, analyst), AskForm.of(sent)
    if (changed := form.changed(sent)) is not None:
        at = next(place for button, place in _FOCUSED.items() if button in sent)
        return {"offer": offer, "form": changed, "at": at}
    typed = partial(form.query, offer.columns, offer.public)
    return {"offer": offer, "form": form, **previewed(session, analyst, typed, form, rehearses="rehearse" in sent)}


def previewed(
    session: DatasetSession,
    analyst: Analyst,
    read: Callable[[], Query],
    form: AskForm | None = None,
    *,
    rehearses: bool = False,
) -> dict[str, Any]:
    """Return the preview of the query that `read` gives, and its rehearsal if asked for; or the error of the form."""
    try:
        query = read()
        query = replace(Question.model_validate(query.to_json()).query(), keys=query.keys)
        preview = Preview.of(session, analyst, query)
        rehearsal = RehearsedPanel.of(rehearsal_of(session, query)) if rehearses else None
    except QueryError as error:
        return {"error": (form or AskForm()).error_of(error)}
    except (NoisyCountError, ValueError) as error:
        if problem_of(error).detail:  # an owner's business
            raise
        return {"error": _form_error(error)}
    return {"preview": preview, "rehearsal": rehearsal}


def _form_error(error: Exception) -> FormError:
    """A refusal as the page tells it, with the field that it is about if that is known."""
    if isinstance(error, FormError):
        return error
    if isinstance(error, ValidationError):
        fault = error.errors(include_url=False, include_input=False)[0]
        return FormError(str(fault["loc"][0]), f"{fault['loc'][0]}: {fault['msg']}")
    return FormError("where" if isinstance(error, PredicateError) else "", str(error))


def _page(request: Request, state: ServiceState, user: User, shown: dict[str, Any]) -> Response:
    offer, form, preview = shown["offer"], shown["form"], shown.get("preview")
    calls = []
    if preview is not None:
        purpose = said_purpose(form.purpose, wants=offer.wants_purpose)
        calls = calls_of(offer.name, preview.query, purpose, *address_and_name(request, state, user))
    return page(
        request,
        "ask.html",
        user,
        status=422 if "error" in shown else 200,
        **{"error": None, "preview": None, "rehearsal": None, "at": None, **confirming(state), **shown},
        columns=offer.columns,
        operators=operators_of,
        calls=calls,
    )


def confirming(state: ServiceState) -> dict[str, str]:
    """What the confirmation of a preview needs: how long an answer takes, and a name for the request."""
    return {"waits": f"{2 * state.tick.seconds:g}" if state.tick else "", "key": secrets.token_hex(16)}


def address_and_name(request: Request, state: ServiceState, user: User) -> tuple[str, str | None]:
    """The address by which users reach the service; who asks, as a call without a key must say of listed analysts."""
    return str(request.base_url).rstrip("/"), user.name if state.configuration.analysts else None


def said_purpose(said: str, *, wants: bool) -> str:
    """What the answer is for, where that is said or the owner wants it said."""
    return said or ("what the answer is for" if wants else "")


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


_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_-]*(?: [A-Za-z0-9_-]+)*")
_WORDS = {"null", "true", "false"}
_SHELL = re.compile(r'["$`\\!\n]')


def calls_of(
    dataset: str, query: Query, purpose: str, address: str, analyst: str | None = None
) -> list[tuple[str, str]]:
    r"""What to copy, each with its name, where a service at an address knows the analyst by the key.

    Example:
        >>> query = Query(wheres=["health = 'poor'"], epsilon="0.1")
        >>> print(calls_of("survey", query, "", "https://counts.example")[0][1])
        noisycount count survey \
            --where "health = 'poor'" \
            --epsilon 0.1 \
            --confidence 95%
    """
    body = query.to_json() | ({"purpose": purpose} if purpose else {})
    return [
        ("Command line", _command(dataset, body, analyst)),
        ("Python", _python(dataset, body, analyst)),
        ("curl", _curl(dataset, body, address)),
    ]


def _command(dataset: str, body: Mapping[str, Any], analyst: str | None) -> str:
    """The command of somebody who has the records."""
    said = dict(body) if analyst is None else {**body, "analyst": analyst}
    options = (words for name, value in said.items() for words in _options(name, value))
    return " \\\n    ".join([f"noisycount count {_quoted(dataset)}", *options])


def _options(name: str, value: Any) -> Iterator[str]:  # noqa: ANN401 - whatever JSON has
    """What stands on the command line for a member of the body."""
    option = f"--{name.replace('_', '-')}"
    if value is True:
        yield option
    elif name == "keys":
        for column, listed in value.items():
            yield f"{option} {_quoted(f'{quoted_name(column)}={_listed(listed)}')}"
    elif name in {"by", "margins"}:
        yield f"{option} {_quoted(','.join(value))}"
    else:
        for each in value if isinstance(value, list) else [value]:
            yield f"{option} {_quoted(_number(each))}"


def _python(dataset: str, body: Mapping[str, Any], analyst: str | None) -> str:
    """The call of somebody who has the records."""
    said = dict(body)
    call = "release_table" if "by" in said else "release"
    if "by" in said:
        said["by"] = [item.text for text in said["by"] for item in parse_by_text(text)]
    elif isinstance(said["where"], list):
        call, said = "release_many", {"wheres": said.pop("where"), **said}
    if "confidence" in said:
        said["confidence"] = parse_share(said["confidence"])
    given = {name: repr(value) for name, value in said.items()} | (
        {"noise": "nc.DiscreteGaussian"} if "rho" in said else {}
    )
    inside = ",\n    ".join(f"{name}={value}" for name, value in given.items())
    who = "" if analyst is None else f", analyst={analyst!r}"
    return f"import noisycount as nc\n\ndesk = nc.open_desk({dataset!r}{who})\nprint(desk.{call}(\n    {inside},\n))"


def _curl(dataset: str, body: Mapping[str, Any], address: str) -> str:
    """The call of anybody who has a key to the service."""
    place = shlex.quote(f"{address}/v1/datasets/{quote(dataset, safe='')}/releases")
    sent = json.dumps(body, ensure_ascii=False, indent=2)
    return (
        f"curl {place} \\\n"
        '    -H "Authorization: Bearer $NOISYCOUNT_KEY" \\\n'
        '    -H "Idempotency-Key: $(uuidgen)" \\\n'
        "    -H 'Content-Type: application/json' \\\n"
        f"    --data-binary @- <<'JSON'\n{sent}\nJSON"
    )


def _listed(keys: list[Label]) -> str:
    """Keys as the command line has them."""
    return ",".join("null" if key is None else _key(key) for key in keys)


def _key(key: int | str | bool) -> str:  # noqa: FBT001 - a key may be true
    """A key; a text in quotes where it could be read as anything else."""
    if isinstance(key, bool):
        return str(key).lower()
    if isinstance(key, int) or (_PLAIN.fullmatch(key) and key.lower() not in _WORDS):
        return str(key)
    escaped = key.replace("'", "''")
    return f"'{escaped}'"


def _quoted(text: str) -> str:
    """A word of a shell; in double quotes where it has single ones and nothing for a shell."""
    return f'"{text}"' if "'" in text and not _SHELL.search(text) else shlex.quote(text)


def _number(value: object) -> str:
    """A value of an option; a whole number without a point."""
    return value if isinstance(value, str) else str(value).removesuffix(".0")
