"""What people type to plan a table, and what it stands for."""

import re
from collections.abc import Sequence
from fractions import Fraction
from functools import wraps
from typing import Any

import click

from noisycount.app.forecast.design import Design
from noisycount.app.options.common import Command, ungrouped
from noisycount.app.options.table import as_delta, as_groups, as_margins, as_rho
from noisycount.release.question.keys import MOST_CELLS

__all__ = ["as_cells", "design_options"]

_SIZE = re.compile(r"\s*([^=,]+?)\s*=\s*([0-9][0-9,]*[0-9]|[0-9]{1,8})\s*")
_PIECE = re.compile(r"[^,=]+=[^=]*?(?=,[^,=]+=|$)")


def as_cells(_: click.Context, __: click.Parameter, texts: Sequence[str]) -> dict[str, int]:
    """Columns and how many keys each has, such as `town=16,sex=2`."""
    cells: dict[str, int] = {}
    for text in texts:
        for piece in _PIECE.findall(text) or [text]:
            match = _SIZE.fullmatch(piece)
            size = int(ungrouped(match[2]).replace(",", "")) if match else 0
            if match is None or not 1 <= size <= MOST_CELLS or match[1] in cells:
                raise click.BadParameter(
                    "must name each column once with its number of keys, such as town=16,sex=2, "
                    f"got {text!r}"
                )
            cells[match[1]] = size
    return cells


_OPTIONS = (
    click.option(
        "--cells",
        multiple=True,
        callback=as_cells,
        metavar="TOWN=16,SEX=2",
        help="Or: a table, by columns with so many keys each, at --epsilon or --rho.",
    ),
    click.option(
        "--margins",
        multiple=True,
        callback=as_margins,
        metavar="NAMES",
        help="Sums that are measured beside its cells: total,town or all.",
    ),
    click.option(
        "--delta",
        callback=as_delta,
        metavar="D",
        help="Gaussian noise at the same ε and δ beside Laplace noise; and of hidden keys.",
    ),
    click.option("--rho", callback=as_rho, metavar="R", help="The price of Gaussian noise."),
    click.option(
        "--groups-per-unit",
        callback=as_groups,
        metavar="G",
        help="In how many cells a person can be.  [default: 1]",
    ),
    click.option(
        "--size-public",
        "is_size_public",
        is_flag=True,
        help="Everybody knows how many persons there are: one replaces another.",
    ),
    click.option(
        "--hidden", "is_hidden", is_flag=True, help="Only the records know the keys: add --delta."
    ),
    click.option(
        "--cumulative", "is_cumulative", is_flag=True, help="Ranges of cells are measured too."
    ),
)
_NAMES = ("cells", "margins", "delta", "rho", "is_size_public", "is_hidden", "is_cumulative")


def design_options(command: Command) -> Command:
    """The command with the options of a table's shape, which give it a `Design` or None."""

    @wraps(command)
    def packed(epsilon: Fraction | None, groups_per_unit: int | None, **given: Any) -> None:  # noqa: ANN401 - whatever options give
        said = {name: given.pop(name) for name in _NAMES}
        design = Design(**said, epsilon=epsilon, groups=groups_per_unit)
        if not design.cells and (groups_per_unit or any(said.values())):
            raise click.UsageError("give the cells of a table too, such as --cells town=16,sex=2")
        command(**given, epsilon=epsilon, design=design if design.cells else None)

    decorated: Any = packed
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return decorated  # type: ignore[no-any-return]  # what it was, with more options
