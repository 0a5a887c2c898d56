"""A private count in words."""

from collections.abc import Iterator, Sequence
from fractions import Fraction

from noisycount.app.count.question import Answer
from noisycount.app.count.trial import Trial
from noisycount.app.terminal.printing import Facts
from noisycount.model.noises.discrete_laplace import DiscreteLaplace
from noisycount.release.budget.budgets import Budget
from noisycount.release.budget.exact import exact_text
from noisycount.release.ledger.entries import ANALYST, Analyst
from noisycount.release.remains import next_words
from noisycount.shown.numbers import approximately, odds_sentence, percent, plus_minus, signed
from noisycount.shown.told import told_name

__all__ = ["accepted", "answer_facts", "counted", "left", "trial_facts"]


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
