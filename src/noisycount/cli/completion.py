"""What a shell completes of a question: the columns of the named data set and their public values, from no record."""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress

import click
from click.shell_completion import CompletionItem

from noisycount.catalog.catalog import Catalog
from noisycount.errors import NoisyCountError
from noisycount.query.predicate import quoted_name, quoted_text
from noisycount.query.public_values import public_values
from noisycount.query.schema import Kind, PublicValues, Schema
from noisycount.readers.options import configuration_so_far
from noisycount.tasks.opening import existing_ledger

_NAME = r'"(?:[^"]|"")+"|[^\W\d]\w*'
_BEGUN = r'"[^"]*|[^\W\d]\w*|'
# Where a value may stand in a condition, and where a column may: at its beginning, behind a word or a parenthesis.
_EQUAL = r"=|<>|!=|\b(?:not\s+)?in\s*\((?:[^()]*,)?"
_VALUE = re.compile(rf"(.*?({_NAME})\s*(?:{_EQUAL})\s*)('[^']*|[^\s',()]*)", re.IGNORECASE | re.DOTALL)
_COLUMN = re.compile(rf"((?:.*(?:[\s(](?:and|or|not)\s|[(]|^not\s))?\s*)({_BEGUN})", re.IGNORECASE | re.DOTALL)
_KEY = re.compile(rf"(({_NAME})=(?:.*,)?\s*)([^,]*)", re.DOTALL)


def where_words(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The condition so far with each column, or with each public value of the column before it."""
    schema = _schema(ctx)
    if at_value := _VALUE.fullmatch(incomplete):
        return _items(at_value[1], at_value[3].removeprefix("'"), _written(_public(schema, at_value[2])))
    if at_column := _COLUMN.fullmatch(incomplete):
        return _items(at_column[1], at_column[2], {name: quoted_name(name) for name in schema})
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
        configuration = configuration_so_far(ctx)
        # Click leaves the words that stand before an option without a value where they are.
        dataset = configuration.dataset(ctx.params.get("source") or next(iter(ctx.args)))
        with existing_ledger(configuration) as ledger:
            written = {} if ledger is None else Catalog.of(ledger).written
        if dataset.account in written:
            found = written[dataset.account].schema(dataset.columns)
        else:
            kinds = dict(_stated(dataset.columns or (), {n: form.kind for n, form in (dataset.kinds or {}).items()}))
            found = Schema(kinds).for_questions(dataset.unit if dataset.unit in kinds else None, dataset.columns)
        public: dict[str, PublicValues] = {}
        for name, said in dataset.values.items():
            with suppress(NoisyCountError):
                public |= public_values({name: said}, found)
        found = Schema(found.kinds, public=public)
    return found


def _stated(columns: tuple[str, ...], kinds: Mapping[str, Kind]) -> Iterator[tuple[str, Kind]]:
    """Each column that a configuration names, and its kind; a text where it says none."""
    yield from kinds.items()
    yield from ((name, Kind.TEXT) for name in columns if name not in kinds)
