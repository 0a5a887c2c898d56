"""`noisycount risk`: what an answer reveals about one person."""

from fractions import Fraction
from pathlib import Path

import click

from noisycount.analysis.privacy.list_risk import LEAST
from noisycount.config.config import Config
from noisycount.display.output import file_facts, print_facts, print_json, print_table, progress
from noisycount.errors import NoisyCountError
from noisycount.model.exact import Exact
from noisycount.model.noises.additive import AdditiveNoise
from noisycount.model.noises.laplace import DiscreteLaplace
from noisycount.readers import options
from noisycount.readers.assumption import Rate
from noisycount.readers.values import NOISE_KINDS, noise_of, parse_count, parse_epsilon, parse_scale, parse_size
from noisycount.tasks import risk as task

_NONE = "none"
_KINDS = [*NOISE_KINDS, _NONE]


@click.command(
    name="risk",
    epilog="\b\nExample:\n"
    "  noisycount risk --size 1000 --rate 10% --noise laplace --scale 3\n"
    "  noisycount risk --size 1000 --rate 10% --price 0.15\n"
    "  noisycount risk --size 1000 --rate 10% --noise none --sample 100 --known 40\n"
    "  noisycount risk --ledger survey --rate 10%",
)
@options.population_options
@options.typed("--noise", click.Choice(_KINDS), "KIND", f"The kind of noise, {' or '.join(_KINDS)},")
@options.typed("--scale", parse_scale, "S", "and the noise's scale in records: 10 or 20/3.")
@options.typed("--price", parse_epsilon, "E", "Or: the price of an answer of `noisycount count`, which says its noise.")
@options.typed("--key", str, "KEY", "Or: an old answer, by its key in the ledger or the beginning of it.")
@options.typed("--sample", parse_size, "M", "Count only that many records, drawn at random; the noise goes on top.")
@options.typed("--known", parse_size, "N", "Show also an adversary who knows that many records,")
@options.typed(
    "--known-positives",
    parse_count,
    "N",
    "of which that many count; left out: as many as the rate leads to expect. The number makes no "
    "difference where all records get the noise and the rate is known.",
)
@options.typed(
    "--epsilon", parse_epsilon, "E", "The ε at which δ is told; left out: 1/scale for Laplace noise, else 1."
)
@options.typed("--ledger dataset", str, "NAME", "Or: all answers so far about that data set, taken together,")
@options.typed(
    "--atoms",
    click.Path(path_type=Path, dir_okay=False),
    "FILE",
    "whose questions overlap as a table tells with the columns rate, 1, 2, …: the rate of each atom, and "
    "1 or 0 for each question.",
)
@options.typed(
    "--least",
    parse_size,
    "N",
    "Groups that are expected to hold fewer records are given to the outsider; left out: 10.",
)
@options.plot_option("Draw δ against ε, one line an adversary, as .svg or .png.")
@options.common_options
def risk(  # noqa: PLR0913, PLR0917  (one argument an option)
    size: int | None,
    rate: Rate | None,
    strata: Path | None,
    noise: str | None,
    scale: Fraction | None,
    price: Fraction | None,
    key: str | None,
    sample: int | None,
    known: int | None,
    known_positives: int | None,
    epsilon: Fraction | None,
    dataset: str | None,
    atoms: Path | None,
    least: int | None,
    plot: Path | None,
    configuration: Config,
    *,
    as_json: bool,
) -> None:
    """Tell what an answer reveals about one person.

    The worst case knows all other records, as differential privacy assumes; others know some records, or only the
    rate, and mostly learn less: more only where the rate itself is uncertain. No data is read.
    """
    if dataset is not None:
        beside = (strata, noise, scale, price, key, sample, known_positives, plot)
        if any(option is not None for option in beside):
            raise click.UsageError(
                "--ledger NAME goes with --size, --rate, --known, --atoms, --least and --epsilon "
                "only: its answers say the rest"
            )
        about = task.BackgroundKnowledge(size, rate, atoms, float(least or LEAST), known)
        _tell_list(dataset, about, epsilon, configuration, as_json=as_json)
        return
    if atoms is not None or least is not None:
        raise click.UsageError("--atoms and --least need --ledger NAME: of which answers?")
    source = None
    if key is not None:
        price, source, public = _answered(key, price, configuration)
        size = public if size is None and strata is None else size
    law, assumed = _law(noise, scale, price), options.assumed_of_options(size, rate, strata)
    setting = task.RiskScenario(assumed, law, sample, known, known_positives)
    with progress("computing") as done:
        risks = task.Risks.of(setting, epsilon, done)
    if plot is not None:
        from noisycount.tasks.pictures import save_risk_plot  # noqa: PLC0415  (loads Altair)

        with progress("drawing") as done:
            save_risk_plot(risks, plot, done)
    if as_json:
        print_json({**task.risks_json(risks), "key": key})
    else:
        print_facts(task.risk_facts(risks, source))
        print_table(task.RISK_HEADER, task.risk_rows(risks))
        print_facts([*task.shared_meanings(risks), *task.cautions(risks), *file_facts(plot)])


def _tell_list(
    dataset: str, known: task.BackgroundKnowledge, epsilon: Fraction | None, configuration: Config, *, as_json: bool
) -> None:
    from noisycount.tasks.risk_list import ListRisks, answers_so_far, tell_list  # noqa: PLC0415  (loads the ledger)

    asked = answers_so_far(dataset, configuration)
    with progress("computing") as done:
        risks = ListRisks.of(asked, known, epsilon)
        done(1.0)
    tell_list(risks, as_json=as_json)


def _answered(key: str, price: Fraction | None, configuration: Config) -> tuple[Fraction, str, int | None]:
    """The price of an old answer, the answer in words, and the public size of its data set."""
    if price is not None:
        raise click.UsageError("give either --price or --key, not both")
    from noisycount.ledger.entries import asks_for_table  # noqa: PLC0415  (for the same)
    from noisycount.tasks.ledger import answered_words, entry_under_key  # noqa: PLC0415  (loads SQLAlchemy)

    entry = entry_under_key(key, configuration, "--key")
    price = entry.loss.epsilon
    if price is None or asks_for_table(entry):
        raise NoisyCountError(
            f"--key {key!r}: that is a table, and the risk is that of one count: give its price, or"
            " its --noise and --scale"
        )
    dataset = configuration.datasets.get(entry.request.dataset)
    size = None if dataset is None else dataset.size
    return price, answered_words(entry), size


def _law(noise: str | None, scale: Fraction | None, price: Fraction | None) -> AdditiveNoise | Exact:
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
