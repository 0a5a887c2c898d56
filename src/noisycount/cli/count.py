"""`noisycount count`: one private count, or a table of them."""

import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import Any

import click
from click.shell_completion import CompletionItem

from noisycount.catalog.catalog import Catalog
from noisycount.cli.main import StoppedError
from noisycount.config.config import Config
from noisycount.display.output import print_json, status
from noisycount.errors import NoisyCountError, is_interruption
from noisycount.model.noises.additive import DiscreteNoise
from noisycount.query import query as question
from noisycount.query.predicate import quoted_name, quoted_text
from noisycount.query.public_values import public_values
from noisycount.query.readings import FUNCTIONS
from noisycount.query.schema import Kind, PublicValues, Schema
from noisycount.readers import options, values
from noisycount.release.reply_tick import ReplyTick
from noisycount.tasks.answer import Answer, answer_to, charged_so_far, preview_of
from noisycount.tasks.answer_display import print_answer
from noisycount.tasks.answer_json import answer_json
from noisycount.tasks.opening import TableFiles, check_query, dataset_asked, existing_ledger

_ENDINGS = (".csv", ".parquet", ".json", ".arrow")


def _parse_noise(text: str) -> type[DiscreteNoise]:
    """A kind of noise; capitals make no difference."""
    if text.lower() in question.TABLE_NOISES:
        return question.TABLE_NOISES[text.lower()]
    raise ValueError(f"must be {' or '.join(question.TABLE_NOISES)}, got {text!r}")


def _require_ending(_: click.Context, __: click.Parameter, path: Path | None) -> Path | None:
    """A file for rows, of an ending that is known."""
    if path is None or path.suffix.lower() in _ENDINGS:
        return path
    *endings, last = _ENDINGS
    raise click.BadParameter(f"must end in {', '.join(endings)} or {last}, got {str(path)!r}")


# What a shell completes of a question: the columns of the named data set and their public values, from no record.
_NAME = r'"(?:[^"]|"")+"|[^\W\d]\w*'
_BEGUN = r'"[^"]*|[^\W\d]\w*|'
# Where a value may stand in a condition, and where a column may: at its beginning, behind a word or a parenthesis.
_EQUAL = r"=|<>|!=|\b(?:not\s+)?in\s*\((?:[^()]*,)?"
_VALUE = re.compile(rf"(.*?({_NAME})\s*(?:{_EQUAL})\s*)('[^']*|[^\s',()]*)", re.IGNORECASE | re.DOTALL)
_COLUMN = re.compile(rf"((?:.*(?:[\s(](?:and|or|not)\s|[(]|^not\s))?\s*)({_BEGUN})", re.IGNORECASE | re.DOTALL)
_KEY = re.compile(rf"(({_NAME})=(?:.*,)?\s*)([^,]*)", re.DOTALL)


