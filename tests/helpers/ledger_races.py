"""Many processes that spend one budget at once."""

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from itertools import repeat

from noisycount.ledger.ledger import Ledger
from tests.helpers import workers as desk_workers

PATIENCE = 240  # seconds in which even a busy machine lets every process have its turn


def starting_together(workers: int) -> ProcessPoolExecutor:
    """Give processes that wait for each other before they spend."""
    context = desk_workers.processes()
    together = context.Barrier(workers, timeout=PATIENCE)
    return ProcessPoolExecutor(
        workers, mp_context=context, initializer=desk_workers.start_together, initargs=(together,)
    )


def race(url: str, prices: Sequence[Fraction], budget: Fraction, workers: int) -> list[int]:
    """Let all workers spend at the same time until the budget refuses each; give their debits."""
    with starting_together(workers) as pool:
        return list(
            pool.map(
                desk_workers.spend_all,
                repeat(f"{url}{'&' if '?' in url else '?'}timeout={PATIENCE}"),
                range(workers),
                repeat(prices),
                repeat(budget),
            )
        )


def check_race(url: str, granted: Sequence[int], prices: Sequence[Fraction], budget: Fraction) -> None:
    """Check that a ledger holds what was granted, exactly, and that no further price fits."""
    with Ledger.open(url, create=False) as ledger:
        entries, spent = ledger.entries(), ledger.spent("survey")
        assert ledger.verify().broken is None
    paid = [count * prices[worker % len(prices)] for worker, count in enumerate(granted)]
    assert len(entries) == sum(granted)
    assert spent == sum(paid) == sum(entry.request.epsilon for entry in entries)
    assert budget - min(prices) < spent <= budget
