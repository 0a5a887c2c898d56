"""`noisycount risk`: what an answer reveals about one person."""

from fractions import Fraction
from pathlib import Path

import click

from noisycount.app.options.common import as_epsilon, as_picture, json_option
from noisycount.app.options.population import (
    NOISE_OPTIONS,
    as_count,
    as_scale,
    as_size,
    assumed_of_options,
    noise_of_options,
    population_options,
)
from noisycount.app.refine.assumption import Rate
from noisycount.app.risk.risk import Risks
from noisycount.app.risk.setting import Setting
from noisycount.app.risk.wire import risks_object
from noisycount.app.risk.words import cautions, meanings, risk_facts, risk_header, risk_rows
from noisycount.app.terminal.printing import print_facts, print_json, print_table
from noisycount.app.terminal.progress import progress
from noisycount.model.exact import Exact
from noisycount.model.noises.additive import AdditiveNoise

__all__ = ["command"]

_NONE = "none"
_KINDS = [*NOISE_OPTIONS, _NONE]


@click.command(
    name="risk",
    epilog="\b\nExample:\n"
    "  noisycount risk --size 1000 --rate 10% --noise laplace --scale 3\n"
    "  noisycount risk --size 1000 --rate 10% --noise none --sample 100 --known 40",
)
@population_options
@click.option(
    "--noise",
    type=click.Choice(_KINDS),
    required=True,
    metavar="KIND",
    help=f"The kind of noise, {' or '.join(_KINDS)},",
)
@click.option(
    "--scale", callback=as_scale, metavar="S", help="and the noise's scale in records: 10 or 20/3."
)
@click.option(
    "--sample",
    callback=as_size,
    metavar="M",
    help="Count only that many records, drawn at random; the noise goes on top.",
)
@click.option(
    "--known",
    callback=as_size,
    metavar="N",
    help="Show also an adversary who knows that many records,",
)
@click.option(
    "--known-positives",
    callback=as_count,
    metavar="N",
    help="of which that many count; left out: as many as the rate leads to expect. The number "
    "makes no difference where all records get the noise and the rate is known.",
)
@click.option(
    "--epsilon",
    callback=as_epsilon,
    metavar="E",
    help="The ε at which δ is told; left out: 1/scale for Laplace noise, else 1.",
)
@click.option(
    "--plot",
    type=click.Path(path_type=Path, dir_okay=False),
    callback=as_picture,
    metavar="FILE",
    help="Draw δ against ε, one line an adversary, as .svg or .png.",
)
@json_option
def command(  # noqa: PLR0913, PLR0917  (one argument an option)
    size: int | None,
    rate: Rate | None,
    strata: Path | None,
    noise: str,
    scale: Fraction | None,
    sample: int | None,
    known: int | None,
    known_positives: int | None,
    epsilon: Fraction | None,
    plot: Path | None,
    *,
    as_json: bool,
) -> None:
    """Tell what an answer reveals about one person.

    Whoever knows less learns less: the worst case knows all other records, as differential privacy
    assumes; others know some records, or only the rate. No data is read.
    """
    law, assumed = _law(noise, scale), assumed_of_options(size, rate, strata)
    setting = Setting(assumed, law, sample, known, known_positives)
    with progress("computing") as done:
        risks = Risks.of(setting, epsilon, done)
    if plot is not None:
        from noisycount.app.risk.picture import save_risk_plot  # noqa: PLC0415  (loads Altair)

        with progress("drawing") as done:
            save_risk_plot(risks, plot, done)
    if as_json:
        print_json(risks_object(risks))
    else:
        _print(risks)


def _law(noise: str, scale: Fraction | None) -> AdditiveNoise | Exact:
    """What is added to the count."""
    if noise == _NONE and scale is None:
        return Exact()
    if noise != _NONE and scale is not None:
        return noise_of_options(noise, scale)
    raise click.UsageError(
        "give either --noise none, or a kind of --noise with its --scale, such as "
        "--noise laplace --scale 3"
    )


def _print(risks: Risks) -> None:
    """For people: what was asked, a table, what its figures promise, and what they do not."""
    print_facts(risk_facts(risks))
    print_table(risk_header(risks), risk_rows(risks))
    print_facts([*meanings(risks), *cautions(risks)])
