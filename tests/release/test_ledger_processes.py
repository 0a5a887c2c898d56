from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

from noisycount.errors import BudgetError
from noisycount.release.ledger import Ledger, Request
from tests.release import desk_workers

WORKERS = 8
BUDGET = Fraction(20)


def test_racing_processes_never_spend_one_debit_too_many(tmp_path: Path) -> None:
    """Eight processes spend thirds and sevenths until each is refused: the total is exact."""
    path = tmp_path / "ledger.db"
    prices = [Fraction(1, 3), Fraction(1, 7)] * (WORKERS // 2)
    with ProcessPoolExecutor(WORKERS, mp_context=desk_workers.processes()) as pool:
        granted = list(
            pool.map(
                desk_workers.spend_all,
                [path] * WORKERS,
                range(WORKERS),
                prices,
                [BUDGET] * WORKERS,
            )
        )
    with Ledger.open(f"sqlite:///{path}", create=False) as ledger:
        entries = ledger.entries()
        spent = ledger.spent("survey")
    assert spent == sum(price * count for price, count in zip(prices, granted, strict=True))
    assert len(entries) == sum(granted)
    assert BUDGET - min(prices) < spent <= BUDGET
    totals = [Fraction(0), *(entry.spent for entry in entries)]
    steps = [after - before for before, after in pairwise(totals)]
    assert steps == [entry.request.epsilon for entry in entries]


def test_racing_processes_share_one_debit_and_one_answer_a_question(tmp_path: Path) -> None:
    """Under one key or under a key of each worker's own."""
    path = tmp_path / "ledger.db"
    questions = 20
    keys = [
        [
            f"question {number}" if number % 2 else f"{worker}: {number}"
            for number in range(questions)
        ]
        for worker in range(WORKERS)
    ]
    with ProcessPoolExecutor(WORKERS, mp_context=desk_workers.processes()) as pool:
        charges, answers = zip(*pool.map(desk_workers.repeat, [path] * WORKERS, keys), strict=True)
    assert sum(charges) == Fraction(questions, 3)
    assert all(each == answers[0] for each in answers)
    with Ledger.open(f"sqlite:///{path}", create=False) as ledger:
        assert len(ledger.entries()) == questions


def test_racing_threads_share_a_ledger(tmp_path: Path) -> None:
    """One open ledger serves many threads, and pays what fits."""

    def spend(number: int) -> bool:
        try:
            ledger.reserve(f"{number}", Request("survey", f"{number}", Fraction(1, 7)), Fraction(3))
        except BudgetError:
            return False
        return True

    with Ledger.open(f"sqlite:///{tmp_path}/ledger.db") as ledger, ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(spend, range(40))) == 21
        assert ledger.spent("survey") == 3


def test_a_file_that_may_not_grow_refuses_before_it_acknowledges(tmp_path: Path) -> None:
    """A real limit of the operating system; with room again, the ledger goes on exactly there."""
    path = tmp_path / "ledger.db"
    price = Fraction(1, 1000)
    with ProcessPoolExecutor(1, mp_context=desk_workers.processes()) as pool:
        granted, message = pool.submit(desk_workers.spend_on_a_small_disk, path, price).result()
    assert message.endswith("met a disk error; make room on the disk, or mend it, and ask again")
    with Ledger.open(f"sqlite:///{path}") as ledger:
        assert len(ledger.entries()) == granted
        assert ledger.spent("survey") == granted * price
        request = Request("survey", "last", price)
        assert ledger.reserve("last", request, Fraction(1))[0].spent == (granted + 1) * price
