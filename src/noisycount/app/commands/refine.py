"""`noisycount refine`: from a noisy answer to the best estimate."""

from fractions import Fraction

import click

from noisycount.app.parameters import as_epsilon, as_rate, json_option
from noisycount.app.refined import refined
from noisycount.app.render import print_facts, print_json, refinement_facts
from noisycount.app.wire import refinement_object

__all__ = ["command"]


@click.command(
    name="refine",
    context_settings={"ignore_unknown_options": True},
    epilog="Example: noisycount refine 107 --size 5912 --rate 1.7% --epsilon 0.15",
)
@click.argument("answer", type=int)
@click.option(
    "--size", type=int, required=True, metavar="N", help="How many records or persons there are."
)
@click.option(
    "--rate", callback=as_rate, required=True, metavar="P", help="The chance that each one counts."
)
@click.option(
    "--epsilon",
    callback=as_epsilon,
    required=True,
    metavar="E",
    help="The ε of the answer's noise.",
)
@json_option
def command(answer: int, size: int, rate: float, epsilon: Fraction, *, as_json: bool) -> None:
    """Estimate the true count from a noisy ANSWER and a known rate.

    The answer has discrete Laplace noise of scale 1/ε, as `noisycount count` gives it; size and
    rate are public knowledge. It costs no privacy: it only uses what was already told.
    """
    refinement = refined(answer, size, rate, epsilon)
    if as_json:
        print_json(refinement_object(refinement))
    else:
        print_facts(refinement_facts(refinement))
