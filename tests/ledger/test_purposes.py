"""Purposes of answers, and the column that they added to ledgers without one."""

from datetime import UTC, datetime
from fractions import Fraction

import pytest

from noisycount.ledger.budget import ApproximateBudget, Loss
from noisycount.ledger.chain import chained_row, debit_columns
from noisycount.ledger.entries import Entry, Head, Request
from noisycount.ledger.ledger import Ledger
from noisycount.ledger.storage import LATER_COLUMNS, PRICE_COLUMNS
from tests.helpers.ledgers import TENTH, asked, change, narrow, refusal
from tests.helpers.postgresql import Server

BUDGET = Fraction(2)
MIXED = ApproximateBudget(Fraction(2), Fraction(1, 10**6), Fraction(1, 10**6) / 2)
PURPOSE = "quarterly report"


def test_a_row_with_a_price_in_rho_has_the_hash_that_it_had() -> None:
    """Computed before there were purposes."""
    request = Request("survey", "question", None, rho=Fraction(1, 3))
    made = datetime(2026, 1, 1, tzinfo=UTC)
    entry = Entry("mine", request, request.price, made, None, "alice", request.price)
    row = chained_row(Head(), debit_columns(entry))
    assert row["hash"].startswith("d3b0a9469f2ec4a6df8a1037adb55282")


def test_a_purpose_is_kept_with_its_debit(ledger: Ledger) -> None:
    """It is no part of the question: asked for something else, it is the same one, free."""
    entry, _ = ledger.reserve("mine", asked(1), BUDGET, purpose=PURPOSE)
    assert entry.purpose == PURPOSE
    again, charged = ledger.reserve("other", asked(1), BUDGET, purpose="another report")
    assert (again, charged) == (entry, Loss())
    assert ledger.store(entry, 7).purpose == PURPOSE
    ledger.reserve("second", asked(2), BUDGET)
    assert [each.purpose for each in ledger.entries()] == [PURPOSE, None]
    assert [row["purpose"] for row in ledger.rows()] == [PURPOSE, None, None]
    assert ledger.verify().head.number == 3


@pytest.mark.parametrize("purpose", ["", " ", "a\nb", "x" * 201, "\u202etxt", "\x00", 5])
def test_a_purpose_that_says_nothing_is_refused(ledger: Ledger, purpose: str) -> None:
    """Before anything is charged: it is one line of printable characters."""
    with pytest.raises(ValueError, match=r"\Apurpose must "):
        ledger.reserve("mine", asked(1), BUDGET, purpose=purpose)
    assert ledger.rows() == []


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE ledger SET purpose = NULL WHERE number = 2",
        "UPDATE ledger SET purpose = 'quarterly repor' WHERE number = 2",
        "UPDATE ledger SET purpose = 'Quarterly report' WHERE number = 2",
    ],
)
def test_a_purpose_that_was_changed_breaks_its_row(ledger: Ledger, statement: str) -> None:
    """Removed, cut or rewritten behind the ledger's back."""
    ledger.reserve("first", asked(1), BUDGET)
    ledger.reserve("mine", asked(2), BUDGET, purpose=PURPOSE)
    change(ledger, statement)
    assert ledger.verify().broken == 2


def test_a_purpose_that_was_added_breaks_its_row(ledger: Ledger) -> None:
    """To a debit that had none."""
    ledger.reserve("first", asked(1), BUDGET)
    change(ledger, "UPDATE ledger SET purpose = 'a report' WHERE number = 1")
    assert ledger.verify().broken == 1


@pytest.mark.parametrize("lacking", [LATER_COLUMNS, LATER_COLUMNS[-1:]])
def test_an_older_ledger_gets_the_column_when_it_is_needed(ledger_url: str, lacking: tuple[str, ...]) -> None:
    """Its rows stay as they were; a price in ρ brings its own columns alone."""
    narrow(ledger_url, lacking)
    with Ledger.open(ledger_url) as ledger, Ledger.open(ledger_url) as other:
        ledger.store(ledger.reserve("older", asked(1), BUDGET)[0], 5)
        rows = ledger.rows()
        assert not set(lacking) & rows[0].keys()
        assert other.entries()[0].purpose is None
        ledger.reserve("newer", asked(2), BUDGET, purpose=PURPOSE)
        assert set(LATER_COLUMNS) <= ledger.rows()[0].keys()
        assert [{name: row[name] for name in rows[0]} for row in ledger.rows()[:2]] == rows
        assert [each.purpose for each in other.entries()] == [None, PURPOSE]
        assert ledger.verify() == other.verify()
        assert ledger.verify().head.number == 3


def test_an_account_that_may_only_add_rows_needs_no_column_for_other_prices(postgresql: Server) -> None:
    """It may not make the column, and is told so when it needs it; nothing is charged."""
    database = postgresql.database()
    narrow(postgresql.url(database), LATER_COLUMNS[len(PRICE_COLUMNS) :])
    with postgresql.shell(database) as shell:
        shell.execute(f"CREATE ROLE clerk_{database} LOGIN".encode())
        shell.execute(f"GRANT SELECT, INSERT ON ledger TO clerk_{database}".encode())
    with Ledger.open(postgresql.url(database, user=f"clerk_{database}")) as ledger:
        ledger.reserve("old", Request("survey", "hidden", TENTH, delta=TENTH / 10**6), MIXED)
        message = refusal(lambda: ledger.reserve("new", asked(1), MIXED, purpose=PURPOSE))
        assert message.endswith("may not be used by this account; mend its permissions")
        assert len(ledger.entries()) == 1
