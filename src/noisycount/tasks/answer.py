"""Answers and previews of one query, a count or a table, for the command line, the server and the pages.

`answer_to` charges the ledger and returns a published answer. `preview_of` returns the price and the errors that the
answer would have; it charges and counts nothing.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np

from noisycount.charts.theme import MOST_ROWS
from noisycount.config.config import Config, DatasetConfig
from noisycount.display.numbers import approximately, percent, plus_minus, signed
from noisycount.errors import NoisyCountError, PredicateError
from noisycount.frozen import frozen
from noisycount.ledger.budget import Loss
from noisycount.ledger.entries import Analyst, Entry, Request
from noisycount.ledger.price import RunningTotal, unit_noun
from noisycount.ledger.series import covers, difference, finest_of, standing_of, topped_up
from noisycount.ledger.transactions import AttachedWrite
from noisycount.model.noises.laplace import DiscreteLaplace
from noisycount.model.tables.levels import Level
from noisycount.query.query import Query
from noisycount.release.dataset import RemainingBudget, next_words
from noisycount.release.goal import Goal, Stopping
from noisycount.release.noise_plan import TablePlan
from noisycount.release.query_plan import CountPlan, QueryPlan
from noisycount.release.reply_tick import ReplyTick
from noisycount.release.results import Release
from noisycount.release.table_plan import table_plan
from noisycount.release.table_release import TableRelease
from noisycount.release.text_orders import reading_hints
from noisycount.tasks.opening import DatasetSession, existing_ledger, session_of
from noisycount.tasks.plan import planned
from noisycount.validation import exact_text

_ANEW = (
    "nothing says whether the records are still those of your earlier answer, so this one is independent and costs its "
    "full price; an edition, which the owner names, lets it top up the earlier answer for the difference"
)
_WITH_THIS, _AT_MOST = "with this one", "with this one at its highest price"  # answers of a previewed running total
_FAR = 2  # a guess is far off if it differs from the interval of the count by more than this factor


@frozen(kw_only=True)
class Answer:
    """A published answer or a preview, with all that its display needs."""

    query: Query  # the query of the analyst
    plan: QueryPlan  # its meaning, its noise and its price
    dataset: DatasetConfig  # the data set whose records are counted
    unit: str | None  # column whose distinct values are counted; None: rows are counted
    analyst: Analyst  # the analyst who asks
    remains: RemainingBudget  # remaining budgets of the data set and of the analyst
    # the published count or table; None: this is a preview, and nothing was charged or counted
    release: Release | TableRelease | None = None
    # True if the answer is free because the question is already paid for. A preview considers only the debits that the
    # analyst may see: it shows the full price for a question that only other analysts asked
    repeated: bool = False
    affordable: bool = True  # True if the budgets pay for it
    # columns of the question whose unreadable values count as missing
    unreadable_as_missing: tuple[str, ...] = ()
    known: Entry | None = None  # in a preview, the most accurate answer of the analyst that this one would top up
    # True if the analyst has an earlier answer that is not topped up because the records may have changed since
    is_anew: bool = False
    # hints that follow from the text of the question: reasons why no record matches, and how functions read texts
    impossible: Sequence[str] = ()
    total: RunningTotal | None = None  # running total of the data set; that of a preview includes this answer
    ledger: Path | None = None  # file of the ledger; None for a server, a preview, or a reader who may not know it
    leaves: Sequence[str] = ()  # hints about the budget that an answer with Gaussian noise would leave

    @property
    def count(self) -> Release:
        """The published count. Only for answers to a count."""
        assert isinstance(self.release, Release)  # noqa: S101 - narrows the type
        return self.release

    @property
    def table(self) -> TableRelease:
        """The published table. Only for answers to a table."""
        assert isinstance(self.release, TableRelease)  # noqa: S101 - narrows the type
        return self.release

    @property
    def count_plan(self) -> CountPlan:
        """The plan of a count. Only for a count."""
        assert isinstance(self.plan, CountPlan)  # noqa: S101 - narrows the type
        return self.plan

    @property
    def noise(self) -> TablePlan:
        """Noise of a table, level by level. The preview of an accuracy goal has the errors at the largest price."""
        plan = self.plan
        if plan.goal is None or self.release is not None or self.repeated:
            return plan.noise
        return Stopping(plan.goal, plan.noise, self.known).capped

    @property
    def dataset_name(self) -> str:
        """Name of the data set: the configured one in a preview, that of the release in an answer."""
        return self.dataset.name if self.release is None else self.release.dataset

    @property
    def confidence(self) -> float:
        """Confidence of the errors: that of the query in a preview, that of the release in an answer."""
        return self.query.confidence if self.release is None else self.release.confidence

    @property
    def protected(self) -> str:
        """The privacy unit that the answer protects: "person" or "row"."""
        return unit_noun(self.unit)

    @property
    def odds(self) -> str:
        """Odds that a guess about one person or row can reach at this price, in words."""
        return self.plan.noise.odds(self.protected)

    @property
    def total_words(self) -> str:
        """Running total of the data set in a sentence; empty if this answer is all of it."""
        if self.total is None:
            return ""
        spent, price = self.total.spent, self.plan.loss  # ρ may differ: that of a reserve is not refunded
        is_all = spent == price or (
            spent.epsilon is not None and (spent.epsilon, spent.delta) == (price.epsilon, price.delta)
        )
        return "" if is_all else self.total.words

    @property
    def error(self) -> int:
        """Half-width of the interval that contains a count with the confidence, in units.

        For the preview of an accuracy goal it is the error of an answer that stops at the largest price.
        """
        if self.release is not None:
            return self.count.error
        plan = self.count_plan
        if plan.goal is not None:
            return Stopping(plan.goal, plan.noise).rule.reach
        return plan.noise.levels[0].error(self.confidence)

    @property
    def interval(self) -> tuple[int, int]:
        """Interval that contains a published count with the confidence, cut to 0 and to the public size."""
        low, high = self.count.bounds or (self.count.answer - self.error, self.count.answer + self.error)
        most = high if self.dataset.size is None else self.dataset.size
        return max(0, min(low, most)), max(0, min(high, most))

    @property
    def affordable_answers(self) -> int | None:
        """Number of answers at this price that the budgets pay for; None if prices in ε do not add up."""
        price = self.plan.loss.epsilon
        return self.remains.remaining // price if self.remains.is_a_sum and price else None

    @property
    def cost(self) -> Loss:
        """Loss that a preview would cost; for a top-up, the difference in price."""
        if self.repeated:
            return Loss()
        price, paid = self.plan.loss, None if self.known is None else self.known.loss
        if paid is None:
            return price
        if price.epsilon is None or paid.epsilon is None:
            return difference(paid.rho, price.rho, is_gaussian=True)
        return difference(paid.epsilon, price.epsilon)

    @property
    def charge(self) -> Loss:
        """Charge of a preview, in the currency of the data set's budget."""
        return self.remains.dataset_budget.charge(self.cost)

    @property
    def cost_text(self) -> str:
        """Charge of a preview, in words."""
        return self.charge.text

    @property
    def known_words(self) -> str | None:
        """Sentence about the stored answer that would be topped up; None if there is none, or if this is a repeat."""
        if self.known is None or self.repeated:
            return None
        plan, price = self.plan.at(self.known), replace(self.known.loss, delta=Fraction(0)).text
        answer, stopping = plan.stored(self.known), plan.stopping(self.known)
        told = None if stopping is None or answer is None else stopping.of_table(answer.levels)["plan"]
        error = (told or plan.noise).levels[0].error(self.confidence)
        if isinstance(self.known.answer, int):
            return f"you have {signed(self.known.answer)} {plus_minus(error)} at {price}"
        return f"you have it at {price}, each count {plus_minus(error)}"

    @property
    def obstacle(self) -> str | None:
        """Reason why the budget could not pay for such an answer even if unspent, with a remedy; None if it could."""
        return self.remains.dataset_budget.obstacle(self.cost, repr(self.dataset.name))

    @property
    def hints(self) -> list[str]:
        """Hints for the next question. They depend only on the question, the budgets and published numbers."""
        found = [*self.impossible, *([_ANEW] if self.is_anew else [])]
        if self.query.is_table:
            by_keys = self.query.by is not None
            told = _hints_of_table(self.noise, self.unit if by_keys else None)
            return [*found, *told, *self.leaves]
        if self.release is not None and self.query.guess is not None:
            found.extend(_about_guess(self))
        return found


