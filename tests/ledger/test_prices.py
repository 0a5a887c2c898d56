"""Prices in ρ and with a δ, and the columns that they brought to ledgers that had none."""

from collections.abc import Iterator
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

import pytest

from noisycount.ledger.budget import ApproximateBudget, ConcentratedBudget, Loss
from noisycount.ledger.chain import answer_columns, chained_row, debit_columns
from noisycount.ledger.entries import Analyst, Entry, Head, Request, TableAnswer
from noisycount.ledger.ledger import Ledger
from noisycount.ledger.storage import LATER_COLUMNS, PRICE_COLUMNS
from tests.helpers.ledgers import TENTH, asked, narrow, refusal
from tests.helpers.postgresql import Server

MICRO = Fraction(1, 10**6)
BUDGET = ApproximateBudget(Fraction(2), MICRO, MICRO / 2)
GAUSSIAN = Request("survey", "by town", None, rho=Fraction(1, 100))
HIDDEN = Request("survey", "by shop", TENTH, delta=MICRO / 4)


def columns(ledger: Ledger) -> set[str]:
    """Give the names of the columns of a ledger's table."""
    with ledger.transactions.reading.begin() as shell:
        return set(shell.exec_driver_sql("SELECT * FROM ledger LIMIT 0").keys())


@pytest.fixture
def older(ledger_url: str) -> Iterator[Ledger]:
    """Give a ledger without the later columns in each database, with one answer in it."""
    narrow(ledger_url)
    with Ledger.open(ledger_url) as ledger:
        ledger.store(ledger.reserve("older", asked(1), BUDGET)[0], 5)
        yield ledger


def test_a_row_of_an_older_ledger_has_the_hash_that_it_had() -> None:
    """Computed before there were other prices than in ε."""
    price, made = Loss.from_epsilon(Fraction(1, 3)), datetime(2026, 1, 1, tzinfo=UTC)
    request = Request("survey", "question", Fraction(1, 3))
    entry = Entry("mine", request, price, made, None, "alice", price)
    debit = chained_row(Head(), debit_columns(entry))
    answer = chained_row(Head(1, debit["hash"]), answer_columns("mine", -7, made))
    assert debit["hash"].startswith("f03c84e3cdd1e92eb3672987b5b839dd")
    assert answer["hash"].startswith("b5acc003133db33bd252e5007c558b9f")


def test_prices_add_up_in_their_own_sums(ledger: Ledger) -> None:
    """Of the data set, and of each analyst."""
    alice, bob = Analyst("alice"), Analyst("bob", BUDGET)
    requests = [(GAUSSIAN, alice), (asked(1), bob), (HIDDEN, bob)]
    for number, (request, analyst) in enumerate(requests):
        assert ledger.reserve(f"{number}", request, BUDGET, analyst)[1] == request.price
    squares = TENTH**2 / 2
    assert ledger.paid("survey") == Loss(None, Fraction(1, 100) + 2 * squares, MICRO / 4)
    assert ledger.paid_by("alice") == GAUSSIAN.price
    assert ledger.paid_by("bob") == Loss(2 * TENTH, 2 * squares, MICRO / 4)
    assert ledger.spent("survey") is None
    entries = ledger.entries()
    assert [each.request for each in entries] == [request for request, _ in requests]
    assert entries[-1].spent == ledger.paid("survey")
    assert ledger.verify().broken is None
    assert ledger.reserve("again", HIDDEN, BUDGET) == (entries[-1], Loss())


def test_the_part_of_delta_for_keys_is_spent_once(ledger: Ledger) -> None:
    """By one data set, and by one analyst over several."""
    for number, dataset in enumerate(("survey", "survey", "other", "other")):
        hidden = Request(dataset, f"by shop {number}", Fraction(1, 100), delta=MICRO / 4)
        ledger.reserve(f"{number}", hidden, BUDGET)
        assert ledger.paid(dataset).delta == (number % 2 + 1) * MICRO / 4
    assert refusal(lambda: ledger.reserve("one more", HIDDEN, BUDGET)).startswith("ε = 0.1 at δ")
    assert ledger.paid_by(Analyst().name).delta == MICRO


@pytest.mark.parametrize(
    ("budget", "request_", "message"),
    [
        (Fraction(1), GAUSSIAN, "a budget in ε alone pays for no Gaussian noise: give 'survey' a"),
        (Fraction(1), HIDDEN, "a budget in ε alone pays for no hidden keys, which fail with a"),
        (ConcentratedBudget(MICRO), HIDDEN, "a budget in ρ pays for no hidden keys, which fail"),
        (
            ConcentratedBudget(MICRO),
            GAUSSIAN,
            "ρ = 0.01 exceeds what is left of the budget ρ = 0.000001 of 'survey', which has spe",
        ),
        (
            ApproximateBudget(TENTH, MICRO, MICRO / 8),
            HIDDEN,
            "ε = 0.1 at δ = 2.5e-07 exceeds what is left of the budget ε = 0.1 at δ = 1e-06, 1.25e",
        ),
    ],
)
def test_a_price_that_no_budget_pays_for_is_refused(
    ledger: Ledger, budget: Fraction, request_: Request, message: str
) -> None:
    """In one line with its remedy; nothing is charged."""
    assert refusal(lambda: ledger.reserve("mine", request_, budget)).startswith(message)
    assert refusal(lambda: ledger.reserve("mine", request_, BUDGET, Analyst("alice", budget))).startswith(
        message.replace("'survey'", "analyst 'alice'")
    )
    assert ledger.entries() == []


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: Request("a", "b", None), "a price must be in epsilon or in rho: give one"),
        (lambda: Request("a", "b", TENTH, -TENTH), "rho must be at least 0 where an answer is topped up, got -0.1"),
        (lambda: Request("a", "b", None, Fraction(0)), "rho must be a decimal of at most 18"),
        (lambda: Request("a", "b", TENTH, None, Fraction(1)), "delta must be a decimal of at mo"),
        (lambda: Request("a", "b", TENTH, None, Fraction(1, 2**40)), "delta must be a decimal o"),
    ],
)
def test_a_request_of_no_price_is_refused(made: type, message: str) -> None:
    """It is in ε or in ρ, and what is added up stays short."""
    with pytest.raises(ValueError, match=rf"\A{message}"):
        made()


