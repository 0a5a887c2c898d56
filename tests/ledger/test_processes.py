from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from fractions import Fraction
from itertools import pairwise, repeat
from pathlib import Path

import pytest

from noisycount.errors import BudgetError
from noisycount.ledger.budget import Loss
from noisycount.ledger.entries import Analyst, Request
from noisycount.ledger.ledger import Ledger
from tests.helpers import workers as desk_workers
from tests.helpers.ledger_races import PATIENCE, check_race, race, starting_together
from tests.helpers.ledgers import narrow
from tests.helpers.postgresql import Server
from tests.helpers.workers import LateLedger, told

WORKERS = 8
THIRD, SEVENTH, ELEVENTH = Fraction(1, 3), Fraction(1, 7), Fraction(1, 11)


@pytest.mark.thorough
def test_of_seventy_thirds_sixty_four_racing_processes_get_seventy(ledger_url: str) -> None:
    """Not one more than fits, and not one less: the total is the budget, exactly."""
    granted = race(ledger_url, [THIRD], 70 * THIRD, workers=64)
    assert sum(granted) == 70
    check_race(ledger_url, granted, [THIRD], 70 * THIRD)


@pytest.mark.thorough
def test_racing_processes_with_several_prices_spend_what_fits(ledger_url: str) -> None:
    """Thirds, sevenths and elevenths: what is left in the end pays none of them."""
    prices, budget = [THIRD, SEVENTH, ELEVENTH, Fraction("0.1")], Fraction(12)
    granted = race(ledger_url, prices, budget, workers=32)
    check_race(ledger_url, granted, prices, budget)


@pytest.mark.thorough
@pytest.mark.always
@pytest.mark.parametrize("workers", [WORKERS, pytest.param(32, marks=pytest.mark.thorough)])
def test_racing_processes_top_up_the_last_of_a_budget(ledger_url: str, workers: int) -> None:
    """Whoever pays what, together it is the highest price that was granted, exactly, and that is all that fits."""
    prices, budget = [Fraction(number, 23) for number in range(1, 25)], Fraction(1, 2)
    url = f"{ledger_url}{'&' if '?' in ledger_url else '?'}timeout={PATIENCE}"
    with starting_together(workers) as pool:
        found = pool.map(desk_workers.top_up_last, repeat(url), range(workers), repeat(prices), repeat(budget))
        charged, granted = zip(*found, strict=True)
    assert sum(charged) == max(granted) == Fraction(11, 23)
    with Ledger.open(ledger_url, create=False) as ledger:
        assert ledger.spent("last") == Fraction(11, 23)
        assert len({entry.key for entry in ledger.entries()}) <= 11
        assert ledger.verify().broken is None


@pytest.mark.thorough
@pytest.mark.always
@pytest.mark.parametrize("kind", [Ledger, LateLedger])
def test_racing_processes_hold_what_an_answer_may_cost(ledger_url: str, kind: type[Ledger]) -> None:
    """Of counts that cost the most three fit; a mutant that charges at the end grants one to each."""
    with starting_together(WORKERS) as pool:
        asked = repeat(ledger_url), range(WORKERS), repeat(Fraction(3, 2)), repeat(kind)
        charged, _ = zip(*pool.map(desk_workers.ask_within_last, *asked), strict=True)
    with Ledger.open(ledger_url, create=False) as ledger:
        assert ledger.spent("last") == sum(charged)
    assert (sum(charged) <= Fraction(3, 2)) == (kind is Ledger)


@pytest.mark.few(0)
def test_racing_processes_share_one_debit_and_one_answer_a_question(ledger_url: str) -> None:
    """Under one key or under a key of each worker's own."""
    questions = 20
    keys = [
        [f"question {number}" if number % 2 else f"{worker}: {number}" for number in range(questions)]
        for worker in range(WORKERS)
    ]
    with ProcessPoolExecutor(WORKERS, mp_context=desk_workers.processes()) as pool:
        bought = pool.map(desk_workers.repeat, [ledger_url] * WORKERS, keys)
        charges, answers = zip(*bought, strict=True)
    assert sum(charges) == Fraction(questions, 3)
    assert all(each == answers[0] for each in answers)
    with Ledger.open(ledger_url, create=False) as ledger:
        assert len(ledger.entries()) == questions


