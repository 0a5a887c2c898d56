"""What a table would cost and give, without asking it."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from noisycount.app.config.config import Config, DatasetConfig
from noisycount.app.count.counter import Counter, counter_of
from noisycount.app.count.impossible import impossible_hints
from noisycount.app.count.spent import Spent
from noisycount.app.table.asked import Asked
from noisycount.app.table.hint import hints, hints_after
from noisycount.app.table.question import Pay, check_drawable, check_public, viewed
from noisycount.app.table.wish import wish_of
from noisycount.release.budget.loss import Loss
from noisycount.release.ledger.entries import Analyst
from noisycount.release.remains import Remains
from noisycount.release.tables.plan import TablePlan

__all__ = ["TableTrial"]


@dataclass(frozen=True, slots=True)
class TableTrial:
    """A table that is understood, and what it would cost; nothing is charged or counted.

    Attributes:
        asked: What was typed.
        dataset: Whose records would be counted.
        unit: The column whose distinct values would be; None for rows.
        where: The canonical text of what would be counted; None: all records, or questions.
        meaning: The same in English.
        plan: The noise of each level.
        confidence: With which errors are stated.
        analyst: Who would ask.
        spent: What both budgets have paid so far.
        affordable: Whether the budgets pay for it.
        repeated: Whether the analyst asked it at this price before, and it is free. What only
            others asked is told as what nobody asked: at its full price.
        unreadable_as_missing: The columns of the question whose cells, where they could not be
            read, count as missing.
        impossible: What the questions say of themselves: what no record can satisfy.
    """

    asked: Asked
    dataset: DatasetConfig
    unit: str | None
    where: str | None
    meaning: str | None
    plan: TablePlan
    confidence: float
    analyst: Analyst
    spent: Spent
    affordable: bool
    repeated: bool
    unreadable_as_missing: tuple[str, ...] = ()
    impossible: Sequence[str] = ()

    @property
    def remains(self) -> Remains:
        """What is left of both budgets now."""
        return self.spent.remains

    @property
    def remaining(self) -> Fraction:
        """The largest ε at which one more question may be asked now."""
        return self.remains.remaining

    @property
    def loss(self) -> Loss:
        """The price."""
        return self.plan.loss

    @property
    def affordable_answers(self) -> int | None:
        """How many tables at this price the budget pays for; None where prices do not add up."""
        price = self.loss.epsilon
        is_a_sum = self.remains.is_a_sum and price is not None
        return self.remaining // price if is_a_sum and price else None

    @property
    def odds(self) -> str:
        """What the whole table would mean for one person or row, in words."""
        return self.plan.odds("row" if self.unit is None else "person")

    @property
    def questions(self) -> int | None:
        """How many there are; None: it is by groups."""
        return None if self.asked.by else self.plan.size

    @property
    def hints(self) -> list[str]:
        """What no record can satisfy, what would cost less, or why something costs what it does."""
        is_charged = self.affordable and not self.repeated
        after = hints_after(self.spent, self.loss) if is_charged else ()
        return [*self.impossible, *hints(self.plan, self.unit, self.asked), *after]

    @classmethod
    def of(
        cls, asked: Asked, dataset: DatasetConfig, configuration: Config, pay: Pay, analyst: Analyst
    ) -> "TableTrial":
        """The trial of a table at a price; no ledger is made for it.

        Raises:
            NoisyCountError: The file, the question or the ledger refuses it.
        """
        check_public(asked, dataset)
        with counter_of(dataset, configuration) as counter:
            return cls.at(counter, asked, pay, analyst)

    @classmethod
    def at(cls, counter: Counter, asked: Asked, pay: Pay, analyst: Analyst) -> "TableTrial":
        """The same of open records.

        Raises:
            NoisyCountError: The question or the ledger refuses it.
        """
        check_public(asked, counter.dataset)
        records, account = counter.records, counter.account
        view = viewed(records, counter.dataset, analyst)
        wish = wish_of(asked, view, pay.epsilon, pay.goal)
        table = view.understood(wish)
        check_drawable(asked, table.plan)
        spent = Spent.of(account, analyst, counter.ledger)
        is_free = counter.is_free(analyst, records.requests(table))
        where = asked.where if asked.by else None
        return cls(
            asked=asked,
            dataset=account,
            unit=records.unit,
            where=None if where is None else records.text(where),
            meaning=None if where is None else records.meaning(where),
            plan=table.plan,
            confidence=pay.confidence,
            analyst=analyst,
            spent=spent,
            affordable=is_free or spent.admits(table.plan.loss),
            repeated=is_free,
            unreadable_as_missing=records.unreadable_in(table),
            impossible=impossible_hints(wish.questions, records.schema),
        )
