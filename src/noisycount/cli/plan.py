"""`noisycount plan`: ε for an accuracy, or the accuracy for an ε.

The plans are computed by `noisycount.tasks.plan`, those of tables by `noisycount.tasks.forecast`.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from noisycount.config.config import DEFAULT_BUDGET, Config
from noisycount.display.output import file_facts, line_width, print_drawing, print_facts, print_json, print_text, status
from noisycount.display.texts import redacted_name
from noisycount.frozen import frozen
from noisycount.ledger.budget import PureBudget
from noisycount.model.sampling.scalar import price_as_written
from noisycount.query.typed import MAX_CELLS, parse_confidence, parse_margins, parse_within
from noisycount.readers import options, values
from noisycount.release.dataset import AvailableBudget
from noisycount.tasks import plan as task
from noisycount.validation import exact_delta, exact_epsilon

if TYPE_CHECKING:
    from noisycount.tasks.forecast import Design


@frozen
class PlanGoal:
    """Options that state an accuracy or a price, and the budget that pays."""

    within: float | None
    at_most: Fraction | None
    guess: float | None
    guess_from: str | None  # key of a stored answer
    error: Fraction | None
    epsilon: Fraction | None
    confidence: float
    queries: int
    budget: Fraction | None
    dataset: str | None


_DEFAULT_AT_MOST = Fraction(1, 2)
_COLUMN_SIZE = re.compile(r"\s*([^=,]+?)\s*=\s*([0-9][0-9,]*[0-9]|[0-9]{1,8})\s*")
_COLUMN_TEXT = re.compile(r"[^,=]+=[^=]*?(?=,[^,=]+=|$)")


def _parse_cells(texts: Sequence[str]) -> dict[str, int]:
    """Return the number of keys of each column of a table, from texts such as `town=16,sex=2`."""
    cells: dict[str, int] = {}
    if not texts:
        return cells
    for text in texts:
        for piece in _COLUMN_TEXT.findall(text) or [text]:
            match = _COLUMN_SIZE.fullmatch(piece)
            size = int(values.drop_thousands(match[2]).replace(",", "")) if match else 0
            if match is None or not 1 <= size <= MAX_CELLS or match[1] in cells:
                raise ValueError(
                    f"must name each column once with its number of keys, such as town=16,sex=2, got {text!r}"
                )
            cells[match[1]] = size
    return cells


@click.command(
    name="plan",
    epilog="\b\nExample:\n"
    "  noisycount plan --within 20% --at-most 0.5\n"
    "  noisycount plan --error 15 --queries 10\n"
    "  noisycount plan --cells town=16,sex=2 --margins all --epsilon 1 --delta 1e-6",
)
@options.value_option("--within", parse_within, "20%", "Set the accuracy as a share of the count or of --guess.")
@options.value_option(
    "--at-most", exact_epsilon, "E", "Set the largest price in ε for --within without a guess.  [default: 0.5]"
)
@options.value_option("--guess", values.parse_guess, "100", "Fix the price of --within by a public guess of the count.")
@options.value_option(
    "--guess-from",
    str,
    "KEY",
    "Use a stored answer as the guess, by its key or the beginning of it.",
)
@options.value_option("--error", values.parse_half_width, "15", "Set the accuracy in records.")
@options.value_option("--epsilon", exact_epsilon, "E", "Show the accuracy that this ε gives.")
@options.value_option(
    "--confidence", parse_confidence, "95%", "Set the probability with which errors hold.", default="95%"
)
@options.value_option(
    "--queries",
    values.parse_queries,
    "N",
    "Plan N answers that are all within the error.",
    default="1",
)
@options.value_option(
    "--budget",
    values.parse_budget,
    "E",
    f"Show how many answers this budget in ε pays for.  [default: {DEFAULT_BUDGET.text}]",
)
@options.value_option(
    "--dataset",
    str,
    "SOURCE",
    "Use the remaining budget of this data set.",
    shell_complete=options.complete_sources,
)
@options.plot_option("Draw fifty possible answers, and the price of other goals")
@options.repeatable_option(
    "--cells",
    _parse_cells,
    "TOWN=16,SEX=2",
    "Plan a table: its columns and their numbers of keys. Needs --epsilon or --rho.",
)
@options.repeatable_option(
    "--margins", parse_margins, "NAMES", "Also measure sums of the table: a list such as total,town, or all."
)
@options.value_option(
    "--delta",
    exact_delta,
    "D",
    "Compare with Gaussian noise at this δ. Required for --hidden.",
)
@options.value_option("--rho", values.parse_rho, "R", "Set the price of Gaussian noise in ρ.")
@options.value_option(
    "--groups-per-unit",
    values.parse_groups,
    "G",
    "Set the largest number of cells that a person can be in.  [default: 1]",
)
@options.flag(
    "--size-public is_size_public",
    "State that the number of persons is public.",
)
@options.flag("--hidden is_hidden", "Plan a table with hidden keys. Needs --delta.")
@options.flag("--cumulative is_cumulative", "Measure ranges of cells too.")
@options.common_options
@options.fill(PlanGoal)
def plan(
    goal: PlanGoal,
    plot: Path | None,
    configuration: Config,
    *,
    as_json: bool,
    **table: Any,  # noqa: ANN401 - members of `Design` with the same names
) -> None:
    """Choose ε from the accuracy that you need.

    A guess of the count must be public: never use the true count. No data is read.

    For a table (--cells) it compares the noises that the price can buy.
    """
    if (design := _read_design(goal, table)) is not None:
        other_goals = (goal.within, goal.at_most, goal.guess, goal.guess_from, goal.error, goal.budget)
        if any(other is not None for other in other_goals) or goal.queries > 1:
            raise _usage_error("--cells goes with --epsilon or --rho, and with no other goal")
        paying = None if goal.dataset is None else _available_budget(goal, configuration)
        _show_forecast(design, goal.confidence, plot, paying, as_json=as_json)
        return
    has_guess = goal.guess is not None or goal.guess_from is not None
    if goal.at_most is not None or (goal.within is not None and not has_guess):
        _show_open_plan(goal, plot, configuration, as_json=as_json)
        return
    guess, guessed_from = _read_guess(goal, configuration)
    result = replace(_make_plan(goal, guess), guessed_from=guessed_from, paying=_available_budget(goal, configuration))
    if plot is not None:
        from noisycount.tasks.pictures import save_plan_plot  # noqa: PLC0415 - for pictures alone

        with status("drawing"):
            save_plan_plot(result, plot)
    if as_json:
        print_json(task.plan_json(result))
    else:
        print_facts([*task.plan_facts(result), *file_facts(plot)])
        print_text()
        print_text(task.preview_heading(result))
        print_text()
        print_drawing(task.preview(result, line_width()))


def _read_design(goal: PlanGoal, table: dict[str, Any]) -> "Design | None":
    """Return the shape and the price of a table, or None if no table is planned."""
    groups = table.pop("groups_per_unit")
    if table["cells"]:
        from noisycount.tasks.forecast import Design  # noqa: PLC0415 - loads the plans of tables

        return Design(**table, epsilon=goal.epsilon, groups=groups)
    if groups or any(table.values()):
        raise click.UsageError("give the cells of a table too, such as --cells town=16,sex=2")
    return None


def _show_open_plan(goal: PlanGoal, plot: Path | None, configuration: Config, *, as_json: bool) -> None:
    """Show the prices of an accuracy goal without a guess of the count."""
    other_goals = (goal.guess, goal.guess_from, goal.error, goal.epsilon)
    if goal.within in {None, 1} or goal.queries > 1 or any(other is not None for other in other_goals):
        raise _usage_error("--at-most goes with --within below 100% and --confidence, and with no other goal")
    if plot is not None:
        raise _usage_error("--plot needs a guess of the count: give --guess, or leave --plot out")
    open_plan = task.OpenPlan(
        price_as_written(goal.within, "within"),
        price_as_written(goal.confidence, "confidence"),
        goal.at_most or _DEFAULT_AT_MOST,
        _available_budget(goal, configuration),
    )
    if as_json:
        print_json(open_plan.json)
    else:
        print_facts(open_plan.facts)


def _show_forecast(
    design: "Design", confidence: float, plot: Path | None, paying: AvailableBudget | None, *, as_json: bool
) -> None:
    from noisycount.tasks.forecast import budget_facts, forecast, forecast_json, print_forecast  # noqa: PLC0415

    result = forecast(design, confidence, paying)
    if plot is not None:
        from noisycount.tasks.pictures import save_forecast_plot  # noqa: PLC0415 - for pictures alone

        save_forecast_plot(result, plot)
    if as_json:
        print_json(forecast_json(result))
        return
    print_forecast(result)
    print_facts([*budget_facts(result), *file_facts(plot)])


def _read_guess(goal: PlanGoal, configuration: Config) -> tuple[float | None, str | None]:
    """Return the given guess, or a stored answer with the text of its origin."""
    if goal.guess_from is None:
        return goal.guess, None
    if goal.guess is not None:
        raise _usage_error("give either --guess or --guess-from, not both")
    from noisycount.tasks.ledger import stored_count_as_guess  # noqa: PLC0415 - loads SQLAlchemy

    answer, words = stored_count_as_guess(goal.guess_from, configuration)
    return float(answer), words


def _make_plan(goal: PlanGoal, guess: float | None) -> task.Plan:
    """Return the plan of the only goal that is given."""
    goals = [value for value in (goal.within, goal.error, goal.epsilon) if value is not None]
    if len(goals) == 1 and goal.within is not None and guess is not None:
        return task.plan_for_guess(guess, goal.within, goal.confidence, goal.queries)
    if len(goals) == 1 and goal.error is not None:
        return task.plan_for_error(goal.error, goal.confidence, goal.queries, guess)
    if len(goals) == 1 and goal.epsilon is not None:
        return task.plan_at_epsilon(goal.epsilon, goal.confidence, goal.queries, guess)
    raise _usage_error("give one goal: --within 20%, or --error 15, or --epsilon 0.1")


def _available_budget(goal: PlanGoal, configuration: Config) -> AvailableBudget:
    """Return the budget that is given, or the remaining budget of a data set."""
    if goal.dataset is None:
        return task.UNSPENT if goal.budget is None else AvailableBudget(PureBudget(goal.budget))
    if goal.budget is not None:
        raise _usage_error("give either --budget or --dataset, not both")
    from noisycount.tasks.ledger import spent_of  # noqa: PLC0415 - loads SQLAlchemy

    dataset = configuration.dataset(goal.dataset)
    return AvailableBudget(dataset.budget, spent_of(goal.dataset, configuration), redacted_name(dataset.name))


def _usage_error(message: str) -> click.UsageError:
    """Return a UsageError whose message ends with the command that shows the help."""
    return click.UsageError(message, ctx=click.get_current_context())
