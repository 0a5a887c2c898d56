"""A forecast of a table in words."""

from collections.abc import Iterator

from noisycount.app.forecast.design import Design
from noisycount.app.forecast.forecast import Forecast
from noisycount.app.table.levels import level_rows, noise_words
from noisycount.app.terminal.printing import print_facts, print_table
from noisycount.shown.numbers import percent

__all__ = ["print_forecast", "shape_words"]


def print_forecast(told: Forecast) -> None:
    """A forecast on standard output."""
    print_facts([("table", shape_words(told.design)), ("price", told.plans[0].loss.text)])
    for plan in told.plans:
        levels = told.levels(plan)
        print_table(*level_rows(levels, told.confidence, of_noise=f"{levels[0].mechanism}, "))
    print_facts(list(_facts(told)))


def _facts(told: Forecast) -> Iterator[tuple[str, str]]:
    """What follows from the plans."""
    for plan in told.plans:
        levels = told.levels(plan)
        yield "noise", noise_words(levels)
        yield "", f"{plan.loss.text}: {plan.odds('person')}"
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


def shape_words(design: Design) -> str:
    """The columns and how many keys each has."""
    keys = " × ".join(f"{size:,} of {name}" for name, size in design.cells.items())
    hidden = ", known to the records alone" if design.is_hidden else ""
    most = 1 if design.groups is None else design.groups
    replaced = "; one unit replaces another" if design.is_size_public else ""
    return (
        f"{keys}: {design.counts:,} cells{hidden}; a unit is in {most:,} of them at most{replaced}"
    )
