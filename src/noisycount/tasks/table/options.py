"""What people type to ask for a table, and what it stands for."""

import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial, wraps
from pathlib import Path
from typing import Any, TypeVar

import click

from noisycount.ledger.exact import exact_delta, exact_epsilon
from noisycount.readers.common import Command, plot_option, ungrouped, with_options
from noisycount.tasks.table.asked import (
    GAUSSIAN,
    LAPLACE,
    Asked,
    Item,
    Listed,
    items,
    keys_of_column,
    margin_names,
)

__all__ = ["as_delta", "as_groups", "as_items", "as_margins", "as_rho", "table_options"]


Read = TypeVar("Read")


_ENDINGS = (".csv", ".parquet", ".json", ".arrow")


_WHOLE = re.compile(r"[0-9]{1,9}")


def as_rho(_: click.Context, __: click.Parameter, text: str | None) -> Fraction | None:
    """An exact ρ such as `0.1`."""
    return _read(lambda: None if text is None else exact_epsilon(text, "rho"))


def as_delta(_: click.Context, __: click.Parameter, text: str | None) -> Fraction | None:
    """An exact δ such as `1e-6`."""
    return _read(lambda: None if text is None else exact_delta(text))


def as_noise(_: click.Context, __: click.Parameter, text: str | None) -> str | None:
    """A kind of noise, in small letters."""
    name = None if text is None else text.lower()
    if name in {None, LAPLACE, GAUSSIAN}:
        return name
    raise click.BadParameter(f"must be {LAPLACE} or {GAUSSIAN}, got {text!r}")


def as_groups(_: click.Context, __: click.Parameter, text: str | None) -> int | None:
    """A number of groups, at least 1."""
    if text is None or (_WHOLE.fullmatch(ungrouped(text)) and int(ungrouped(text))):
        return None if text is None else int(ungrouped(text))
    raise click.BadParameter(f"must be a whole number from 1, such as 1, got {text!r}")


def as_margins(_: click.Context, __: click.Parameter, texts: Sequence[str]) -> tuple[str, ...]:
    """The names of margins, each once."""
    names = [name for text in texts for name in _read(partial(margin_names, text))]
    return _each_once(names, "names {} twice: name it once")


def as_items(_: click.Context, __: click.Parameter, texts: Sequence[str]) -> tuple[Item, ...]:
    """What the table is grouped by, each column once."""
    found = [item for text in texts for item in _read(partial(items, text))]
    _each_once([item.column.lower() for item in found], "names {} twice: name it once")
    return tuple(found)


def _as_keys(_: click.Context, __: click.Parameter, texts: Sequence[str]) -> dict[str, Listed]:
    """The keys of columns."""
    found = [_read(partial(keys_of_column, text)) for text in texts]
    names = [name for name, _ in found]
    _each_once([n.lower() for n in names], "lists the keys of {} twice: list them once")
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
        "--questions",
        type=_FILE,
        metavar="FILE",
        help="Or, as --where several times: a row for each line of a file.",
    ),
    click.option(
        "--delta",
        callback=as_delta,
        metavar="D",
        help="Without keys: show those that enough persons have; a key of one person appears with "
        "at most this probability. Or the δ of Gaussian noise.",
    ),
    click.option(
        "--noise",
        callback=as_noise,
        metavar="laplace|gaussian",
        help="Of a table.  [default: laplace]",
    ),
    click.option("--rho", callback=as_rho, metavar="R", help="The price with Gaussian noise."),
    click.option(
        "--margins",
        multiple=True,
        callback=as_margins,
        metavar="NAMES",
        help="Sums that are measured too, each with a share of the price: total,town or all.",
    ),
    click.option(
        "--groups-per-unit",
        callback=as_groups,
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


_NAMES = (
    *("by", "keys", "keys_from", "other", "questions", "delta", "noise", "rho", "margins"),
    *("groups_per_unit", "cumulative", "plot", "output"),
)


def table_options(command: Command) -> Command:
    """The command with the options of tables, which give it an `Asked` named `asked`.

    What is typed for `--where` is in it too.
    """

    @wraps(command)
    def packed(**given: Any) -> None:  # noqa: ANN401 - whatever options give
        wheres = tuple(given.pop("where"))
        asked = Asked(wheres=wheres, **{name: given.pop(name) for name in _NAMES})
        command(**given, asked=asked)

    return with_options(packed, _OPTIONS)  # type: ignore[no-any-return]  # what it was


def _read(reading: Callable[[], Read]) -> Read:
    """What was read; what it cannot be is refused as a bad value of the option."""
    try:
        return reading()
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def _each_once(names: Sequence[str], refusal: str) -> tuple[str, ...]:
    """The names; the first that is there again is refused."""
    again = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if again is not None:
        raise click.BadParameter(refusal.format(repr(again)))
    return tuple(names)
