"""A forecast of a table in words, as JSON and as a picture."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from noisycount.app.table.design import Design
from noisycount.app.table.forecast import Forecast
from noisycount.app.table.levels import noise_words, shown_levels
from noisycount.app.table.wire import level_objects, loss_object
from noisycount.app.terminal.files import writing
from noisycount.app.terminal.printing import print_facts, print_table
from noisycount.release.budget.exact import exact_text
from noisycount.release.tables.odds import odds_of
from noisycount.release.tables.table_plan import TablePlan
from noisycount.shown.numbers import percent, plus_minus

__all__ = ["forecast_object", "print_forecast", "save_forecast_plot"]


def print_forecast(told: Forecast) -> None:
    """A forecast on standard output."""
    print_facts([("table", _shape(told.design)), ("price", told.plans[0].loss.text)])
    for plan in told.plans:
        levels = shown_levels(plan, told.confidence, _counts(told.design, plan))
        header = (
            "counts by",
            "how many",
            f"{levels[0].mechanism}, each ({percent(told.confidence)})",
            "all at once",
            "share",
        )
        print_table(
            header,
            [
                (
                    level.name,
                    f"{_size(told.design, level.counts):,}",
                    plus_minus(level.error),
                    plus_minus(level.error_of_all or 0),
                    percent(float(f"{float(level.share):.3g}")),
                )
                for level in levels
            ],
        )
    print_facts(list(_facts(told)))


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
                "levels": level_objects(plan, told.confidence, _counts(design, plan)),
                "threshold": plan.threshold,
                "surely_shown": plan.surely_shown(told.confidence),
                "odds": odds_of(plan.loss, "person"),
            }
            for plan in told.plans
        ],
    }


def save_forecast_plot(told: Forecast, file: Path) -> None:
    """The ± of each level as one picture, SVG or PNG by its ending.

    Raises:
        NoisyCountError: The file cannot be written.
    """
    from noisycount.charts.files import save_file  # noqa: PLC0415  (loads Altair)
    from noisycount.charts.table.bars import TableBar, TableBars  # noqa: PLC0415  (the same)
    from noisycount.charts.table.chart import table_chart  # noqa: PLC0415  (the same)

    levels = [
        shown_levels(plan, told.confidence, _counts(told.design, plan)) for plan in told.plans
    ]
    bars = [
        TableBar(level.name, level.error, 0, level.mechanism if len(levels) > 1 else "")
        for same in zip(*levels, strict=True)
        for level in same
    ]
    chart = table_chart(
        TableBars(
            bars=bars,
            title="How far off would each count be?",
            notes=[_shape(told.design), f"with {percent(told.confidence)} confidence"],
            axis="± of one count",
            kinds="noise" if len(levels) > 1 else "",
        )
    )
    with writing(file):
        save_file(chart, file)


def _facts(told: Forecast) -> Iterator[tuple[str, str]]:
    """What follows from the plans."""
    for plan in told.plans:
        levels = shown_levels(plan, told.confidence, _counts(told.design, plan))
        yield "noise", noise_words(levels)
        yield "", f"{plan.loss.text}: {odds_of(plan.loss, 'person')}"
        if plan.threshold is not None:
            yield (
                "",
                (
                    f"keys are shown from a noisy count of {plan.threshold:,} on, one of "
                    f"{plan.surely_shown(told.confidence):,} with {percent(told.confidence)} "
                    "probability at least"
                ),
            )
    if told.gain is not None:
        better, other = (plan.levels[0].mechanism.name for plan in told.plans)
        yield (
            "cheaper",
            (
                f"{better}: its squared errors are {told.gain:.2g} of those of {other} at the "
                "same ε and δ"
            ),
        )
    elif told.design.rho is None:
        yield "hint", "with --delta 1e-6 Gaussian noise at the same price is told beside it"


def _shape(design: Design) -> str:
    """The columns and how many keys each has."""
    keys = " × ".join(f"{size:,} of {name}" for name, size in design.cells.items())
    hidden = ", known to the records alone" if design.is_hidden else ""
    most = 1 if design.groups is None else design.groups
    replaced = "; one unit replaces another" if design.is_size_public else ""
    return (
        f"{keys}: {design.counts:,} cells{hidden}; a unit is in {most:,} of them at most{replaced}"
    )


def _counts(design: Design, plan: TablePlan) -> int | None:
    """How many counts there would be where the plan does not know."""
    return None if plan.size is not None else design.counts + len(plan.levels) - 1


def _size(design: Design, counts: int | None) -> int:
    return design.counts if counts is None else counts
