"""`noisycount plan`: from accuracy to ε, or from ε to accuracy."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import click

from noisycount.cli.options import design_options
from noisycount.config.config import DEFAULT_BUDGET, Config
from noisycount.display.texts import told_name
from noisycount.ledger.budget import PureBudget
from noisycount.readers.common import (
    as_confidence,
    as_epsilon,
    as_guess,
    as_within,
    config_option,
    json_option,
    plot_option,
    source_names,
)
from noisycount.readers.dataset import as_budget, as_error, as_queries
from noisycount.tasks.plan import Paying, Plan, plan_object, planned, planned_epsilon, planned_error
from noisycount.tasks.plan_display import plan_facts, preview, preview_heading
from noisycount.tasks.table.forecast import Design
from noisycount.terminal.printing import (
    file_facts,
    line_width,
    print_drawing,
    print_facts,
    print_json,
    print_text,
)


@click.command(
    name="plan",
    epilog="\b\nExample:\n"
    "  noisycount plan --within 20% --confidence 95% --guess 100\n"
    "  noisycount plan --error 15 --queries 10\n"
    "  noisycount plan --epsilon 0.1 --guess 100\n"
    "  noisycount plan --cells town=16,sex=2 --margins all --epsilon 1 --delta 1e-6",
)
@click.option("--within", callback=as_within, metavar="20%", help="How far off at most, as a share")
@click.option(
    "--guess", callback=as_guess, metavar="100", help="of about how many: a public guess."
)
@click.option(
    "--guess-from",
    metavar="KEY",
    help="The guess is an old answer, by its key in the ledger or the beginning of it.",
)
@click.option(
    "--error", callback=as_error, metavar="15", help="Or: how far off at most, in records."
)
@click.option("--epsilon", callback=as_epsilon, metavar="E", help="Or: what would this ε give?")
@click.option(
    "--confidence",
    callback=as_confidence,
    default="95%",
    show_default=True,
    metavar="95%",
    help="How surely.",
)
@click.option(
    "--queries",
    callback=as_queries,
    default="1",
    show_default=True,
    metavar="N",
    help="That many answers, all of them within that error.",
)
@click.option(
    "--budget",
    callback=as_budget,
    metavar="E",
    help=f"How many answers does this budget pay for?  [default: {DEFAULT_BUDGET.text}]",
)
@click.option(
    "--dataset",
    metavar="SOURCE",
    shell_complete=source_names,
    help="Or: what is left of the budget of this data set?",
)
@plot_option("Draw fifty possible answers, and what other goals cost, as .svg or .png.")
@design_options
@config_option
@json_option
def command(  # noqa: PLR0913, PLR0917  (one argument an option)
    within: float | None,
    guess: float | None,
    guess_from: str | None,
    error: Fraction | None,
    epsilon: Fraction | None,
    confidence: float,
    queries: int,
    budget: Fraction | None,
    dataset: str | None,
    plot: Path | None,
    configuration: Config,
    *,
    design: Design | None,
    as_json: bool,
) -> None:
    """Choose ε from the accuracy that you need.

    The guess is public: something that everybody may know, never the true count. No data is read;
    the ledger is read only for --guess-from and --dataset.

    Of a table (--cells) it tells how far off the counts of every level are, with the noises that
    one price can buy.
    """
    if design is not None:
        goals = (within, guess, guess_from, error, budget)
        if any(goal is not None for goal in goals) or queries > 1:
            raise _misused("--cells goes with --epsilon or --rho, and with no other goal")
        owned = None if dataset is None else _paying(None, dataset, configuration)
        _tell(design, confidence, plot, owned, as_json=as_json)
        return
    guess, guessed_from = _guess(guess, guess_from, configuration)
    goal = _plan(within, error, epsilon, guess, confidence, queries)
    paying = _paying(budget, dataset, configuration)
    plan = replace(goal, guessed_from=guessed_from, paying=paying)
    if plot is not None:
        from noisycount.tasks.pictures import save_plan_plot  # noqa: PLC0415  (loads Altair)
        from noisycount.terminal.progress import status  # noqa: PLC0415  (as it is needed only here)

        with status("drawing"):
            save_plan_plot(plan, plot)
    if as_json:
        print_json(plan_object(plan))
    else:
        print_facts([*plan_facts(plan), *file_facts(plot)])
        print_text()
        print_text(preview_heading(plan))
        print_text()
        print_drawing(preview(plan, line_width()))


def _tell(
    design: Design, confidence: float, plot: Path | None, paying: Paying | None, *, as_json: bool
) -> None:
    """The forecast of a table, told and drawn."""
    from noisycount.tasks.plan import left_facts, left_object  # noqa: PLC0415  (the same)
    from noisycount.tasks.table.forecast import (  # noqa: PLC0415
        forecast,
        forecast_object,
        print_forecast,
    )

    told = forecast(design, confidence)
    if plot is not None:
        from noisycount.tasks.pictures import save_forecast_plot  # noqa: PLC0415  (loads Altair)

        save_forecast_plot(told, plot)
    if as_json:
        print_json({**forecast_object(told), **left_object(told.plans, paying)})
        return
    paid_by = [] if paying is None else left_facts(told.plans, paying)
    print_forecast(told)
    print_facts([*paid_by, *file_facts(plot)])


def _guess(
    guess: float | None, key: str | None, configuration: Config
) -> tuple[float | None, str | None]:
    """The guess that is given, or an old answer and where it comes from."""
    if key is None:
        return guess, None
    if guess is not None:
        raise _misused("give either --guess or --guess-from, not both")
    from noisycount.tasks.backup import old_answer  # noqa: PLC0415  (loads SQLAlchemy)

    old = old_answer(key, configuration)
    return float(old.answer), old.words


def _plan(  # noqa: PLR0913, PLR0917  (one argument an option)
    within: float | None,
    error: Fraction | None,
    epsilon: Fraction | None,
    guess: float | None,
    confidence: float,
    queries: int,
) -> Plan:
    """The plan for the one goal that is given."""
    goals = [goal for goal in (within, error, epsilon) if goal is not None]
    if len(goals) == 1 and within is not None and guess is not None:
        return planned(guess, within, confidence, queries)
    if len(goals) == 1 and error is not None:
        return planned_error(error, confidence, queries, guess)
    if len(goals) == 1 and epsilon is not None:
        return planned_epsilon(epsilon, confidence, queries, guess)
    raise _misused("give one goal: --within 20% with --guess 100, or --error 15, or --epsilon 0.1")


def _paying(budget: Fraction | None, dataset: str | None, configuration: Config) -> Paying:
    """What pays: the budget that is given, or what is left of that of a data set."""
    if dataset is None:
        return Paying() if budget is None else Paying(PureBudget(budget))
    if budget is not None:
        raise _misused("give either --budget or --dataset, not both")
    from noisycount.tasks.backup import spent_of  # noqa: PLC0415  (loads SQLAlchemy)

    asked = configuration.dataset(dataset)
    return Paying(asked.budget, spent_of(dataset, configuration), told_name(asked.name))


def _misused(message: str) -> click.UsageError:
    """A refusal that leads to the help."""
    return click.UsageError(message, ctx=click.get_current_context())
