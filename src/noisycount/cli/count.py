"""`noisycount count`: a private count, or a table of private counts.

The first half of the file completes conditions, columns and keys in a shell. `count` reads the options into a `Query`;
`noisycount.tasks.answer` answers it, `noisycount.tasks.preview` shows its price.
"""

import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import Any

import click
from click.shell_completion import CompletionItem

from noisycount.catalog.catalog import Catalog
from noisycount.catalog.table_group import TableGroup
from noisycount.cli.main import StoppedError
from noisycount.config.config import Config
from noisycount.display.output import print_json, status
from noisycount.engines.table_facts import traits_of
from noisycount.errors import NoisyCountError, is_interruption
from noisycount.frozen import frozen
from noisycount.model.noises.additive import DiscreteNoise
from noisycount.query import typed
from noisycount.query.predicate import quoted_text, typed_name
from noisycount.query.public_values import public_values
from noisycount.query.query import TABLE_NOISES, Query, check_query
from noisycount.query.readings import FUNCTIONS
from noisycount.query.schema import Kind, PublicValues, Schema
from noisycount.query.syntax import OF_PERSONS
from noisycount.readers import options, values
from noisycount.release.reply_tick import ReplyTick
from noisycount.tasks.answer import Answer, PaidQuery, answer_to, interrupted_charge
from noisycount.tasks.answer_display import print_answer, print_preview
from noisycount.tasks.answer_json import answer_json, preview_json
from noisycount.tasks.opening import dataset_of_source, existing_ledger
from noisycount.tasks.preview import preview_of
from noisycount.validation import exact_delta, exact_epsilon


@frozen
class CountOptions:
    """Options of `count` besides the members of `Query`."""

    source: str
    unit: str | None
    table: str | None
    analyst: str | None
    purpose: str | None
    slot: ReplyTick | None
    keys_from: Path | None  # file of keys: one row a cell, or the keys of one column
    questions: Path | None  # file of more conditions, one a line
    plot: Path | None  # file for a chart of a table
    output: Path | None  # file for the rows of a table
    is_trial: bool


_OUTPUT_SUFFIXES = (".csv", ".parquet", ".json", ".arrow")


def _parse_noise(text: str) -> type[DiscreteNoise]:
    """Return the class of the noise; upper and lower case are the same."""
    if text.lower() in TABLE_NOISES:
        return TABLE_NOISES[text.lower()]
    raise ValueError(f"must be {' or '.join(TABLE_NOISES)}, got {text!r}")


def _check_output_suffix(_: click.Context, __: click.Parameter, path: Path | None) -> Path | None:
    """Return the path of `--output` if its suffix is a format for rows, else raise BadParameter."""
    if path is None or path.suffix.lower() in _OUTPUT_SUFFIXES:
        return path
    *others, last = _OUTPUT_SUFFIXES
    raise click.BadParameter(f"must end in {', '.join(others)} or {last}, got {str(path)!r}")


# Completion in a shell offers the columns of the data set and their public values. It reads no records.
_WORD = r'"(?:[^"]|"")+"|[^\W\d]\w*'
_NAME = rf"(?:{_WORD})(?:\.(?:{_WORD}))?"
_PARTIAL_NAME = r'(?:[^\W\d]\w*\.)?(?:"[^"]*|[^\W\d]\w*|)'
# A value may follow a comparison. A column may stand at the beginning, or after an operator or a parenthesis.
_COMPARISON = r"=|<>|!=|\b(?:not\s+)?in\s*\((?:[^()]*,)?"
_VALUE = re.compile(rf"(.*?({_NAME})\s*(?:{_COMPARISON})\s*)('[^']*|[^\s',()]*)", re.IGNORECASE | re.DOTALL)
_COLUMN = re.compile(
    rf"((?:.*(?:[\s(](?:and|or|not|where|by|distinct)\s|[(]|^not\s))?\s*)({_PARTIAL_NAME})", re.IGNORECASE | re.DOTALL
)
_KEY = re.compile(rf"(({_NAME})=(?:.*,)?\s*)([^,]*)", re.DOTALL)


