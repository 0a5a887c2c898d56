"""The picture of a refinement: what was assumed, what the answer says, what both say."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from noisycount.app.refine.estimate import Refinement
from noisycount.app.terminal.files import writing
from noisycount.charts.refinement import RefinementCurves, refinement_chart, save, save_file
from noisycount.errors import NoisyCountError
from noisycount.model.laws.expansion import Reals
from noisycount.model.laws.factor import Product

__all__ = ["Caption", "save_picture", "save_plot"]

_COUNTS = 1000
_SHOWN = 1e-3


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
    """Draw a refinement as SVG and PNG, and give the two files.

    Raises:
        NoisyCountError: The folder or a file cannot be written.
    """
    chart = refinement_chart(_curves(refinement), caption.title, caption.subtitle, caption.unit)
    try:
        return save(chart, folder, stem)
    except OSError as error:
        raise NoisyCountError(
            f"folder {str(folder)!r} cannot be written ({error.strerror}): name another"
        ) from None


def save_plot(refinement: Refinement, file: Path) -> None:
    """Draw a refinement as one file, SVG or PNG by its ending.

    Raises:
        NoisyCountError: The file cannot be written.
    """
    size, answers = refinement.assumed.population.records, len(refinement.answers)
    averaged = f"; the answer is the average of {answers}" if answers > 1 else ""
    subtitle = f"{size:,} records{averaged}"
    chart = refinement_chart(_curves(refinement), "What is the true count?", subtitle)
    with writing(file):
        save_file(chart, file)


def _curves(refinement: Refinement) -> RefinementCurves:
    """The three laws over the counts that hold nearly all of their probability."""
    told, prior = refinement.told, refinement.assumed.population.law()
    counts = _counts(refinement)
    low, high = refinement.interval
    return RefinementCurves(
        counts=counts.astype(int).tolist(),
        prior=prior.pmf(counts).tolist(),
        noisy=_likelihood(refinement, counts).tolist(),
        posterior=told.pmf(counts).tolist(),
        answer=refinement.answer,
        estimate=told.mean,
        low=low,
        high=high,
        level=refinement.level,
    )


def _counts(refinement: Refinement) -> Reals:
    """Counts over the whole range, and as many again where the estimate lies."""
    population, told = refinement.assumed.population, refinement.told
    prior, reach = population.law(), refinement.noise.smallest_error(_SHOWN)
    ends = (min(refinement.answers) - reach, max(refinement.answers) + reach)
    around = [min(population.records, max(0, end)) for end in ends]
    ranges = [
        (min(prior.quantile(_SHOWN), around[0]), max(prior.quantile(1 - _SHOWN), around[1])),
        told.interval(1 - 2 * _SHOWN),
    ]
    return np.unique(np.concatenate([np.linspace(*ends, _COUNTS).round() for ends in ranges]))


def _likelihood(refinement: Refinement, counts: Reals) -> Reals:
    """The likelihood of the answers at each count, with a sum of 1 over all counts of the range."""
    size = refinement.assumed.population.records
    likelihoods = (refinement.noise.likelihood(each, size) for each in refinement.answers)
    centre = int(counts[0])
    logs = Product(tuple(likelihoods)).expansion(centre)(counts - centre)
    heights = np.exp(logs - logs.max())
    widths = np.gradient(counts) if counts.size > 1 else np.ones(1)
    normalised: Reals = heights / (heights @ widths)
    return normalised
