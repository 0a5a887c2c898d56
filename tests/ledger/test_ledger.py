"""Debits, answers and budgets of a ledger.

Tests of `ledger/charges.py`.
"""

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy.exc import DBAPIError

from noisycount.errors import BudgetError, LedgerError
from noisycount.ledger.budget import Loss
from noisycount.ledger.entries import Analyst, Entry, Request
from noisycount.ledger.ledger import Ledger
from noisycount.validation import exact_text
from tests.helpers.ledgers import TENTH, asked

printable = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=5)
requests = st.builds(Request, printable, printable, st.sampled_from([TENTH, Fraction(1, 3)]))


def test_a_new_ledger_has_spent_nothing(ledger: Ledger) -> None:
    """No debit, no data set."""
    assert ledger.spent("survey") == 0
    assert ledger.entries() == []


def test_a_first_request_is_charged_its_price(ledger: Ledger) -> None:
    """The entry carries the request, the total and the time, and no answer yet."""
    before = datetime.now(UTC)
    entry, charged = ledger.reserve("mine", asked(1), Fraction(1))
    assert charged == Loss.from_epsilon(TENTH)
    price = Loss(TENTH, Fraction(1, 200))
    assert entry == Entry("mine", asked(1), price, entry.made, None, "analyst", price)
    assert before <= entry.made <= datetime.now(UTC)
    assert ledger.entries() == [entry]


@pytest.mark.parametrize("key", ["mine", "another"])
def test_a_repeated_request_is_free(ledger: Ledger, key: str) -> None:
    """Under the same key or another, the first entry is given again."""
    first, _ = ledger.reserve("mine", asked(1), TENTH)
    assert ledger.reserve(key, asked(1), TENTH) == (first, Loss())
    assert ledger.spent("survey") == TENTH


def test_a_repeat_gives_the_stored_answer(ledger: Ledger) -> None:
    """Also where the budget is spent."""
    entry, _ = ledger.reserve("mine", asked(1), TENTH)
    stored = ledger.store(entry, 103)
    assert ledger.reserve("another", asked(1), TENTH) == (stored, Loss())
    assert stored == replace(entry, answer=103)


@pytest.mark.parametrize("other", [asked(2), asked(1, Fraction(1, 5)), asked(1, dataset="another")])
def test_a_key_belongs_to_one_request(ledger: Ledger, other: Request) -> None:
    """Another question, price or data set under a used key is refused and charged nothing."""
    ledger.reserve("mine", asked(1), Fraction(1))
    with pytest.raises(LedgerError, match=r"\Akey 'mine' was used for another question; choose"):
        ledger.reserve("mine", other, Fraction(1))
    assert len(ledger.entries()) == 1


def test_the_key_of_an_entry_is_refused_for_a_request_known_under_another_key(ledger: Ledger) -> None:
    """A conflict of keys is not hidden by a free repeat."""
    ledger.reserve("first", asked(1), Fraction(1))
    ledger.reserve("second", asked(2), Fraction(1))
    with pytest.raises(LedgerError, match="another question"):
        ledger.reserve("second", asked(1), Fraction(1))


@pytest.mark.parametrize("price", ["1/10", "1/3", "1/7"])
def test_a_budget_is_spent_to_the_last_digit(ledger: Ledger, price: str) -> None:
    """A budget of n prices pays exactly n of them, where floats would lose one or gain one."""
    epsilon = Fraction(price)
    budget = 3 * epsilon
    for number in range(3):
        entry, _ = ledger.reserve(f"key {number}", asked(number, epsilon), budget)
        assert entry.spent.epsilon == (number + 1) * epsilon
        assert entry.spent.rho == (number + 1) * epsilon**2 / 2
    with pytest.raises(BudgetError):
        ledger.reserve("key 3", asked(3, Fraction(1, 10**9)), budget)
    assert ledger.spent("survey") == budget


def test_an_overspend_says_what_is_left_and_changes_nothing(ledger: Ledger) -> None:
    """After a refusal a smaller price that fits is accepted."""
    budget = Fraction(3, 10)
    ledger.reserve("first", asked(1), budget)
    with pytest.raises(
        BudgetError, match=r"\Aepsilon 1/3 exceeds the 0\.2 that is left of the budget 0\.3 of 'survey'; ask"
    ):
        ledger.reserve("second", asked(2, Fraction(1, 3)), budget)
    assert ledger.spent("survey") == TENTH
    assert ledger.reserve("second", asked(2, Fraction(1, 5)), budget)[1].epsilon == Fraction(1, 5)


def test_nothing_is_left_of_a_budget_that_was_lowered(ledger: Ledger) -> None:
    """The remaining budget is never negative."""
    ledger.reserve("first", asked(1), Fraction(1))
    with pytest.raises(BudgetError, match=r"exceeds the 0 that is left of the budget 0\.05 of"):
        ledger.reserve("second", asked(2), Fraction(1, 20))


