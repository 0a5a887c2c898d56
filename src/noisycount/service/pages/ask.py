"""The pages on which a user builds, previews and asks a question. `form` reads the form, `preview` has its preview."""

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
from noisycount.query.query import Query
from noisycount.query.typed import parse_by_text
from noisycount.readers.values import parse_share
from noisycount.release.dataset import RemainingBudget
from noisycount.service.auth import LimitedUser, draft_of
from noisycount.service.drafts import request_key
from noisycount.service.errors import InFlightError, problem_of
from noisycount.service.keys import User
from noisycount.service.pages.conditions import FormError, operators_of, row_choices
from noisycount.service.pages.form import AskForm, Price
from noisycount.service.pages.layout import draft_address, page, redirect
from noisycount.service.pages.preview import Offer, Preview, RehearsedPanel
from noisycount.service.questions import Question, Spend
from noisycount.service.state import ServiceState, State
from noisycount.tasks.opening import DatasetSession
from noisycount.tasks.preview import preview_in_session
from noisycount.tasks.show import View, budget_words, rehearsal_of

router = APIRouter(include_in_schema=False)
# Where the focus goes when a button of the form was pressed: to the last row of a list, or to the choice of another.
_FOCUSED = {"add": "rows", "add_group": "groups", "remove": "chosen", "remove_group": "chosen_group"}
_RETRY_SECONDS = 0.25


@router.get("/")
def first_page() -> Response:
    """Redirect to the first page."""
    return redirect("/ask")


@router.get("/ask")
def ask_list(request: Request, user: LimitedUser, state: State, find: str = "") -> Response:
    """List the data sets of a user with their budgets, or redirect to the only one. No data set is opened.

    Redirect an officer, who asks no questions, to the ledger.
    """
    if not user.may_ask:
        return redirect("/ledger")
    datasets = state.datasets(user)
    if len(datasets) == 1:
        return redirect(f"/ask/{quote(datasets[0].name, safe='')}")
    matching = [each for each in datasets if find.strip().casefold() in each.name.casefold()]
    budgets = state.reply(partial(_remaining_budgets, state, user, matching))
    return page(request, "ask_list.html", user, budgets=budgets, find=find, number=len(datasets))


@router.get("/ask/{name}")
def ask_page(request: Request, name: str, user: LimitedUser, state: State, draft: str = "") -> Response:
    """Return the empty form of a data set, or the form and the preview of a draft."""
    stored_draft = draft_of(request, draft)
    if stored_draft is not None:
        values = state.reply(partial(_form_values, state, user, name, FormData(list(stored_draft.fields))))
        error = {"error": FormError("", stored_draft.refusal)} if stored_draft.refusal else {}
        return _rendered_page(request, state, user, {**error, **values, "key": stored_draft.key})
    values = state.reply(partial(_empty_values, state, user, name))
    if draft:
        values["error"] = FormError("", "This question is no longer stored: ask it again.")
    return _rendered_page(request, state, user, values)


@router.post("/ask/{name}")
async def ask_form(request: Request, name: str, user: LimitedUser, state: State) -> Response:
    """Store the form and redirect to its page, so that Back and Reload send no form again.

    A request with a key in a header has no session that could store the form. It receives the page itself.
    """
    state.dataset(user, name)
    draft = draft_address(request)
    if draft is not None:
        return redirect(draft)
    work = partial(_form_values, state, user, name, await request.form())
    return _rendered_page(request, state, user, await state.reply_async(work))


@router.post("/ask/{name}/spend")
async def spend(request: Request, name: str, user: LimitedUser, state: State) -> Response:
    """Pay for an answer, and redirect to its page, which costs nothing to load again."""
    form = await request.form()
    request_to_spend = Spend(user, name, request_key(str(form.get("key", ""))), _confirmed_question(form))
    try:
        reply = await _reply_to_form(state, partial(request_to_spend.reply, state))
    except ReuseError:
        raise ReuseError("this form was sent before, and has changed since: preview the question again") from None
    return redirect(f"/releases/{quote(reply.name, safe='')}")


async def _reply_to_form(state: ServiceState, work: Callable[[], Reply]) -> Reply:
    """Reply to a form that may have been sent twice: the second request waits for the first."""
    for _ in range(int(state.patience / _RETRY_SECONDS)):
        with suppress(InFlightError):
            return await state.reply_async(work)
        await sleep(_RETRY_SECONDS)
    return await state.reply_async(work)


