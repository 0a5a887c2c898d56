"""`noisycount plan`: from accuracy to ε."""

import click

from noisycount.app.parameters import as_confidence, as_guess, as_within, json_option
from noisycount.app.planned import planned
from noisycount.app.render import plan_facts, print_facts, print_json
from noisycount.app.wire import plan_object

__all__ = ["command"]


@click.command(
    name="plan", epilog="Example: noisycount plan --within 20% --confidence 95% --guess 100"
)
@click.option(
    "--within", callback=as_within, required=True, metavar="20%", help="How far off at most."
)
@click.option("--guess", callback=as_guess, required=True, metavar="100", help="Of about how many.")
@click.option(
    "--confidence",
    callback=as_confidence,
    default="95%",
    show_default=True,
    metavar="95%",
    help="How surely.",
)
@json_option
def command(within: float, guess: float, confidence: float, *, as_json: bool) -> None:
    """Choose ε from the accuracy that you need.

    The guess is public: something that everybody may know, never the true count. No data is read.
    """
    plan = planned(guess, within, confidence)
    if as_json:
        print_json(plan_object(plan))
    else:
        print_facts(plan_facts(plan))
