"""Previews of answers: the price of a query and the errors that its answer would have.

A preview reads no record, charges nothing and creates no ledger.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

from noisycount.config.config import Config, DatasetConfig
from noisycount.display.numbers import approximately, plus_minus, signed
from noisycount.errors import PredicateError
from noisycount.frozen import frozen
from noisycount.ledger.budget import Loss
from noisycount.ledger.entries import Analyst, Entry, Request
from noisycount.ledger.series import covers, difference, highest_priced_entry, identity_of, topped_up
from noisycount.query.query import Query
from noisycount.release.dataset import RemainingBudget, next_price_words
from noisycount.release.goal import AccuracyGoal, StoppingSchedule
from noisycount.release.noise_plan import TablePlan
from noisycount.release.publishing import meets_goal, stopping_schedule, stored_answer
from noisycount.release.query_plan import QueryPlan
from noisycount.release.text_orders import reading_hints
from noisycount.tasks.answer import PricedQuery, check_rows
from noisycount.tasks.opening import DatasetSession, session_of

# Which answers the running total of a preview is of.
_WITH_ANSWER, _WITH_LARGEST_PRICE = "with this one", "with this one at its highest price"


@frozen(kw_only=True)
class AnswerPreview(PricedQuery):
    """The price of a query and the errors of its answer, before anything is charged or counted."""

    affordable: bool = True  # True if the budgets pay for the answer
    topped_up: Entry | None = None  # the most accurate answer of the analyst that this one would top up
    budget_hints: Sequence[str] = ()  # hints about the budget that an answer with Gaussian noise would leave

    @property
    def noise(self) -> TablePlan:
        """Noise of the counts, level by level. That of an accuracy goal has the errors at the largest price."""
        plan = self.plan
        if plan.goal is None or self.repeated:
            return plan.noise
        return StoppingSchedule(plan.goal, plan.noise, self.topped_up).with_noise_errors

    @property
    def error(self) -> int:
        """Half-width of the interval that contains a count with the confidence, in units.

        For an accuracy goal it is the error of an answer that stops at the largest price.
        """
        plan = self.plan
        if plan.goal is not None:
            return StoppingSchedule(plan.goal, plan.noise).rule.reach
        return plan.noise.levels[0].error(self.query.confidence)

    @property
    def cost(self) -> Loss:
        """Loss that the answer would cost; for a top-up, the difference in price."""
        if self.repeated:
            return Loss()
        price, paid = self.plan.loss, None if self.topped_up is None else self.topped_up.loss
        if paid is None:
            return price
        if price.epsilon is None or paid.epsilon is None:
            return difference(paid.rho, price.rho, is_gaussian=True)
        return difference(paid.epsilon, price.epsilon)

    @property
    def charge(self) -> Loss:
        """Charge of the answer, in the currency of the data set's budget."""
        return self.remains.dataset_budget.charge(self.cost)

    @property
    def affordable_answers(self) -> int | None:
        """Number of answers at this price that the budgets pay for; None if prices in ε do not add up."""
        price = self.plan.loss.epsilon
        return self.remains.remaining // price if self.remains.is_a_sum and price else None

    @property
    def obstacle(self) -> str | None:
        """Reason why even the whole budget does not pay for such an answer, with a remedy; None if it does."""
        return self.remains.dataset_budget.obstacle(self.cost, repr(self.dataset.name))

    @property
    def topped_up_words(self) -> str | None:
        """Sentence about the stored answer that would be topped up; None if there is none, or if this is a repeat."""
        base = self.topped_up
        if base is None or self.repeated:
            return None
        plan, price = self.plan.at_price_of(base), replace(base.loss, delta=Fraction(0)).text
        error = (_noise_at_stopped_price(plan, base) or plan.noise).levels[0].error(self.query.confidence)
        if isinstance(base.answer, int):
            return f"you have {signed(base.answer)} {plus_minus(error)} at {price}"
        return f"you have it at {price}, each count {plus_minus(error)}"

    @property
    def hints(self) -> list[str]:
        """Hints for the next question, and about the budget that the answer would leave."""
        return [*self.query_hints, *self.budget_hints]


def preview_of(
    query: Query, dataset: DatasetConfig, configuration: Config, analyst: Analyst, *, is_drawn: bool = False
) -> AnswerPreview:
    """Return the preview of an answer. Charges and counts nothing, and creates no ledger."""
    with session_of(dataset, configuration) as session:
        preview = preview_in_session(session, query, analyst)
        if is_drawn:
            check_rows(preview.plan)
        return preview


