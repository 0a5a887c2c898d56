"""`noisycount demo`: one private question of a real survey, from the plan to the picture."""

from pathlib import Path

import click

from noisycount.app.demo.demonstration import Demonstration
from noisycount.app.demo.wire import demonstration_object
from noisycount.app.demo.words import INTRODUCTION, NEXT, QUESTION, steps
from noisycount.app.options.common import json_option
from noisycount.app.terminal.printing import print_json, print_text

__all__ = ["command"]


@click.command(name="demo", epilog="Example: noisycount demo --out pictures")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("noisycount-demo"),
    show_default=True,
    help="Where the picture and the ledger go.",
)
@json_option
def command(out: Path, *, as_json: bool) -> None:
    """Ask one private question of a real health survey, start to end.

    How many of 5,912 persons in the RAND Health Insurance Experiment ever rated their health
    "poor"? The survey comes with noisycount.
    """
    shown = Demonstration.of(out)
    if as_json:
        print_json(demonstration_object(shown))
    else:
        _print(shown)


def _print(shown: Demonstration) -> None:
    """What was asked, the steps, and what comes next."""
    print_text(QUESTION, "bold")
    print_text(INTRODUCTION)
    for number, step in enumerate(steps(shown), start=1):
        print_text()
        print_text(f"{number}  {step.title}", "bold")
        print_text(step.text)
    print_text()
    print_text("Next, a question of your own:", "bold")
    print_text(f"  {NEXT}")
