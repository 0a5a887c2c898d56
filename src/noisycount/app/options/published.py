"""What people type to refine a published table, and what it stands for."""

import math
import re
from collections.abc import Sequence
from datetime import date
from functools import wraps
from pathlib import Path
from typing import Any

import click

from noisycount.app.options.common import Command, number, with_options
from noisycount.app.options.population import as_answers, as_count
from noisycount.app.refine.tables.asked import AskedTable
from noisycount.app.table.typed import margin_names

__all__ = ["as_words", "published_options"]

_LEARNED = "learned"
_SOURCE = "noisycount.source"
_ERAS = ("pre-2017", "historical", "current")
_TIER = re.compile(r"(medium|higher)=([A-Z]{2}(?:,[A-Z]{2})*)")
_FILE = click.Path(path_type=Path, dir_okay=False)


def _as_names(_: click.Context, __: click.Parameter, texts: Sequence[str]) -> tuple[str, ...]:
    """The names of columns, each once."""
    try:
        names = [name for text in texts for name in margin_names(text)]
    except ValueError:
        raise click.BadParameter(
            f"must name columns with commas between them: county,town, got {texts[0]!r}"
        ) from None
    if len(set(names)) < len(names):
        raise click.BadParameter("names a column twice: name it once")
    return tuple(names)


def _as_threshold(_: click.Context, __: click.Parameter, text: str | None) -> float | None:
    """A finite number that answers are below."""
    found = None if text is None else number(text)
    if found is None or math.isfinite(found):
        return found
    raise click.BadParameter(f"must be a finite number of records, such as 11, got {text!r}")


def _as_day(_: click.Context, __: click.Parameter, text: str | None) -> str | None:
    """A day such as `2024-05-01`, or the name of an era."""
    if text is None or text in _ERAS:
        return text
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        raise click.BadParameter(
            f"must be a day such as 2024-05-01, or {', '.join(_ERAS)}, got {text!r}"
        ) from None


def _as_tiers(_: click.Context, __: click.Parameter, texts: Sequence[str]) -> dict[str, str]:
    """The tier of each country, by its code."""
    tiers: dict[str, str] = {}
    for text in texts:
        found = _TIER.fullmatch(text)
        if found is None:
            raise click.BadParameter(
                f"must be medium or higher with codes of countries: medium=TR,UA, got {text!r}"
            )
        tiers |= dict.fromkeys(found[2].split(","), found[1])
    return tiers


def _as_prior(_: click.Context, __: click.Parameter, text: str | None) -> float | str | None:
    """A positive concentration of each cell, or the word that it is learned."""
    if text is None or text.lower() == _LEARNED:
        return None if text is None else _LEARNED
    found = number(text)
    if 0 < found < math.inf:
        return found
    raise click.BadParameter(
        f"must be {_LEARNED}, or the concentration of each cell above 0, such as 1, got {text!r}"
    )


def as_words(
    context: click.Context, argument: click.Parameter, texts: tuple[str, ...]
) -> tuple[float, ...]:
    """Noisy answers; beside a key of the ledger the name of a data set, which is kept for it."""
    if context.params.get("key") is None:
        return as_answers(context, argument, texts)
    if len(texts) > 1:
        raise click.BadParameter(f"must be the one data set of --key, got {len(texts)} words")
    context.meta[_SOURCE] = texts[0] if texts else None
    return ()


_OPTIONS = (
    click.option(
        "--table",
        "file",
        type=_FILE,
        metavar="FILE",
        help="A published table, all of it refined together: of `count --by --output`, or any CSV, "
        "TSV or Parquet file; noisy measurements of the census; page views of Wikimedia.",
    ),
    click.option(
        "--key",
        is_eager=True,
        metavar="KEY",
        help="Or: a table or a count of the ledger, by its key or 6 or more characters that it "
        "begins with; it costs nothing.",
    ),
    click.option(
        "--by",
        multiple=True,
        callback=_as_names,
        metavar="COLUMNS",
        help="Its key columns from coarse to fine, county,town; an empty cell is a sum.",
    ),
    click.option(
        "--total", callback=as_count, metavar="N", help="How many records there are, if public."
    ),
    click.option(
        "--below",
        callback=_as_threshold,
        metavar="T",
        help="An empty answer was left out because it was below this,",
    ),
    click.option("--below-column", metavar="NAME", help="or below what this column says."),
    click.option(
        "--prior",
        callback=_as_prior,
        metavar="A|learned",
        help="How counts divide: a concentration for each cell, 1 if all tables are as likely.  "
        "[default: learned from the answers]",
    ),
    click.option(
        "--shares", "has_shares", is_flag=True, help="Tell each cell's share of the total,"
    ),
    click.option("--ranks", "has_ranks", is_flag=True, help="and its rank, 1 for the largest."),
    click.option("--geocode", metavar="CODE", help="Of the census: which place,"),
    click.option(
        "--query", metavar="NAME", help='and which query, such as "votingage * hispanic".'
    ),
    click.option(
        "--day",
        callback=_as_day,
        metavar="DAY",
        help="Of Wikimedia: the day, where the name of the file does not say it,",
    ),
    click.option(
        "--tier",
        "tiers",
        multiple=True,
        callback=_as_tiers,
        metavar="TIER=CODES",
        help="and countries of more than lower risk: medium=TR,UA.",
    ),
)
_NAMES = (
    *("file", "key", "by", "total", "below", "below_column", "has_shares", "has_ranks"),
    *("geocode", "query", "day", "tiers"),
)


def published_options(command: Command) -> Command:
    """The command with the options of published tables: an `AskedTable` named `published`."""

    @wraps(command)
    def packed(**given: Any) -> None:  # noqa: ANN401 - whatever options give
        prior = given.pop("prior")
        asked = AskedTable(
            **{name: given.pop(name) for name in _NAMES},
            source=click.get_current_context().meta.get(_SOURCE),
            concentration=None if prior == _LEARNED else prior,
            is_learned=prior == _LEARNED,
        )
        command(**given, published=asked)

    return with_options(packed, _OPTIONS)  # type: ignore[no-any-return]  # what it was
