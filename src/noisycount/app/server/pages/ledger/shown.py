"""What the page of the ledger shows to a visitor."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from noisycount.app.access.visitor import Visitor
from noisycount.app.ledger.accounts import Account
from noisycount.app.report.released import Released, releases_of
from noisycount.app.report.words import (
    account_cells,
    notice_kind,
    release_cells,
    verified_words,
)
from noisycount.app.server.office import Office
from noisycount.app.server.pages.ledger.filters import AT_ONCE, Filters
from noisycount.release.budget.loss import Loss
from noisycount.release.ledger.selection import Found, Selection, selected
from noisycount.shown.told import told_name

__all__ = ["LedgerShown", "releases_for"]

Rows = list[tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class LedgerShown:
    """A page of entries, and the accounts.

    Attributes:
        rows: The entries, the newest first.
        total: How many there are in all that the filters let through.
        datasets: The names that may be filtered by.
        analysts: The names that may be filtered by; none for analysts.
        accounts: What data sets, and for an owner analysts, have spent and have left.
        head: The newest row; empty for analysts.
        verified: What a check of every row has found; empty where none was wanted.
        kind: Of the box that says so.
    """

    rows: Rows
    total: int
    datasets: tuple[str, ...]
    analysts: tuple[str, ...]
    accounts: Rows
    head: str = ""
    verified: str = ""
    kind: str = "note"

    @classmethod
    def of(
        cls, office: Office, visitor: Visitor, filters: Filters, *, checks: bool
    ) -> "LedgerShown":
        """What a visitor may see.

        Args:
            office: Has the ledger.
            visitor: Who asks; an analyst sees their own entries alone.
            filters: What is wanted.
            checks: Whether an owner wants every row checked now.

        Raises:
            LedgerError: The ledger cannot be read, or a row is not as it was written.
        """
        selection = _selection(office, visitor, filters)
        found = selected(office.ledger, selection, filters.first, AT_ONCE)
        rows = [_row(each) for each in _newest_first(found, visitor)]
        if not visitor.is_owner:
            names = tuple(sorted(_visible(office, visitor)))
            accounts = [*_datasets(office, found, names), _own(office, visitor)]
            cells: Rows = [account_cells(each) for each in accounts]
            return cls(rows, found.total, _told(names), (), cells)
        names = tuple(dict.fromkeys([*_configured(office), *found.datasets]))
        shown = [*_datasets(office, found, names), *_analysts(office, found)]
        known_head = office.configuration.known_head
        checked = office.ledger.verify(known_head) if checks else None
        return cls(
            rows=rows,
            total=found.total,
            datasets=_told(names),
            analysts=tuple(found.analysts),
            accounts=[account_cells(each) for each in shown],
            head=str(found.head),
            verified="" if checked is None else verified_words(checked, known_head),
            kind="note" if checked is None else notice_kind(checked, known_head),
        )


def releases_for(office: Office, visitor: Visitor, filters: Filters) -> list[Released]:
    """All that the filters let through and a visitor may see, the newest first.

    Raises:
        LedgerError: The ledger cannot be read, or a row is not as it was written.
    """
    found = selected(office.ledger, _selection(office, visitor, filters), 0, None)
    return _newest_first(found, visitor)


def _newest_first(found: Found, visitor: Visitor) -> list[Released]:
    """The releases of entries; that others asked for the same is for owners."""
    entries = reversed(found.entries)
    shown = entries if visitor.is_owner else (replace(each, repeats=()) for each in entries)
    return releases_of(shown)[::-1]


def _selection(office: Office, visitor: Visitor, filters: Filters) -> Selection:
    if visitor.is_owner:
        asked = selected(office.ledger, Selection(frozenset()), 0, 0).datasets
        return filters.selection([*_configured(office), *asked], None, None)
    visible = _visible(office, visitor)
    return filters.selection(visible, visible, office.analyst(visitor).name)


def _visible(office: Office, visitor: Visitor) -> frozenset[str]:
    return frozenset(dataset.account for dataset in office.datasets(visitor))


def _configured(office: Office) -> Iterator[str]:
    return (dataset.account for dataset in office.configuration.datasets.values())


def _datasets(office: Office, found: Found, names: tuple[str, ...]) -> Iterator[Account]:
    budgets = {each.account: each.budget for each in office.configuration.datasets.values()}
    return (
        Account(told_name(name), budgets.get(name), found.datasets.get(name, Loss()))
        for name in names
    )


def _told(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(map(told_name, names)))


def _analysts(office: Office, found: Found) -> Iterator[Account]:
    configured = office.configuration.analysts
    names = dict.fromkeys([*configured, *found.analysts])
    for name in names:
        budget = configured[name].budget if name in configured else None
        yield Account(f"{name} (analyst)", budget, found.analysts.get(name, Loss()))


def _own(office: Office, visitor: Visitor) -> Account:
    """What a visitor may spend over all data sets."""
    analyst = office.analyst(visitor)
    return Account("you, over all data sets", analyst.budget, office.ledger.paid_by(analyst.name))


def _row(released: Released) -> tuple[str, ...]:
    made, *rest = release_cells(released)
    return made, told_name(released.entry.request.dataset), *rest
