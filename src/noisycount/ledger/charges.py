"""Charges of a request: the stored entry that answers it for free, or the loss that both budgets must pay.

`Ledger` makes a `Charge` in the transaction of a request.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import cast

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


@dataclass(slots=True)
class Charge:
    """A request in a transaction of the ledger: what answers it for free, and what is charged for it."""

    connection: Connection
    state: LedgerState
    request: Request
    forms: Sequence[Request]  # all forms in which the ledger may hold the request
    budget: Budget  # budget of the data set
    analyst: Analyst  # analyst who asks, with a budget

    def find_stored_entry(
        self, known: str | None = None, asked: Request | None = None
    ) -> tuple[Entry | None, Entry | None]:
        """Return the debit that answers the request for free, or else the debit that it tops up; None: there is none.

        The request must be payable (see `require_payable`) unless the analyst has a debit that answers it. A debit
        without an answer may be the first result: it must be answered before it is topped up.

        Args:
            known: The key of a debit that answers the request, if the request names one.
            asked: The request that must be payable, if it is another one.
        """
        state, base = self.state, None
        key = known or state.covering_key(self.forms, self.analyst)
        if key is None:
            self.require_payable(asked or self.request)
            key, base = state.covering_key(self.forms), state.entry(self.connection, state.base_key(self.forms))
        if key is not None:
            if key not in state.answers:
                key = state.answered_top_up_key(key) or key
            return state.entry(self.connection, key), None
        if base is None:
            return None, None
        identities = [identity_of(either) for either in (self.request, base.request)]
        needs_answer_below = any(identity.is_reserve or identity.is_gaussian for identity in identities)
        if needs_answer_below and (base.answer is None or state.settled_key(self.forms)):
            return base, None
        return None, base

    def require_payable(self, request: Request) -> None:
        """Raise BudgetError unless both budgets pay for a request as if no other analyst had asked its question.

        Only debits that the analyst may see lower the price. So neither an error nor its text depends on the questions
        of others. An analyst cannot search for these questions without paying or leaving a row in the ledger.
        """
        base = self.state.entry(self.connection, self.state.base_key(self.forms, self.analyst))
        self.totals_after(request if base is None else _top_up_of(base, request))

    def totals_after(self, request: Request) -> tuple[Loss, Loss]:
        """Return the total losses of data set and analyst after a request, or raise BudgetError."""
        price, analyst = request.price, self.analyst
        spent = self.state.datasets.get(request.dataset, NO_LOSS)
        analyst_spent = self.state.analysts.get(analyst.name, NO_LOSS)
        if not self.budget.admits(spent + price):
            raise BudgetError(_excess_text(price, self.budget, spent, repr(redacted_name(request.dataset))))
        if analyst.budget is not None and not analyst.budget.admits(analyst_spent + price):
            raise BudgetError(_excess_text(price, analyst.budget, analyst_spent, f"analyst {analyst.name!r}"))
        return spent + price, analyst_spent + price

    def append_debit(self, key: str, base: Entry | None, purpose: str | None, time: datetime) -> Entry:
        """Charge the request, or its top-up of `base`: append a debit to the draft of the ledger, and return it.

        Times in a ledger never decrease, so the debit has the time of the newest row if that is later. If the given
        time is over a minute before the newest row, raise LedgerError.
        """
        charged = self.request if base is None else _top_up_of(base, self.request)
        spent, analyst_spent = self.totals_after(charged)
        newest = self.state.made
        if time + _DRIFT < newest:
            raise LedgerError(
                f"the clock says {time:%Y-%m-%d %H:%M} UTC, but the newest row of the ledger is of"
                f" {newest:%Y-%m-%d %H:%M} UTC; set the clock right and ask again"
            )
        debit = Entry(key, charged, spent, max(time, newest), None, self.analyst.name, analyst_spent, purpose)
        self.state.append(debit_columns(debit), debit)
        return cast("Entry", self.state.entry(self.connection, key))


def _top_up_of(base: Entry, request: Request) -> Request:
    """Return the request to charge if a request tops up a debit."""
    return topped_up(base, identity_of(request).price, request.asked.get("within"))


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
