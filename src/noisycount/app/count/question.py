"""One private count from start to end: what every way of asking shares."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from noisycount.app.config.config import Config, DatasetConfig
from noisycount.app.count.counter import Counter, counter_of
from noisycount.app.count.impossible import impossible_hints, in_vain
from noisycount.app.ledger.stored_count import StoredCount
from noisycount.errors import ConfigError
from noisycount.release.budget.budgets import Budget
from noisycount.release.budget.neighbours import NeighbourRelation, neighbours_of_size
from noisycount.release.desk import Release
from noisycount.release.ledger.enclosure import Enclosure
from noisycount.release.ledger.entries import Analyst
from noisycount.release.register.written import ROW
from noisycount.release.remains import Remains
from noisycount.release.slot import Slot

__all__ = ["Answer", "answer_at", "answer_to", "better_answer", "dataset_asked"]


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
        better: A stored answer to the same question at the largest ε above this one, if the analyst
            has any.
        impossible: What the question says of itself: that no record can satisfy a part of it.
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
    impossible: Sequence[str] = ()

    @property
    def interval(self) -> tuple[int, int]:
        """Where the count lies with the confidence: within ±error, not below 0 or above all."""
        low, high = self.release.answer - self.error, self.release.answer + self.error
        most = high if self.size is None else self.size
        return max(0, min(low, most)), max(0, min(high, most))

    @property
    def remains(self) -> Remains:
        """What is left of the data set's budget and of the analyst's own."""
        found = self.release.remains
        return found or Remains(self.budget, self.release.remaining)

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
    *,
    purpose: str | None = None,
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
        purpose: What the answer is for.

    Raises:
        NoisyCountError: The question, the file, the budget or the ledger refuses it.
    """
    with counter_of(dataset, configuration, makes=True) as counter:
        _possible(counter, where, epsilon, analyst)  # a refused question makes no ledger
        with counter.charging() as charged:
            answer = answer_at(charged, where, epsilon, confidence, analyst, slot, purpose=purpose)
            return replace(answer, better=better_answer(charged, where, epsilon, analyst))


def answer_at(  # noqa: PLR0913, PLR0917 - all that decides an answer and its charge
    counter: Counter,
    where: str,
    epsilon: Fraction,
    confidence: float,
    analyst: Analyst,
    slot: Slot | None = None,
    key: str | None = None,
    *,
    purpose: str | None = None,
    enclose: Callable[[Answer], Enclosure] | None = None,
) -> Answer:
    """The same of open records and an open ledger, which is not searched for better answers.

    Args:
        counter: The records and the ledger.
        where: As for `answer_to`, like all that is not told here.
        epsilon: The price.
        confidence: With which the error is stated.
        analyst: Who asks.
        slot: When the reply leaves.
        key: What the asker calls the question; None: a random name.
        purpose: What the answer is for.
        enclose: Gives what is written with a new answer; None: nothing is.

    Raises:
        NoisyCountError: The question, the file, the budget or the ledger refuses it.
    """
    meaning = counter.records.meaning(where)
    impossible = _possible(counter, where, epsilon, analyst)

    def told(release: Release) -> Answer:
        return Answer(
            release=release,
            meaning=meaning,
            unit=counter.records.unit,
            neighbours=neighbours_of_size(counter.dataset.size),
            budget=counter.dataset.budget,
            analyst=analyst,
            error=release.error,
            confidence=confidence,
            ledger=counter.ledger_file,
            size=counter.dataset.size,
            impossible=impossible,
        )

    enclosed = None if enclose is None else lambda release: enclose(told(release))
    desk = counter.desk(analyst, slot, enclosed)
    return told(desk.release(where, epsilon, confidence=confidence, key=key, purpose=purpose))


def _possible(counter: Counter, where: str, epsilon: Fraction, analyst: Analyst) -> list[str]:
    """What no record can satisfy of a question that the analyst paid for; else its refusal."""
    hints = impossible_hints([where], counter.records.schema)
    if hints and not counter.is_free(analyst, counter.records.count_requests(where, epsilon)):
        raise in_vain(hints)
    return hints


def better_answer(
    counter: Counter, where: str, epsilon: Fraction, analyst: Analyst
) -> StoredCount | None:
    """An analyst's answer to the same question at the largest ε above this one, if there is one."""
    answered = filter(None, map(StoredCount.of, counter.earlier(where, analyst)))
    best = max(answered, key=lambda count: count.epsilon, default=None)
    return best if best is not None and best.epsilon > epsilon else None


def dataset_asked(
    configuration: Config, source: str, unit: str | None, option: str = "--unit"
) -> DatasetConfig:
    """The data set that SOURCE means, counted by the unit that the asker names.

    Args:
        configuration: Which data sets there are.
        source: What the asker typed.
        unit: The column that names the person, where the asker says it.
        option: By what it is said, for a refusal.

    Raises:
        ConfigError: SOURCE is unknown, or its owner configured it by another unit.
    """
    dataset = configuration.dataset(source)
    if unit is None or unit == dataset.unit:
        return dataset
    if not dataset.is_path:
        chosen = "counts rows" if dataset.unit == ROW else f"counts distinct {dataset.unit!r}"
        raise ConfigError(
            f"{option} {unit!r}: data set {dataset.name!r} {chosen}, as its owner configured it; "
            f"leave {option} out"
        )
    return replace(dataset, unit=unit)
