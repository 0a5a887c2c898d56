"""What people type to `refine` of the noise of answers, and of a column of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import wraps
from pathlib import Path
from typing import Any

import click

from noisycount.app.options.common import Command, as_epsilon, with_options
from noisycount.app.options.population import NOISE_OPTIONS, as_scale, noise_of_options
from noisycount.model.noises.additive import AdditiveNoise
from noisycount.model.noises.discrete_laplace import DiscreteLaplace

__all__ = ["Columns", "column_options", "noise_options"]

_FILE = click.Path(path_type=Path, dir_okay=False)


@dataclass(frozen=True, slots=True)
class Columns:
    """A table of answers about a count each, as it was typed.

    Attributes:
        answers: The file.
        size: Its column of sizes.
        rate: Its column of rates.
    """

    answers: Path | None
    size: str | None
    rate: str | None

    @property
    def is_asked(self) -> bool:
        """Whether anything of it was typed."""
        return any(part is not None for part in (self.answers, self.size, self.rate))


def _as_epsilons(
    context: click.Context, option: click.Parameter, texts: Sequence[str]
) -> tuple[Fraction, ...]:
    """Exact ε, one a level of a table."""
    return tuple(filter(None, (as_epsilon(context, option, text) for text in texts)))


def _as_scales(
    context: click.Context, option: click.Parameter, texts: Sequence[str]
) -> tuple[Fraction, ...]:
    """Exact scales, one a level of a table."""
    return tuple(filter(None, (as_scale(context, option, text) for text in texts)))


def noise_options(command: Command) -> Command:
    """The command with `--epsilon`, `--noise` and `--scale`: its noises, named `noises`."""

    @wraps(command)
    def packed(**given: Any) -> None:  # noqa: ANN401 - whatever options give
        parts = [given.pop(name) for name in ("epsilon", "noise", "scale")]
        command(**given, noises=_noises(*parts))

    return with_options(packed, _NOISE)  # type: ignore[no-any-return]  # what it was


def column_options(command: Command) -> Command:
    """The command with the options of a column of answers: `Columns` named `columns`."""

    @wraps(command)
    def packed(**given: Any) -> None:  # noqa: ANN401 - whatever options give
        parts = [given.pop(name) for name in ("table", "size_column", "rate_column")]
        command(**given, columns=Columns(*parts))

    return with_options(packed, _COLUMNS)  # type: ignore[no-any-return]  # what it was


def _noises(
    epsilons: Sequence[Fraction], noise: str | None, scales: Sequence[Fraction]
) -> tuple[AdditiveNoise, ...]:
    """The noises that were typed; none where nothing was."""
    if epsilons and noise is None and not scales:
        return tuple(map(DiscreteLaplace.for_epsilon, epsilons))
    if not epsilons and (noise is None) == (not scales):
        return tuple(noise_of_options(noise or "", scale) for scale in scales)
    raise click.UsageError(
        "give either --epsilon, or both --noise and --scale, such as --noise gaussian --scale 10"
    )


_NOISE = (
    click.option(
        "--epsilon",
        multiple=True,
        callback=_as_epsilons,
        metavar="E",
        help="The ε of each answer, as `noisycount count` tells it: once, or once an answer; of a "
        "table with sums once a level.",
    ),
    click.option(
        "--noise",
        type=click.Choice(list(NOISE_OPTIONS)),
        metavar="KIND",
        help=f"Or: the kind of its noise, {' or '.join(NOISE_OPTIONS)},",
    ),
    click.option(
        "--scale",
        multiple=True,
        callback=_as_scales,
        metavar="S",
        help="and the noise's scale in records: 10 or 20/3.",
    ),
)
_COLUMNS = (
    click.option(
        "--answers",
        "table",
        type=_FILE,
        metavar="FILE",
        help="A table of answers, each about a count of its own, refined one by one.",
    ),
    click.option(
        "--size-column", metavar="NAME", help="Instead of --size: its column of how many records,"
    ),
    click.option(
        "--rate-column", metavar="NAME", help="and instead of --rate: its column of rates."
    ),
)
