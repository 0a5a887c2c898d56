"""`noisycount plan`: from accuracy to ε, or from ε to accuracy."""

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
from noisycount.ledger.budget import PureBudget
from noisycount.model.sampling.scalar import price_as_written
from noisycount.query.query import MAX_CELLS, parse_confidence, parse_margins, parse_within
from noisycount.readers import options, values
from noisycount.tasks import plan as task

if TYPE_CHECKING:
    from noisycount.tasks.forecast import Design

_AT_MOST = Fraction(1, 2)
_SIZE = re.compile(r"\s*([^=,]+?)\s*=\s*([0-9][0-9,]*[0-9]|[0-9]{1,8})\s*")
_PIECE = re.compile(r"[^,=]+=[^=]*?(?=,[^,=]+=|$)")


def _cells(texts: Sequence[str]) -> dict[str, int]:
    """Columns and how many keys each has, such as `town=16,sex=2`."""
    cells: dict[str, int] = {}
    if not texts:
        return cells
    for text in texts:
        for piece in _PIECE.findall(text) or [text]:
            match = _SIZE.fullmatch(piece)
            size = int(values.drop_thousands(match[2]).replace(",", "")) if match else 0
            if match is None or not 1 <= size <= MAX_CELLS or match[1] in cells:
                raise ValueError(
                    f"must name each column once with its number of keys, such as town=16,sex=2, got {text!r}"
                )
            cells[match[1]] = size
    return cells


def _design(epsilon: Fraction | None, groups: int | None, **said: Any) -> "Design | None":  # noqa: ANN401 - options
    """The shape of a table and its price; None where no table is planned."""
    if said["cells"]:
        from noisycount.tasks.forecast import Design  # noqa: PLC0415  (loads what plans tables)

        return Design(**said, epsilon=epsilon, groups=groups)
    if groups or any(said.values()):
        raise click.UsageError("give the cells of a table too, such as --cells town=16,sex=2")
    return None


@click.command(
    name="plan",
    epilog="\b\nExample:\n"
    "  noisycount plan --within 20% --at-most 0.5\n"
    "  noisycount plan --within 20% --confidence 95% --guess 100\n"
    "  noisycount plan --error 15 --queries 10\n"
    "  noisycount plan --epsilon 0.1 --guess 100\n"
    "  noisycount plan --cells town=16,sex=2 --margins all --epsilon 1 --delta 1e-6",
)
@options.typed("--within", parse_within, "20%", "How far off at most, as a share")
@options.typed(
    "--at-most", values.parse_epsilon, "E", "of the count itself, for a price of at most so much.  [default: 0.5]"
)
@options.typed("--guess", values.parse_guess, "100", "or of about how many: a public guess.")
@options.typed(
    "--guess-from", str, "KEY", "The guess is an old answer, by its key in the ledger or the beginning of it."
)
@options.typed("--error", values.parse_error, "15", "Or: how far off at most, in records.")
@options.typed("--epsilon", values.parse_epsilon, "E", "Or: what would this ε give?")
@options.typed("--confidence", parse_confidence, "95%", "How surely.", default="95%")
@options.typed(
    "--queries",
    values.parse_queries,
    "N",
    "That many answers, all of them within that error.",
    default="1",
)
@options.typed(
    "--budget",
    values.parse_budget,
    "E",
    f"How many answers does this budget pay for?  [default: {DEFAULT_BUDGET.text}]",
)
@options.typed(
    "--dataset", str, "SOURCE", "Or: what is left of the budget of this data set?", shell_complete=options.source_names
)
@options.plot_option("Draw fifty possible answers, and what other goals cost, as .svg or .png.")
@options.repeated(
    "--cells", _cells, "TOWN=16,SEX=2", "Or: a table, by columns with so many keys each, at --epsilon or --rho."
)
@options.repeated("--margins", parse_margins, "NAMES", "Sums that are measured beside its cells: total,town or all.")
@options.typed(
    "--delta",
    values.parse_delta,
    "D",
    "Gaussian noise at the same ε and δ beside Laplace noise; and of hidden keys.",
)
@options.typed("--rho", values.parse_rho, "R", "The price of Gaussian noise.")
@options.typed("--groups-per-unit", values.parse_groups, "G", "In how many cells a person can be.  [default: 1]")
@options.flag("--size-public is_size_public", "Everybody knows how many persons there are: one replaces another.")
@options.flag("--hidden is_hidden", "Only the records know the keys: add --delta.")
@options.flag("--cumulative is_cumulative", "Ranges of cells are measured too.")
@options.common_options
def plan(  # noqa: PLR0913, PLR0917  (one argument an option)
    within: float | None,
    at_most: Fraction | None,
    guess: float | None,
    guess_from: str | None,
    error: Fraction | None,
    epsilon: Fraction | None,
    confidence: float,
    queries: int,
    budget: Fraction | None,
    dataset: str | None,
    plot: Path | None,
    groups_per_unit: int | None,
    configuration: Config,
    *,
    as_json: bool,
    **table: Any,  # noqa: ANN401 - what a design has by the same names
) -> None:
    """Choose ε from the accuracy that you need.

    The guess is public: something that everybody may know, never the true count. No data is read;
    the ledger is read only for --guess-from and --dataset.

    Of a table (--cells) it tells how far off the counts of every level are, with the noises that one price can buy.
    """
    if (design := _design(epsilon, groups_per_unit, **table)) is not None:
        goals = (within, at_most, guess, guess_from, error, budget)
        if any(goal is not None for goal in goals) or queries > 1:
            raise _misused("--cells goes with --epsilon or --rho, and with no other goal")
        owned = None if dataset is None else _paying(None, dataset, configuration)
        _tell(design, confidence, plot, owned, as_json=as_json)
        return
    if at_most is not None or (within is not None and guess is None and guess_from is None):
        others = (guess, guess_from, error, epsilon, plot)
        if within is None or within == 1 or queries > 1 or any(other is not None for other in others):
            raise _misused("--at-most goes with --within below 100% and --confidence, and with no other goal")
        from noisycount.tasks.open_plan import OpenPlan  # noqa: PLC0415  (loads the law of stopped chains)

        open_plan = OpenPlan(
            price_as_written(within, "within"),
            price_as_written(confidence, "confidence"),
            at_most or _AT_MOST,
            _paying(budget, dataset, configuration),
        )
        if as_json:
            print_json(open_plan.json)
        else:
            print_facts(open_plan.facts)
        return
    guess, guessed_from = _guess(guess, guess_from, configuration)
    goal = _plan(within, error, epsilon, guess, confidence, queries)
    told = replace(goal, guessed_from=guessed_from, paying=_paying(budget, dataset, configuration))
    if plot is not None:
        from noisycount.tasks.pictures import save_plan_plot  # noqa: PLC0415  (loads Altair)

        with status("drawing"):
            save_plan_plot(told, plot)
    if as_json:
        print_json(task.plan_json(told))
    else:
        print_facts([*task.plan_facts(told), *file_facts(plot)])
        print_text()
        print_text(task.preview_heading(told))
        print_text()
        print_drawing(task.preview(told, line_width()))