def test_data_sets_pay_each_for_itself(ledger: Ledger) -> None:
    """Equal questions to two data sets are two debits, each from its own budget."""
    for name in ("one", "two"):
        ledger.reserve(name, asked(1, dataset=name), TENTH)
    assert [ledger.spent(name) for name in ("one", "two", "three")] == [TENTH, TENTH, 0]
    assert [entry.key for entry in ledger.entries()] == ["one", "two"]
    assert [entry.key for entry in ledger.entries("two")] == ["two"]


@pytest.mark.parametrize("answer", [0, -7, 10**100, -(10**100)])
def test_an_answer_of_any_size_is_kept(ledger: Ledger, answer: int) -> None:
    """No column cuts an integer."""
    entry, _ = ledger.reserve("mine", asked(1), Fraction(1))
    assert ledger.store(entry, answer).answer == answer
    assert ledger.entries()[0].answer == answer


@pytest.mark.parametrize("answer", [2.0, 2.5, None, True, "2", np.float64(2), Fraction(2), 1 << 14_000])
def test_an_answer_that_is_no_whole_number_is_refused(ledger: Ledger, answer: object) -> None:
    """Before anything is written: the debit can still be answered."""
    entry, _ = ledger.reserve("mine", asked(1), Fraction(1))
    with pytest.raises(ValueError, match=r"\Aanswer must be (a whole number|below 2\^14000), got"):
        ledger.store(entry, answer)  # type: ignore[arg-type]
    assert (len(ledger.rows()), ledger.verify().broken) == (1, None)
    assert ledger.store(entry, 2).answer == 2


def test_a_refused_answer_is_named(ledger: Ledger) -> None:
    """With its value."""
    entry, _ = ledger.reserve("mine", asked(1), Fraction(1))
    with pytest.raises(ValueError, match=r"\Aanswer must be a whole number, got 2\.0\Z"):
        ledger.store(entry, 2.0)  # type: ignore[arg-type]


def test_an_integer_of_numpy_is_an_answer(ledger: Ledger) -> None:
    """It is given as one of Python's."""
    entry, _ = ledger.reserve("mine", asked(1), Fraction(1))
    stored = ledger.store(entry, np.int64(-7))  # type: ignore[arg-type]
    assert (stored.answer, type(stored.answer)) == (-7, int)
    assert ledger.entries() == [stored]


def test_prices_of_numpys_integers_add_up(ledger: Ledger) -> None:
    """Which overflow 64 bits together; every row can be read again."""
    prices = [
        Fraction(np.int64(583), np.int64(denominator))  # type: ignore[arg-type]
        for denominator in range(917, 1000, 2)
    ]
    for number, price in enumerate(prices):
        ledger.reserve(f"key {number}", asked(number, price), Fraction(1000))
    exact = sum(Fraction(583, denominator) for denominator in range(917, 1000, 2))
    assert ledger.spent("survey") == exact
    assert [entry.request.epsilon for entry in ledger.entries()] == prices
    assert ledger.verify().broken is None


def test_a_price_and_a_budget_may_be_text(ledger: Ledger) -> None:
    """Whatever is exact; the entry holds the rational."""
    request = Request("survey", "question", "1/3")  # type: ignore[arg-type]
    assert request == Request("survey", "question", Fraction(1, 3))
    analyst = Analyst("alice", 2)  # type: ignore[arg-type]
    assert analyst == Analyst("alice", Fraction(2))
    assert ledger.reserve("mine", request, "0.5", analyst)[1].epsilon == Fraction(1, 3)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [2, b"x", None, object(), 0.5])
def test_an_argument_of_another_type_is_refused(ledger: Ledger, value: object) -> None:
    """As a ValueError in one line, before anything is charged."""
    entry, _ = ledger.reserve("mine", asked(1), Fraction(1))
    for action in (
        lambda: ledger.reserve(value, asked(2), Fraction(1)),  # type: ignore[arg-type]
        lambda: ledger.reserve("key", value, Fraction(1)),  # type: ignore[arg-type]
        lambda: ledger.reserve("key", asked(2), [value]),  # type: ignore[arg-type]
        lambda: ledger.reserve("key", asked(2), Fraction(1), value),  # type: ignore[arg-type]
        lambda: ledger.store(value, 2),  # type: ignore[arg-type]
        lambda: ledger.spent(value),  # type: ignore[arg-type]
        lambda: ledger.paid(value),  # type: ignore[arg-type]
        lambda: ledger.paid_by(value),  # type: ignore[arg-type]
        lambda: ledger.entries([value]),  # type: ignore[arg-type]
        lambda: ledger.verify([value]),  # type: ignore[arg-type]
        lambda: Request(value, "question", TENTH),  # type: ignore[arg-type]
        lambda: Request("survey", value, TENTH),  # type: ignore[arg-type]
        lambda: Request("survey", "question", [value]),  # type: ignore[arg-type]
        lambda: Analyst(value),  # type: ignore[arg-type]
        lambda: Analyst("alice", [value]),  # type: ignore[arg-type]
    ):
        with pytest.raises(ValueError, match=r"\A[a-z_]+ must be [^\n]+, got [^\n]+\Z"):
            action()
    assert ledger.entries() == [entry]


