"""`noisycount demo`: one private query of a real survey, from the plan to the picture.

The steps are computed by `noisycount.tasks.demo`.
"""

from collections.abc import Sequence
from pathlib import Path

import click

from noisycount.data.hospital import PATIENTS
from noisycount.display.numbers import signed
from noisycount.display.output import print_json, print_text
from noisycount.readers.options import json_option, value_option
from noisycount.tasks import demo as task


@click.command(
    name="demo",
    epilog="\b\nExample:\n  noisycount demo --out pictures\n  noisycount demo --survey survey.parquet",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("noisycount-demo"),
    show_default=True,
    help="Write the picture and the ledger to this folder.",
)
@value_option(
    "--survey",
    click.Path(path_type=Path),
    "FILE",
    "Only copy the survey to this new Parquet file, for your own queries.",
)
@value_option(
    "--hospital",
    click.Path(path_type=Path),
    "FOLDER",
    "Only write seven tables of a made-up hospital to this new folder, for queries about persons.",
)
@json_option
def demo(out: Path, survey: Path | None, hospital: Path | None, *, as_json: bool) -> None:
    """Answer one private query of a real health survey, end to end.

    How many of 5,912 persons in the RAND Health Insurance Experiment ever rated their health "poor"? The survey comes
    with noisycount.
    """
    if survey is not None:
        task.write_survey(survey)
        _print_survey_file(survey, as_json=as_json)
    if hospital is not None:
        _print_hospital(hospital, task.write_hospital(hospital), as_json=as_json)
    if survey is not None or hospital is not None:
        return
    demonstration = task.Demonstration.run(out)
    if as_json:
        print_json(task.demonstration_json(demonstration))
    else:
        _print_steps(demonstration)


def _print_survey_file(file: Path, *, as_json: bool) -> None:
    if as_json:
        print_json({"survey": str(file)})
        return
    print_text(f"wrote {file}: one row a person and year, {signed(task.SIZE)} persons")
    print_text(f"Next, describe it: noisycount init {file} --unit person")


def _print_hospital(folder: Path, files: Sequence[Path], *, as_json: bool) -> None:
    if as_json:
        print_json({"hospital": [str(file) for file in files]})
        return
    print_text(f"wrote {folder}: {len(files)} tables of {signed(PATIENTS)} made-up patients")
    print_text(f"Next, describe them: noisycount init {folder} --unit patient")


def _print_steps(demonstration: task.Demonstration) -> None:
    print_text(task.QUESTION, bold=True)
    print_text(task.INTRODUCTION)
    for number, step in enumerate(task.steps(demonstration), start=1):
        print_text()
        print_text(f"{number}  {step.title}", bold=True)
        print_text(step.text)
    print_text()
    print_text("Next, a question of your own:", bold=True)
    click.echo(f"  {task.NEXT}")  # not wrapped, so that it can be pasted
