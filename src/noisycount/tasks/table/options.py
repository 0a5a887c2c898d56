"""What people type to ask for a table, what it stands for, and what does not go together."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial, wraps
from pathlib import Path
from typing import Any, TypeVar

import click

from noisycount.frozen import frozen
from noisycount.model.noises.additive import DiscreteNoise
from noisycount.model.noises.discrete_gaussian import DiscreteGaussian
from noisycount.model.noises.laplace import DiscreteLaplace
from noisycount.query.key_sets import Listed
from noisycount.query.query import NOISES, Item, Query, items_of, keys_of_column, margin_names, require_once
from noisycount.query.schema import close_names
from noisycount.readers.options import Command, Parsed, plot_option, with_options
from noisycount.readers.values import parse_delta, parse_groups, parse_rho

ONE_PRICE = "give either --epsilon, or both --within and --guess, such as --within 20% --guess 100"


@frozen
class TableFiles:
    """The files that go with a table."""

    keys: Path | None = None  # its keys: one row a cell, or the keys of one column
    questions: Path | None = None  # more questions, one a line
    plot: Path | None = None  # to be made: a picture
    output: Path | None = None  # to be made: its rows


NO_FILES = TableFiles()
Read = TypeVar("Read")
_ENDINGS = (".csv", ".parquet", ".json", ".arrow")


def as_noise(_: click.Context, __: click.Parameter, text: str | None) -> type[DiscreteNoise] | None:
    """A kind of noise; capitals make no difference."""
    if text is None or text.lower() in NOISES:
        return None if text is None else NOISES[text.lower()]
    raise click.BadParameter(f"must be {' or '.join(NOISES)}, got {text!r}")


def as_margins(_: object, __: object, texts: Sequence[str]) -> tuple[str, ...]:
    """The names of margins, each once."""
    return _read(partial(margin_names, texts))


def as_items(_: object, __: object, texts: Sequence[str]) -> tuple[Item, ...]:
    """What the table is grouped by, each column once."""
    return _read(partial(items_of, texts))


def _as_keys(_: click.Context, __: click.Parameter, texts: Sequence[str]) -> dict[str, Listed]:
    """The keys of columns."""
    found = [_read(partial(keys_of_column, text)) for text in texts]
    names = [name.lower() for name, _ in found]
    _read(partial(require_once, names, "lists the keys of {} twice: list them once"))
    return dict(found)


def _as_output(_: click.Context, __: click.Parameter, path: Path | None) -> Path | None:
    """A file for rows, of an ending that is known."""
    if path is None or path.suffix.lower() in _ENDINGS:
        return path
    *endings, last = _ENDINGS
    raise click.BadParameter(f"must end in {', '.join(endings)} or {last}, got {str(path)!r}")


_FILE = click.Path(path_type=Path, dir_okay=False)

_OPTIONS = (
    click.option(
        "--by",
        multiple=True,
        callback=as_items,
        metavar="COLUMNS",
        help="A table: a count for each group, such as town,sex; of numbers by edges, "
        "age:0,18,65; of dates visit:month, :quarter or :year.",
    ),
    click.option(
        "--keys",
        multiple=True,
        callback=_as_keys,
        metavar="COLUMN=A,B",
        help="Which groups: town=Bern,Biel,null, each of them a row, counted or not; "
        "visit=2026-01..2026-12. Never look them up in the records.",
    ),
    click.option(
        "--keys-from",
        type=_FILE,
        metavar="FILE",
        help="Or: a public CSV or Parquet file with the columns of --by, one row a group; or with "
        "one of them, for its keys.",
    ),
    click.option("--other", is_flag=True, help="One more row for all other keys together."),
    click.option(
        "--questions", type=_FILE, metavar="FILE", help="Or, as --where several times: a row for each line of a file."
    ),
    click.option(
        "--delta",
        type=Parsed(parse_delta),
        metavar="D",
        help="Without keys: show those that enough persons have; a key of one person appears with "
        "at most this probability. Or the δ of Gaussian noise.",
    ),
    click.option("--noise", callback=as_noise, metavar="laplace|gaussian", help="Of a table.  [default: laplace]"),
    click.option("--rho", type=Parsed(parse_rho), metavar="R", help="The price with Gaussian noise."),
    click.option(
        "--margins",
        multiple=True,
        callback=as_margins,
        metavar="NAMES",
        help="Sums that are measured too, each with a share of the price: total,town or all.",
    ),
    click.option(
        "--groups-per-unit",
        type=Parsed(parse_groups),
        metavar="G",
        help="A person counts in so many groups at most, and less noise is needed.",
    ),
    click.option(
        "--cumulative",
        is_flag=True,
        help="Measure ranges too, for sums from the first group on: of one column in order.",
    ),
    plot_option("Draw the table as .svg or .png."),
    click.option(
        "--output",
        type=_FILE,
        callback=_as_output,
        metavar="FILE",
        help="Write all rows to a new file: .csv, .parquet, .json or .arrow.",
    ),
)

_ASKED = (
    *("other", "noise", "rho", "delta", "margins", "groups_per_unit", "cumulative"),
    *("epsilon", "within", "guess", "confidence"),
)


def table_options(command: Command) -> Command:
    """The command with the options of tables, which give it a `query` and the `files` of one.

    The options of one count are in the query too.
    """

    @wraps(command)
    def packed(**given: Any) -> None:  # noqa: ANN401 - whatever options give
        files = TableFiles(given.pop("keys_from"), given.pop("questions"), given.pop("plot"), given.pop("output"))
        wheres, by = tuple(given.pop("where")), given.pop("by")
        told = {name: given.pop(name) for name in _ASKED}
        is_list = files.questions is not None or len(wheres) > 1
        keys = given.pop("keys") or None
        query = Query(wheres=wheres, is_list=is_list, by=by or None, keys=keys, **told)
        command(**given, query=query, files=files)

    return with_options(packed, _OPTIONS)  # type: ignore[no-any-return]  # what it was


def _read(reading: Callable[[], Read]) -> Read:
    """What was read; what it cannot be is refused as a bad value of the option."""
    try:
        return reading()
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def _items(query: Query) -> Sequence[Item]:
    """What a table is grouped by, as it was typed."""
    return [item for item in query.by or () if isinstance(item, Item)]


def _keys(query: Query) -> Mapping[str, object]:
    """The keys of columns that were typed."""
    return query.keys if isinstance(query.keys, Mapping) else {}


def has_hidden_keys(query: Query, files: TableFiles) -> bool:
    """Whether only the records know the keys of a column."""
    is_listed = query.keys or files.keys or all(item.grouping for item in _items(query))
    return query.delta is not None and not is_listed


def check_query(query: Query, files: TableFiles = NO_FILES) -> None:
    """The refusal of options that do not belong together."""
    for is_wrong, refusal in (
        *_of_kind(query, files),
        *_of_keys(query, files),
        *_of_noise(query, files),
        *_of_price(query),
    ):
        if is_wrong:
            raise click.UsageError(refusal)


def _of_kind(query: Query, files: TableFiles) -> Iterator[tuple[bool, str]]:
    """One count, a table by groups, or several questions."""
    several = query.is_list
    yield not (query.wheres or query.is_table), "give --where TEXT, or --by COLUMNS for a table"
    yield bool(query.by) and several, "give --by with one --where, or several --where without --by"
    grouped: dict[str, object] = {
        "--keys": query.keys,
        "--keys-from": files.keys,
        "--other": query.other,
        "--margins": query.margins,
        "--groups-per-unit": query.groups_per_unit,
        "--cumulative": query.cumulative,
    }
    for option, value in grouped.items():
        yield bool(value) and not query.by, f"{option} belongs to a table: add --by COLUMNS"
    tabled: dict[str, object] = {
        "--noise": query.noise,
        "--rho": query.rho,
        "--delta": query.delta,
        "--plot": files.plot,
        "--output": files.output,
    }
    for option, value in tabled.items():
        yield (
            value is not None and not query.is_table,
            f"{option} belongs to a table: add --by COLUMNS, or --where again",
        )


def _of_keys(query: Query, files: TableFiles) -> Iterator[tuple[bool, str]]:
    """Keys of columns of the table, or none where they are hidden."""
    columns = {item.column.lower(): item.column for item in _items(query)}
    for name in _keys(query):
        known = list(columns.values())
        yield (
            name.lower() not in columns,
            f"--keys names {name!r}, which is not in --by: use {close_names(name, known)}",
        )
    lists = {"--keys": query.keys, "--keys-from": files.keys}
    for option, value in lists.items():
        yield (
            bool(value) and query.delta is not None and query.noise_class is not DiscreteGaussian,
            f"--delta is for hidden keys, and {option} lists them: leave one of them out",
        )
    hidden = has_hidden_keys(query, files)
    yield hidden and query.other, "--other belongs to listed keys: leave out --delta, or --other"
    yield hidden and query.cumulative, "--cumulative needs listed keys: leave out --delta"
    margins = [name for name in query.margins if name != "total"]
    yield (hidden and bool(margins), "with hidden keys only --margins total is a sum that everybody may ask for")
    yield (
        query.cumulative and len(query.by or ()) > 1,
        "--cumulative needs one column in order: leave the others out of --by",
    )
    yield (query.cumulative and bool(query.margins), "--cumulative measures all sums of ranges: leave out --margins")


def _of_noise(query: Query, files: TableFiles) -> Iterator[tuple[bool, str]]:
    """A price in the currency of the noise."""
    is_gaussian = query.noise_class is DiscreteGaussian
    yield (
        query.noise is DiscreteLaplace and query.rho is not None,
        "--rho is the price of Gaussian noise: add --noise gaussian, or give --epsilon",
    )
    yield (
        bool(query.rho and query.delta and query.by and not has_hidden_keys(query, files)),
        "--delta belongs to hidden keys, or to --epsilon: leave it out beside --rho",
    )
    yield (
        query.is_list and not query.by and query.delta is not None and not is_gaussian,
        "--delta belongs to --by without keys, or to --noise gaussian: leave it out",
    )


def _of_price(query: Query) -> Iterator[tuple[bool, str]]:
    """One price."""
    is_gaussian = query.noise_class is DiscreteGaussian
    yield (
        query.rho is not None and (query.epsilon is not None or query.within is not None),
        "give one price: --rho, or --epsilon, or --within with --guess",
    )
    yield (
        is_gaussian and query.epsilon is not None and query.delta is None,
        "--noise gaussian needs --rho R, or --epsilon E with --delta D",
    )
    yield (
        is_gaussian and query.within is not None and query.delta is not None,
        "--within finds the price of Gaussian noise in ρ: leave out --delta",
    )
