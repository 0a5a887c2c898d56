"""Combinations of options that make no sense, refused before any file is opened."""

from collections.abc import Iterator
from fractions import Fraction

import click

from noisycount.app.table.asked import LAPLACE, Asked
from noisycount.release.question.schema import close_names

__all__ = ["ONE_PRICE", "check_asked"]

ONE_PRICE = "give either --epsilon, or both --within and --guess, such as --within 20% --guess 100"


def check_asked(asked: Asked, epsilon: Fraction | None, within: float | None) -> None:
    """The refusal of options that do not belong together.

    Args:
        asked: What was typed of a table.
        epsilon: The price, where it was given.
        within: How far off an answer may be, where that was given.

    Raises:
        UsageError: They do not; the text says what to leave out or to add.
    """
    for is_wrong, refusal in (
        *_of_kind(asked),
        *_of_keys(asked),
        *_of_noise(asked),
        *_of_price(asked, epsilon, within),
    ):
        if is_wrong:
            raise click.UsageError(refusal)


def _of_kind(asked: Asked) -> Iterator[tuple[bool, str]]:
    """One count, a table by groups, or several questions."""
    several = len(asked.wheres) > 1 or asked.questions is not None
    yield not (asked.wheres or asked.is_table), "give --where TEXT, or --by COLUMNS for a table"
    yield bool(asked.by) and several, "give --by with one --where, or several --where without --by"
    grouped: dict[str, object] = {
        "--keys": asked.keys,
        "--keys-from": asked.keys_from,
        "--other": asked.other,
        "--margins": asked.margins,
        "--groups-per-unit": asked.groups_per_unit,
        "--cumulative": asked.cumulative,
    }
    for option, value in grouped.items():
        yield bool(value) and not asked.by, f"{option} belongs to a table: add --by COLUMNS"
    tabled: dict[str, object] = {
        "--noise": asked.noise,
        "--rho": asked.rho,
        "--delta": asked.delta,
        "--plot": asked.plot,
        "--output": asked.output,
    }
    for option, value in tabled.items():
        yield (
            value is not None and not asked.is_table,
            f"{option} belongs to a table: add --by COLUMNS, or --where again",
        )


def _of_keys(asked: Asked) -> Iterator[tuple[bool, str]]:
    """Keys of columns of the table, or none where they are hidden."""
    columns = {item.column.lower(): item.column for item in asked.by}
    for name in asked.keys:
        known = list(columns.values())
        yield (
            name.lower() not in columns,
            f"--keys names {name!r}, which is not in --by: use {close_names(name, known)}",
        )
    lists = {"--keys": asked.keys, "--keys-from": asked.keys_from}
    for option, value in lists.items():
        yield (
            bool(value) and asked.delta is not None and not asked.is_gaussian,
            f"--delta is for hidden keys, and {option} lists them: leave one of them out",
        )
    hidden = asked.has_hidden_keys
    yield hidden and asked.other, "--other belongs to listed keys: leave out --delta, or --other"
    yield hidden and asked.cumulative, "--cumulative needs listed keys: leave out --delta"
    margins = [name for name in asked.margins if name != "total"]
    yield (
        hidden and bool(margins),
        "with hidden keys only --margins total is a sum that everybody may ask for",
    )
    yield (
        asked.cumulative and len(asked.by) > 1,
        "--cumulative needs one column in order: leave the others out of --by",
    )
    yield (
        asked.cumulative and bool(asked.margins),
        "--cumulative measures all sums of ranges: leave out --margins",
    )


def _of_noise(asked: Asked) -> Iterator[tuple[bool, str]]:
    """A price in the currency of the noise."""
    yield (
        asked.noise == LAPLACE and asked.rho is not None,
        "--rho is the price of Gaussian noise: add --noise gaussian, or give --epsilon",
    )
    yield (
        bool(asked.rho and asked.delta and asked.by and not asked.has_hidden_keys),
        "--delta belongs to hidden keys, or to --epsilon: leave it out beside --rho",
    )
    yield (
        bool(asked.is_table and not asked.by and asked.delta is not None and not asked.is_gaussian),
        "--delta belongs to --by without keys, or to --noise gaussian: leave it out",
    )


def _of_price(
    asked: Asked, epsilon: Fraction | None, within: float | None
) -> Iterator[tuple[bool, str]]:
    """One price."""
    yield (
        asked.rho is not None and (epsilon is not None or within is not None),
        "give one price: --rho, or --epsilon, or --within with --guess",
    )
    yield (
        asked.is_gaussian and epsilon is not None and asked.delta is None,
        "--noise gaussian needs --rho R, or --epsilon E with --delta D",
    )
    yield (
        asked.is_gaussian and within is not None and asked.delta is not None,
        "--within finds the price of Gaussian noise in ρ: leave out --delta",
    )
