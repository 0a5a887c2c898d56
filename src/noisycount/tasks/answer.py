"""One private answer from start to end, a count or a table: what every way of asking shares.

A preview is an answer without its counts: what it would cost, before anything is asked.
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
_WITH_THIS, _AT_MOST = "with this one", "with this one at its highest price"  # whose running total is previewed
_FAR = 2  # times as large as the count may be, or as small


@frozen(kw_only=True)
class Answer:
    """What was published, or would be, and what a reader needs to understand it."""

    query: Query  # what was asked, as it was asked
    plan: QueryPlan  # what it means, with its noise and its price
    dataset: DatasetConfig  # whose records are counted
    unit: str | None  # the column whose distinct values are; None for rows
    analyst: Analyst  # who asks
    remains: RemainingBudget  # what is left of the data set's budget and of the analyst's own
    # what was published; None: this is a preview, and nothing was charged or counted
    release: Release | TableRelease | None = None
    # whether the analyst asked the same before, and it is free. What only others asked is told as what nobody asked: at
    # its full price
    repeated: bool = False
    affordable: bool = True  # whether the budgets pay for it
    # the columns of the question whose cells, where they could not be read, count as missing
    unreadable_as_missing: tuple[str, ...] = ()
    known: Entry | None = None  # of a preview the finest answer that the analyst has and that this one would top up
    # True if the analyst has an earlier answer that is not topped up, as the records may have changed since
    is_anew: bool = False
    # what the question says of itself: what no record can satisfy, and which texts its functions read
    impossible: Sequence[str] = ()
    total: RunningTotal | None = None  # the running total of the data set, of a preview with this answer
    ledger: Path | None = None  # where the answer is kept, for who may know; None for a server
    leaves: Sequence[str] = ()  # what an answer that is previewed would leave, where that is not plain

    @property
    def count(self) -> Release:
        """What was published of one count."""
        assert isinstance(self.release, Release)  # noqa: S101 - asked of answered counts alone
        return self.release

    @property
    def table(self) -> TableRelease:
        """What was published of a table."""
        assert isinstance(self.release, TableRelease)  # noqa: S101 - asked of answered tables alone
        return self.release

    @property
    def count_plan(self) -> CountPlan:
        """The plan of one count."""
        assert isinstance(self.plan, CountPlan)  # noqa: S101 - asked of counts alone
        return self.plan

    @property
    def noise(self) -> TablePlan:
        """The noise of a table, level by level."""
        plan = self.plan
        if plan.goal is None or self.release is not None or self.repeated:
            return plan.noise
        return Stopping(plan.goal, plan.noise, self.known).capped

    @property
    def dataset_name(self) -> str:
        """The data set, as the ledger calls it once the answer is published."""
        return self.dataset.name if self.release is None else self.release.dataset

    @property
    def confidence(self) -> float:
        """With which errors are stated; of answers that stopped by a goal, that of the goal."""
        return self.query.confidence if self.release is None else self.release.confidence

    @property
    def protected(self) -> str:
        """What is guessed about by whoever reads the answer."""
        return unit_noun(self.unit)

    @property
    def odds(self) -> str:
        """What the price means for one person or row, in words."""
        return self.plan.noise.odds(self.protected)

    @property
    def total_words(self) -> str:
        """Running total of the data set in a sentence; empty if this answer is all of it."""
        if self.total is None:
            return ""
        spent, price = self.total.spent, self.plan.loss  # the ρ of a reserve stays spent, wherever its answers stopped
        is_all = spent == price or (
            spent.epsilon is not None and (spent.epsilon, spent.delta) == (price.epsilon, price.delta)
        )
        return "" if is_all else self.total.words

    @property
    def error(self) -> int:
        """One count lies within ±error of its answer with the confidence, in units."""
        if self.release is not None:
            return self.count.error
        plan = self.count_plan
        if plan.goal is not None:
            return Stopping(plan.goal, plan.noise).rule.reach
        return plan.noise.levels[0].error(self.confidence)

    @property
    def interval(self) -> tuple[int, int]:
        """Where the count lies with the confidence: within ±error, not below 0 or above all."""
        low, high = self.count.bounds or (self.count.answer - self.error, self.count.answer + self.error)
        most = high if self.dataset.size is None else self.dataset.size
        return max(0, min(low, most)), max(0, min(high, most))

    @property
    def affordable_answers(self) -> int | None:
        """How many answers at this price the budget pays for; None where prices do not add up."""
        price = self.plan.loss.epsilon
        return self.remains.remaining // price if self.remains.is_a_sum and price else None

    @property
    def cost(self) -> Loss:
        """What a preview would be charged: less what was paid for a coarser answer, which it tops up."""
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
        """What the analyst knows already of what a preview would tell; None: nothing."""
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
        """Why the budget can never pay for it, and what can be done; None where less spending would help."""
        return self.remains.dataset_budget.obstacle(self.cost, repr(self.dataset.name))

    @property
    def hints(self) -> list[str]:
        """What to do better next time, from the question and published numbers alone."""
        found = [*self.impossible, *([_ANEW] if self.is_anew else [])]
        if self.query.is_table:
            by_keys = self.query.by is not None
            told = _hints_of_table(self.noise, self.unit if by_keys else None)
            return [*found, *told, *self.leaves]
        if self.release is not None and self.query.guess is not None:
            found.extend(_about_guess(self))
        return found


def answer_to(  # noqa: PLR0913 - all that decides an answer and its charge
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
    """The answer to a question about a data set, charged to the ledger; or a refusal."""
    with session_of(dataset, configuration, makes=True) as session:
        plan = session.plan(query)
        _check_rows(plan, is_drawn=is_drawn)
        session.require_possible(plan, analyst)  # a refused question makes no ledger
        with session.charging(plan) as charged:
            answer = answer_at(charged, query, analyst, slot, plan=plan, key=key, purpose=purpose)
            return replace(answer, ledger=configuration.ledger_file, total=charged.running_total())


_ASK_AGAIN = "ask the same again, which costs nothing more"


def charged_so_far(key: str, configuration: Config, slot: ReplyTick | None) -> str:
    """What was charged for a question that was stopped, by the ledger; of one that goes on in a slot nobody knows."""
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


def answer_at(  # noqa: PLR0913 - all that decides an answer and its charge
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
    """Answer a question about open records, and charge it to their open ledger."""
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
    """What an answer would cost and be like; nothing is charged or counted, no ledger is made."""
    with session_of(dataset, configuration) as session:
        preview = preview_at(session, query, analyst)
        _check_rows(preview.plan, is_drawn=is_drawn)
        return preview


def preview_at(session: DatasetSession, query: Query, analyst: Analyst) -> Answer:
    """The same of open records."""
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
    """Return the answer that is given for free because the goal is reached: by the finest, or by an equal goal before.

    Whichever answer reached an equal goal before, the finest that rests on it is given.
    """
    if known is None or plan.goal is None or plan.is_met(known):
        return None if plan.goal is None else known
    settled = finest_of(entry for entry in answered if Goal.stored(entry) == plan.goal)
    return settled and (base or settled)


def _known_preview(preview: Answer, plan: QueryPlan, free: Entry) -> Answer:
    """The preview of an answer that is known, with the errors that it will be told with."""
    answer, stopping = plan.stored(free), plan.stopping(free)
    if stopping is None or answer is None:
        return replace(preview, plan=plan)
    noise, sure = stopping.of_table(answer.levels)["plan"], float(stopping.goal.confidence)
    return replace(preview, plan=replace(plan, noise=noise, goal=None), query=replace(preview.query, confidence=sure))  # type: ignore[type-var]


def _finer(known: Entry, request: Request) -> Entry:
    """The debit that would top up an answer, as if nothing else had been spent."""
    more, replaces = topped_up(known, standing_of(request).price), (known.key, *known.replaces)
    return replace(known, request=more, spent=more.price, analyst_spent=more.price, replaces=replaces, base=known)


def _check_rows(plan: QueryPlan, *, is_drawn: bool) -> None:
    """The refusal of a picture that would have too many rows, before anything is charged."""
    cells = plan.noise.levels[0].size
    if is_drawn and cells is not None and cells > MOST_ROWS:
        raise NoisyCountError(
            f"--plot draws up to {MOST_ROWS} rows, and this table has {cells:,}: leave it out, or list fewer keys"
        )


def _about_guess(answer: Answer) -> Iterator[str]:
    """What the goal costs for this answer, where the guess was far from all that it may be.

    Or where the goal is missed whatever the count is, as the guess was above all that it may be.
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
    with suppress(NoisyCountError):  # no ledger keeps such a price
        price = planned(about, within, answer.confidence).epsilon
        only = "only " if price < answer.count.epsilon else ""
        yield (f"{told}: ±{percent(within)} of {signed(about)}{most} needs {only}ε = {exact_text(price)}")


def _hints_of_table(plan: TablePlan, unit: str | None) -> Iterator[str]:
    """What would cost less, or why something costs what it does."""
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
    """For what part of its price no error of a table is larger, where each is in one group only.

    The levels share the price anew then, so that they do not all gain as much: the one that gains least decides.
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
    """What an answer with Gaussian noise would leave, before it is asked."""
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
