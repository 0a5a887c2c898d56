"""What a table would cost and give, without asking it.

A table as JSON.

A forecast of a table as JSON.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from noisycount.config.config import Config, DatasetConfig
from noisycount.display.numbers import exact_text
from noisycount.display.texts import told_name
from noisycount.frozen import frozen
from noisycount.ledger.approximate import neighbours_of_size
from noisycount.ledger.budget import Loss
from noisycount.ledger.entries import Analyst
from noisycount.release.answer import Remains
from noisycount.release.plan import TablePlan
from noisycount.release.table_answer import TableRelease
from noisycount.tasks.count import impossible_hints
from noisycount.tasks.count_display import NEIGHBOURS
from noisycount.tasks.opening import Counter, Spent, counter_of
from noisycount.tasks.table.asked import Asked
from noisycount.tasks.table.forecast import Forecast
from noisycount.tasks.table.levels import ShownLevel, shown_levels
from noisycount.tasks.table.table import (
    Pay,
    Table,
    check_drawable,
    check_public,
    hints,
    hints_after,
    viewed,
)
from noisycount.tasks.table.wish import wish_of

__all__ = [
    "TableTrial",
    "forecast_object",
    "level_objects",
    "loss_object",
    "table_object",
    "table_trial_object",
]


@frozen
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


def table_object(table: Table) -> dict[str, Any]:
    """A table; budgets, shares and scales are exact decimals or fractions, as text.

    A key is null where the level sums over it, and for missing values; `sum_of` tells which.
    """
    release = table.release
    return {
        "rows": list(_rows(release)),
        "confidence": release.confidence,
        "dataset": release.dataset,
        "by": list(release.labels.names),
        "where": release.where,
        "meaning": table.meaning,
        "unit": release.unit,
        "unreadable_as_missing": list(release.unreadable_as_missing),
        "neighbours": NEIGHBOURS[table.neighbours],
        "mechanism": release.plan.levels[0].mechanism.name,
        **_plan(release.plan, release.confidence, len(release)),
        "odds": release.odds,
        "charged": loss_object(release.charged),
        **table.remains.object,
        "analyst": table.analyst.name,
        "repeated": release.repeated,
        "key": release.key,
        "ledger": None if table.ledger is None else told_name(table.ledger),
        "hints": table.hints,
    }


def table_trial_object(trial: TableTrial) -> dict[str, Any]:
    """What a table would cost and give; the names are those of a table."""
    return {
        "dry_run": True,
        "rows": None,
        "confidence": trial.confidence,
        "dataset": told_name(trial.dataset.name),
        "where": trial.where,
        "meaning": trial.meaning,
        "unit": trial.unit,
        "unreadable_as_missing": list(trial.unreadable_as_missing),
        "neighbours": NEIGHBOURS[neighbours_of_size(trial.dataset.size)],
        "mechanism": trial.plan.levels[0].mechanism.name,
        **_plan(trial.plan, trial.confidence, None),
        "odds": trial.odds,
        "cost": loss_object(Loss() if trial.repeated else trial.loss),
        "charged": loss_object(Loss()),
        **trial.remains.object,
        "affordable": trial.affordable,
        "analyst": trial.analyst.name,
        "repeated": trial.repeated,
        "hints": trial.hints,
    }


def loss_object(loss: Loss) -> dict[str, str | None]:
    """A price in all its currencies; ε is null where there is none."""
    return {
        "epsilon": None if loss.epsilon is None else exact_text(loss.epsilon),
        "rho": exact_text(loss.rho),
        "delta": exact_text(loss.delta),
    }


def level_objects(levels: Sequence[ShownLevel]) -> list[dict[str, Any]]:
    """What each level costs and how far off it is."""
    return [
        {
            "level": level.name,
            "counts": level.counts,
            "error": level.error,
            "error_of_all": level.error_of_all,
            "share": exact_text(level.share),
            "sensitivity": level.sensitivity,
            "scale": exact_text(level.scale),
        }
        for level in levels
    ]


def _plan(plan: TablePlan, confidence: float, counts: int | None) -> dict[str, Any]:
    """The price and the noise of a table."""
    return {
        "price": loss_object(plan.loss),
        "levels": level_objects(shown_levels(plan, confidence, counts)),
        "groups_per_unit": plan.groups,
        "threshold": plan.threshold,
        "surely_shown": plan.surely_shown(confidence),
    }


def _rows(release: TableRelease) -> Iterator[dict[str, Any]]:
    """Every count; with the best estimate from all levels, where there is one."""
    names, estimates = release.labels.names, release.combined
    best = [] if estimates is None else [each for level in estimates for each in level.tolist()]
    sums = [] if release.cumulative is None else release.cumulative.tolist()
    for place, row in enumerate(release.rows):
        told = {
            "level": row.level,
            "keys": dict(zip(names, row.labels, strict=True)),
            "answer": row.answer,
            "error": row.error,
            "error_of_all": row.error_of_all,
        }
        if row.sum_of is not None:
            told["sum_of"] = row.sum_of
        if best:
            told["combined"] = best[place]
        if place < len(sums):
            told["sum_so_far"] = sums[place]
        yield told


def forecast_object(told: Forecast) -> dict[str, Any]:
    """A forecast; prices, shares and scales are exact decimals or fractions, as text."""
    design = told.design
    return {
        "cells": dict(design.cells),
        "margins": list(design.margins),
        "groups_per_unit": design.groups or 1,
        "size_public": design.is_size_public,
        "hidden": design.is_hidden,
        "cumulative": design.is_cumulative,
        "confidence": told.confidence,
        "epsilon": None if design.epsilon is None else exact_text(design.epsilon),
        "rho": None if design.rho is None else exact_text(design.rho),
        "delta": None if design.delta is None else exact_text(design.delta),
        "better": told.plans[0].levels[0].mechanism.name,
        "gain": told.gain,
        "plans": [
            {
                "mechanism": plan.levels[0].mechanism.name,
                "price": loss_object(plan.loss),
                "levels": level_objects(told.levels(plan)),
                "threshold": plan.threshold,
                "surely_shown": plan.surely_shown(told.confidence),
                "odds": plan.odds("person"),
            }
            for plan in told.plans
        ],
    }
