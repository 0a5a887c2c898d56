"""What a question would cost and give, without asking it.

A private count in words.

A private count as JSON.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from noisycount.config.config import Config, DatasetConfig
from noisycount.display.numbers import (
    approximately,
    exact_text,
    odds_sentence,
    percent,
    plus_minus,
    signed,
)
from noisycount.display.texts import told_name
from noisycount.frozen import frozen
from noisycount.ledger.approximate import NeighbourRelation, neighbours_of_size
from noisycount.ledger.budget import Budget
from noisycount.ledger.entries import ANALYST, Analyst
from noisycount.model.half_width import error_within
from noisycount.model.noises.laplace import DiscreteLaplace
from noisycount.release.answer import Remains, next_words
from noisycount.tasks.count import Answer, better_answer, impossible_hints
from noisycount.tasks.opening import Counter, Spent, counter_of
from noisycount.terminal.printing import Facts

__all__ = [
    "NEIGHBOURS",
    "Trial",
    "accepted",
    "answer_facts",
    "answer_object",
    "counted",
    "left",
    "trial_facts",
    "trial_object",
]


@frozen
class Trial:
    """A question that parses, and what an answer would cost; nothing is charged or counted.

    Attributes:
        dataset: Whose records would be counted.
        unit: The column whose distinct values would be; None for rows.
        where: The canonical text of the question.
        meaning: The question in English.
        epsilon: The price of an answer.
        error: The count would lie within ±error of the answer with the confidence, in units.
        confidence: The probability of that.
        analyst: Who would ask.
        remains: What is left of both budgets now.
        repeated: Whether the analyst asked it at this price before, and it is free. What only
            others asked is told as what nobody asked: at its full price.
        unreadable_as_missing: The columns of the question whose cells, where they could not be
            read, count as missing.
        hints: What the question says of itself: that no record can satisfy a part of it.
    """

    dataset: DatasetConfig
    unit: str | None
    where: str
    meaning: str
    epsilon: Fraction
    error: int
    confidence: float
    analyst: Analyst
    remains: Remains
    repeated: bool
    unreadable_as_missing: tuple[str, ...] = ()
    hints: Sequence[str] = ()

    @classmethod
    def of(  # noqa: PLR0913, PLR0917 - all that decides a price
        cls,
        where: str,
        dataset: DatasetConfig,
        configuration: Config,
        epsilon: Fraction,
        confidence: float,
        analyst: Analyst,
    ) -> "Trial":
        """The trial of a question at a price; no ledger is made for it.

        Raises:
            NoisyCountError: The file, the question or the ledger refuses it.
        """
        with counter_of(dataset, configuration) as counter:
            return cls.at(counter, where, epsilon, confidence, analyst)

    @classmethod
    def at(
        cls, counter: Counter, where: str, epsilon: Fraction, confidence: float, analyst: Analyst
    ) -> "Trial":
        """The same of open records.

        Raises:
            NoisyCountError: The question or the ledger refuses it.
        """
        records, dataset = counter.records, counter.account
        text, meaning = records.text(where), records.meaning(where)
        better = better_answer(counter, where, epsilon, analyst)
        return cls(
            dataset=dataset,
            unit=records.unit,
            where=text,
            meaning=meaning,
            epsilon=epsilon,
            error=error_within(DiscreteLaplace.for_epsilon(epsilon), confidence),
            confidence=confidence,
            analyst=analyst,
            remains=Spent.of(dataset, analyst, counter.ledger).remains,
            repeated=counter.is_free(analyst, records.count_requests(where, epsilon)),
            unreadable_as_missing=records.unreadable_as_missing(where),
            hints=[
                *impossible_hints([where], records.schema),
                *([] if better is None else [better.words(confidence)]),
            ],
        )

    @property
    def remaining(self) -> Fraction:
        """The largest ε at which one more question may be asked now."""
        return self.remains.remaining

    @property
    def affordable(self) -> bool:
        """Whether the budget pays for it."""
        return self.repeated or self.epsilon <= self.remaining

    @property
    def affordable_answers(self) -> int | None:
        """How many answers at this price the budget pays for; None where prices do not add up."""
        return self.remaining // self.epsilon if self.remains.is_a_sum else None

    @property
    def cost(self) -> Fraction:
        """What it would be charged."""
        return Fraction(0) if self.repeated else self.epsilon


def answer_facts(answer: Answer, hints: Sequence[str] = ()) -> Facts:
    """A private count in words, and what to do better."""
    release = answer.release
    account = "" if answer.analyst.name == ANALYST else f" to {answer.analyst.name}"
    remaining = left(release.remaining, answer.budget, answer.analyst)
    paid = exact_text(release.charged) + account
    if release.repeated:
        paid = "nothing: this was asked before"
    return [
        ("question", f"{release.where}  ({answer.meaning})"),
        ("data set", counted(release.dataset, answer.unit)),
        ("answer", f"{signed(release.answer)} {plus_minus(answer.error)}{_bound(answer)}"),
        (
            "",
            f"with {percent(answer.confidence)} confidence the true count lies that near",
        ),
        *(("", words) for words in accepted(release.unreadable_as_missing)),
        ("noise", f"{release.mechanism.name}, scale {approximately(release.scale)}"),
        ("privacy", f"ε = {exact_text(release.epsilon)}: {answer.odds}"),
        ("budget", f"charged {paid}; {remaining}"),
        ("ledger", told_name(answer.ledger) if answer.ledger else "on a server"),
        *(("hint", hint) for hint in hints),
    ]


def accepted(columns: Sequence[str]) -> Iterator[str]:
    """That cells which do not fit were taken for missing, as their owner accepted."""
    if columns:
        yield f"cells of {' and '.join(columns)} that could not be read count as missing"


def _bound(answer: Answer) -> str:
    """What the interval says where a part of it lies below 0 or above all."""
    low, high = answer.interval
    if answer.release.answer < answer.error:
        return f", so at most {signed(high)}"
    is_cut = answer.size is not None and answer.release.answer + answer.error > answer.size
    return f", so at least {signed(low)}" if is_cut else ""


def trial_facts(trial: Trial) -> Facts:
    """What a question would cost and give, in words."""
    scale = DiscreteLaplace.for_epsilon(trial.epsilon).scale
    odds = odds_sentence(trial.epsilon, "person" if trial.unit else "row")
    remaining = left(trial.remaining, trial.dataset.budget, trial.analyst)
    sure = f"with {percent(trial.confidence)} confidence"
    return [
        ("question", f"{trial.where}  ({trial.meaning})"),
        ("data set", counted(trial.dataset.name, trial.unit)),
        ("answer", f"would be within {plus_minus(trial.error)} of the true count {sure}"),
        *(("", words) for words in accepted(trial.unreadable_as_missing)),
        ("noise", f"discrete Laplace, scale {approximately(scale)}"),
        ("privacy", f"ε = {exact_text(trial.epsilon)}: {odds}"),
        ("price", _price(trial)),
        ("budget", f"charged nothing: this was a dry run; {remaining}"),
        *(("hint", hint) for hint in trial.hints),
    ]


def _price(trial: Trial) -> str:
    """What an answer would be charged, or that it would be refused."""
    if trial.repeated:
        return "nothing: this was asked before, and is answered free of charge"
    if trial.affordable:
        return f"{exact_text(trial.epsilon)} would be charged"
    return f"{exact_text(trial.epsilon)} exceeds what is left: it would be refused"


def counted(dataset: str, unit: str | None) -> str:
    """Whose records are counted, by what."""
    by = f"distinct values of {unit}" if unit else "rows"
    return f"{told_name(dataset)}, counting {by}"


def left(largest: Fraction, budget: Budget, analyst: Analyst) -> str:
    """What one more question may cost, of which budget."""
    own = analyst.budget
    if own is None and budget.is_a_sum:
        return f"{approximately(largest)} of {budget.text} left"
    budgets = budget.text if own is None else f"{budget.text}, and {analyst.name}'s own {own.text}"
    return f"{next_words(largest)} (budget {budgets})"


NEIGHBOURS = {
    NeighbourRelation.ADD_REMOVE: "adding or removing",
    NeighbourRelation.REPLACEMENT: "replacement",
}


def answer_object(answer: Answer, hints: Sequence[str] = ()) -> dict[str, Any]:
    """A private count; budgets and scales are exact decimals or fractions, as text.

    The count lies from `low` to `high` with the confidence, as it lies within ±error of the answer,
    not below 0 and not above the public size.
    """
    release, (low, high) = answer.release, answer.interval
    return {
        "answer": release.answer,
        "error": answer.error,
        "low": low,
        "high": high,
        "confidence": answer.confidence,
        "dataset": release.dataset,
        "where": release.where,
        "meaning": answer.meaning,
        "unit": answer.unit,
        "unreadable_as_missing": list(release.unreadable_as_missing),
        "neighbours": NEIGHBOURS[answer.neighbours],
        "mechanism": release.mechanism.name,
        "scale": exact_text(release.scale),
        "epsilon": exact_text(release.epsilon),
        "odds": answer.odds,
        "charged": exact_text(release.charged),
        **answer.remains.object,
        "analyst": answer.analyst.name,
        "repeated": release.repeated,
        "key": release.key,
        "ledger": None if answer.ledger is None else told_name(answer.ledger),
        "better": _better(answer),
        "hints": list(hints),
    }


def _better(answer: Answer) -> dict[str, Any] | None:
    """A stored answer to the same question with less noise."""
    if answer.better is None:
        return None
    return {
        "answer": answer.better.answer,
        "error": answer.better.error(answer.confidence),
        "epsilon": exact_text(answer.better.epsilon),
        "key": answer.better.key,
    }


def trial_object(trial: Trial) -> dict[str, Any]:
    """What a question would cost and give; the names are those of an answer."""
    return {
        "dry_run": True,
        "answer": None,
        "error": trial.error,
        "confidence": trial.confidence,
        "dataset": told_name(trial.dataset.name),
        "where": trial.where,
        "meaning": trial.meaning,
        "unit": trial.unit,
        "unreadable_as_missing": list(trial.unreadable_as_missing),
        "neighbours": NEIGHBOURS[neighbours_of_size(trial.dataset.size)],
        "epsilon": exact_text(trial.epsilon),
        "odds": odds_sentence(trial.epsilon, "person" if trial.unit else "row"),
        "cost": exact_text(trial.cost),
        "charged": "0",
        **trial.remains.object,
        "affordable": trial.affordable,
        "analyst": trial.analyst.name,
        "repeated": trial.repeated,
        "hints": list(trial.hints),
    }
