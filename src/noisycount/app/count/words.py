"""A private count in words."""

from noisycount.app.count.question import Answer
from noisycount.app.terminal.printing import Facts, seen_from_here
from noisycount.release.budget.exact import exact_text
from noisycount.release.ledger.entries import ANALYST
from noisycount.shown.numbers import approximately, percent, plus_minus, signed

__all__ = ["answer_facts"]


def answer_facts(answer: Answer) -> Facts:
    """A private count in words."""
    release = answer.release
    counted = f"distinct values of {answer.unit}" if answer.unit else "rows"
    account = "" if answer.analyst.name == ANALYST else f" to {answer.analyst.name}"
    paid = exact_text(release.charged) + account
    if release.repeated:
        paid = "nothing: this was asked before"
    return [
        ("question", f"{release.where}  ({answer.meaning})"),
        ("data set", f"{seen_from_here(release.dataset)}, counting {counted}"),
        ("answer", f"{signed(release.answer)} {plus_minus(answer.error)}"),
        (
            "",
            f"with {percent(answer.confidence)} confidence the true count lies that near",
        ),
        ("noise", f"{release.mechanism}, scale {approximately(release.scale)}"),
        ("privacy", f"ε = {exact_text(release.epsilon)}: {answer.odds}"),
        ("budget", f"charged {paid}; {_budget_left(answer)}"),
        ("ledger", seen_from_here(answer.ledger) if answer.ledger else "on a server"),
    ]


def _budget_left(answer: Answer) -> str:
    """What one more question may cost, of which budget."""
    remaining, budget = approximately(answer.release.remaining), answer.budget
    own = answer.analyst.budget
    if own is None and budget.is_a_sum:
        return f"{remaining} of {budget.text} left"
    budgets = budget.text if own is None else f"{budget.text} and {own.text}"
    return f"the next may cost up to {remaining} (budget {budgets})"
