"""Many clients that spend through one ledger for some seconds, whatever its server goes through."""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import chain, repeat

import numpy as np

from noisycount.errors import BudgetError, LedgerError
from noisycount.ledger.entries import Entry, Request
from noisycount.ledger.ledger import Ledger
from tests.helpers import workers as desk_workers
from tests.helpers.ledger_races import PATIENCE

PRICE = Fraction(1, 3)
FITS = 350
BUDGET = FITS * PRICE
PAUSE = 0.05  # seconds until a client asks again that was refused because of the server
FIELD = 1 << 20  # answers of one client, apart from those of the next


@dataclass(frozen=True, slots=True)
class Spend:
    """A debit whose answer was acknowledged."""

    key: str  # what its client called it
    dataset: str  # who paid
    answer: object  # what the ledger said that it holds
    seconds: float  # from the first call of `reserve` to the acknowledgement of `store`
    refusals: int  # how often the server refused meanwhile
    resumed: bool  # whether `reserve` found the debit made, by a call whose reply did not come


@dataclass(frozen=True, slots=True)
class Toll:
    """Spends of a crowd of clients, compared with the entries of the ledger."""

    spends: Sequence[Spend]  # all that was acknowledged, of all clients
    seconds: float  # for how long the clients asked
    overspent: int  # how many data sets have paid more than their budget
    lost: int  # how many acknowledged spends the ledger does not hold, or holds with another answer
    unfilled: int  # how many data sets were left before the last with room for one more
    cut: int  # how many debits no client was told of
    intact: bool  # whether the chain is intact

    @property
    def rate(self) -> float:
        """Spends a second."""
        return len(self.spends) / self.seconds

    def quantile(self, share: float) -> float:
        """The time that a share of the spends did not exceed, in s."""
        return float(np.quantile([spend.seconds for spend in self.spends], share))

    @property
    def told(self) -> str:
        """The figures on one line."""
        p50, p99, last = (1e3 * self.quantile(share) for share in (0.5, 0.99, 1))
        refusals = sum(spend.refusals for spend in self.spends)
        resumed = sum(spend.resumed for spend in self.spends)
        return (
            f"{len(self.spends)} spends in {self.seconds:.0f} s, {self.rate:.0f} a second,"
            f" p50 {p50:.0f} ms, p99 {p99:.0f} ms, longest {last:.0f} ms; {refusals} refusals by"
            f" the server, {resumed} resumed, {self.overspent} overspent, {self.lost} lost"
        )


def crowd(
    url: str,
    processes: int,
    seconds: float,
    *,
    threads: int = 1,
    meanwhile: Callable[[], None] = lambda: None,
) -> Toll:
    """Let clients spend, in processes with a ledger of their own, and look at what is there then."""
    Ledger.open(url).close()
    context = desk_workers.processes()
    together = context.Barrier(processes + 1, timeout=PATIENCE)
    pool = ProcessPoolExecutor(
        processes, mp_context=context, initializer=desk_workers.start_together, initargs=(together,)
    )
    with pool:
        working: list[Future[list[Spend]]] = [
            pool.submit(spend_for, url, range(first, first + threads), seconds)
            for first in range(0, processes * threads, threads)
        ]
        together.wait()
        meanwhile()
        spends = list(chain.from_iterable(each.result() for each in working))
    return counted(url, spends, seconds)


def counted(url: str, spends: Sequence[Spend], seconds: float) -> Toll:
    """Compare what was acknowledged with what the ledger holds."""
    with Ledger.open(url, create=False) as ledger:
        held = {entry.key: entry for entry in ledger.entries()}
        intact = ledger.verify().broken is None
    paid = Counter[str]()
    for entry in held.values():
        paid[entry.request.dataset] += 1
    told = {spend.key for spend in spends}
    assert len(told) == len(spends), "a spend was acknowledged twice"
    ordered = sorted(paid, key=dataset_number)
    return Toll(
        spends,
        seconds,
        overspent=sum(number > FITS for number in paid.values()),
        lost=sum(not holds(held.get(spend.key), spend) for spend in spends),
        unfilled=sum(paid[name] < FITS for name in ordered[:-1]),
        cut=len(held.keys() - told),
        intact=intact,
    )


def holds(entry: Entry | None, spend: Spend) -> bool:
    """Return True if the ledger holds an acknowledged spend."""
    return entry is not None and entry.request.dataset == spend.dataset and entry.answer == spend.answer


def spend_for(url: str, clients: Sequence[int], seconds: float) -> list[Spend]:
    """Give what the clients of one process were acknowledged, who spend so long without a pause."""
    with Ledger.open(url) as ledger, ThreadPoolExecutor(len(clients)) as pool:
        ledger.paid("data 0")
        desk_workers.wait_for_all()
        deadline = time.monotonic() + seconds
        spends = pool.map(partial(spend_until, ledger, deadline), clients)
        return list(chain.from_iterable(spends))


def spend_until(ledger: Ledger, deadline: float, client: int) -> list[Spend]:
    """Give what one client was acknowledged until a moment of the clock."""
    spends: list[Spend] = []
    dataset = 0
    while time.monotonic() < deadline:
        key, answer = f"{client}: {len(spends)}", client * FIELD + len(spends)
        try:
            spends.append(spent(ledger, key, f"data {dataset}", answer))
        except BudgetError:
            dataset += 1
    return spends


def spent(ledger: Ledger, key: str, dataset: str, answer: int) -> Spend:
    """Give one spend, asked for under one key until the server acknowledges it."""
    started, refusals = time.monotonic(), 0
    request = Request(dataset, key, PRICE)
    for _ in repeat(None):
        try:
            entry, charged = ledger.reserve(key, request, BUDGET)
            stored = ledger.store(entry, answer)
        except BudgetError:
            raise
        except LedgerError:
            refusals += 1
            time.sleep(PAUSE)
        else:
            break
    elapsed = time.monotonic() - started
    return Spend(key, dataset, stored.answer, elapsed, refusals, charged.epsilon == 0)


def dataset_number(name: str) -> int:
    """Give the place of a data set among all."""
    return int(name.removeprefix("data "))
