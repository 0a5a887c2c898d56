"""Answers to queries, counts and tables, for the command line, the server and the pages.

`answer_to` charges the ledger and returns a published `Answer`. `noisycount.tasks.preview` shows the price and the
errors of an answer beforehand; `PricedQuery` is what an answer and its preview share.
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
from noisycount.display.numbers import percent, plus_minus, signed
from noisycount.errors import NoisyCountError
from noisycount.frozen import frozen
from noisycount.ledger.entries import Analyst
from noisycount.ledger.price import RunningTotal, unit_noun
from noisycount.ledger.transactions import AttachedWrite
from noisycount.model.noises.laplace import DiscreteLaplace
from noisycount.model.tables.levels import Level
from noisycount.query.query import Query
from noisycount.release.dataset import RemainingBudget
from noisycount.release.noise_plan import TablePlan
from noisycount.release.query_plan import QueryPlan, table_plan
from noisycount.release.reply_tick import ReplyTick
from noisycount.release.results import Release
from noisycount.release.table_release import TableRelease
from noisycount.release.text_orders import reading_hints
from noisycount.tasks.opening import DatasetSession, existing_ledger, session_of
from noisycount.tasks.plan import plan_for_guess
from noisycount.validation import exact_text

_INDEPENDENT = (
    "nothing says whether the records are still those of your earlier answer, so this one is independent and costs its "
    "full price; an edition, which the owner names, lets it top up the earlier answer for the difference"
)
_FAR_FACTOR = 2  # a guess is far off if it differs from the interval of the count by more than this factor


@frozen
class PaidQuery:
    """A query that an analyst pays for."""

    query: Query  # the question with its price or accuracy goal
    analyst: Analyst = Analyst()
    key: str | None = None  # key of the debit; None: a random key
    purpose: str | None = None  # purpose of the answer, as the analyst states it
    tick: ReplyTick | None = None  # ticks at which the answer may leave; None: at once


@frozen(kw_only=True)
class PricedQuery:
    """A query about a data set with its meaning, its noise and its price: base class of an answer and its preview."""

    query: Query  # the query of the analyst
    plan: QueryPlan  # its meaning, its noise and its price
    dataset: DatasetConfig  # the data set whose records are counted
    unit: str | None  # column whose distinct values are counted; None: rows are counted
    analyst: Analyst  # the analyst who asks
    remains: RemainingBudget  # remaining budgets of the data set and of the analyst
    # True if the answer is free because the question is already paid for. A preview considers only the debits that the
    # analyst may see: it shows the full price for a question that only other analysts asked
    repeated: bool = False
    # columns of the question whose unreadable values count as missing
    unreadable_as_missing: tuple[str, ...] = ()
    # True if the analyst has an earlier answer that is not topped up because the records may have changed since
    is_independent: bool = False
    # hints that follow from the text of the question: reasons why no record matches, and how functions read texts
    text_hints: Sequence[str] = ()
    total: RunningTotal | None = None  # running total of the data set; that of a preview includes this answer

    @property
    def noise(self) -> TablePlan:
        """Noise of the counts, level by level."""
        return self.plan.noise

    @property
    def dataset_name(self) -> str:
        """Name of the data set as the configuration has it."""
        return self.dataset.name

    @property
    def confidence(self) -> float:
        """Confidence of the errors."""
        return self.query.confidence

    @property
    def odds(self) -> str:
        """Odds to which an answer at this price can move an even guess about one person or row, in words."""
        return self.plan.noise.odds(unit_noun(self.unit))

    @property
    def total_words(self) -> str:
        """Running total of the data set in a sentence; empty if this is the only answer so far."""
        if self.total is None:
            return ""
        spent, price = self.total.spent, self.plan.loss  # ρ may differ: that of a reserve is not refunded
        is_all = spent == price or (
            spent.epsilon is not None and (spent.epsilon, spent.delta) == (price.epsilon, price.delta)
        )
        return "" if is_all else self.total.words

    @property
    def query_hints(self) -> list[str]:
        """Hints that follow from the question and its price."""
        hints = [*self.text_hints, *([_INDEPENDENT] if self.is_independent else [])]
        if self.query.is_table:
            hints += _table_hints(self.noise, None if self.query.by is None else self.unit)
        return hints


@frozen(kw_only=True)
class Answer(PricedQuery):
    """A published answer, with everything that is needed to display it."""

    release: Release | TableRelease  # the published count or table
    ledger: Path | None = None  # file of the ledger; None for a server, or for a reader who may not know it

    @property
    def dataset_name(self) -> str:
        """Name of the data set in the release."""
        return self.release.dataset

    @property
    def confidence(self) -> float:
        """Confidence of the errors in the release."""
        return self.release.confidence

    @property
    def hints(self) -> list[str]:
        """Hints for the next question. They depend only on the question, the budgets and published numbers."""
        hints = self.query_hints
        if isinstance(self.release, Release) and self.query.guess is not None:
            hints += guess_hints(self.release, self.query, self.dataset.size)
        return hints


def answer_to(
    paid_query: PaidQuery, dataset: DatasetConfig, configuration: Config, *, is_drawn: bool = False
) -> Answer:
    """Answer a question about a data set, and charge it to the ledger.

    Args:
        paid_query: The question, and the analyst who pays.
        dataset: The data set.
        configuration: The configuration, which names the ledger.
        is_drawn: True if a chart of the answer follows, which limits its number of rows.
    """
    with session_of(dataset, configuration, makes=True) as session:
        plan = session.plan(paid_query.query)
        if is_drawn:
            check_rows(plan)
        if session.ledger is None:  # `answer_in_session` refuses an impossible question too, but only with a ledger
            plan.require_possible(lambda: False)
        with session.with_ledger(plan) as charged:
            answer = answer_in_session(charged, paid_query, plan)
            return replace(answer, ledger=configuration.ledger_file, total=charged.running_total())


def check_rows(plan: QueryPlan) -> None:
    """Raise NoisyCountError if a chart of the answer would have too many rows, before anything is charged."""
    cells = plan.noise.levels[0].size
    if cells is not None and cells > MOST_ROWS:
        raise NoisyCountError(
            f"--plot draws up to {MOST_ROWS} rows, and this table has {cells:,}: leave it out, or list fewer keys"
        )


def answer_in_session(
    session: DatasetSession,
    paid_query: PaidQuery,
    plan: QueryPlan | None = None,
    attach: Callable[[Answer], AttachedWrite] | None = None,
) -> Answer:
    """Answer a question in an open session, and charge it to the open ledger.

    Args:
        session: The open records and the open ledger.
        paid_query: The question, and the analyst who pays.
        plan: The meaning of the question, if it is known already.
        attach: Makes a write from the answer, which is committed together with it.
    """
    plan = plan or session.plan(paid_query.query)
    has_earlier = False  # if the version of the records is exact, an earlier answer is topped up
    if not session.records.has_exact_version:
        entries = session.entries_asking(paid_query.analyst, session.records.requests(plan))
        has_earlier = any(entry.answer is not None for entry in entries)

    def answer_of(release: Release | TableRelease) -> Answer:
        return Answer(
            query=paid_query.query,
            plan=plan.as_released(release),
            dataset=session.dataset,
            unit=release.unit,
            analyst=paid_query.analyst,
            remains=release.remains or session.remaining_budget(paid_query.analyst),
            release=release,
            repeated=release.repeated,
            is_independent=has_earlier and not release.repeated,
            unreadable_as_missing=release.unreadable_as_missing,
            text_hints=[*plan.refusals, *reading_hints(plan.predicates)],
        )

    attach_release = None if attach is None else lambda release: attach(answer_of(release))
    desk = session.desk(paid_query.analyst, paid_query.tick, attach_release)
    return answer_of(desk.answer(paid_query.query, paid_query.key, paid_query.purpose, plan))


_ASK_AGAIN = "ask the same again, which costs nothing more"


def interrupted_charge(key: str, configuration: Config, slot: ReplyTick | None) -> str:
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


def count_interval(release: Release, size: int | None) -> tuple[int, int]:
    """Return the interval that contains a published count with the confidence, cut to 0 and to the public size."""
    low, high = release.bounds or (release.answer - release.error, release.answer + release.error)
    largest = high if size is None else size
    return max(0, min(low, largest)), max(0, min(high, largest))


def guess_hints(release: Release, query: Query, size: int | None) -> Iterator[str]:
    """Yield the price that the accuracy goal needs for this answer, if the guess of the count was wrong.

    The guess is wrong if it differs from the interval of the count by more than the factor `_FAR_FACTOR`, or if it is
    so much too large that the error exceeds the goal for every count in the interval.
    """
    guess, within = float(query.guess or 0), float(query.within or 0)
    low, high = count_interval(release, size)
    is_far = low > _FAR_FACTOR * guess or guess > _FAR_FACTOR * high
    if not is_far and (guess <= high or release.error <= within * high):
        return
    guess_text = plus_minus(guess).removeprefix("±")
    fault = f"the guess of {guess_text} was {'far off' if is_far else 'too large, and the goal is missed'}"
    is_above_error = release.answer > release.error
    better_guess = release.answer if is_above_error else high
    if better_guess < 1:
        yield f"{fault}: the count is hardly above 0; state the accuracy by an ε instead"
        return
    largest = "" if is_above_error else ", the largest count in the interval,"
    with suppress(NoisyCountError):  # the price is outside the range of a ledger
        price = plan_for_guess(better_guess, within, release.confidence).epsilon
        only = "only " if price < release.epsilon else ""
        yield f"{fault}: ±{percent(within)} of {signed(better_guess)}{largest} needs {only}ε = {exact_text(price)}"


def _table_hints(plan: TablePlan, unit: str | None) -> Iterator[str]:
    """Yield hints about the price of a table: how to lower it, or why it is high."""
    cells = plan.levels[0]
    moves = 2 if plan.is_replacement else 1
    if plan.groups is None and cells.sensitivity > moves and unit is not None:
        yield (
            f"one person may be in all {cells.size:,} groups, which the noise must hide; with 1 group per "
            f"unit each person counts in one of their groups only{one_group_price_words(plan)}"
        )
    if plan.is_replacement and plan.groups is not None and cells.sensitivity == 2 * plan.groups:
        yield (
            "the number of persons is public, so one person in the place of another leaves one "
            "group and enters another: that costs twice as much as where it is not public"
        )


def one_group_price_words(plan: TablePlan) -> str:
    """Return a sentence on the part of the price that suffices if each person counts in one group only.

    The price is then divided differently among the levels, and the level that gains least decides. Return an empty text
    if this level gains nothing.
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
