"""A count that was answered before, as a ledger keeps it.

What a question says of itself: that no record can satisfy a part of it.

One private count from start to end: what every way of asking shares.

What to do better next time, from the question and published numbers alone.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from noisycount.catalog.record import ROW
from noisycount.config.config import Config, DatasetConfig
from noisycount.display.numbers import exact_text, percent, plus_minus, signed
from noisycount.errors import ConfigError, NoisyCountError, PredicateError
from noisycount.frozen import frozen
from noisycount.ledger.approximate import NeighbourRelation, neighbours_of_size
from noisycount.ledger.budget import Budget
from noisycount.ledger.entries import Analyst, Entry, asks_for_table
from noisycount.ledger.transactions import Enclosure
from noisycount.model.half_width import error_within
from noisycount.model.noises.laplace import DiscreteLaplace
from noisycount.query.contradictions import contradictions
from noisycount.query.predicate import And, Predicate, Range
from noisycount.query.reading import read
from noisycount.query.schema import Kind
from noisycount.query.text import canonical_text
from noisycount.release.answer import Release, Remains
from noisycount.release.reply_tick import ReplyTick
from noisycount.tasks.opening import Counter, counter_of
from noisycount.tasks.plan import planned

__all__ = [
    "Answer",
    "StoredCount",
    "answer_at",
    "answer_to",
    "better_answer",
    "dataset_asked",
    "hints",
    "impossible_hints",
    "in_vain",
]


@frozen
class StoredCount:
    """A noisy count and its price.

    Attributes:
        answer: In units.
        epsilon: What it cost.
        key: Under which the ledger keeps it.
    """

    answer: int
    epsilon: Fraction
    key: str

    @classmethod
    def of(cls, entry: Entry) -> "StoredCount | None":
        """The count of an entry; None where there is no answer yet, or it is a table."""
        answer, epsilon = entry.answer, entry.request.epsilon
        if not isinstance(answer, int) or epsilon is None or asks_for_table(entry):
            return None
        return cls(answer, epsilon, entry.key)

    def error(self, confidence: float) -> int:
        """The true count lies within ±error of the answer with the confidence, in units."""
        return error_within(DiscreteLaplace.for_epsilon(self.epsilon), confidence)

    def words(self, confidence: float) -> str:
        """Where the count is better known than by an answer at a lower price."""
        price, error = exact_text(self.epsilon), plus_minus(self.error(confidence))
        return (
            f"a better answer to this question is stored, and free with --epsilon {price}: "
            f"{signed(self.answer)} {error}"
        )


_SHOWN = 3  # of a table of many questions


def impossible_hints(wheres: Iterable[str], schema: Mapping[str, Kind]) -> list[str]:
    """A sentence for each part of the questions that no record can satisfy; no data is read.

    Args:
        wheres: Questions in the predicate language.
        schema: The columns that they may use.

    Raises:
        PredicateError: A question is outside the language.

    Example:
        >>> impossible_hints(["age between 64 and 1"], {"age": Kind.INTEGER})
        ['no record can satisfy age between 64 and 1: write the smaller end first']
    """
    parts = dict.fromkeys(
        part for where in wheres for part in contradictions(read(where, schema).normal)
    )
    told = [f"no record can satisfy {canonical_text(part)}{_remedy(part)}" for part in parts]
    return [*told[:_SHOWN], *_others(len(told) - _SHOWN)]


def in_vain(hints: Sequence[str]) -> PredicateError:
    """The refusal of a question that cannot mean what it says, before anything is charged.

    Args:
        hints: What no record can satisfy.
    """
    return PredicateError(f"where asks in vain: {'; '.join(hints)}")


def _others(number: int) -> Iterator[str]:
    """That there are more of them than are shown."""
    if number > 0:
        yield f"nor {number:,} other {'part' if number == 1 else 'parts'} of the questions"


def _remedy(part: Predicate) -> str:
    """What else may have been meant."""
    if isinstance(part, Range):
        return ": write the smaller end first"
    if isinstance(part, And):
        return ", all of it at once: write or between its parts where one of them is enough"
    return ""


@frozen
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
    slot: ReplyTick | None = None,
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
    slot: ReplyTick | None = None,
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


_FAR = 2  # times as large as the count may be, or as small


def hints(answer: Answer, guess: float | None = None, within: float | None = None) -> list[str]:
    """What the question says of itself, and the answer of its guess; no data is read.

    And where a better answer is.

    Args:
        answer: What was published.
        guess: The guess of the count that the price came from, in units; None where there was none.
        within: The half-width that was asked for, as a share of the guess.
    """
    found = list(answer.impossible)
    if guess and within:
        found.extend(_about_guess(answer, guess, within))
    if answer.better is not None:
        found.append(answer.better.words(answer.confidence))
    return found


def _about_guess(answer: Answer, guess: float, within: float) -> Iterator[str]:
    """What the goal costs for this answer, where the guess was far from all that it may be.

    Or where the goal is missed whatever the count is, as the guess was above all that it may be.
    """
    low, high = answer.interval
    is_far = low > _FAR * guess or guess > _FAR * high
    if not is_far and (guess <= high or answer.error <= within * high):
        return
    shown = plus_minus(guess).removeprefix("±")
    told = (
        f"the guess of {shown} was {'far off' if is_far else 'too large, and the goal is missed'}"
    )
    is_known = answer.release.answer > answer.error
    about = answer.release.answer if is_known else high
    if about < 1:
        yield f"{told}: the count is hardly above 0; say how far off with an ε instead"
        return
    most = "" if is_known else ", the most that it may be,"
    with suppress(NoisyCountError):  # no ledger keeps such a price
        price = planned(about, within, answer.confidence).epsilon
        only = "only " if price < answer.release.epsilon else ""
        yield (
            f"{told}: ±{percent(within)} of {signed(about)}{most} needs {only}"
            f"ε = {exact_text(price)}"
        )
