"""Charges of a request: the stored entry that answers it for free, or the loss that both budgets must pay.

`Ledger.reserve` uses them in its transaction.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import Connection

from noisycount.display.documentation import BUDGET_PAGE
from noisycount.display.texts import redacted_name
from noisycount.errors import BudgetError, LedgerError
from noisycount.ledger.budget import Budget, Loss
from noisycount.ledger.chain import debit_columns
from noisycount.ledger.entries import Analyst, Entry, Request
from noisycount.ledger.series import identity_of, topped_up
from noisycount.ledger.state import NO_LOSS, LedgerState
from noisycount.validation import exact_text

_DRIFT = timedelta(minutes=1)  # between the clocks of machines that share a ledger


def find_stored_entry(  # noqa: PLR0913, PLR0917 - the arguments of a debit
    connection: Connection,
    state: LedgerState,
    request: Request,
    forms: Sequence[Request],
    budget: Budget,
    analyst: Analyst,
    known: str | None = None,
    asked: Request | None = None,
) -> tuple[Entry | None, Entry | None]:
    """Return the debit that answers a request for free, or else the debit that the request tops up.

    Either is None if there is none. The request must be payable (see `require_payable`) unless the analyst has a debit
    that answers it. A debit without an answer may be the first result: it must be answered before it is topped up.

    Args:
        connection: The connection of the transaction.
        state: The state of the ledger.
        request: The request.
        forms: All forms in which the ledger may hold the request.
        budget: The budget of the data set.
        analyst: The analyst who asks, with a budget.
        known: The key of a debit that answers the request, if the request names one.
        asked: The request that must be payable, if it is not `request`.
    """
    key, base = known or state.covering_key(forms, analyst), None
    if key is None:
        require_payable(connection, state, asked or request, forms, budget, analyst)
        key, base = state.covering_key(forms), state.entry(connection, state.base_key(forms))
    if key is not None:
        if key not in state.answers:
            key = state.answered_top_up_key(key) or key
        return state.entry(connection, key), None
    if base is None:
        return None, None
    identities = [identity_of(either) for either in (request, base.request)]
    needs_answer_below = any(identity.is_reserve or identity.is_gaussian for identity in identities)
    if needs_answer_below and (base.answer is None or state.settled_key(forms)):
        return base, None
    return None, base


def require_payable(  # noqa: PLR0913, PLR0917 - the arguments of a debit
    connection: Connection,
    state: LedgerState,
    request: Request,
    forms: Sequence[Request],
    budget: Budget,
    analyst: Analyst,
) -> None:
    """Raise BudgetError unless both budgets pay for a request as if no other analyst had asked its question.

    Only debits that the analyst may see lower the price. So neither an error nor its text depends on the questions of
    others. An analyst cannot search for these questions without paying or leaving a row in the ledger.
    """
    base = state.entry(connection, state.base_key(forms, analyst))
    totals_after(state, request if base is None else top_up_of(base, request), budget, analyst)


def top_up_of(base: Entry, request: Request) -> Request:
    """Return the request to charge if a request tops up a debit."""
    return topped_up(base, identity_of(request).price, request.asked.get("within"))


def totals_after(state: LedgerState, request: Request, budget: Budget, analyst: Analyst) -> tuple[Loss, Loss]:
    """Return the total losses of data set and analyst after a request; raise BudgetError if a budget admits less."""
    price = request.price
    spent = state.datasets.get(request.dataset, NO_LOSS)
    analyst_spent = state.analysts.get(analyst.name, NO_LOSS)
    if not budget.admits(spent + price):
        raise BudgetError(_excess_text(price, budget, spent, repr(redacted_name(request.dataset))))
    if analyst.budget is not None and not analyst.budget.admits(analyst_spent + price):
        raise BudgetError(_excess_text(price, analyst.budget, analyst_spent, f"analyst {analyst.name!r}"))
    return spent + price, analyst_spent + price


def append_debit(  # noqa: PLR0913, PLR0917 - all that a debit keeps
    state: LedgerState,
    key: str,
    request: Request,
    budget: Budget,
    analyst: Analyst,
    purpose: str | None,
    time: datetime,
) -> None:
    """Charge a request: append its debit to a draft of the ledger. Raise BudgetError if a budget admits less.

    Times in a ledger never decrease, so the debit has the time of the newest row if that is later. If the given time is
    over a minute before the newest row, raise LedgerError.
    """
    spent, analyst_spent = totals_after(state, request, budget, analyst)
    if time + _DRIFT < state.made:
        raise LedgerError(
            f"the clock says {time:%Y-%m-%d %H:%M} UTC, but the newest row of the ledger is of"
            f" {state.made:%Y-%m-%d %H:%M} UTC; set the clock right and ask again"
        )
    debit = Entry(key, request, spent, max(time, state.made), None, analyst.name, analyst_spent, purpose)
    state.append(debit_columns(debit), debit)


_REMEDY = f"ask at a lower price, or repeat an old question free of charge ({BUDGET_PAGE})"


def _excess_text(price: Loss, limit: Budget, spent: Loss, whose: str) -> str:
    """Return the text of a BudgetError: why a budget does not admit a price, and the remedy."""
    obstacle = limit.obstacle(price, whose)
    if obstacle is not None:
        return obstacle
    whole = f"the budget {limit.text} of {whose}"
    if price.epsilon is None or price.delta:
        in_epsilon = price.epsilon is not None and spent.epsilon is not None
        sums = f"ε = {float(spent.epsilon or 0):.4g}" if in_epsilon else f"ρ = {float(spent.rho):.4g}"
        sums += f" and δ = {float(spent.delta):.4g}" if price.delta else ""
        why = f"{price.text} exceeds what is left of {whole}, which has spent {sums}"
    else:
        left = exact_text(limit.left(spent))
        why = f"epsilon {exact_text(price.epsilon)} exceeds the {left} that is left of {whole}"
    return f"{why}; {_REMEDY}"
