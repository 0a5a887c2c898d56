"""Pages of the ledger and of the report for owners and officers, and both as files.

`Filters` reads the form of the page, `LedgerPage` holds its content.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime
from functools import partial
from json import dumps
from typing import Annotated, Any, Literal, Self, TypeVar
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Depends, Request, Response
from markupsafe import Markup

from noisycount.display.texts import redacted_name
from noisycount.errors import LedgerError
from noisycount.frozen import frozen
from noisycount.ledger.budget import Loss
from noisycount.ledger.ledger import Selected, Selection
from noisycount.release.stored_question import StoredQuestion
from noisycount.service.auth import LimitedUser, reader_of
from noisycount.service.keys import User
from noisycount.service.pages.layout import download, page
from noisycount.service.questions import visible_keys
from noisycount.service.state import ServiceState, State
from noisycount.tasks.ledger import Account
from noisycount.tasks.report.forms import MEDIA, release_json, releases_sheet, report_fragment, report_text
from noisycount.tasks.report.report import questions_of, report_on
from noisycount.tasks.report.words import HEADER, TITLE, account_cells, notice_kind, release_cells, verified_words

AT_ONCE = 50  # entries on a page
ACCOUNT = ("name", "budget", "spent", "left")
_PAGE = re.compile(r"[1-9][0-9]{0,5}")


@frozen
class Filters:
    """Filters of the entries, as the form of the page holds them."""

    dataset: str = ""  # name of a data set; empty: all
    analyst: str = ""  # name of an analyst; empty: all
    since: str = ""  # first day; empty: from the beginning
    until: str = ""  # last day; empty: to the end
    page: int = 1  # number of the page; page 1 has the newest entries
    wrong_days: tuple[str, ...] = ()  # texts given for a day that are not dates; the filters ignore them

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, str]) -> Self:
        """Return the filters in the parameters of an address. An invalid page number counts as 1."""
        texts = {name: parameters.get(name, "").strip() for name in ("dataset", "analyst")}
        days = {name: parameters.get(name, "").strip() for name in ("since", "until")}
        wrong_days = tuple(day for day in days.values() if day and _day(day) is None)
        valid_days = {name: "" if day in wrong_days else day for name, day in days.items()}
        page = parameters.get("page", "")
        return cls(**texts, **valid_days, page=int(page) if _PAGE.fullmatch(page) else 1, wrong_days=wrong_days)

    @property
    def first(self) -> int:
        """Number of newer entries, which are on the pages before."""
        return (self.page - 1) * AT_ONCE

    def selection(self, dataset_names: Iterable[str], visible: frozenset[str] | None, analyst: str | None) -> Selection:
        """Return the selection of entries, limited to those that the user may see.

        Args:
            dataset_names: Names of the data sets among which `dataset` is looked up.
            visible: Names of the data sets that the user may see; None: all.
            analyst: The only analyst whose entries the user may see; None: all.
        """
        datasets = visible
        if self.dataset:
            chosen = frozenset(name for name in dataset_names if redacted_name(name) == self.dataset)
            datasets = chosen if visible is None else chosen & visible
        return Selection(
            datasets=datasets,
            analyst=analyst if analyst is not None else self.analyst or None,
            since=_day(self.since),
            until=_day(self.until),
        )

    @property
    def is_any(self) -> bool:
        """True if any filter is set, also one with a wrong day."""
        return bool(self.dataset or self.analyst or self.since or self.until or self.wrong_days)

    def query(self, page: int = 1) -> str:
        """Return the filters as the query of an address, for a page number."""
        texts = {name: getattr(self, name) for name in ("dataset", "analyst", "since", "until")}
        pages = {} if page == 1 else {"page": str(page)}
        return urlencode({**{name: text for name, text in texts.items() if text}, **pages})


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        return None


def _entry_cells(released: StoredQuestion) -> dict[str, str]:
    """Return the cells of an entry by name, with the address of its answer; the address is empty without an answer."""
    address = "" if released.is_failed else f"/releases/{quote(released.entry.key, safe='')}"
    cells = dict(zip(HEADER, release_cells(released), strict=True))
    return {**cells, "data set": redacted_name(released.entry.request.dataset), "address": address}


@frozen
class LedgerPage:
    """Content of one page of the ledger: entries and accounts."""

    rows: list[dict[str, str]]  # cells of the entries on this page, newest first
    total: int  # number of entries on all pages
    datasets: tuple[str, ...]  # names of data sets for the filter
    analysts: tuple[str, ...]  # names of analysts for the filter; empty for an analyst
    accounts: list[dict[str, str]]  # spent and remaining budgets of data sets, and of the analysts (owner) or the user
    head: str = ""  # ledger head; empty for an analyst
    verified: str = ""  # result of the verification in words; empty if none was requested
    kind: str = "note"  # CSS class of the notice with this result

    @classmethod
    def for_user(cls, state: ServiceState, user: User, filters: Filters, *, checks: bool) -> Self:
        """Return the content of a page for a user. An analyst sees only their own entries.

        Args:
            state: The service.
            user: The user.
            filters: The filters and the page number.
            checks: If True, verify the whole ledger.
        """
        selected = state.ledger.select(_selection(state, user, filters), filters.first, AT_ONCE)
        names = (
            [*_configured_datasets(state), *selected.datasets]
            if user.reads_all
            else sorted(_visible_datasets(state, user))
        )
        known_head = state.configuration.known_head
        verification = state.ledger.verify(known_head) if checks else None
        user_accounts = _analyst_accounts(state, selected) if user.reads_all else [_own_account(state, user)]
        return cls(
            rows=list(map(_entry_cells, _newest_first(selected, user))),
            total=selected.total,
            datasets=tuple(dict.fromkeys(map(redacted_name, names))),
            analysts=tuple(selected.analysts) if user.reads_all else (),
            accounts=[
                dict(zip(ACCOUNT, account_cells(each), strict=True))
                for each in (*_dataset_accounts(state, selected, dict.fromkeys(names)), *user_accounts)
            ],
            head=str(selected.head) if user.reads_all else "",
            verified="" if verification is None else verified_words(verification, known_head),
            kind="note" if verification is None else notice_kind(verification, known_head),
        )


def _newest_first(selected: Selected, user: User) -> list[StoredQuestion]:
    """Return the questions of entries, newest first. Only owners see repeats and keys of other analysts."""
    entries = reversed(selected.entries)
    visible_entries = (replace(each, repeats=(), replaces=visible_keys(each.replaces, user)) for each in entries)
    return list(reversed(questions_of(entries if user.reads_all else visible_entries)))


def _selection(state: ServiceState, user: User, filters: Filters) -> Selection:
    if user.reads_all:
        charged_datasets = state.ledger.select(Selection(frozenset()), 0, 0).datasets
        return filters.selection([*_configured_datasets(state), *charged_datasets], None, None)
    visible = _visible_datasets(state, user)
    return filters.selection(visible, visible, state.analyst(user).name)


def _visible_datasets(state: ServiceState, user: User) -> frozenset[str]:
    return frozenset(dataset.account for dataset in state.datasets(user))


def _configured_datasets(state: ServiceState) -> Iterator[str]:
    return (dataset.account for dataset in state.configuration.datasets.values())


def _dataset_accounts(state: ServiceState, selected: Selected, names: Iterable[str]) -> Iterator[Account]:
    budgets = {each.account: each.budget for each in state.configuration.datasets.values()}
    for name in names:
        spent = selected.datasets.get(name, Loss())
        yield Account(redacted_name(name), budgets.get(name), spent)


def _analyst_accounts(state: ServiceState, selected: Selected) -> Iterator[Account]:
    configured = state.configuration.analysts
    for name in dict.fromkeys([*configured, *selected.analysts]):
        budget = configured[name].budget if name in configured else None
        yield Account(f"{name} (analyst)", budget, selected.analysts.get(name, Loss()))


def _own_account(state: ServiceState, user: User) -> Account:
    """Return the account of a user over all data sets."""
    analyst = state.analyst(user)
    return Account("you, over all data sets", analyst.budget, state.ledger.paid_by(analyst.name))


router = APIRouter(include_in_schema=False)
Result = TypeVar("Result")
_COLUMNS = ("question", "answer", "noise", "price", "what for", "who asked", "data set", "when (UTC)")
_NO_ENTRIES = LedgerPage([], 0, (), (), [])


@router.get("/ledger")
def ledger_page(request: Request, user: LimitedUser, state: State) -> Response:
    """Return the page of the ledger: entries with questions, prices, purposes and times, and the remaining budgets."""
    filters = Filters.from_parameters(request.query_params)
    checks = user.reads_all and "check" in request.query_params
    fault = ""
    try:
        ledger = _run_with_deadline(state, user, partial(LedgerPage.for_user, state, user, filters, checks=checks))
    except LedgerError as error:
        if not user.reads_all:
            raise
        ledger, fault = _NO_ENTRIES, str(error)
    columns = [name for name in _COLUMNS if user.reads_all or name != "who asked"]
    values: dict[str, Any] = {
        "shown": ledger,
        "filters": filters,
        "broken": fault,
        "pages": max(1, -(-ledger.total // AT_ONCE)),
    }
    return page(request, "ledger.html", user, columns=columns, **values)


@router.get("/ledger/export")
def export(request: Request, user: LimitedUser, state: State, form: Literal["csv", "json"] = "csv") -> Response:
    """Return all entries that match the filters, as a CSV or JSON file."""
    filters = Filters.from_parameters(request.query_params)

    def select_entries() -> list[StoredQuestion]:
        selection = _selection(state, user, filters)
        return _newest_first(state.ledger.select(selection), user)

    releases = _run_with_deadline(state, user, select_entries)
    name = f"noisycount-ledger-{datetime.now(UTC):%Y-%m-%d}.{form}"
    if form == "csv":
        return download(releases_sheet(releases), "text/csv", name)
    releases_json = [{"dataset": redacted_name(each.entry.request.dataset), **release_json(each)} for each in releases]
    return download(dumps(releases_json, indent=2, ensure_ascii=False), "application/json", name)


def _run_with_deadline(state: ServiceState, user: User, work: Callable[[], Result]) -> Result:
    """Run a function that reads no record, and return its result. For an analyst, it has a deadline."""
    return work() if user.reads_all else state.reply(work)


Owner = Annotated[User, Depends(reader_of)]


@router.get("/report")
def report_page(request: Request, user: Owner, state: State) -> Response:
    """Return the report as a page of the service."""
    report = report_on(state.ledger, state.configuration)
    fragment = Markup(report_fragment(report, state.configuration))  # noqa: S704 - `report_fragment` escapes its texts
    return page(request, "report.html", user, title=TITLE, fragment=fragment)


@router.get("/report/file")
def report_file(_: Owner, state: State, form: Literal["html", "csv", "md", "json", "registry"] = "html") -> Response:
    """Return the report as a file."""
    report = report_on(state.ledger, state.configuration)
    text = report_text(report, state.configuration, form)
    kind, ending = ("registry", "json") if form == "registry" else ("report", form)
    name = f"noisycount-{kind}-{report.made:%Y-%m-%d}.{ending}"
    return download(text, MEDIA[form], name)