def test_requests_of_other_prices_have_digests_of_their_own() -> None:
    """A question priced in ε, in ρ, and with a δ has three digests."""
    prices = [(TENTH, None, Fraction(0)), (None, TENTH, Fraction(0)), (TENTH, None, TENTH), (None, TENTH, TENTH)]
    digests = {Request("survey", "question", *price).digest for price in prices}
    assert len(digests) == len(prices)


def test_an_older_ledger_gets_the_columns_when_they_are_needed(older: Ledger) -> None:
    """Its rows stay as they were, and go on with the table as it is until then."""
    rows = older.rows()
    older.reserve("pure", asked(2), BUDGET)
    assert not columns(older) & set(LATER_COLUMNS)
    older.store(older.reserve("new", GAUSSIAN, BUDGET)[0], TableAnswer.from_levels([[1, 2], [3]]))
    assert columns(older) & set(LATER_COLUMNS) == set(PRICE_COLUMNS)
    older.reserve("last", asked(3), BUDGET)
    assert [{name: row.get(name) for name in rows[0]} for row in older.rows()[:2]] == rows
    assert older.verify().head.number == 6
    assert older.paid("survey").rho == Fraction(1, 100) + 3 * TENTH**2 / 2
    assert [each.request.price for each in older.entries()][2] == GAUSSIAN.price


def test_a_ledger_that_was_open_before_reads_the_new_columns(older: Ledger, ledger_url: str) -> None:
    """Its connections have prepared their statements for the table as it was."""
    with Ledger.open(ledger_url) as other:
        for ledger in (older, other):
            assert ledger.spent("survey") == TENTH
            assert len(ledger.entries()) == 1
        older.reserve("new", GAUSSIAN, BUDGET)
        assert other.paid("survey").epsilon is None
        assert len(other.entries()) == 2
        assert other.reserve("hidden", HIDDEN, BUDGET)[1] == HIDDEN.price
        assert older.paid("survey").delta == MICRO / 4
        for ledger in (older, other):
            assert ledger.verify().head.number == 4


def test_an_older_ledger_that_may_not_be_written_is_read(tmp_path: Path) -> None:
    """And refuses what it cannot keep."""
    url = f"sqlite:///{tmp_path}/ledger.db"
    narrow(url)
    with Ledger.open(url) as ledger:
        ledger.reserve("older", asked(1), BUDGET)
    with Ledger.open(f"sqlite:///file:{tmp_path}/ledger.db?mode=ro&uri=true") as ledger:
        assert ledger.paid("survey") == Loss.from_epsilon(TENTH)
        assert ledger.verify().head.number == len(ledger.rows()) == len(ledger.entries()) == 1
        message = refusal(lambda: ledger.reserve("new", GAUSSIAN, BUDGET))
        assert message.endswith("is read-only; make the file and its folder writable")


def test_the_columns_wait_for_whoever_reads_an_older_ledger(postgresql: Server) -> None:
    """Not for ever, and nothing is charged; a row that needs none of them does not wait."""
    database = postgresql.database()
    narrow(postgresql.url(database))
    with Ledger.open(postgresql.url(database, options="&timeout=0.2")) as ledger, postgresql.shell(database) as shell:
        with shell.transaction():
            shell.execute("SELECT * FROM ledger")
            ledger.reserve("old", asked(1), BUDGET)
            message = refusal(lambda: ledger.reserve("new", GAUSSIAN, BUDGET))
            assert message.endswith("is locked by another process; wait for it and ask again")
        assert ledger.paid("survey") == Loss.from_epsilon(TENTH)
        assert ledger.reserve("new", GAUSSIAN, BUDGET)[1] == GAUSSIAN.price


def test_an_account_that_may_only_add_rows_needs_no_columns_for_old_prices(postgresql: Server) -> None:
    """It may not make them, and is told so when it needs them; nothing is charged."""
    database = postgresql.database()
    narrow(postgresql.url(database))
    with postgresql.shell(database) as shell:
        shell.execute(f"CREATE ROLE clerk_{database} LOGIN".encode())
        shell.execute(f"GRANT SELECT, INSERT ON ledger TO clerk_{database}".encode())
    with Ledger.open(postgresql.url(database, user=f"clerk_{database}")) as ledger:
        assert ledger.reserve("old", asked(1), BUDGET)[1] == Loss.from_epsilon(TENTH)
        message = refusal(lambda: ledger.reserve("new", GAUSSIAN, BUDGET))
        assert message.endswith("may not be used by this account; mend its permissions")
        assert ledger.paid("survey") == Loss.from_epsilon(TENTH)
        with Ledger.open(postgresql.url(database)) as owner:
            owner.reserve("owner", HIDDEN, BUDGET)
        assert ledger.reserve("new", GAUSSIAN, BUDGET)[1] == GAUSSIAN.price
        assert ledger.verify().head.number == 3
