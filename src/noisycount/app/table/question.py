"""A table from start to end: what the command and a dry run share."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from pathlib import Path

from noisycount.app.config.config import Config, DatasetConfig
from noisycount.app.count.counter import Counter, counter_of
from noisycount.app.count.impossible import impossible_hints, in_vain
from noisycount.app.plan.plan import planned
from noisycount.app.table.asked import Asked
from noisycount.app.table.hint import hints
from noisycount.app.table.pricing import RowGoal
from noisycount.app.table.wish import Viewed, wish_of
from noisycount.charts.table.bars import MOST_ROWS
from noisycount.errors import ConfigError, NoisyCountError
from noisycount.release.budget.approximate import ApproximateBudget
from noisycount.release.budget.budgets import Budget
from noisycount.release.budget.neighbours import NeighbourRelation, neighbours_of_size
from noisycount.release.desk import Desk
from noisycount.release.ledger.enclosure import Enclosure
from noisycount.release.ledger.entries import Analyst
from noisycount.release.records import Records
from noisycount.release.remains import Remains
from noisycount.release.slot import Slot
from noisycount.release.tables.plan import TablePlan
from noisycount.release.tables.release import TableRelease
from noisycount.release.tables.wishes import ManyWish, Wish

__all__ = ["Pay", "Table", "check_drawable", "check_public", "table_at", "table_of", "viewed"]


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
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
    slot: Slot | None = None,
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
    slot: Slot | None = None,
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
    slot: Slot | None = None,
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
