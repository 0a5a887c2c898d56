import numpy as np
import pytest

import noisycount as nc
from noisycount.model.noises.additive import AdditiveNoise
from noisycount.tasks.refine.published import PublishedLevel, PublishedTable
from noisycount.tasks.refine.refined import selected_estimates
from tests.layers import case_name

ANSWERS = [-3.0, 0.0, 2.0, 11.0, 40.0, 5000.0]


def table(answers: list[float], *noises: AdditiveNoise) -> PublishedTable:
    """Rows of which each noise has as many, in turn."""
    values = np.array(answers, dtype=np.float64)
    rows = np.arange(values.size)
    levels = [PublishedLevel("page", rows[place :: len(noises)], noise) for place, noise in enumerate(noises)]
    keys = [(str(row),) for row in rows]
    missing = np.full(values.size, np.nan)
    return PublishedTable("", ("page",), keys, values, tuple(levels), missing, {}, is_selected=True)


@pytest.mark.parametrize("noise", [nc.DiscreteLaplace(3), nc.DiscreteGaussian(4.5), nc.Laplace(2.5)], ids=case_name)
@pytest.mark.parametrize("level", [0.95, 0.5])
def test_each_count_has_the_law_of_its_own_answer(noise: AdditiveNoise, level: float) -> None:
    """Summed term by term over all counts from 0, each as likely before."""
    found = selected_estimates(table(ANSWERS, noise), level)
    counts = np.arange(6000)
    for row, answer in enumerate(ANSWERS):
        logs = noise.logpmf(answer, counts)
        weights = np.exp(logs - logs.max())
        law = weights / weights.sum()
        below = np.cumsum(law)
        assert found["mean"][row] == pytest.approx(float(law @ counts), rel=1e-9, abs=1e-9)
        for name, share in (("median", 0.5), ("low", (1 - level) / 2), ("high", (1 + level) / 2)):
            assert found[name][row] == int(np.argmax(below >= share * (1 - 1e-12)))


def test_each_row_has_its_own_noise() -> None:
    """Countries differ in their noise."""
    narrow, wide = nc.DiscreteGaussian(18.23), nc.DiscreteGaussian(90.05)
    found = selected_estimates(table([500.0] * 4, narrow, wide), 0.95)
    widths = (found["high"] - found["low"]).tolist()
    assert widths == [72, 352, 72, 352]


@pytest.mark.parametrize("answer", [2.5, -1e6])
def test_what_no_threshold_lets_through_is_refused(answer: float) -> None:
    """Parts of records, and what lies far below 0."""
    with pytest.raises(nc.NoisyCountError, match="must be whole numbers"):
        selected_estimates(table([answer], nc.DiscreteLaplace(3)), 0.95)
