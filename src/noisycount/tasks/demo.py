"""A demonstration on a real survey: the plan of a private count, its answer, a refined estimate and a chart.

`Demonstration.run` runs it; `steps` explains it in words.
"""

import csv
import tomllib
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple, cast

from noisycount.charts.picture_svg import save_picture
from noisycount.charts.png import check_png
from noisycount.charts.refinement import RefinementCurves, refinement_picture
from noisycount.config.config import Config, DatasetConfig
from noisycount.config.places import sqlite_url
from noisycount.data import survey_path
from noisycount.data.hospital import hospital_tables
from noisycount.display.numbers import approximately, percent, signed
from noisycount.display.output import new_file, status
from noisycount.errors import NoisyCountError
from noisycount.frozen import frozen
from noisycount.ledger.budget import PureBudget
from noisycount.query.query import Query
from noisycount.readers.assumption import Assumed, Rate
from noisycount.release.dataset import AvailableBudget
from noisycount.release.results import Release
from noisycount.tasks.answer import Answer, PaidQuery, answer_to
from noisycount.tasks.answer_json import answer_json
from noisycount.tasks.plan import OpenPlan
from noisycount.tasks.refine.estimate import Refinement, refinement_json
from noisycount.validation import exact_text


def write_survey(file: Path) -> None:
    """Copy the survey to a new file."""
    with new_file(file, "--survey") as copy:
        copy.buffer.write(survey_path().read_bytes())


def write_hospital(folder: Path) -> list[Path]:
    """Write the tables of the made-up hospital to a new folder, each to a CSV file; return the files."""
    try:
        folder.mkdir()
    except FileExistsError:
        raise NoisyCountError(f"--hospital {str(folder)!r} exists already: name another folder") from None
    except OSError as error:
        raise NoisyCountError(f"--hospital {str(folder)!r} cannot be written ({error.strerror})") from None
    files = []
    for name, rows in hospital_tables().items():
        with new_file(folder / f"{name}.csv", "--hospital") as file:
            csv.writer(file, lineterminator="\n").writerows(rows)
        files.append(folder / f"{name}.csv")
    return files


WHERE = "health = 'poor'"
WITHIN, CONFIDENCE, AT_MOST = Fraction(1, 5), Fraction(19, 20), Fraction(1, 2)
SIZE, RATE = 5912, 0.017
_BUDGET = PureBudget(Fraction(2))
_HEADING = "Persons who ever rated their health poor"
_SUBTITLE = f"RAND Health Insurance Experiment, {SIZE:,} persons"


@frozen
class Demonstration:
    """The results of a demonstration, from the plan to the chart."""

    plan: OpenPlan  # prices that the question may have
    answer: Answer  # private count, charged to the ledger of the demonstration
    release: Release  # its published count
    refinement: Refinement  # estimate from the answer and a public rate
    pictures: tuple[Path, ...]  # files of the chart

    @classmethod
    def run(cls, folder: Path) -> "Demonstration":
        """Run the demonstration; its ledger and its chart are stored in a folder.

        Privacy budget is charged to that ledger only.
        """
        check_png()
        plan = OpenPlan(WITHIN, CONFIDENCE, AT_MOST, AvailableBudget(_BUDGET))
        answer = _release_count(folder)
        release = cast("Release", answer.release)
        refinement = Refinement.from_answers([release.answer], Assumed.from_rate(SIZE, Rate(RATE)), release.mechanism)
        with status("drawing"):
            pictures = _save_chart(refinement, folder)
        return cls(plan, answer, release, refinement, pictures)


def _release_count(folder: Path) -> Answer:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise NoisyCountError(
            f"--out {str(folder)!r} cannot be created ({error.strerror}): name another folder"
        ) from None
    survey = DatasetConfig(name="rand_hie", source=survey_path(), unit="person", size=SIZE, budget=_BUDGET)
    configuration = Config(None, sqlite_url((folder / "ledger.db").absolute()), {})
    query = Query(wheres=[WHERE], within=WITHIN, at_most=AT_MOST, confidence=float(CONFIDENCE))
    return answer_to(PaidQuery(query), survey, configuration)


def _save_chart(refinement: Refinement, folder: Path) -> tuple[Path, ...]:
    curves = RefinementCurves.from_posterior(refinement.posterior, refinement.level)
    files = folder / "poor-health.svg", folder / "poor-health.png"
    try:
        picture = refinement_picture(curves, _HEADING, _SUBTITLE, "persons")
        for file in files:
            save_picture(picture, file)
    except OSError as error:
        raise NoisyCountError(f"folder {str(folder)!r} cannot be written ({error.strerror}): name another") from None
    return files


_TEXTS = tomllib.loads(Path(__file__).with_name("demo.toml").read_text(encoding="utf-8"))
QUESTION: str = _TEXTS["question"]
INTRODUCTION: str = _TEXTS["introduction"].format(signed(SIZE))

NEXT = 'noisycount count FILE.csv --unit ID --where "age>49" --within 20% --at-most 1'


class Step(NamedTuple):
    """A step of the demonstration."""

    title: str
    text: str


def steps(demonstration: Demonstration) -> Iterator[Step]:
    """Yield the five steps of the demonstration as text."""
    release, refinement = demonstration.release, demonstration.refinement
    results = {name: getattr(demonstration, name) for name in ("plan", "answer", "release")}
    values = {
        "within": percent(float(WITHIN)),
        "confidence": percent(float(CONFIDENCE)),
        "at_most": exact_text(AT_MOST),
        "scale": approximately(release.scale),
        "count": signed(release.answer),
        "cost": "It was paid for before, so it cost nothing now and is the same answer"
        if release.repeated
        else f"It cost ε = {exact_text(release.charged)}",
        "remaining": exact_text(release.remaining),
        "rate": percent(RATE),
        "interval": "{} to {}".format(*refinement.interval),
        "level": percent(refinement.level),
        "pictures": " and ".join(map(str, demonstration.pictures)),
    }
    for step in _TEXTS["steps"]:
        yield Step(*(step[part].format(**results, **values, posterior=refinement.posterior) for part in Step._fields))


def demonstration_json(demonstration: Demonstration) -> dict[str, Any]:
    """Return the plan, the count, the estimate and the files of the chart as JSON."""
    return {
        "plan": demonstration.plan.json,
        "count": answer_json(demonstration.answer),
        "refinement": refinement_json(demonstration.refinement),
        "pictures": [str(file) for file in demonstration.pictures],
    }
