"""One private question of a real survey: its plan, its answer, a better estimate, a picture."""

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from noisycount.app.config.config import Config, DatasetConfig
from noisycount.app.config.ledger_url import sqlite_url
from noisycount.app.count.question import Answer, answer_to
from noisycount.app.plan.plan import Plan, planned
from noisycount.app.refine.estimate import Refinement, refined
from noisycount.app.terminal.status import status
from noisycount.charts.extra import check_charts
from noisycount.data import survey_path
from noisycount.errors import NoisyCountError
from noisycount.release.budget.budgets import PureBudget

__all__ = ["CONFIDENCE", "GUESS", "RATE", "SIZE", "WITHIN", "Demonstration"]

WHERE = "health = 'poor'"
GUESS, WITHIN, CONFIDENCE = 100, 0.2, 0.95
SIZE, RATE = 5912, 0.017
_BUDGET = PureBudget(Fraction(2))
_HEADING = "Persons who ever rated their health poor"
_SUBTITLE = f"RAND Health Insurance Experiment, {SIZE:,} persons"


@dataclass(frozen=True, slots=True)
class Demonstration:
    """A question from its plan to its picture.

    Attributes:
        plan: The ε that the question needs.
        answer: The private count, paid from a ledger of the demonstration's own.
        refinement: The estimate from the answer and a public rate.
        pictures: The files of its picture.
    """

    plan: Plan
    answer: Answer
    refinement: Refinement
    pictures: tuple[Path, ...]

    @classmethod
    def of(cls, folder: Path) -> "Demonstration":
        """The demonstration whose ledger and pictures lie in a folder.

        Raises:
            NoisyCountError: The extra `charts` is not installed, or the folder, its ledger or a
                picture cannot be written.
        """
        check_charts()
        plan = planned(GUESS, WITHIN, CONFIDENCE)
        answer = _answer(plan, folder)
        release = answer.release
        refinement = refined(release.answer, SIZE, RATE, release.epsilon)
        with status("drawing"):
            pictures = _save(refinement, folder)
        return cls(plan, answer, refinement, pictures)


def _answer(plan: Plan, folder: Path) -> Answer:
    """The private count, paid from a ledger in the folder."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise NoisyCountError(
            f"--out {str(folder)!r} cannot be made ({error.strerror}): name another folder"
        ) from None
    survey = DatasetConfig(
        name="rand_hie", source=survey_path(), unit="person", size=SIZE, budget=_BUDGET
    )
    configuration = Config(None, sqlite_url((folder / "ledger.db").absolute()), {})
    return answer_to(WHERE, survey, configuration, plan.epsilon, CONFIDENCE)


def _save(refinement: Refinement, folder: Path) -> tuple[Path, ...]:
    """The files of the picture."""
    from noisycount.app.refine.picture import Caption, save_picture  # noqa: PLC0415  (loads Altair)

    caption = Caption(_HEADING, _SUBTITLE, "persons")
    return tuple(save_picture(refinement, caption, folder, "poor-health"))