def answer_to(  # noqa: PLR0913 - each one decides the answer or its charge
    query: Query,
    dataset: DatasetConfig,
    configuration: Config,
    analyst: Analyst = Analyst(),  # noqa: B008 - frozen
    slot: ReplyTick | None = None,
    *,
    key: str | None = None,
    purpose: str | None = None,
    is_drawn: bool = False,
) -> Answer:
    """Answer a question about a data set, and charge it to the ledger.

    Args:
        query: The question with its price or accuracy goal.
        dataset: The data set.
        configuration: The configuration, which names the ledger.
        analyst: The analyst who asks.
        slot: Ticks at which the answer may leave; None: at once.
        key: The key of the debit; None: a random key.
        purpose: The purpose of the answer, as the analyst states it.
        is_drawn: True if a chart of the answer follows, which limits its number of rows.
    """
    with session_of(dataset, configuration, makes=True) as session:
        plan = session.plan(query)
        _check_rows(plan, is_drawn=is_drawn)
        session.require_possible(plan, analyst)  # before a ledger is created
        with session.charging(plan) as charged:
            answer = answer_at(charged, query, analyst, slot, plan=plan, key=key, purpose=purpose)
            return replace(answer, ledger=configuration.ledger_file, total=charged.running_total())


_ASK_AGAIN = "ask the same again, which costs nothing more"