def test_the_first_stored_answer_wins(ledger: Ledger) -> None:
    """A second answer is not stored; its caller receives the first."""
    entry, _ = ledger.reserve("mine", asked(1), Fraction(1))
    first = ledger.store(entry, 5)
    assert ledger.store(entry, 6) == first
    assert [entry.answer for entry in ledger.entries()] == [5]


def test_an_answer_without_a_debit_is_refused(ledger: Ledger) -> None:
    """Nothing is stored that was not paid for."""
    price = Loss.from_epsilon(TENTH)
    entry = Entry("mine", asked(1), price, datetime.now(UTC), None, "analyst", price)
    with pytest.raises(LedgerError, match=r"\Akey 'mine' has no debit here; reserve before"):
        ledger.store(entry, 5)
    assert ledger.entries() == []


def test_what_was_written_outlives_its_writer(ledger_url: str, ledger: Ledger) -> None:
    """Another connection reads the same entries while the first is open."""
    entry, _ = ledger.reserve("mine", asked(1), Fraction(1))
    stored = ledger.store(entry, 5)
    with Ledger.open(ledger_url, create=False) as reader:
        assert reader.entries() == [stored]
        assert reader.spent("survey") == TENTH


@pytest.mark.parametrize(
    "change", ["DELETE FROM ledger", "UPDATE ledger SET key = 'b'", "UPDATE ledger SET epsilon = '0'"]
)
def test_a_row_is_never_changed(ledger: Ledger, change: str) -> None:
    """Not even by the owner's SQL shell, short of removing the triggers."""
    ledger.store(ledger.reserve("mine", asked(1), Fraction(1))[0], 5)
    rows = ledger.rows()
    with pytest.raises(DBAPIError, match="the ledger is append-only"), ledger.transactions.writing.begin() as shell:
        shell.exec_driver_sql(change)
    assert ledger.rows() == rows


@given(requests, requests)
def test_digests_are_equal_only_for_equal_requests(one: Request, two: Request) -> None:
    """No two requests share an encoding."""
    assert (one.digest == two.digest) == (one == two)


@given(printable, printable, printable)
def test_a_digest_tells_where_the_data_set_ends(one: str, two: str, three: str) -> None:
    """Moving text from the question to the data set's name makes another request."""
    assert Request(one + two, three, TENTH).digest != Request(one, two + three, TENTH).digest


TEXTS = ["", "a\nb", "a\0", "\ud800", "x" * 10_000_001, "x" * 10**6 + "\0"]


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: f"{len(text)}, {text[-1:]!a}")
def test_a_text_that_is_not_printable_is_refused_in_one_line(ledger: Ledger, text: str) -> None:
    """As a data set, as a question and as a key, before anything is charged."""
    with pytest.raises(ValueError, match=r"\Adataset must be 1 to 200 printable [^\n]*\Z"):
        Request(text, "question", TENTH)
    with pytest.raises(ValueError, match=r"\Aquestion must be 1 to 10000000 printable [^\n]{,80}\Z"):
        Request("survey", text, TENTH)
    with pytest.raises(ValueError, match=r"\Akey must be 1 to 200 printable [^\n]{,80}\Z"):
        ledger.reserve(text, asked(1), Fraction(1))
    assert ledger.entries() == []


@pytest.mark.parametrize("epsilon", [Fraction(0), Fraction(-1), Fraction(1, 1009)])
def test_a_price_outside_the_range_is_refused(epsilon: Fraction) -> None:
    """A request never carries what the ledger could not add up."""
    with pytest.raises(ValueError, match=r"\Aepsilon must be a decimal"):
        Request("survey", "question", epsilon)


def test_an_entry_is_checked() -> None:
    """A debit is part of its totals, and its time is in UTC."""
    now, price = datetime.now(UTC), Loss.from_epsilon(TENTH)
    less = Loss(Fraction(1, 20), Fraction(1))
    with pytest.raises(ValueError, match=r"\Aspent must include the price, got ε = 0\.05\Z"):
        Entry("mine", asked(1), less, now, None, "analyst", price)
    with pytest.raises(ValueError, match=r"\Aanalyst_spent must include the price, got ε = 0\.1\Z"):
        Entry("mine", asked(1), price, now, None, "analyst", Loss(TENTH, Fraction(0)))
    with pytest.raises(ValueError, match=r"\Aanalyst must be 1 to 200 printable characters"):
        Entry("mine", asked(1), price, now, None, "", price)
    east = datetime(2026, 1, 1, tzinfo=timezone(timedelta(hours=1)))
    with pytest.raises(ValueError, match=r"\Amade must be in UTC, got 2026-01-01T00:00:00\+01"):
        Entry("mine", asked(1), price, east, None, "analyst", price)


def test_the_total_stays_exact_over_many_prices(ledger: Ledger) -> None:
    """Also where no common decimal exists."""
    prices = [Fraction(1, 1 + number) for number in range(50)]
    for number, price in enumerate(prices):
        ledger.reserve(f"key {number}", asked(number, price), Fraction(1000))
    assert ledger.spent("survey") == sum(prices)
    assert Fraction(exact_text(ledger.spent("survey"))) == sum(prices)
    assert ledger.paid("survey").rho == sum(price**2 for price in prices) / 2
