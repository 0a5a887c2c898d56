"""`noisycount count`: one private count, or a table of them."""

from typing import TYPE_CHECKING

import click

from noisycount.config.config import Config
from noisycount.display.output import print_facts, print_json, status
from noisycount.query.query import Query, parse_confidence, parse_within
from noisycount.readers.options import (
    Parsed,
    analyst_names,
    config_option,
    json_option,
    source_names,
    table_option,
    unit_option,
)
from noisycount.readers.values import parse_epsilon, parse_guess, parse_purpose, parse_tick
from noisycount.release.reply_tick import ReplyTick
from noisycount.tasks.answer import Answer, answer_to, preview_of
from noisycount.tasks.answer_display import answer_object, count_facts
from noisycount.tasks.question import dataset_asked
from noisycount.tasks.table.options import ONE_PRICE, TableFiles, check_query, table_options

if TYPE_CHECKING:
    from pathlib import Path


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
@click.option("--epsilon", type=Parsed(parse_epsilon), metavar="E", help="The price of the answer: 0.1 or 1/3.")
@click.option("--within", type=Parsed(parse_within), metavar="20%", help="Or: how far off the answer may be,")
@click.option("--guess", type=Parsed(parse_guess), metavar="100", help="of about how many (a public guess),")
@click.option(
    "--confidence",
    type=Parsed(parse_confidence),
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
    type=Parsed(parse_purpose),
    metavar="TEXT",
    help="What the answer is for; the ledger keeps it beside the price.",
)
@click.option(
    "--slot",
    type=Parsed(parse_tick),
    metavar="SECONDS",
    help="Reply only when a slot ends, so that no duration tells of the records; make it several "
    "times as long as the longest count takes.",
)
@click.option(
    "--dry-run",
    "is_trial",
    is_flag=True,
    help="Tell whether the question is understood, what it would cost, and what is left; charge and count nothing.",
)
@table_options
@config_option
@json_option
def command(  # noqa: PLR0913, PLR0917  (one argument an option)
    source: str,
    unit: str | None,
    table: str | None,
    analyst: str | None,
    purpose: str | None,
    slot: ReplyTick | None,
    configuration: Config,
    *,
    query: Query,
    files: TableFiles,
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
    check_query(query, files)
    dataset, asker = dataset_asked(configuration, source, unit), configuration.analyst(analyst)
    dataset = configuration.table_of(dataset, table)
    if not query.has_one_price:
        raise click.UsageError(ONE_PRICE)
    if query.is_table:
        from noisycount.tasks.table.files import check_files, with_files  # noqa: PLC0415  (loads what reads files of keys)

        if not is_trial:
            check_files(files)
        query = with_files(query, files, dataset)
    is_drawn = files.plot is not None
    if is_trial:
        preview = preview_of(query, dataset, configuration, asker, is_drawn=is_drawn)
        _print(preview, files, as_json=as_json)
        return
    with status("counting"):
        answer = answer_to(query, dataset, configuration, asker, slot, purpose=purpose, is_drawn=is_drawn)
    _print(answer, files, as_json=as_json)


def _print(answer: Answer, files: TableFiles, *, as_json: bool) -> None:
    """An answer on standard output, and its files where that was asked for."""
    written: list[Path] = []
    try:
        if answer.query.is_table and answer.release is not None:
            from noisycount.tasks.table.files import written_files  # noqa: PLC0415  (the same)

            written.extend(written_files(answer, files))
    finally:  # what was paid for is told, whatever became of the files
        if as_json:
            print_json(answer_object(answer))
        elif not answer.query.is_table:
            print_facts(count_facts(answer))
        else:
            from noisycount.tasks.table.display import print_preview, print_table_answer  # noqa: PLC0415  (the same)

            if answer.release is None:
                print_preview(answer)
            else:
                print_table_answer(answer, written)
