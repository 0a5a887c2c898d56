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
from noisycount.ledger.entries import Analyst, Entry, Request
from noisycount.ledger.series import identity_of, topped_up
from noisycount.ledger.state import LedgerState
from noisycount.validation import exact_text

_DRIFT = timedelta(minutes=1)  # between the clocks of machines that share a ledger


def totals_after(state: LedgerState, request: Request, budget: Budget, analyst: Analyst) -> tuple[Loss, Loss]:
    """Return the total losses of data set and analyst after a request; raise BudgetError if a budget admits less."""
    price = request.price
    spent, analyst_spent = state.paid_for(request.dataset), state.paid_by(analyst.name)
    if not budget.admits(spent + price):
        raise BudgetError(_excess_text(price, budget, spent, repr(redacted_name(request.dataset))))
    if analyst.budget is not None and not analyst.budget.admits(analyst_spent + price):
        raise BudgetError(_excess_text(price, analyst.budget, analyst_spent, f"analyst {analyst.name!r}"))
    return spent + price, analyst_spent + price


def find_stored_entry(  # noqa: PLR0913, PLR0917 - what decides about a request
    connection: Connection,
    state: LedgerState,
    covering: str | None,
    finest: Entry | None,
    request: Request,
    forms: Sequence[Request],
) -> Entry | None:
    """Return the existing debit that answers a request without a new debit; None if there is no such debit.

    Args:
        connection: The connection of the transaction.
        state: The state of the ledger.
        covering: The key of a debit that answers the request without a new charge; None: there is no such debit.
        finest: The debit at the highest price that the request may top up; None: there is no such debit.
        request: The request.
        forms: All forms in which the ledger may hold the request.
    """
    if covering is not None:
        if covering not in state.answers:
            covering = state.answered_top_up_key(covering) or covering
        return state.entry(connection, covering)
    if finest is None:
        return None
    identities = [identity_of(either) for either in (request, finest.request)]
    needs_answer_below = any(identity.is_reserve or identity.is_gaussian for identity in identities)
    return finest if needs_answer_below and (finest.answer is None or state.settled_key(forms)) else None


def charged_request(finest: Entry | None, request: Request) -> Request:
    """Return the request to charge: a top-up of the finest debit for the question if there is one, else the request."""
    if finest is None:
        return request
    return topped_up(finest, identity_of(request).price, request.asked.get("within"))


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
    visible_base = state.entry(connection, state.base_key(forms, analyst))
    totals_after(state, charged_request(visible_base, request), budget, analyst)


def time_of_debit(state: LedgerState, time: datetime) -> datetime:
    """Return the time of a new debit: the given time, or that of the newest row if it is later.

    Times in a ledger never decrease. If the given time is over a minute before the newest row, raise LedgerError.
    """
    if time + _DRIFT < state.made:
        raise LedgerError(
            f"the clock says {time:%Y-%m-%d %H:%M} UTC, but the newest row of the ledger is of"
            f" {state.made:%Y-%m-%d %H:%M} UTC; set the clock right and ask again"
        )
    return max(time, state.made)


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
