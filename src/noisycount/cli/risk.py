"""`noisycount risk`: what an answer reveals about one person.

`noisycount.tasks.risk` computes the privacy profile against each adversary, and `noisycount.tasks.risk_list` that of
all answers in the ledger.
"""

from fractions import Fraction
from pathlib import Path

import click

from noisycount.analysis.privacy.list_risk import LEAST
from noisycount.config.config import Config
from noisycount.display.output import file_facts, print_facts, print_json, print_table, progress
from noisycount.errors import NoisyCountError
from noisycount.frozen import frozen
from noisycount.model.exact import Exact
from noisycount.model.noises.additive import AdditiveNoise
from noisycount.model.noises.laplace import DiscreteLaplace
from noisycount.readers import options
from noisycount.readers.assumption import Rate
from noisycount.readers.values import NOISE_KINDS, noise_of, parse_count, parse_scale, parse_size
from noisycount.tasks import risk as task
from noisycount.validation import exact_epsilon


@frozen
class RiskOptions:
    """Options that state the count, its noise, and what an adversary knows."""

    size: int | None
    rate: Rate | None
    strata: Path | None
    noise: str | None
    scale: Fraction | None
    price: Fraction | None
    key: str | None
    sample: int | None
    known: int | None
    known_positives: int | None
    epsilon: Fraction | None
    dataset: str | None
    atoms: Path | None
    least: int | None


_NONE = "none"
_KINDS = [*NOISE_KINDS, _NONE]


@click.command(
    name="risk",
    epilog="\b\nExample:\n"
    "  noisycount risk --size 1000 --rate 10% --price 0.15\n"
    "  noisycount risk --size 1000 --rate 10% --noise none --sample 100 --known 40\n"
    "  noisycount risk --ledger survey --rate 10%",
)
@options.population_options
@options.value_option("--noise", click.Choice(_KINDS), "KIND", f"Choose the kind of noise: {' or '.join(_KINDS)}.")
@options.value_option("--scale", parse_scale, "S", "Set the scale of --noise in records, such as 10 or 20/3.")
@options.value_option("--price", exact_epsilon, "E", "Derive the noise from the price in ε of an answer.")
@options.value_option("--key", str, "KEY", "Use the noise of a stored answer, by its key or the beginning of it.")
@options.value_option(
    "--sample",
    parse_size,
    "M",
    "Assume that the answer counts only a random sample of M records.",
)
@options.value_option("--known", parse_size, "N", "Add an adversary who knows N records.")
@options.value_option(
    "--known-positives",
    parse_count,
    "N",
    "Set how many of the --known records count. Default: the number expected by the rate.",
)
@options.value_option("--epsilon", exact_epsilon, "E", "Show δ at this ε. Default: 1/scale for Laplace noise, else 1.")
@options.value_option("--ledger dataset", str, "NAME", "Evaluate all answers so far about this data set together.")
@options.value_option(
    "--atoms",
    click.Path(path_type=Path, dir_okay=False),
    "FILE",
    "With --ledger, state how the queries overlap. Each row of the table is a group of records that the same"
    " queries count: its rate, and in columns 1, 2, … 1 if that query counts it, else 0.",
)
@options.value_option(
    "--least",
    parse_size,
    "N",
    "With --ledger, let the adversary know all groups below N expected records. Default: 10.",
)
@options.plot_option("Draw δ against ε for each adversary")
@options.common_options
@options.fill(RiskOptions)
def risk(inputs: RiskOptions, plot: Path | None, configuration: Config, *, as_json: bool) -> None:
    """Show what an answer reveals about one person.

    In the worst case the adversary knows all other records, as differential privacy assumes. Other adversaries know
    some records, or only the rate. No data is read.
    """
    if inputs.dataset is not None:
        _print_list_risks(inputs, plot, configuration, as_json=as_json)
        return
    if inputs.atoms is not None or inputs.least is not None:
        raise click.UsageError("--atoms and --least are about stored answers: add --ledger NAME")
    size, price, source = inputs.size, inputs.price, None
    if inputs.key is not None:
        price, source, public_size = _stored_price(inputs.key, price, configuration)
        size = public_size if size is None and inputs.strata is None else size
    noise = _read_noise(inputs.noise, inputs.scale, price)
    assumption = options.assumed_of_options(size, inputs.rate, inputs.strata)
    scenario = task.RiskScenario(assumption, noise, inputs.sample, inputs.known, inputs.known_positives)
    with progress("computing") as done:
        risks = task.Risks.compute(scenario, inputs.epsilon, done)
    if plot is not None:
        from noisycount.tasks.pictures import save_risk_plot  # noqa: PLC0415 - for pictures alone

        with progress("drawing") as done:
            save_risk_plot(risks, plot, done)
    if as_json:
        print_json({**task.risks_json(risks), "key": inputs.key})
    else:
        print_facts(task.risk_facts(risks, source))
        print_table(task.RISK_HEADER, task.risk_rows(risks))
        print_facts([*task.shared_meanings(risks), *task.cautions(risks), *file_facts(plot)])


def _print_list_risks(inputs: RiskOptions, plot: Path | None, configuration: Config, *, as_json: bool) -> None:
    """Print the risk of all answers about a data set together."""
    excluded_options = (
        *(inputs.strata, inputs.noise, inputs.scale, inputs.price, inputs.key),
        *(inputs.sample, inputs.known_positives, plot),
    )
    if any(option is not None for option in excluded_options):
        raise click.UsageError(
            "--ledger NAME goes with --size, --rate, --known, --atoms, --least and --epsilon "
            "only: the ledger states the noise of its answers"
        )
    from noisycount.tasks.risk_list import ListRisks, answers_so_far, print_list_risks  # noqa: PLC0415 - loads the ledger

    least = float(inputs.least or LEAST)
    background = task.BackgroundKnowledge(inputs.size, inputs.rate, inputs.atoms, least, inputs.known)
    answers = answers_so_far(str(inputs.dataset), configuration)
    with progress("computing") as done:
        risks = ListRisks.compute(answers, background, inputs.epsilon)
        done(1.0)
    print_list_risks(risks, as_json=as_json)


def _stored_price(key: str, price: Fraction | None, configuration: Config) -> tuple[Fraction, str, int | None]:
    """Return the price of a stored answer, the answer in English, and the public size of its data set."""
    if price is not None:
        raise click.UsageError("give either --price or --key, not both")
    from noisycount.ledger.entries import asks_for_table  # noqa: PLC0415 - for the same
    from noisycount.tasks.ledger import answered_words, entry_under_key  # noqa: PLC0415 - loads SQLAlchemy

    entry = entry_under_key(key, configuration, "--key")
    price = entry.loss.epsilon
    if price is None or asks_for_table(entry):
        raise NoisyCountError(
            f"--key {key!r}: that is a table, but the risk is computed for a single count: give its"
            " price, or its --noise and --scale"
        )
    dataset = configuration.datasets.get(entry.request.dataset)
    size = None if dataset is None else dataset.size
    return price, answered_words(entry), size


def _read_noise(noise: str | None, scale: Fraction | None, price: Fraction | None) -> AdditiveNoise | Exact:
    if price is not None and noise is None and scale is None:
        return DiscreteLaplace.for_epsilon(price)
    if price is None and noise == _NONE and scale is None:
        return Exact()
    if price is None and noise not in {None, _NONE} and scale is not None:
        return noise_of(str(noise), scale)
    raise click.UsageError(
        "give one of --price 0.15, --key KEY, --noise none, or a kind of --noise with its --scale, "
        "such as --noise laplace --scale 3"
    )