def _remaining_budgets(state: ServiceState, user: User, datasets: list[DatasetConfig]) -> list[tuple[str, str]]:
    """Return the names of data sets with their remaining budgets, from one read of the ledger."""
    analyst, spent = state.analyst(user), state.ledger.select(Selection(frozenset()), 0, 0)
    analyst_loss, of_datasets = spent.analysts.get(analyst.name, Loss()), spent.datasets
    remains = [
        RemainingBudget.from_spending(dataset.budget, of_datasets.get(dataset.account, Loss()), analyst, analyst_loss)
        for dataset in datasets
    ]
    views = (View(dataset, None, True, {}, {}, remaining) for dataset, remaining in zip(datasets, remains, strict=True))  # noqa: FBT003
    return [(view.dataset.name, budget_words(view)) for view in views]


def _empty_values(state: ServiceState, user: User, name: str, purpose: str = "") -> dict[str, Any]:
    """Return the values of a page with an empty form."""
    offer = Offer(View.for_analyst(state.session(user, name), state.analyst(user)))
    return {"offer": offer, "form": AskForm(price=Price(at_most=offer.at_most), purpose=purpose)}


def _form_values(state: ServiceState, user: User, name: str, form_data: FormData) -> dict[str, Any]:
    """Return the values of the page that answers a form."""
    session, analyst = state.session(user, name), state.analyst(user)
    if "question" in form_data:  # a confirmation from the page of an answer, which has no form of a question
        values = _empty_values(state, user, name, str(form_data.get("purpose", "")))
        return {
            **values,
            **preview_values(session, analyst, lambda: _confirmed_question(form_data).query(), values["form"]),
        }
    offer, form = Offer(View.for_analyst(session, analyst)), AskForm.from_fields(form_data)
    if (changed_form := form.changed(form_data)) is not None:
        focus = next(list_name for button, list_name in _FOCUSED.items() if button in form_data)
        return {"offer": offer, "form": changed_form, "at": focus}
    read_query = partial(form.query, offer.columns, offer.view.public)
    return {
        "offer": offer,
        "form": form,
        **preview_values(session, analyst, read_query, form, rehearses="rehearse" in form_data),
    }


def preview_values(
    session: DatasetSession,
    analyst: Analyst,
    read_query: Callable[[], Query],
    form: AskForm | None = None,
    *,
    rehearses: bool = False,
) -> dict[str, Any]:
    """Return the preview of the query of `read_query`, with a rehearsal if requested; or the error of the form."""
    try:
        query = read_query()
        query = replace(Question.model_validate(query.to_json()).query(), keys=query.keys)
        preview = Preview(preview_in_session(session, query, analyst))
        rehearsal = RehearsedPanel.from_rehearsal(rehearsal_of(session, query)) if rehearses else None
    except QueryError as error:
        return {"error": (form or AskForm()).error_of(error)}
    except (NoisyCountError, ValueError) as error:
        if problem_of(error).detail:  # an error that only the owner may see in full
            raise
        return {"error": _form_error(error)}
    return {"preview": preview, "rehearsal": rehearsal}


def _form_error(error: Exception) -> FormError:
    """Return a refusal with the field that it is about, if that is known."""
    if isinstance(error, FormError):
        return error
    if isinstance(error, ValidationError):
        fault = error.errors(include_url=False, include_input=False)[0]
        return FormError(str(fault["loc"][0]), f"{fault['loc'][0]}: {fault['msg']}")
    return FormError("where" if isinstance(error, PredicateError) else "", str(error))


def _rendered_page(request: Request, state: ServiceState, user: User, values: dict[str, Any]) -> Response:
    offer, form, preview = values["offer"], values["form"], values.get("preview")
    calls = []
    if preview is not None:
        purpose = purpose_text(form.purpose, is_required=offer.view.dataset.needs_purpose)
        calls = calls_of(offer.name, preview.query, purpose, *address_and_name(request, state, user))
    return page(
        request,
        "ask.html",
        user,
        status=422 if "error" in values else 200,
        **{"error": None, "preview": None, "rehearsal": None, "at": None, **confirmation_values(state), **values},
        columns=offer.columns,
        operators=operators_of,
        row_choices=row_choices(offer.columns),
        calls=calls,
    )


def confirmation_values(state: ServiceState) -> dict[str, str]:
    """Return the values for the confirmation of a preview: the duration of an answer, and an idempotency key."""
    return {"waits": f"{2 * state.tick.seconds:g}" if state.tick else "", "key": secrets.token_hex(16)}


def address_and_name(request: Request, state: ServiceState, user: User) -> tuple[str, str | None]:
    """Return the address of the service, and the analyst's name if calls without a key must state it."""
    return str(request.base_url).rstrip("/"), user.name if state.configuration.analysts else None


def purpose_text(purpose: str, *, is_required: bool) -> str:
    """Return the purpose of an answer, or a placeholder if the owner requires one and none was given."""
    return purpose or ("what the answer is for" if is_required else "")