def complete_condition(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete a condition with columns, or with the public values of the column before a comparison.

    Once a name has begun, a column of texts is also offered inside each function that reads texts, and functions of all
    rows of a person if the records name persons.
    """
    schema = _known_schema(ctx)
    if at_value := _VALUE.fullmatch(incomplete):
        return _completion_items(
            at_value[1], at_value[3].removeprefix("'"), _condition_literals(_public_values(schema, at_value[2]))
        )
    if at_column := _COLUMN.fullmatch(incomplete):
        names = _names_in_queries(schema)
        texts = [name for name, kind in schema.items() if at_column[2] and kind is Kind.TEXT]
        calls = {f"{function}({name}": f"{function}({names[name]})" for function in FUNCTIONS for name in texts}
        if at_column[2] and schema.unit is not None:
            calls |= {function: f"{function}(" for function in OF_PERSONS}
        return _completion_items(at_column[1], at_column[2], names | calls)
    return []


def complete_columns(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete a list of columns with one more column."""
    before, comma, partial = incomplete.rpartition(",")
    return _completion_items(before + comma, partial, _names_in_queries(_known_schema(ctx)))


def complete_keys(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the name of the column before a list of keys, or the list with one more public value of this column."""
    schema = _known_schema(ctx)
    if at_key := _KEY.fullmatch(incomplete):
        return _completion_items(
            at_key[1],
            at_key[3].strip(),
            {text: text for text in _condition_literals(_public_values(schema, at_key[2]))},
        )
    return _completion_items("", incomplete, {name: f"{text}=" for name, text in _names_in_queries(schema).items()})


def _names_in_queries(schema: Schema) -> dict[str, str]:
    """Return each column as a query writes it, by its name."""
    return {name: typed_name(schema, name) for name in schema}


def _completion_items(before: str, partial: str, choices: Mapping[str, str]) -> list[CompletionItem]:
    """Return `before` followed by each choice whose name begins with `partial`, in upper or lower case."""
    partial = partial.removeprefix('"').casefold()
    return [CompletionItem(before + text) for name, text in choices.items() if name.casefold().startswith(partial)]


def _public_values(schema: Schema, typed: str) -> PublicValues | None:
    """Return the public values of a column from its name as typed, in quotes or not."""
    name = ".".join(
        word[1:-1].replace('""', '"') if word.startswith('"') else word for word in re.findall(_WORD, typed)
    )
    return next((values for column, values in schema.public.items() if column.casefold() == name.casefold()), None)


def _condition_literals(values: PublicValues | None) -> dict[str, str]:
    """Return each listed value as a condition writes it, by its text."""
    if values is None or not values.listed:
        return {}
    is_plain = values.kind.is_number
    return {str(label): str(label) if is_plain else quoted_text(str(label)) for label in values.labels}


def _known_schema(ctx: click.Context) -> Schema:
    """Return the columns of the data set that the ledger stored or the owner stated; empty if there are none."""
    schema = Schema({})
    with suppress(NoisyCountError, OSError, StopIteration):
        configuration = options.configuration_so_far(ctx)
        # Click has not yet assigned words before an option without a value, so they are still in `args`.
        dataset = configuration.dataset(ctx.params.get("source") or next(iter(ctx.args)))
        with existing_ledger(configuration) as ledger:
            stored = {} if ledger is None else Catalog.from_ledger(ledger).written
        if dataset.account in stored:
            schema = stored[dataset.account].schema(dataset.columns)
        else:
            stated = {name: form.kind for name, form in (dataset.kinds or {}).items()}
            kinds = stated | {name: Kind.TEXT for name in dataset.columns or () if name not in stated}
            schema = Schema(kinds).for_questions(dataset.unit if dataset.unit in kinds else None, dataset.columns)
        public: dict[str, PublicValues] = {}
        group = dataset.source if isinstance(dataset.source, TableGroup) else None
        for name, stated_values in (dataset.values if group is None else group.values).items():
            with suppress(NoisyCountError):
                public |= public_values({name: stated_values}, schema)
        tables = {} if group is None else traits_of(group.facts)
        schema = Schema(schema.kinds, unit=schema.unit, public=public, tables=tables)
    return schema


@click.command(
    name="count",
    epilog="\b\nExample:\n"
    "  noisycount count survey.parquet --unit person --epsilon 0.1\n"
    "  noisycount count survey.parquet --where \"age >= 50 and health = 'poor'\" \\\n"
    "      --unit person --within 20% --at-most 0.5\n"
    "  noisycount count survey.parquet --by site,age:0,18,50 --keys site=1..6 \\\n"
    "      --unit person --groups-per-unit 1 --epsilon 1",
)
@click.argument("source", shell_complete=options.complete_sources)
@options.value_option(
    "--where wheres",
    str,
    "TEXT",
    "Count records that satisfy a condition, as in SQL's WHERE. Default: all. Repeat it for a table of several counts.",
    multiple=True,
    shell_complete=complete_condition,
)
@options.value_option("--epsilon", exact_epsilon, "E", "Set the price of the answer in ε, such as 0.1 or 1/3.")
@options.value_option(
    "--within",
    typed.parse_within,
    "20%",
    "Set the accuracy as a share of the count. Needs --at-most or --guess.",
)
@options.value_option(
    "--at-most",
    values.parse_at_most,
    "E",
    "Set the largest price in ε for --within. Only what the accuracy needs is charged.",
)
@options.value_option(
    "--of",
    typed.parse_scope,
    "largest",
    "Choose which counts of a table --within applies to: largest, total or 90%-of-cells.",
)
@options.value_option("--guess", values.parse_guess, "100", "Fix the price of --within by a public guess of the count.")
@options.value_option(
    "--confidence",
    typed.parse_confidence,
    "95%",
    "Set the probability with which errors hold.",
    default="95%",
)
@options.unit_option
@options.table_option
@options.value_option(
    "--analyst",
    str,
    "NAME",
    "Name the analyst. Required if noisycount.toml has analysts.",
    shell_complete=options.complete_analysts,
)
@options.value_option("--purpose", values.parse_purpose, "TEXT", "State the purpose. The ledger stores it.")
@options.value_option(
    "--slot",
    values.parse_tick,
    "SECONDS",
    "Answer only at the end of a slot, so that the duration reveals nothing. Choose several times the longest"
    " duration of a count.",
)
@options.flag(
    "--dry-run is_trial",
    "Show the meaning of the query, its price and the remaining budget. Charges nothing.",
)
@options.repeatable_option(
    "--by",
    typed.parse_by,
    "COLUMNS",
    "Count each group of columns: town,sex. Group numbers by edges, age:0,18,65, and dates by visit:month,"
    " :quarter or :year.",
    shell_complete=complete_columns,
)
@options.repeatable_option(
    "--keys",
    typed.parse_keys,
    "COLUMN=A,B",
    "List the groups of a column: town=Bern,Biel,null or visit=2026-01..2026-12. Never look them up in the"
    " records. Default: the public values.",
    shell_complete=complete_keys,
)
@options.value_option(
    "--keys-from",
    options.FILE,
    "FILE",
    "Read the groups from a public CSV or Parquet file with all columns of --by, or with one of them.",
)
@options.flag("--other", "Add a row for all other keys together.")
@options.value_option("--questions", options.FILE, "FILE", "Read conditions from a file, one per line.")
@options.value_option(
    "--delta",
    exact_delta,
    "D",
    "Show hidden keys whose noisy count passes a threshold. D bounds the probability that a key of one person is"
    " shown. With Gaussian noise, D is the δ of the price.",
)
@options.value_option("--noise", _parse_noise, "laplace|gaussian", "Choose the noise of a table.  [default: laplace]")
@options.value_option("--rho", values.parse_rho, "R", "Set the price of Gaussian noise in ρ.")
@options.repeatable_option(
    "--margins",
    typed.parse_margins,
    "NAMES",
    "Also measure sums of the table: a list such as total,town, or all.",
)
@options.value_option(
    "--groups-per-unit",
    values.parse_groups,
    "G",
    "Count each person in at most G groups.",
)
@options.flag(
    "--cumulative",
    "Measure ranges of groups too, for accurate sums of consecutive groups of one ordered column.",
)
@options.plot_option("Draw the table")
@options.value_option(
    "--output",
    options.FILE,
    "FILE",
    "Write all rows to a new .csv, .parquet, .json or .arrow file.",
    callback=_check_output_suffix,
)
@options.common_options
@options.fill(CountOptions)
def count(
    inputs: CountOptions,
    configuration: Config,
    *,
    as_json: bool,
    **parts: Any,  # noqa: ANN401 - members of `Query` with the same names
) -> None:
    """Count records that satisfy a condition, with noise and a budget.

    Choose the price by --epsilon, or by the accuracy: with --within and --at-most the price rises until the count
    is that accurate. A repeated query costs nothing, and a higher price the difference.

    A table, by --by or several --where, has one price for all of its rows.
    """
    parts |= {name: parts[name] or None for name in ("by", "keys")}
    query = Query(is_list=inputs.questions is not None or len(parts["wheres"]) > 1, **parts)
    check_query(query)
    dataset = configuration.choose_table(dataset_of_source(configuration, inputs.source, inputs.unit), inputs.table)
    analyst = configuration.analyst(inputs.analyst)
    is_drawn = inputs.plot is not None
    if any(file is not None for file in (inputs.output, inputs.plot, inputs.questions, inputs.keys_from)):
        from noisycount.tasks.table_files import check_files, with_files  # noqa: PLC0415 - loads the formats of files

        if not inputs.is_trial:
            check_files(inputs.output, inputs.plot)
        for option, path in {"--plot": inputs.plot, "--output": inputs.output}.items():
            if path is not None and not query.is_table:
                raise click.UsageError(f"{option} belongs to a table: add --by COLUMNS, or --where again")
        query = with_files(query, inputs.questions, inputs.keys_from, dataset)
    if inputs.is_trial:
        preview = preview_of(query, dataset, configuration, analyst, is_drawn=is_drawn)
        if as_json:
            print_json(preview_json(preview))
        else:
            print_preview(preview)
        return
    key = token_hex(16)
    paid_query = PaidQuery(query, analyst, key, inputs.purpose, inputs.slot)
    try:
        with status("counting"):
            answer = answer_to(paid_query, dataset, configuration, is_drawn=is_drawn)
        _write_and_print(answer, inputs, as_json=as_json)
    except (KeyboardInterrupt, RuntimeError) as error:
        if not is_interruption(error):
            raise
        raise StoppedError(interrupted_charge(key, configuration, inputs.slot)) from None


def _write_and_print(answer: Answer, inputs: CountOptions, *, as_json: bool) -> None:
    """Write the files of a table, and print the answer. It is paid for, so it is printed even if a file fails."""
    paths: list[Path] = []
    try:
        if inputs.output is not None or inputs.plot is not None:
            from noisycount.tasks.table_files import write_files  # noqa: PLC0415 - as in `count`

            paths.extend(write_files(answer, inputs.output, inputs.plot))
    finally:
        if as_json:
            print_json(answer_json(answer))
        else:
            print_answer(answer, paths)
