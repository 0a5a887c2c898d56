"""What people type to `refine` and `risk`, and the value that it stands for."""

import math
import re
from fractions import Fraction
from pathlib import Path

import click

from noisycount.model.noises.additive import AdditiveNoise
from noisycount.model.noises.catalogue import NOISES, NoiseClass
from noisycount.model.sampling.scales import check_range
from noisycount.readers.assumption import Assumed, Rate
from noisycount.readers.common import Command, number, share, ungrouped
from noisycount.validation import LARGEST_WHOLE

__all__ = [
    "NOISE_OPTIONS",
    "as_answers",
    "as_count",
    "as_rate",
    "as_scale",
    "as_size",
    "assumed_of_options",
    "noise_of_options",
    "population_options",
]


NOISE_OPTIONS: dict[str, NoiseClass] = {
    str(kind.name).lower().replace(" ", "-"): kind for kind in NOISES
}


"""The kinds of noise by what one types for them."""


_PLUS_MINUS = re.compile(r"±|\+/?-")


_SCALE = re.compile(r"([0-9]{1,20}(?:\.[0-9]{0,20})?(?:e[+-]?[0-9]{1,2})?)(?:/([0-9]{1,20}))?")


_WHOLE = re.compile(r"-?[0-9]{1,300}")


def as_rate(_: click.Context, __: click.Parameter, text: str | None) -> Rate | None:
    """A rate such as `30%` or `0.3`, with a standard deviation as in `30%±2%` or `0.3+-0.02`."""
    if text is None:
        return None
    mean, *deviations = (share(part) for part in _PLUS_MINUS.split(text))
    if len(deviations) > 1 or not all(0 <= part <= 1 for part in (mean, *deviations)):
        example = "30%±2%" if deviations else "30%"
        raise click.BadParameter(f"must lie between 0 and 1, such as {example}, got {text!r}")
    try:
        return Rate(mean, *deviations)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def as_scale(_: click.Context, __: click.Parameter, text: str | None) -> Fraction | None:
    """An exact scale in records such as `10`, `6.67` or `20/3`."""
    if text is None:
        return None
    try:
        scale = _fraction(ungrouped(text.strip().lower()))
        check_range(scale)
    except ValueError:
        raise click.BadParameter(
            f"must be a number of records from 2**-52 to 2**52, such as 10 or 20/3, got {text!r}"
        ) from None
    return scale


def as_size(_: click.Context, __: click.Parameter, text: str | None) -> int | None:
    """A public number of records."""
    return None if text is None else _whole(text, 1)


def as_count(_: click.Context, __: click.Parameter, text: str | None) -> int | None:
    """A number of records that may be none."""
    return None if text is None else _whole(text, 0)


def as_answers(ctx: click.Context, _: click.Parameter, texts: tuple[str, ...]) -> tuple[float, ...]:
    """Noisy answers such as `107`, `-5` or `35.2`."""
    return tuple(_answer(ctx, ungrouped(text.strip().replace("−", "-"))) for text in texts)


def population_options(command: Command) -> Command:
    """The command with `--size`, `--rate` and `--strata`, of which `assumed_of_options` is made."""
    options = (
        click.option("--size", callback=as_size, metavar="N", help="How many records there are,"),
        click.option(
            "--rate",
            callback=as_rate,
            metavar="P",
            help="and the chance that each counts: 30%, or 30%±2% if it has that standard "
            "deviation.",
        ),
        click.option(
            "--strata",
            type=click.Path(path_type=Path, dir_okay=False),
            metavar="FILE",
            help="Or: groups of records, in a table with the columns size and rate.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def assumed_of_options(
    size: int | None, rate: Rate | None, strata: Path | None, *, is_flat_allowed: bool = False
) -> Assumed:
    """What is known about the count before its answer; nothing but the size, if that may be."""
    if rate is not None and size is not None and strata is None:
        return Assumed.of_rate(size, rate)
    if rate is None and strata is not None:
        from noisycount.readers.groups import assumed_of_file  # noqa: PLC0415  (loads DuckDB)

        return assumed_of_file(strata, size)
    if is_flat_allowed and rate is None and size is not None:
        return Assumed.of_size(size)
    if is_flat_allowed:
        raise click.UsageError(
            "give either --size, and --rate if it is known, such as --size 5912 --rate 1.7%, or "
            "--strata FILE"
        )
    raise click.UsageError(
        "give either --size and --rate, such as --size 5912 --rate 1.7%, or --strata FILE"
    )


def noise_of_options(noise: str, scale: Fraction) -> AdditiveNoise:
    """The noise of that kind and scale."""
    return NOISE_OPTIONS[noise](scale)


def _whole(text: str, smallest: int) -> int:
    """The number of records that a text stands for."""
    digits = ungrouped(text)
    if _WHOLE.fullmatch(digits) and smallest <= int(digits) <= LARGEST_WHOLE:
        return int(digits)
    raise click.BadParameter(
        f"must be a whole number of records from {smallest} to 2**53, got {text!r}"
    )


def _fraction(text: str) -> Fraction:
    """The exact value of a decimal or a fraction; 0 for a text that is neither."""
    match = _SCALE.fullmatch(text)
    if match is None or not int(match[2] or 1):
        return Fraction(0)
    return Fraction(match[1]) / int(match[2] or 1)


def _answer(ctx: click.Context, text: str) -> float:
    """The answer that a text stands for: an int where it is written as one."""
    answer = number(text)
    if math.isfinite(answer):
        return int(text) if _WHOLE.fullmatch(text) else answer
    if text.startswith("--"):
        raise click.NoSuchOption(text, ctx=ctx)
    raise click.BadParameter(f"must be a finite number of records, got {text!r}")
