"""The picture of a refinement: what was assumed, what the answer says, what both say."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from noisycount.app.asking import error_within
from noisycount.app.refined import Refinement
from noisycount.errors import NoisyCountError
from noisycount.study.charts import RefinementCurves, refinement_chart, save

__all__ = ["Caption", "save_picture"]

_MOST_COUNTS = 2000
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


def _curves(refinement: Refinement) -> RefinementCurves:
    """The three laws over the counts that hold nearly all of their probability."""
    prior = refinement.population.law()
    reach = error_within(refinement.noise, 1 - _SHOWN)
    size = refinement.population.size
    around = sorted(min(size, max(0, refinement.answer + side * reach)) for side in (-1, 1))
    lowest = min(prior.quantile(_SHOWN), around[0])
    highest = max(prior.quantile(1 - _SHOWN), around[1])
    counts = np.unique(np.linspace(lowest, highest, _MOST_COUNTS).round())
    factor = refinement.noise.likelihood(refinement.answer, size)
    likelihood = np.exp(factor.expansion(refinement.answer)(counts - refinement.answer))
    low, high = refinement.interval
    return RefinementCurves(
        counts=counts.astype(int).tolist(),
        prior=prior.pmf(counts).tolist(),
        noisy=(likelihood / likelihood.sum()).tolist(),
        posterior=refinement.told.pmf(counts).tolist(),
        answer=refinement.answer,
        estimate=refinement.told.mean,
        low=low,
        high=high,
    )
