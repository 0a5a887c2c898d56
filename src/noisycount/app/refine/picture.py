"""The picture of a refinement: what was assumed, what the answer says, what both say."""

from dataclasses import dataclass
from pathlib import Path

from noisycount.app.refine.estimate import Refinement
from noisycount.app.terminal.files import writing
from noisycount.charts.files import save, save_file
from noisycount.charts.refinement.chart import refinement_chart
from noisycount.charts.refinement.curves import RefinementCurves
from noisycount.errors import NoisyCountError

__all__ = ["Caption", "save_picture", "save_plot"]


@dataclass(frozen=True, slots=True)
class Caption:
    """What stands above a picture.

    Attributes:
        title: The question.
        subtitle: Whose records.
        unit: What is counted, in the plural.
    """

    title: str
    subtitle: str
    unit: str = "records"


def save_picture(refinement: Refinement, caption: Caption, folder: Path, stem: str) -> list[Path]:
    """The picture of a refinement as SVG and PNG: the two files.

    Raises:
        NoisyCountError: The folder or a file cannot be written.
    """
    chart = refinement_chart(
        RefinementCurves.of(refinement.told, refinement.level),
        caption.title,
        caption.subtitle,
        caption.unit,
    )
    try:
        return save(chart, folder, stem)
    except OSError as error:
        raise NoisyCountError(
            f"folder {str(folder)!r} cannot be written ({error.strerror}): name another"
        ) from None


def save_plot(refinement: Refinement, file: Path) -> None:
    """The picture of a refinement as one file, SVG or PNG by its ending.

    Raises:
        NoisyCountError: The file cannot be written.
    """
    size, answers = refinement.assumed.population.records, len(refinement.answers)
    kind = "average" if refinement.noise is not None else "weighted average"
    averaged = f"; the answer is the {kind} of {answers}" if answers > 1 else ""
    subtitle = f"{size:,} records{averaged}"
    chart = refinement_chart(
        RefinementCurves.of(refinement.told, refinement.level, refinement.answer),
        "What is the true count?",
        subtitle,
    )
    with writing(file):
        save_file(chart, file)