def charged_so_far(key: str, configuration: Config, slot: ReplyTick | None) -> str:
    """Return a sentence about the charge of an interrupted question, as the ledger has it.

    If answers leave at ticks, the question may still be in progress, so that its charge is not known.
    """
    if slot is not None:
        return "its price may be charged: ask the same again, which is charged once, however often it is asked"
    try:
        with existing_ledger(configuration) as ledger:
            entry = None if ledger is None else ledger.entry(key)
    except NoisyCountError:
        return "the ledger cannot be read, and `noisycount ledger show` will tell whether anything was charged"
    if entry is None:
        return "nothing was charged"
    if entry.answer is None:
        return f"its price was charged, and nothing is answered yet: {_ASK_AGAIN}"
    return f"its price was charged, and its answer is kept: {_ASK_AGAIN}"


def answer_at(  # noqa: PLR0913 - each one decides the answer or its charge
    session: DatasetSession,
    query: Query,
    analyst: Analyst,
    slot: ReplyTick | None = None,
    *,
    plan: QueryPlan | None = None,
    key: str | None = None,
    purpose: str | None = None,
    attach: Callable[[Answer], AttachedWrite] | None = None,
) -> Answer:
    """Answer a question in an open session, and charge it to the open ledger. See `answer_to` for the arguments.

    `attach` makes a write from the answer, which is committed together with it.
    """
    plan = plan or session.plan(query)
    of_itself = [*session.require_possible(plan, analyst), *reading_hints(plan.predicates)]
    requests = session.records.requests(plan)
    is_exact = standing_of(requests[0]).is_exact
    has_earlier = not is_exact and any(entry.answer is not None for entry in session.asked(analyst, requests))

    def told(release: Release | TableRelease) -> Answer:
        return Answer(
            query=query,
            plan=plan.as_released(release),
            dataset=session.dataset,
            unit=release.unit,
            analyst=analyst,
            remains=release.remains or session.remaining_budget(analyst),
            release=release,
            repeated=release.repeated,
            is_anew=has_earlier and not release.repeated,
            unreadable_as_missing=release.unreadable_as_missing,
            impossible=of_itself,
        )

    enclosed = None if attach is None else lambda release: attach(told(release))
    return told(session.desk(analyst, slot, enclosed).answer(query, key, purpose, plan))


