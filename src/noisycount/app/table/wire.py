"""A table as JSON."""

from collections.abc import Iterator, Sequence
from typing import Any

from noisycount.app.count.wire import NEIGHBOURS
from noisycount.app.table.levels import ShownLevel, shown_levels
from noisycount.app.table.question import Table
from noisycount.app.table.trial import TableTrial
from noisycount.release.budget.exact import exact_text
from noisycount.release.budget.loss import Loss
from noisycount.release.budget.neighbours import neighbours_of_size
from noisycount.release.tables.plan import TablePlan
from noisycount.release.tables.release import TableRelease
from noisycount.shown.told import told_name

__all__ = ["level_objects", "loss_object", "table_object", "table_trial_object"]


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