def where_words(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the condition so far with each column, or with each public value of the column before it.

    A column of texts is completed in the functions that read texts too, once their name has begun.
    """
    schema = _schema(ctx)
    if at_value := _VALUE.fullmatch(incomplete):
        return _items(at_value[1], at_value[3].removeprefix("'"), _written(_public(schema, at_value[2])))
    if at_column := _COLUMN.fullmatch(incomplete):
        names = {name: quoted_name(name) for name in schema}
        texts = [name for name, kind in schema.items() if at_column[2] and kind is Kind.TEXT]
        calls = {f"{function}({name}": f"{function}({names[name]})" for function in FUNCTIONS for name in texts}
        return _items(at_column[1], at_column[2], names | calls)
    return []


def group_words(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The list of columns so far with each one more."""
    before, comma, begun = incomplete.rpartition(",")
    return _items(before + comma, begun, {name: quoted_name(name) for name in _schema(ctx)})


def key_words(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The column whose keys are listed, or the list so far with each public value more."""
    schema = _schema(ctx)
    if at_key := _KEY.fullmatch(incomplete):
        return _items(at_key[1], at_key[3].strip(), {text: text for text in _written(_public(schema, at_key[2]))})
    return _items("", incomplete, {name: f"{quoted_name(name)}=" for name in schema})


def _items(before: str, begun: str, choices: Mapping[str, str]) -> list[CompletionItem]:
    """What stands before with each choice that begins so, in whatever case."""
    begun = begun.removeprefix('"').casefold()
    return [CompletionItem(before + text) for name, text in choices.items() if name.casefold().startswith(begun)]


def _public(schema: Schema, typed: str) -> PublicValues | None:
    """The public values of a column as it is typed."""
    name = typed[1:-1].replace('""', '"') if typed.startswith('"') else typed
    return next((values for known, values in schema.public.items() if known.casefold() == name.casefold()), None)


def _written(values: PublicValues | None) -> dict[str, str]:
    """How each listed value is written in a condition, by what it says."""
    if values is None or not values.listed:
        return {}
    is_plain = values.kind.is_number
    return {str(label): str(label) if is_plain else quoted_text(str(label)) for label in values.labels}


def _schema(ctx: click.Context) -> Schema:
    """The columns of the named data set, as they were written down or stated; none where it cannot be found."""
    found = Schema({})
    with suppress(NoisyCountError, OSError, StopIteration):
        configuration = options.configuration_so_far(ctx)
        # Click leaves the words that stand before an option without a value where they are.
        dataset = configuration.dataset(ctx.params.get("source") or next(iter(ctx.args)))
        with existing_ledger(configuration) as ledger:
            written = {} if ledger is None else Catalog.of(ledger).written
        if dataset.account in written:
            found = written[dataset.account].schema(dataset.columns)
        else:
            stated = {name: form.kind for name, form in (dataset.kinds or {}).items()}
            kinds = stated | {name: Kind.TEXT for name in dataset.columns or () if name not in stated}
            found = Schema(kinds).for_questions(dataset.unit if dataset.unit in kinds else None, dataset.columns)
        public: dict[str, PublicValues] = {}
        for name, said in dataset.values.items():
            with suppress(NoisyCountError):
                public |= public_values({name: said}, found)
        found = Schema(found.kinds, public=public)
    return found


@click.command(
    name="count",
    epilog="\b\nExample:\n"
    "  noisycount count survey.parquet --unit person --epsilon 0.1\n"
    "  noisycount count survey.parquet --where \"age >= 50 and health = 'poor'\" \\\n"
    "      --unit person --within 20% --at-most 0.5\n"
    "  noisycount count survey.parquet --by site,age:0,18,50 --keys site=1..6 \\\n"
    "      --unit person --groups-per-unit 1 --epsilon 1",
)
@click.argument("source", shell_complete=options.source_names)
@options.typed(
    "--where",
    str,
    "TEXT",
    "What to count, as in SQL's WHERE; left out: how many there are; several times: a table with a row for each.",
    multiple=True,
    shell_complete=where_words,
)
@options.typed("--epsilon", values.parse_epsilon, "E", "The price of the answer: 0.1 or 1/3.")
@options.typed("--within", question.parse_within, "20%", "Or: how far off the answer may be,")
@options.typed(
    "--at-most", values.parse_at_most, "E", "for a price of at most so much, charged as far as it is needed,"
)
@options.typed("--of", question.parse_of, "largest", "in a table of these counts: largest, total or 90%-of-cells;")
@options.typed("--guess", values.parse_guess, "100", "or as a share of about how many (a public guess),")
@options.typed(
    "--confidence",
    question.parse_confidence,
    "95%",
    "and with what probability; errors are stated for it.",
    default="95%",
)
@options.unit_option
@options.table_option
@options.typed(
    "--analyst",
    str,
    "NAME",
    "Who asks; to be said where analysts are configured.",
    shell_complete=options.analyst_names,
)
@options.typed(
    "--purpose", values.parse_purpose, "TEXT", "What the answer is for; the ledger keeps it beside the price."
)
@options.typed(
    "--slot",
    values.parse_tick,
    "SECONDS",
    "Answer only when a slot ends, so that no duration tells of the records; make it several times as long"
    " as the longest count takes.",
)
@options.flag(
    "--dry-run is_trial",
    "Tell whether the question is understood, what it would cost, and what is left; charge and count nothing.",
)
@options.repeated(
    "--by",
    question.parse_by,
    "COLUMNS",
    "A table: a count for each group, such as town,sex; of numbers by edges, age:0,18,65; of dates "
    "visit:month, :quarter or :year.",
    shell_complete=group_words,
)
@options.repeated(
    "--keys",
    question.parse_keys,
    "COLUMN=A,B",
    "Which groups: town=Bern,Biel,null, each of them a row, counted or not; visit=2026-01..2026-12. Never"
    " look them up in the records. Left out: the public values of the column.",
    shell_complete=key_words,
)
@options.typed(
    "--keys-from",
    options.FILE,
    "FILE",
    "Or: a public CSV or Parquet file with the columns of --by, one row a group; or with one of them, for its keys.",
)
@options.flag("--other", "One more row for all other keys together.")
@options.typed("--questions", options.FILE, "FILE", "Or, as --where several times: a row for each line of a file.")
@options.typed(
    "--delta",
    values.parse_delta,
    "D",
    "Without keys: show those that enough persons have; a key of one person appears with at most this "
    "probability. Or the δ of Gaussian noise.",
)
@options.typed("--noise", _parse_noise, "laplace|gaussian", "Of a table.  [default: laplace]")
@options.typed("--rho", values.parse_rho, "R", "The price with Gaussian noise.")
@options.repeated(
    "--margins",
    question.parse_margins,
    "NAMES",
    "Sums that are measured too, each with a share of the price: total,town or all.",
)
@options.typed(
    "--groups-per-unit",
    values.parse_groups,
    "G",
    "A person counts in so many groups at most, and less noise is needed.",
)
@options.flag("--cumulative", "Measure ranges too, for sums from the first group on: of one column in order.")
@options.plot_option("Draw the table as .svg or .png.")
@options.typed(
    "--output",
    options.FILE,
    "FILE",
    "Write all rows to a new file: .csv, .parquet, .json or .arrow.",
    callback=_require_ending,
)
@options.common_options
def count(  # noqa: PLR0913, PLR0917  (one argument an option)
    source: str,
    where: tuple[str, ...],
    unit: str | None,
    table: str | None,
    analyst: str | None,
    purpose: str | None,
    slot: ReplyTick | None,
    keys_from: Path | None,
    questions: Path | None,
    plot: Path | None,
    output: Path | None,
    configuration: Config,
    *,
    is_trial: bool,
    as_json: bool,
    **asked: Any,  # noqa: ANN401 - what a question has by the same names
) -> None:
    """Count what satisfies a question, with noise and a budget.

    SOURCE is a file or a data set of noisycount.toml. The price is either
    given (--epsilon) or follows from the accuracy that you need: with --within and --at-most it
    rises until the count is known so nearly, and no further. Asking the same question again gives
    the stored answer and costs nothing; at a higher price it costs the difference. What
    needs no record, such as a refusal, waits for no slot.

    A table, with --by or several --where, is one question: one price pays for all of its rows.
    """
    files = TableFiles(keys_from, questions, plot, output)
    empty = {name: asked[name] or None for name in ("by", "keys")}
    query = question.Query(wheres=where, is_list=questions is not None or len(where) > 1, **{**asked, **empty})
    check_query(query, files)
    dataset = configuration.table_of(dataset_asked(configuration, source, unit), table)
    asker = configuration.analyst(analyst)
    if not query.has_one_price:
        first = "" if dataset.unit else ", and at the first question whose rows they are, --unit COLUMN or --unit row"
        raise click.UsageError(
            f"give --epsilon, or --within with --at-most or --guess, such as --within 20% --at-most 0.5{first}"
        )
    if files != TableFiles():
        from noisycount.tasks.table_files import check_files, with_files  # noqa: PLC0415  (loads what reads files of keys)

        if not is_trial:
            check_files(files)
        query = with_files(query, files, dataset)
    is_drawn = plot is not None
    if is_trial:
        _print(preview_of(query, dataset, configuration, asker, is_drawn=is_drawn), files, as_json=as_json)
        return
    key = token_hex(16)
    try:
        with status("counting"):
            answer = answer_to(query, dataset, configuration, asker, slot, key=key, purpose=purpose, is_drawn=is_drawn)
        _print(answer, files, as_json=as_json)
    except (KeyboardInterrupt, RuntimeError) as error:
        if not is_interruption(error):
            raise
        raise StoppedError(charged_so_far(key, configuration, slot)) from None


def _print(answer: Answer, files: TableFiles, *, as_json: bool) -> None:
    written: list[Path] = []
    try:
        if files != TableFiles() and answer.release is not None:
            from noisycount.tasks.table_files import written_files  # noqa: PLC0415  (the same)

            written.extend(written_files(answer, files))
    finally:  # what was paid for is told, whatever became of the files
        if as_json:
            print_json(answer_json(answer))
        else:
            print_answer(answer, written)