def preview_of(
    query: Query, dataset: DatasetConfig, configuration: Config, analyst: Analyst, *, is_drawn: bool = False
) -> Answer:
    """Return the preview of an answer. Charges and counts nothing, and creates no ledger."""
    with session_of(dataset, configuration) as session:
        preview = preview_at(session, query, analyst)
        _check_rows(preview.plan, is_drawn=is_drawn)
        return preview


def preview_at(session: DatasetSession, query: Query, analyst: Analyst) -> Answer:
    """Return the preview of an answer in an open session. Charges and counts nothing.

    Raises PredicateError if the question orders texts like numbers or dates, and no answer to it is paid for.
    """
    records, account = session.records, session.account
    plan = session.plan(query)
    remains = session.remaining_budget(analyst)
    requests = records.requests(plan)
    asked = session.asked(analyst, requests)
    answered = [entry for entry in asked if entry.answer is not None]
    is_exact = standing_of(requests[0]).is_exact
    known, base = (
        finest_of(answered),
        finest_of(each for each in answered if is_exact and standing_of(each.request).is_exact),
    )
    free = finest_of(entry for entry in asked if covers(entry, requests[0])) or _reached(plan, known, answered, base)
    if plan.order_refusals and free is None:
        raise PredicateError("; ".join(plan.order_refusals))
    impossible = [*plan.order_refusals, *plan.impossible_reasons(records.schema.public)]
    preview = Answer(
        query=query,
        plan=plan,
        dataset=account,
        unit=records.unit,
        analyst=analyst,
        remains=remains,
        repeated=free is not None,
        known=base,
        is_anew=free is None and base is None and known is not None,
        unreadable_as_missing=records.unreadable_in(plan),
        impossible=[*impossible, *reading_hints(plan.predicates)],
    )
    if free is not None:
        return _known_preview(replace(preview, total=session.running_total()), plan.at(free), free)
    if base is not None and plan.goal is None:
        preview = replace(preview, plan=plan.at(_finer(base, requests[0])))
    preview = replace(preview, total=session.running_total(preview.cost, _WITH_THIS if plan.goal is None else _AT_MOST))
    if not remains.admits(preview.cost):
        return replace(preview, affordable=False)
    return replace(preview, leaves=list(_hints_after(remains, preview.cost)))


def _reached(plan: QueryPlan, known: Entry | None, answered: Sequence[Entry], base: Entry | None) -> Entry | None:
    """Return the stored answer that is given for free because it meets the accuracy goal; None if there is none.

    It is the most accurate answer, `known`, if that meets the goal. Else an earlier answer must have had an equal goal:
    then `base`, the most accurate answer that can be topped up, is returned if there is one.
    """
    if known is None or plan.goal is None or plan.is_met(known):
        return None if plan.goal is None else known
    settled = finest_of(entry for entry in answered if Goal.stored(entry) == plan.goal)
    return settled and (base or settled)


def _known_preview(preview: Answer, plan: QueryPlan, free: Entry) -> Answer:
    """Return the preview of a repeat, with the errors of the stored answer."""
    answer, stopping = plan.stored(free), plan.stopping(free)
    if stopping is None or answer is None:
        return replace(preview, plan=plan)
    noise, sure = stopping.of_table(answer.levels)["plan"], float(stopping.goal.confidence)
    return replace(preview, plan=replace(plan, noise=noise, goal=None), query=replace(preview.query, confidence=sure))  # type: ignore[type-var]


def _finer(known: Entry, request: Request) -> Entry:
    """Return a hypothetical debit that tops up an answer. Its totals include only its own price."""
    more, replaces = topped_up(known, standing_of(request).price), (known.key, *known.replaces)
    return replace(known, request=more, spent=more.price, analyst_spent=more.price, replaces=replaces, base=known)