def _confirmed_question(form: FormData) -> Question:
    """Return the confirmed question with its purpose. Raise NoisyCountError if the form is incomplete."""
    try:
        question = Question.model_validate_json(str(form.get("question", "")))
        purpose = str(form.get("purpose", "")).strip()
        if not purpose:
            return question
        members = question.model_dump(exclude_unset=True)
        return Question.model_validate({**members, "purpose": purpose})
    except ValidationError:
        raise NoisyCountError("the form was not sent completely: go back, preview the question and ask again") from None


_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_-]*(?: [A-Za-z0-9_-]+)*")
_WORDS = {"null", "true", "false"}
_SHELL = re.compile(r'["$`\\!\n]')


def calls_of(
    dataset: str, query: Query, purpose: str, address: str, analyst: str | None = None
) -> list[tuple[str, str]]:
    r"""Return the calls that ask a query, for copying, each with its name: command, Python and curl.

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
        ("Command line", _command_text(dataset, body, analyst)),
        ("Python", _python_text(dataset, body, analyst)),
        ("curl", _curl_text(dataset, body, address)),
    ]


def _command_text(dataset: str, body: Mapping[str, Any], analyst: str | None) -> str:
    """Return the command for a user who has the records."""
    members = dict(body) if analyst is None else {**body, "analyst": analyst}
    options = (words for name, value in members.items() for words in _command_options(name, value))
    return " \\\n    ".join([f"noisycount count {_shell_word(dataset)}", *options])


def _command_options(name: str, value: Any) -> Iterator[str]:  # noqa: ANN401 - any JSON value
    """Yield the options of the command line for a member of the body."""
    option = f"--{name.replace('_', '-')}"
    if value is True:
        yield option
    elif name == "keys":
        for column, column_keys in value.items():
            yield f"{option} {_shell_word(f'{quoted_name(column)}={_keys_text(column_keys)}')}"
    elif name in {"by", "margins"}:
        yield f"{option} {_shell_word(','.join(value))}"
    else:
        for each in value if isinstance(value, list) else [value]:
            yield f"{option} {_shell_word(_option_text(each))}"


def _python_text(dataset: str, body: Mapping[str, Any], analyst: str | None) -> str:
    """Return the Python code for a user who has the records."""
    members = dict(body)
    call = "release_table" if "by" in members else "release"
    if "by" in members:
        members["by"] = [item.text for text in members["by"] for item in parse_by_text(text)]
    elif isinstance(members["where"], list):
        call, members = "release_many", {"wheres": members.pop("where"), **members}
    if "confidence" in members:
        members["confidence"] = parse_share(members["confidence"])
    texts = {name: repr(value) for name, value in members.items()}
    texts |= {"noise": "nc.DiscreteGaussian"} if "rho" in members else {}
    arguments = ",\n    ".join(f"{name}={text}" for name, text in texts.items())
    name = "" if analyst is None else f", analyst={analyst!r}"
    desk = f"desk = nc.open_desk({dataset!r}{name})"
    return f"import noisycount as nc\n\n{desk}\nprint(desk.{call}(\n    {arguments},\n))"


def _curl_text(dataset: str, body: Mapping[str, Any], address: str) -> str:
    """Return the curl command for a user with a key of the service."""
    url = shlex.quote(f"{address}/v1/datasets/{quote(dataset, safe='')}/releases")
    body_text = json.dumps(body, ensure_ascii=False, indent=2)
    return (
        f"curl {url} \\\n"
        '    -H "Authorization: Bearer $NOISYCOUNT_KEY" \\\n'
        '    -H "Idempotency-Key: $(uuidgen)" \\\n'
        "    -H 'Content-Type: application/json' \\\n"
        f"    --data-binary @- <<'JSON'\n{body_text}\nJSON"
    )


def _keys_text(keys: list[Label]) -> str:
    """Return keys as a text for the option `--keys` of the command line."""
    return ",".join("null" if key is None else _key_text(key) for key in keys)


def _key_text(key: int | str | bool) -> str:  # noqa: FBT001 - a key may be true
    """Return a key as it is written on the command line. A text is quoted if it could mean something else."""
    if isinstance(key, bool):
        return str(key).lower()
    if isinstance(key, int) or (_PLAIN.fullmatch(key) and key.lower() not in _WORDS):
        return str(key)
    escaped = key.replace("'", "''")
    return f"'{escaped}'"


def _shell_word(text: str) -> str:
    """Quote a word for a shell, in double quotes if it contains single ones and no special characters."""
    return f'"{text}"' if "'" in text and not _SHELL.search(text) else shlex.quote(text)


def _option_text(value: object) -> str:
    """Return the value of an option; a whole number without a decimal point."""
    return value if isinstance(value, str) else str(value).removesuffix(".0")
