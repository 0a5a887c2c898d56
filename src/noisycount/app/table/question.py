"""A table from start to end: what the command and a dry run share."""

from contextlib import ExitStack
from dataclasses import dataclass, fields
from fractions import Fraction
from pathlib import Path

from noisycount.app.config.config import Config, DatasetConfig
from noisycount.app.count.opening import records_of
from noisycount.app.ledger.access import existing_ledger
from noisycount.app.table.asked import Asked
from noisycount.app.table.hint import hints
from noisycount.app.table.pricing import RowGoal
from noisycount.app.table.wish import Viewed, wish_of
from noisycount.charts.table.bars import MOST_ROWS
from noisycount.errors import ConfigError, NoisyCountError
from noisycount.release.budget.budgets import Budget
from noisycount.release.budget.neighbours import NeighbourRelation, neighbours_of_size
from noisycount.release.desk import Dataset, Desk
from noisycount.release.ledger.entries import Analyst
from noisycount.release.ledger.ledger import Ledger
from noisycount.release.records import Records
from noisycount.release.register.register import Register
from noisycount.release.slot import Slot
from noisycount.release.tables.table_plan import TablePlan
from noisycount.release.tables.table_release import TableRelease
from noisycount.release.tables.wishes import ManyWish, Wish

__all__ = ["Pay", "Table", "check_drawable", "check_public", "table_of", "viewed"]


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
    """

    asked: Asked
    release: TableRelease
    meaning: str | None
    neighbours: NeighbourRelation
    budget: Budget
    analyst: Analyst
    ledger: Path | None

    @property
    def hints(self) -> list[str]:
        """What would cost less, or why something costs what it does."""
        return list(hints(self.release.plan, self.release.unit, self.asked))


def table_of(  # noqa: PLR0913, PLR0917 - all that decides a table and its charge
    asked: Asked,
    dataset: DatasetConfig,
    configuration: Config,
    pay: Pay,
    analyst: Analyst,
    slot: Slot | None = None,
) -> Table:
    """The table that was asked for, charged to the ledger; or a refusal.

    Args:
        asked: What was typed.
        dataset: Whose records are counted.
        configuration: Where the ledger is.
        pay: The price.
        analyst: Who asks.
        slot: When the reply leaves; None: as soon as it is there.

    Raises:
        NoisyCountError: The question, the file, the budget or the ledger refuses it.
    """
    check_public(asked, dataset)
    with ExitStack() as opened:
        ledger = opened.enter_context(existing_ledger(configuration, makes=True))
        register = Register.of(ledger, configuration.data_folder)
        records = opened.enter_context(records_of(dataset, register))
        view = viewed(records, dataset)
        wish = wish_of(asked, view, pay.epsilon, pay.goal)
        check_drawable(asked, view.understood(wish).plan)  # a refused table makes no ledger
        if ledger is None:
            records.prepare()
            configuration.make_ledger_folder()
            ledger = opened.enter_context(Ledger.open(configuration.ledger_url))
        paying = Dataset(records.name, dataset.budget, dataset.size)
        desk = records.desk(ledger, paying, slot, analyst)
        release = _released(desk, wish, pay.confidence)
        meaning = None if asked.where is None or not asked.by else records.meaning(asked.where)
    return Table(
        asked=asked,
        release=release,
        meaning=meaning,
        neighbours=neighbours_of_size(dataset.size),
        budget=dataset.budget,
        analyst=analyst,
        ledger=configuration.ledger_file,
    )


def viewed(records: Records, dataset: DatasetConfig) -> Viewed:
    """What is public of open records."""
    relation = neighbours_of_size(dataset.size)
    is_replacement = relation is NeighbourRelation.REPLACEMENT
    return Viewed(records.schema, records.unit, is_replacement)


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


def _released(desk: Desk, wish: Wish, confidence: float) -> TableRelease:
    """The table from the desk."""
    said = {field.name: getattr(wish, field.name) for field in fields(wish)}
    if isinstance(wish, ManyWish):
        return desk.release_many(**said, confidence=confidence)
    return desk.release_table(**said, confidence=confidence)
