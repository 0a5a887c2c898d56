"""What a debit adds up to, where both budgets and the clock admit it."""

from datetime import datetime, timedelta

from noisycount.errors import BudgetError, LedgerError
from noisycount.release.budget.budgets import Budget
from noisycount.release.budget.exact import exact_text
from noisycount.release.budget.loss import Loss
from noisycount.release.ledger.book import Book
from noisycount.release.ledger.entries import Analyst, Request

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
    price = Loss.of(request.epsilon)
    spent, own = book.paid_for(request.dataset), book.paid_by(analyst.name)
    _check_budget(request, budget, spent, spent + price, repr(request.dataset))
    if analyst.budget is not None:
        whose = f"analyst {analyst.name!r}"
        _check_budget(request, analyst.budget, own, own + price, whose)
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


def _check_budget(request: Request, limit: Budget, spent: Loss, total: Loss, whose: str) -> None:
    """Refuse a total that one budget does not admit."""
    if limit.admits(total):
        return
    raise BudgetError(
        f"epsilon {exact_text(request.epsilon)} exceeds the {exact_text(limit.left(spent))} that is"
        f" left of the budget {limit.text} of {whose}; ask at a lower price, or repeat an old"
        " question free of charge"
    )
