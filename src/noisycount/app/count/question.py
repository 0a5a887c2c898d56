"""One private count from start to end: what every way of asking shares."""

import json
from contextlib import ExitStack
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from noisycount.app.config.config import Config, DatasetConfig
from noisycount.app.count.opening import records_of
from noisycount.app.ledger.access import existing_ledger
from noisycount.app.ledger.stored_count import StoredCount
from noisycount.errors import ConfigError
from noisycount.release.budget.budgets import Budget
from noisycount.release.budget.neighbours import NeighbourRelation, neighbours_of_size
from noisycount.release.desk import Dataset, Release
from noisycount.release.ledger.entries import Analyst, Entry
from noisycount.release.ledger.ledger import Ledger
from noisycount.release.register.register import Register
from noisycount.release.register.written import ROW
from noisycount.release.slot import Slot

__all__ = ["Answer", "answer_to", "dataset_asked"]


@dataclass(frozen=True, slots=True)
class Answer:
    """A release, and what a reader needs to understand it.

    Attributes:
        release: What was published.
        meaning: The question in English.
        unit: The column whose distinct values were counted; None for rows.
        neighbours: How data sets differ that the answer hardly tells apart.
        budget: The whole budget of the data set.
        analyst: Who asked.
        error: The count lies within ±error of the answer with the confidence, in units.
        confidence: The probability of that.
        ledger: Where the answer is kept; None for a server.
        size: The number of units where it is public, else None.
        better: A stored answer to the same question at the largest ε above this one, if any.
    """

    release: Release
    meaning: str
    unit: str | None
    neighbours: NeighbourRelation
    budget: Budget
    analyst: Analyst
    error: int
    confidence: float
    ledger: Path | None
    size: int | None = None
    better: StoredCount | None = None

    @property
    def interval(self) -> tuple[int, int]:
        """Where the count lies with the confidence: within ±error, not below 0 or above all."""
        low, high = self.release.answer - self.error, self.release.answer + self.error
        most = high if self.size is None else self.size
        return max(0, min(low, most)), max(0, min(high, most))

    @property
    def odds(self) -> str:
        """What ε means for the person or the row that was counted, in words."""
        return self.release.odds


def answer_to(  # noqa: PLR0913, PLR0917 - all that decides an answer and its charge
    where: str,
    dataset: DatasetConfig,
    configuration: Config,
    epsilon: Fraction,
    confidence: float,
    analyst: Analyst = Analyst(),  # noqa: B008 - frozen
    slot: Slot | None = None,
) -> Answer:
    """The answer to a question about a data set, charged to the ledger; or a refusal.

    Args:
        where: The question in the predicate language.
        dataset: Whose records are counted.
        configuration: Where the ledger is.
        epsilon: The price of the answer.
        confidence: With which the error is stated, in (0, 1).
        analyst: Who asks.
        slot: When the reply leaves; None: as soon as it is there. A file that cannot be asked and a
            question outside the language are refused before it: so such a question makes no ledger,
            and its refusal depends on the columns alone.

    Raises:
        NoisyCountError: The question, the file, the budget or the ledger refuses it.
    """
    with ExitStack() as opened:
        ledger = opened.enter_context(existing_ledger(configuration, makes=True))
        register = Register.of(ledger, configuration.data_folder)
        records = opened.enter_context(records_of(dataset, register))
        meaning = records.meaning(where)  # a refused question makes no ledger
        if ledger is None:
            records.prepare()
            configuration.make_ledger_folder()
            ledger = opened.enter_context(Ledger.open(configuration.ledger_url))
        paying = Dataset(records.name, dataset.budget)
        desk = records.desk(ledger, paying, slot, analyst)
        release = desk.release(where, epsilon, confidence=confidence)
        texts = map(json.dumps, records.wordings(where))  # as questions hold them
        asked = [entry for text in texts for entry in ledger.asking(records.name, text)]
        earlier = records.earlier(where, asked)
    return Answer(
        release=release,
        meaning=meaning,
        unit=records.unit,
        neighbours=neighbours_of_size(dataset.size),
        budget=dataset.budget,
        analyst=analyst,
        error=release.error,
        confidence=confidence,
        ledger=configuration.ledger_file,
        size=dataset.size,
        better=_better(earlier, epsilon),
    )


def _better(earlier: list[Entry], epsilon: Fraction) -> StoredCount | None:
    """The answer at the largest ε above this one, if there is one."""
    answered = filter(None, map(StoredCount.of, earlier))
    best = max(answered, key=lambda count: count.epsilon, default=None)
    return best if best is not None and best.epsilon > epsilon else None


def dataset_asked(configuration: Config, source: str, unit: str | None) -> DatasetConfig:
    """The data set that SOURCE means, counted by the unit that the asker names.

    Raises:
        ConfigError: SOURCE is unknown, or its owner configured it by another unit.
    """
    dataset = configuration.dataset(source)
    if unit is None or unit == dataset.unit:
        return dataset
    if not dataset.is_path:
        chosen = "counts rows" if dataset.unit == ROW else f"counts distinct {dataset.unit!r}"
        raise ConfigError(
            f"--unit {unit!r}: data set {dataset.name!r} {chosen}, as its owner configured it; "
            "leave --unit out"
        )
    return replace(dataset, unit=unit)
