from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from itertools import product

import pytest

from noisycount.errors import LedgerError
from noisycount.ledger.entries import Analyst
from noisycount.ledger.ledger import Ledger, Selection
from tests.helpers.ledgers import asked, change

DEBITS = 24
START = datetime(2026, 1, 30, 22, tzinfo=UTC)
DATASETS = (None, frozenset[str](), frozenset({"data 1", "none"}))
ANALYSTS = (None, "analyst 2", "nobody")
DAYS = (
    (None, None),
    (date(2026, 1, 31), None),
    (None, date(2026, 1, 30)),
    (date(2026, 1, 31), date(2026, 1, 31)),
    (date(2026, 2, 1), date.max),
)


@pytest.fixture
def ledger(ledger_url: str) -> Iterator[Ledger]:
    """Give a ledger of two data sets and three analysts in each database, a debit every hour."""
    with Ledger.open(ledger_url) as ledger:
        for number in range(DEBITS):
            object.__setattr__(ledger, "clock", lambda at=number: START + timedelta(hours=at))
            request = asked(number, dataset=f"data {number % 2}")
            analyst = Analyst(f"analyst {number % 3}")
            entry, _ = ledger.reserve(f"key {number}", request, Fraction(9), analyst)
            if number % 5:
                ledger.store(entry, number)
        yield ledger


@pytest.mark.thorough
def test_what_is_selected_is_what_a_whole_reading_gives(ledger: Ledger) -> None:
    """By data set, asker and day: the newest first, page by page, with the number of all."""
    entries = ledger.entries()
    for datasets, analyst, (since, until) in product(DATASETS, ANALYSTS, DAYS):
        wanted = [
            entry
            for entry in reversed(entries)
            if datasets is None or entry.request.dataset in datasets
            if analyst in {None, entry.analyst}
            if since is None or entry.made.date() >= since
            if until is None or entry.made.date() <= until
        ]
        selection = Selection(datasets, analyst, since, until)
        assert list(ledger.select(selection).entries) == wanted
        for first in (3, 30):
            found = ledger.select(selection, first, 3)
            assert list(found.entries) == wanted[first : first + 3]
            assert found.total == len(wanted)


def test_totals_and_head_are_those_of_the_ledger(ledger: Ledger) -> None:
    """Whatever is selected."""
    found = ledger.select(Selection(frozenset()), 0, 1)
    assert found.entries == ()
    assert found.datasets == {name: ledger.paid(name) for name in ("data 0", "data 1")}
    assert found.analysts == {f"analyst {n}": ledger.paid_by(f"analyst {n}") for n in range(3)}
    assert found.head == ledger.verify().head


def test_a_changed_row_is_not_shown(ledger: Ledger) -> None:
    """Though the ledger was read before; a page without it is."""
    assert ledger.select(Selection(), 0, 1).total == DEBITS
    change(ledger, "UPDATE ledger SET purpose = 'a report' WHERE key = 'key 3'")
    with pytest.raises(LedgerError, match=r"\Arow \d+ of the ledger is damaged; restore it"):
        ledger.select(Selection())
    assert len(ledger.select(Selection(), 0, 5).entries) == 5
