"""`noisycount count`: one private count, or a table of them."""

from fractions import Fraction

import click

from noisycount.config.config import Config
from noisycount.readers.common import (
    analyst_names,
    as_confidence,
    as_epsilon,
    as_guess,
    as_purpose,
    as_slot,
    as_within,
    config_option,
    json_option,
    source_names,
)
from noisycount.readers.dataset import of_table, table_option, unit_option
from noisycount.release.reply_tick import ReplyTick
from noisycount.tasks.count import answer_to, dataset_asked, hints
from noisycount.tasks.count_display import (
    Trial,
    answer_facts,
    answer_object,
    trial_facts,
    trial_object,
)
from noisycount.tasks.plan import planned
from noisycount.tasks.table.asked import ONE_PRICE, Asked, check_asked
from noisycount.tasks.table.options import table_options
from noisycount.terminal.printing import print_facts, print_json
from noisycount.terminal.progress import status


@click.command(
    name="count",
    epilog="\b\nExample:\n"
    "  noisycount count survey.csv --where \"age >= 65 and health = 'poor'\" \\\n"
    "      --unit person --within 20% --guess 100\n"
    "  noisycount count survey.csv --by town,age:0,18,65 --keys town=Bern,Biel \\\n"
    "      --unit person --groups-per-unit 1 --epsilon 1",
)
@click.argument("source", shell_complete=source_names)
@click.option(
    "--where",
    multiple=True,
    metavar="TEXT",
    help="What to count, as in SQL's WHERE; several times: a table with a row for each.",
)
@click.option(
    "--epsilon", callback=as_epsilon, metavar="E", help="The price of the answer: 0.1 or 1/3."
)
@click.option(
    "--within", callback=as_within, metavar="20%", help="Or: how far off the answer may be,"
)
@click.option(
    "--guess", callback=as_guess, metavar="100", help="of about how many (a public guess),"
)
@click.option(
    "--confidence",
    callback=as_confidence,
    default="95%",
    show_default=True,
    metavar="95%",
    help="and with what probability; errors are stated for it.",
)
@unit_option
@table_option
@click.option(
    "--analyst",
    metavar="NAME",
    shell_complete=analyst_names,
    help="Who asks; to be said where analysts are configured.",
)
@click.option(
    "--purpose",
    callback=as_purpose,
    metavar="TEXT",
    help="What the answer is for; the ledger keeps it beside the price.",
)
@click.option(
    "--slot",
    callback=as_slot,
    metavar="SECONDS",
    help="Reply only when a slot ends, so that no duration tells of the records; make it several "
    "times as long as the longest count takes.",
)
@click.option(
    "--dry-run",
    "is_trial",
    is_flag=True,
    help="Tell whether the question is understood, what it would cost, and what is left; charge "
    "and count nothing.",
)
@table_options
@config_option
@json_option
def command(  # noqa: PLR0913, PLR0917  (one argument an option)
    source: str,
    epsilon: Fraction | None,
    within: float | None,
    guess: float | None,
    confidence: float,
    unit: str | None,
    table: str | None,
    analyst: str | None,
    purpose: str | None,
    slot: ReplyTick | None,
    configuration: Config,
    *,
    asked: Asked,
    is_trial: bool,
    as_json: bool,
) -> None:
    """Count what satisfies a question, with noise and a budget.

    SOURCE is a file or a data set of noisycount.toml. The price is either
    given (--epsilon) or follows from the accuracy that you need (--within and --guess). Asking the
    identical question again gives the stored answer and costs nothing. A question outside the
    language is refused before any slot: that depends on the columns, on no record.

    A table, with --by or several --where, is one question: one price pays for all of its rows.
    """
    check_asked(asked, epsilon, within)
    dataset, asker = dataset_asked(configuration, source, unit), configuration.analyst(analyst)
    dataset = of_table(dataset, table, configuration)
    if asked.is_table:
        from noisycount.tasks.table.asking import ask_table, pay_of, try_table  # noqa: PLC0415  (loads what reads files of keys)

        pay = pay_of(asked, epsilon, within, guess, confidence)
        if is_trial:
            try_table(asked, dataset, configuration, pay, asker, as_json=as_json)
        else:
            ask_table(
                asked, dataset, configuration, pay, asker, slot, purpose=purpose, as_json=as_json
            )
        return
    (where,) = asked.wheres
    price = _price(epsilon, within, guess, confidence)
    if is_trial:
        trial = Trial.of(where, dataset, configuration, price, confidence, asker)
        print_json(trial_object(trial)) if as_json else print_facts(trial_facts(trial))
        return
    with status("counting"):
        answer = answer_to(
            where, dataset, configuration, price, confidence, asker, slot, purpose=purpose
        )
    told = hints(answer, guess, within)
    if as_json:
        print_json(answer_object(answer, told))
    else:
        print_facts(answer_facts(answer, told))


def _price(
    epsilon: Fraction | None, within: float | None, guess: float | None, confidence: float
) -> Fraction:
    """The ε that is given, or that the goal needs."""
    if epsilon is not None and within is None and guess is None:
        return epsilon
    if epsilon is None and within is not None and guess is not None:
        return planned(guess, within, confidence).epsilon
    raise click.UsageError(ONE_PRICE)