def preview_in_session(session: DatasetSession, query: Query, analyst: Analyst) -> AnswerPreview:
    """Return the preview of an answer in an open session. Charges and counts nothing.

    Raises PredicateError if the question orders texts like numbers or dates, and no answer to it is paid for.
    """
    records, plan = session.records, session.plan(query)
    remains = session.remaining_budget(analyst)
    requests = records.requests(plan)
    entries = session.entries_asking(analyst, requests)
    answered = [entry for entry in entries if entry.answer is not None]
    newest, base = highest_priced_entry(answered), None
    if identity_of(requests[0]).is_exact:
        base = highest_priced_entry(entry for entry in answered if identity_of(entry.request).is_exact)
    paid = highest_priced_entry(entry for entry in entries if covers(entry, requests[0])) or _stored_answer_for_goal(
        plan, answered, base
    )
    if plan.order_refusals and paid is None:
        raise PredicateError("; ".join(plan.order_refusals))
    preview = AnswerPreview(
        query=query,
        plan=plan,
        dataset=session.account,
        unit=records.unit,
        analyst=analyst,
        remains=remains,
        repeated=paid is not None,
        topped_up=base,
        is_independent=paid is None and base is None and newest is not None,
        unreadable_as_missing=records.unreadable_columns(plan),
        text_hints=[*plan.refusals, *reading_hints(plan.predicates)],
    )
    if paid is not None:
        return _repeat_preview(replace(preview, total=session.running_total()), paid)
    if base is not None and plan.goal is None:
        preview = replace(preview, plan=plan.at_price_of(_hypothetical_top_up(base, requests[0])))
    scope = _WITH_ANSWER if plan.goal is None else _WITH_LARGEST_PRICE
    preview = replace(preview, total=session.running_total(preview.cost, scope))
    if not remains.admits(preview.cost):
        return replace(preview, affordable=False)
    return replace(preview, budget_hints=list(_budget_hints(remains, preview.cost)))


def _stored_answer_for_goal(plan: QueryPlan, answered: Sequence[Entry], base: Entry | None) -> Entry | None:
    """Return the stored answer that is given for free because it meets the accuracy goal; None if there is none.

    It is the most accurate answer, if that meets the goal. Else an earlier answer must have had an equal goal: then
    `base`, the most accurate answer that can be topped up, is returned if there is one.
    """
    finest = highest_priced_entry(answered)
    if finest is None or plan.goal is None:
        return None
    if meets_goal(plan, finest):
        return finest
    same_goal = highest_priced_entry(entry for entry in answered if AccuracyGoal.from_entry(entry) == plan.goal)
    return same_goal and (base or same_goal)


def _repeat_preview(preview: AnswerPreview, paid: Entry) -> AnswerPreview:
    """Return the preview of a repeat, with the errors of the stored answer."""
    plan = preview.plan.at_price_of(paid)
    noise, stopping = _noise_at_stopped_price(plan, paid), stopping_schedule(plan, paid)
    if noise is None or stopping is None:
        return replace(preview, plan=plan)
    query = replace(preview.query, confidence=float(stopping.goal.confidence))
    return replace(preview, plan=replace(plan, noise=noise, goal=None), query=query)


def _noise_at_stopped_price(plan: QueryPlan, entry: Entry) -> TablePlan | None:
    """Return the noise at the price at which a stored answer reached its accuracy goal; None if it had no goal."""
    answer, stopping = stored_answer(plan, entry), stopping_schedule(plan, entry)
    if stopping is None or answer is None:
        return None
    noise: TablePlan = stopping.table_fields(answer.levels)["plan"]
    return noise


def _hypothetical_top_up(base: Entry, request: Request) -> Entry:
    """Return a hypothetical debit that tops up an answer. Its totals include only its own price."""
    more, replaces = topped_up(base, identity_of(request).price), (base.key, *base.replaces)
    return replace(base, request=more, spent=more.price, analyst_spent=more.price, replaces=replaces, base=base)


def _budget_hints(remains: RemainingBudget, price: Loss) -> Iterator[str]:
    """Yield a hint about the budget that an answer with Gaussian noise would leave. Yield nothing for Laplace noise."""
    if price.epsilon is not None:
        return
    remaining = next_price_words(min(budget.left_after(price) for budget in remains.budgets))
    if any(budget.left_in_rho is not None for budget in remains.budgets):
        now = approximately(remains.remaining)
        yield (
            "this would be the first answer with Gaussian noise: after it the ρ of all answers"
            f" count, not their ε, and {remaining}, not {now}"
        )
    else:
        yield f"after it {remaining}"