def _check_rows(plan: QueryPlan, *, is_drawn: bool) -> None:
    """Raise NoisyCountError if a chart is requested that would have too many rows, before anything is charged."""
    cells = plan.noise.levels[0].size
    if is_drawn and cells is not None and cells > MOST_ROWS:
        raise NoisyCountError(
            f"--plot draws up to {MOST_ROWS} rows, and this table has {cells:,}: leave it out, or list fewer keys"
        )


def _about_guess(answer: Answer) -> Iterator[str]:
    """Yield the price that the accuracy goal needs for this answer, if the guess of the count was wrong.

    It is wrong if it differs from the interval of the count by more than the factor `_FAR`, or if it is so much too
    large that the error exceeds the goal for every count in the interval.
    """
    guess, within = float(answer.query.guess or 0), float(answer.query.within or 0)
    low, high = answer.interval
    is_far = low > _FAR * guess or guess > _FAR * high
    if not is_far and (guess <= high or answer.error <= within * high):
        return
    shown = plus_minus(guess).removeprefix("±")
    told = f"the guess of {shown} was {'far off' if is_far else 'too large, and the goal is missed'}"
    is_known = answer.count.answer > answer.error
    about = answer.count.answer if is_known else high
    if about < 1:
        yield f"{told}: the count is hardly above 0; say how far off with an ε instead"
        return
    most = "" if is_known else ", the most that it may be,"
    with suppress(NoisyCountError):  # the price is outside the range of a ledger
        price = planned(about, within, answer.confidence).epsilon
        only = "only " if price < answer.count.epsilon else ""
        yield (f"{told}: ±{percent(within)} of {signed(about)}{most} needs {only}ε = {exact_text(price)}")


def _hints_of_table(plan: TablePlan, unit: str | None) -> Iterator[str]:
    """Yield hints about the price of a table: how to lower it, or why it is high."""
    cells = plan.levels[0]
    moves = 2 if plan.is_replacement else 1
    if plan.groups is None and cells.sensitivity > moves and unit is not None:
        yield (
            f"one person may be in all {cells.size:,} groups, which the noise must hide; with groups_per_unit 1 each "
            f"person counts in one of their groups only{one_group_words(plan)}"
        )
    if plan.is_replacement and plan.groups is not None and cells.sensitivity == 2 * plan.groups:
        yield (
            "the number of persons is public, so one person in the place of another leaves one "
            "group and enters another: that costs twice as much as where it is not public"
        )


def one_group_words(plan: TablePlan) -> str:
    """Return which part of the price buys the same errors if each person counts in one group only, in words.

    The price is then shared anew among the levels, so that they gain differently. The level that gains least decides.
    Return an empty text if that level gains nothing.
    """
    levels = [
        Level(level.name, np.empty(0, np.int32), level.size or 0, np.empty((0, 0), np.int32)) for level in plan.levels
    ]
    alone = table_plan(levels, plan.price, 1, is_replacement=plan.is_replacement)
    factors = {
        Fraction(new.sensitivity, old.sensitivity) * old.share / new.share
        for new, old in zip(alone.levels, plan.levels, strict=True)
    }
    price = "the price" if issubclass(plan.price.noise, DiscreteLaplace) else "ρ"
    if len(factors) == 1:
        return f", and the same error costs {factors.pop()} of {price}"
    most = max(factors)
    if most >= 1:
        return ""
    return f", and for {math.ceil(100 * most)} % of {price} no error is larger than now"


def _hints_after(remains: RemainingBudget, price: Loss) -> Iterator[str]:
    """Yield a hint about the budget that an answer with Gaussian noise would leave. Yield nothing for Laplace noise."""
    if price.epsilon is not None:
        return
    left = next_words(min(each.left_after(price) for each in remains.budgets))
    if any(each.left_in_rho is not None for each in remains.budgets):
        now = approximately(remains.remaining)
        yield (
            "this would be the first answer with Gaussian noise: after it the ρ of all answers"
            f" count, not their ε, and {left}, not {now}"
        )
    else:
        yield f"after it {left}"
