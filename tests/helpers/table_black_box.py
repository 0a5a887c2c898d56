"""An audit of tables that sees nothing but answers of a desk, about neighbouring data sets."""

import math
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

from noisycount.engines.memory import MemorySource
from noisycount.ledger.budget import ApproximateBudget
from noisycount.ledger.ledger import Ledger
from noisycount.release.dataset import Dataset
from noisycount.release.desk import Desk
from tests.helpers.black_box import FALSE_ALARM
from tests.helpers.neighbours import SCHEMA, Pair, Records, mutated
from tests.helpers.workers import processes

__all__ = ["loss_told", "own_keys_told"]

OWN = {"x", "y", "z"}
SURE = 1_000_000  # an ε of which the noise is 0 but once in e^(10^5) draws
BUDGET = ApproximateBudget(Fraction(10**6), Fraction(1, 2), Fraction(1, 2))
TABLES = 8  # for which the δ of a budget is enough
Answers = dict[tuple[object, ...], int]


def loss_told(pair: Pair, size: int, mutant: str = "") -> float:
    """The least log-ratio that answers show, but for one false alarm in a million.

    The event is the most telling one: each count that differs is at least as far to its side as it
    is in the data set where it is farther. It is judged in both directions.
    """
    true = [_released(pair, records, 1, "", SURE)[0] for records in pair.worlds]
    tables = _tables(pair, size, mutant)
    return max(_told(tables, true), _told(tables[::-1], true[::-1]))


def own_keys_told(pair: Pair, size: int, mutant: str = "") -> float:
    """The least probability that a key of that person alone is shown, as for `loss_told`."""
    from scipy import stats

    shown = [sum(any(OWN & set(key) for key in table) for table in world) for world in _tables(pair, size, mutant)]
    hits = max(shown)
    return float(stats.beta.ppf(FALSE_ALARM / 2, hits, size - hits + 1)) if hits else 0.0


def _told(tables: list[list[Answers]], true: list[Answers]) -> float:
    """The log-ratio of the event that the first of two data sets makes likely."""
    from scipy import stats

    here, there = true
    hits = []
    for world in tables:
        telling = [
            all(
                table[key] >= here[key] if here[key] > there[key] else table[key] <= here[key]
                for key in here
                if here[key] != there[key]
            )
            for table in world
        ]
        hits.append(sum(telling))
    size, level = len(tables[0]), FALSE_ALARM / 4
    often = stats.beta.ppf(level, hits[0], size - hits[0] + 1) if hits[0] else 0.0
    seldom = stats.beta.ppf(1 - level, hits[1] + 1, size - hits[1]) if hits[1] < size else 1.0
    return math.log(often / seldom) if often else -math.inf


def _tables(pair: Pair, size: int, mutant: str) -> list[list[Answers]]:
    """Draw that many tables of each data set, in two processes."""
    with processes().Pool(2) as pool:
        asked = [(pair, records, size, mutant) for records in pair.worlds]
        return pool.starmap(_released, asked, chunksize=1)


def _released(pair: Pair, records: Records, size: int, mutant: str, epsilon: int = 1) -> list[Answers]:
    """Tables by the reference engine; its ledger is in memory where there is such a folder."""
    memory = Path("/dev/shm")  # noqa: S108 - a new folder in it
    with (
        TemporaryDirectory(dir=memory if memory.is_dir() else None) as place,
        mutated(mutant),
        MemorySource(records, SCHEMA, unit="person") as source,
        Ledger.open(f"sqlite:///{place}/ledger.db") as ledger,
    ):
        found = []
        for number in range(size):
            dataset = Dataset(f"survey {number // TABLES}", BUDGET, pair.size)
            asked = {**pair.question, "epsilon": epsilon, "where": f"town <> '{number}'"}
            table = Desk(source, ledger, dataset).release_table(**asked)
            found.append({(row.level, *row.labels): row.answer for row in table.rows})
        return found