def _tell(
    design: "Design", confidence: float, plot: Path | None, paying: task.AvailableBudget | None, *, as_json: bool
) -> None:
    from noisycount.tasks.forecast import forecast, forecast_json, print_forecast  # noqa: PLC0415

    told = forecast(design, confidence)
    if plot is not None:
        from noisycount.tasks.pictures import save_forecast_plot  # noqa: PLC0415  (loads Altair)

        save_forecast_plot(told, plot)
    if as_json:
        print_json({**forecast_json(told), **task.left_json(told.plans, paying)})
        return
    paid_by = [] if paying is None else task.left_facts(told.plans, paying)
    print_forecast(told)
    print_facts([*paid_by, *file_facts(plot)])


def _guess(guess: float | None, key: str | None, configuration: Config) -> tuple[float | None, str | None]:
    """The guess that is given, or an old answer and where it comes from."""
    if key is None:
        return guess, None
    if guess is not None:
        raise _misused("give either --guess or --guess-from, not both")
    from noisycount.tasks.ledger import old_answer  # noqa: PLC0415  (loads SQLAlchemy)

    answer, words = old_answer(key, configuration)
    return float(answer), words


def _plan(  # noqa: PLR0913, PLR0917  (one argument an option)
    within: float | None,
    error: Fraction | None,
    epsilon: Fraction | None,
    guess: float | None,
    confidence: float,
    queries: int,
) -> task.Plan:
    goals = [goal for goal in (within, error, epsilon) if goal is not None]
    if len(goals) == 1 and within is not None and guess is not None:
        return task.planned(guess, within, confidence, queries)
    if len(goals) == 1 and error is not None:
        return task.planned_error(error, confidence, queries, guess)
    if len(goals) == 1 and epsilon is not None:
        return task.planned_epsilon(epsilon, confidence, queries, guess)
    raise _misused("give one goal: --within 20%, or --error 15, or --epsilon 0.1")


def _paying(budget: Fraction | None, dataset: str | None, configuration: Config) -> task.AvailableBudget:
    """What pays: the budget that is given, or what is left of that of a data set."""
    if dataset is None:
        return task.AvailableBudget() if budget is None else task.AvailableBudget(PureBudget(budget))
    if budget is not None:
        raise _misused("give either --budget or --dataset, not both")
    from noisycount.tasks.ledger import spent_of  # noqa: PLC0415  (loads SQLAlchemy)

    asked = configuration.dataset(dataset)
    return task.AvailableBudget(asked.budget, spent_of(dataset, configuration), redacted_name(asked.name))


def _misused(message: str) -> click.UsageError:
    """A refusal that leads to the help."""
    return click.UsageError(message, ctx=click.get_current_context())
