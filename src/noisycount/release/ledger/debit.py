"""What a debit adds up to, where both budgets and the clock admit it."""

from datetime import datetime, timedelta

from noisycount.errors import BudgetError, LedgerError
from noisycount.release.budget.budgets import Budget
from noisycount.release.budget.exact import exact_text
from noisycount.release.budget.loss import Loss
from noisycount.release.ledger.book import Book
from noisycount.release.ledger.entries import Analyst, Request
from noisycount.shown.told import told_name

__all__ = ["time_of_debit", "totals"]

_DRIFT = timedelta(minutes=1)  # between the clocks of machines that share a ledger


def totals(book: Book, request: Request, budget: Budget, analyst: Analyst) -> tuple[Loss, Loss]:
    """What the data set and the analyst have paid in all once a request is charged.

    Args:
        book: What was charged before.
        request: What is asked, and at what price; it was not charged before.
        budget: The most that the data set may pay in all.
        analyst: Who asks; the price must fit the analyst's budget as well.

    Raises:
        BudgetError: The price exceeds what is left.
    """
    price = request.price
    spent, own = book.paid_for(request.dataset), book.paid_by(analyst.name)
    _check_budget(price, budget, spent, repr(told_name(request.dataset)))
    if analyst.budget is not None:
        _check_budget(price, analyst.budget, own, f"analyst {analyst.name!r}")
    return spent + price, own + price


def time_of_debit(book: Book, time: datetime) -> datetime:
    """When a debit is made: times in a ledger never decrease.

    Args:
        book: What was charged before.
        time: What the clock says, in UTC.

    Raises:
        LedgerError: The clock is more than a minute behind the newest row.
    """
    if time + _DRIFT < book.made:
        raise LedgerError(
            f"the clock says {time:%Y-%m-%d %H:%M} UTC, but the newest row of the ledger is of"
            f" {book.made:%Y-%m-%d %H:%M} UTC; set the clock right and ask again"
        )
    return max(time, book.made)


def _check_budget(price: Loss, limit: Budget, spent: Loss, whose: str) -> None:
    """Refuse a price that one budget does not admit."""
    if limit.admits(spent + price):
        return
    obstacle = limit.obstacle(price, whose)
    if obstacle is not None:
        raise BudgetError(obstacle)
    whole = f"the budget {limit.text} of {whose}"
    if price.epsilon is None or price.delta:
        told = f"{price.text} exceeds what is left of {whole}, which has spent"
        told = f"{told} {_spent_in(price, spent)}"
    else:
        left = exact_text(limit.left(spent))
        told = f"epsilon {exact_text(price.epsilon)} exceeds the {left} that is left of {whole}"
    raise BudgetError(f"{told}; ask at a lower price, or repeat an old question free of charge")


def _spent_in(price: Loss, spent: Loss) -> str:
    """What was spent, in the sums that a price is added to."""
    in_epsilon = price.epsilon is not None and spent.epsilon is not None
    sums = f"ε = {float(spent.epsilon or 0):.4g}" if in_epsilon else f"ρ = {float(spent.rho):.4g}"
    return f"{sums} and δ = {float(spent.delta):.4g}" if price.delta else sums
