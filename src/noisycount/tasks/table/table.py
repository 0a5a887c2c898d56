"""What a table costs where each unit counts in one of its groups only.

What would cost less, or why something costs what it does; no data is read.

A table from start to end: what the command and a dry run share.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from fractions import Fraction
from pathlib import Path

import numpy as np

from noisycount.charts.bars import MOST_ROWS
from noisycount.config.config import Config, DatasetConfig
from noisycount.display.numbers import approximately
from noisycount.errors import ConfigError, NoisyCountError
from noisycount.frozen import frozen
from noisycount.ledger.approximate import ApproximateBudget, NeighbourRelation, neighbours_of_size
from noisycount.ledger.budget import Budget, Loss
from noisycount.ledger.entries import Analyst
from noisycount.ledger.transactions import Enclosure
from noisycount.model.noises.laplace import DiscreteLaplace
from noisycount.model.tables.levels import Level
from noisycount.release.answer import Remains, next_words
from noisycount.release.desk import Desk
from noisycount.release.plan import TablePlan, table_plan
from noisycount.release.records import Records
from noisycount.release.reply_tick import ReplyTick
from noisycount.release.table_answer import TableRelease
from noisycount.release.wishes import ManyWish, Wish
from noisycount.tasks.count import impossible_hints, in_vain
from noisycount.tasks.opening import Counter, Spent, counter_of
from noisycount.tasks.plan import Paying, planned
from noisycount.tasks.table.asked import Asked
from noisycount.tasks.table.wish import RowGoal, Viewed, wish_of

__all__ = [
    "Pay",
    "Table",
    "check_drawable",
    "check_public",
    "hints",
    "hints_after",
    "one_group_words",
    "table_at",
    "table_of",
    "viewed",
]


def one_group_words(plan: TablePlan) -> str:
    """For what part of its price no error of a table is larger, where each is in one group only.

    The levels share the price anew then, so that they do not all gain as much: the one that gains
    least decides.

    Args:
        plan: A table of units that may be in all groups, without ranges.

    Returns:
        What follows a statement; empty where nothing is saved.
    """
    levels = [
        Level(level.name, np.empty(0, np.int32), level.size or 0, np.empty((0, 0), np.int32))
        for level in plan.levels
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


def hints(plan: TablePlan, unit: str | None, asked: Asked) -> Iterator[str]:
    """What follows from the plan of a table.

    Args:
        plan: Its noise.
        unit: The column that names the person; None: every record is one unit.
        asked: What was typed.
    """
    cells = plan.levels[0]
    moves = 2 if plan.is_replacement else 1
    in_all = plan.groups is None and cells.sensitivity > moves
    if in_all and unit is not None and asked.by:
        yield (
            f"one person may be in all {cells.size:,} groups, which the noise must hide; with "
            "--groups-per-unit 1 each person counts in one of their groups only"
            f"{one_group_words(plan)}"
        )
    if plan.is_replacement and plan.groups is not None and cells.sensitivity == 2 * plan.groups:
        yield (
            "the number of persons is public, so one person in the place of another leaves one "
            "group and enters another: that costs twice as much as where it is not public"
        )


def hints_after(spent: Spent, price: Loss) -> Iterator[str]:
    """What an answer with Gaussian noise would leave, before it is asked.

    Args:
        spent: What the budgets have paid so far.
        price: What it would cost.
    """
    if price.epsilon is not None:
        return
    left = next_words(spent.with_more(price).remains.remaining)
    accounts = [(spent.dataset.budget, spent.of_dataset), (spent.analyst.budget, spent.of_analyst)]
    payings = [Paying(budget, paid) for budget, paid in accounts if budget is not None]
    if any(paying.left_in_rho is not None for paying in payings):
        now = approximately(spent.remains.remaining)
        yield (
            "this would be the first answer with Gaussian noise: after it the ρ of all answers"
            f" count, not their ε, and {left}, not {now}"
        )
    else:
        yield f"after it {left}"


@frozen
class Pay:
    """What a table may cost, or how near its rows should be.

    Attributes:
        epsilon: The price in ε; None: it is in ρ, or follows from the goal.
        goal: How far off each row may be; None: a price is given.
        confidence: With which errors are stated, in (0, 1).
    """

    epsilon: Fraction | None
    goal: RowGoal | None
    confidence: float

    @property
    def price(self) -> Fraction:
        """The ε of one count.

        Raises:
            NoisyCountError: There is none.
        """
        if self.epsilon is not None:
            return self.epsilon
        if self.goal is None:
            raise NoisyCountError("one count has a price in ε: give epsilon, or within and guess")
        return planned(self.goal.guess, self.goal.within, self.goal.confidence).epsilon


@frozen
class Table:
    """A published table, and what a reader needs to understand it.

    Attributes:
        asked: What was typed.
        release: What was published.
        meaning: What was counted, in English; None: all records, or several questions.
        neighbours: How data sets differ that the answers hardly tell apart.
        budget: The whole budget of the data set.
        analyst: Who asked.
        ledger: Where the table is kept; None for a server.
        impossible: What the questions say of themselves: what no record can satisfy.
    """

    asked: Asked
    release: TableRelease
    meaning: str | None
    neighbours: NeighbourRelation
    budget: Budget
    analyst: Analyst
    ledger: Path | None
    impossible: Sequence[str] = ()

    @property
    def remains(self) -> Remains:
        """What is left of the data set's budget and of the analyst's own."""
        found = self.release.remains
        return found or Remains(self.budget, self.release.remaining)

    @property
    def hints(self) -> list[str]:
        """What no record can satisfy, what would cost less, or why something costs what it does."""
        return [*self.impossible, *hints(self.release.plan, self.release.unit, self.asked)]


def table_of(  # noqa: PLR0913, PLR0917 - all that decides a table and its charge
    asked: Asked,
    dataset: DatasetConfig,
    configuration: Config,
    pay: Pay,
    analyst: Analyst,
    slot: ReplyTick | None = None,
    *,
    purpose: str | None = None,
) -> Table:
    """The table that was asked for, charged to the ledger; or a refusal.

    Args:
        asked: What was typed.
        dataset: Whose records are counted.
        configuration: Where the ledger is.
        pay: The price.
        analyst: Who asks.
        slot: When the reply leaves; None: as soon as it is there.
        purpose: What the table is for.

    Raises:
        NoisyCountError: The question, the file, the budget or the ledger refuses it.
    """
    check_public(asked, dataset)
    with counter_of(dataset, configuration, makes=True) as counter:
        wish = _wished(counter, asked, pay, analyst)  # a refused table makes no ledger
        with counter.charging() as charged:
            return _table(charged, asked, wish, pay.confidence, analyst, slot, purpose=purpose)


def table_at(  # noqa: PLR0913, PLR0917 - all that decides a table and its charge
    counter: Counter,
    asked: Asked,
    pay: Pay,
    analyst: Analyst,
    slot: ReplyTick | None = None,
    key: str | None = None,
    *,
    purpose: str | None = None,
    enclose: Callable[[Table], Enclosure] | None = None,
) -> Table:
    """The same of open records and an open ledger.

    Args:
        counter: The records and the ledger.
        asked: As for `table_of`, like all that is not told here.
        pay: The price.
        analyst: Who asks.
        slot: When the reply leaves.
        key: What the asker calls the table; None: a random name.
        purpose: What the table is for.
        enclose: Gives what is written with a new table; None: nothing is.

    Raises:
        NoisyCountError: The question, the file, the budget or the ledger refuses it.
    """
    check_public(asked, counter.dataset)
    wish = _wished(counter, asked, pay, analyst)
    sure = pay.confidence
    return _table(counter, asked, wish, sure, analyst, slot, key, purpose=purpose, enclose=enclose)


def _wished(counter: Counter, asked: Asked, pay: Pay, analyst: Analyst) -> Wish:
    """What was typed, priced and understood."""
    view = viewed(counter.records, counter.dataset, analyst)
    wish = wish_of(asked, view, pay.epsilon, pay.goal)
    table = view.understood(wish)
    check_drawable(asked, table.plan)
    hints = impossible_hints(wish.questions, counter.records.schema)
    if hints and not counter.is_free(analyst, counter.records.requests(table)):
        raise in_vain(hints)
    return wish


def _table(  # noqa: PLR0913, PLR0917 - all that decides a table and its charge
    counter: Counter,
    asked: Asked,
    wish: Wish,
    confidence: float,
    analyst: Analyst,
    slot: ReplyTick | None = None,
    key: str | None = None,
    *,
    purpose: str | None = None,
    enclose: Callable[[Table], Enclosure] | None = None,
) -> Table:
    """The table from the desk, with what a reader needs."""
    where = asked.where if asked.by else None
    meaning = None if where is None else counter.records.meaning(where)
    impossible = impossible_hints(wish.questions, counter.records.schema)

    def told(release: TableRelease) -> Table:
        return Table(
            asked=asked,
            release=release,
            meaning=meaning,
            neighbours=neighbours_of_size(counter.dataset.size),
            budget=counter.dataset.budget,
            analyst=analyst,
            ledger=counter.ledger_file,
            impossible=impossible,
        )

    enclosed = None if enclose is None else lambda release: enclose(told(release))
    desk = counter.desk(analyst, slot, enclosed)
    return told(_released(desk, wish, confidence, key, purpose))


def viewed(records: Records, dataset: DatasetConfig, analyst: Analyst | None) -> Viewed:
    """What is public of open records, and which hidden keys the budgets pay for."""
    relation = neighbours_of_size(dataset.size)
    is_replacement = relation is NeighbourRelation.REPLACEMENT
    budgets = [dataset.budget, *filter(None, [analyst and analyst.budget])]
    for_keys = min(
        each.for_keys if isinstance(each, ApproximateBudget) else Fraction(0) for each in budgets
    )
    return Viewed(records.schema, records.unit, is_replacement, for_keys)


def check_public(asked: Asked, dataset: DatasetConfig) -> None:
    """The refusal of keys from the records themselves, which nobody may know.

    Raises:
        ConfigError: They are.
    """
    if asked.keys_from is not None and dataset.shares(asked.keys_from):
        raise ConfigError(
            "--keys-from names the records themselves: keys must come from what everybody knows; "
            "where nobody knows them, give --delta in their place"
        )


def check_drawable(asked: Asked, plan: TablePlan) -> None:
    """The refusal of a picture that would have too many rows, before anything is charged.

    Raises:
        NoisyCountError: It would.
    """
    cells = plan.levels[0].size
    if asked.plot is not None and cells is not None and cells > MOST_ROWS:
        raise NoisyCountError(
            f"--plot draws up to {MOST_ROWS} rows, and this table has {cells:,}: leave it out, or "
            "list fewer keys"
        )


def _released(
    desk: Desk, wish: Wish, confidence: float, key: str | None, purpose: str | None
) -> TableRelease:
    """The table from the desk."""
    said = {field.name: getattr(wish, field.name) for field in fields(wish)}
    release = desk.release_many if isinstance(wish, ManyWish) else desk.release_table
    return release(**said, confidence=confidence, key=key, purpose=purpose)