@pytest.mark.few(0)
def test_racing_processes_share_one_debit_and_one_table_a_question(ledger_url: str) -> None:
    """The first request pays, and every request receives the same counts."""
    numbers = range(5)
    with starting_together(WORKERS) as pool:
        bought = pool.map(desk_workers.buy_tables, [ledger_url] * WORKERS, [numbers] * WORKERS)
        charges, answers = zip(*bought, strict=True)
    price = Loss.from_epsilon(desk_workers.PRICE)
    assert sum(charges, Loss()) == sum([price] * len(numbers), Loss())
    assert all(each == answers[0] for each in answers)
    with Ledger.open(ledger_url, create=False) as ledger:
        assert [told(entry.answer) for entry in ledger.entries()] == answers[0]
        assert ledger.verify().broken is None


def test_racing_processes_bring_an_older_ledger_into_this_form(ledger_url: str) -> None:
    """Each needs the columns of its price; they are made once, and every debit is there."""
    narrow(ledger_url)
    with starting_together(WORKERS) as pool:
        charges = pool.map(desk_workers.spend_rho, [ledger_url] * WORKERS, range(WORKERS))
        total = sum(charges, Loss())
    with Ledger.open(ledger_url) as ledger:
        assert ledger.paid("survey") == total == Loss(None, WORKERS * desk_workers.RHO)
        assert ledger.verify().head.number == WORKERS


def test_racing_threads_share_a_ledger(ledger_url: str) -> None:
    """An open ledger serves many threads, and grants only the debits that fit."""

    def spend(number: int) -> bool:
        try:
            ledger.reserve(f"{number}", Request("survey", f"{number}", SEVENTH), Fraction(3))
        except BudgetError:
            return False
        return True

    with Ledger.open(ledger_url) as ledger, ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(spend, range(40))) == 21
        assert ledger.spent("survey") == 3
        totals = [Fraction(0), *(entry.spent.epsilon for entry in ledger.entries())]
        assert {after - before for before, after in pairwise(totals)} == {SEVENTH}


def test_racing_threads_share_an_analyst(ledger_url: str) -> None:
    """Each asks another data set, whose budget is ample; the analyst's own binds them all."""
    alice = Analyst("alice", Fraction(3))

    def spend(number: int) -> bool:
        request = Request(f"data {number}", "question", SEVENTH)
        try:
            ledger.reserve(f"{number}", request, Fraction(100), alice)
        except BudgetError:
            return False
        return True

    with Ledger.open(ledger_url) as ledger, ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(spend, range(40))) == 21
        assert ledger.paid_by("alice").epsilon == 3


@pytest.mark.parametrize("pages", [0, 1, 2, 3])
def test_a_file_that_may_not_grow_refuses_before_it_acknowledges(tmp_path: Path, pages: int) -> None:
    """A real limit of the operating system; with room again, the ledger goes on exactly there."""
    path = tmp_path / "ledger.db"
    price = Fraction(1, 1000)
    with Ledger.open(f"sqlite:///{path}") as ledger:
        for number in range(pages):
            ledger.reserve(f"{number}", Request("survey", f"{number}{'?' * 3000}", price), 1 * price * 9)
    with ProcessPoolExecutor(1, mp_context=desk_workers.processes()) as pool:
        granted, message = pool.submit(desk_workers.spend_on_a_small_disk, path, price).result()
    assert message.endswith("met a disk error; make room on the disk, or mend it, and ask again")
    with Ledger.open(f"sqlite:///{path}") as ledger:
        check_goes_on(ledger, pages + granted, price)


@pytest.mark.thorough
def test_a_server_whose_files_may_not_grow_refuses_before_it_acknowledges(postgresql: Server) -> None:
    """A server with a file size limit refuses spends before it acknowledges them."""
    url, price = postgresql.new_url(), Fraction(1, 1000)
    with postgresql.limited(5 * 2**20), Ledger.open(url) as ledger:
        granted, message = desk_workers.spend_large(ledger, price)
    assert message.endswith("met a disk error; make room on the disk, or mend it, and ask again")
    assert granted > 10
    with Ledger.open(url) as ledger:
        check_goes_on(ledger, granted, price)


def check_goes_on(ledger: Ledger, granted: int, price: Fraction) -> None:
    """Check that a ledger holds the acknowledged debits only, and works again with room."""
    assert len(ledger.entries()) == granted
    assert ledger.spent("survey") == granted * price
    request = Request("survey", "last", price)
    assert ledger.reserve("last", request, Fraction(1))[0].spent.epsilon == (granted + 1) * price
    assert ledger.verify().broken is None
