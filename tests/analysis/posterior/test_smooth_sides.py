import numpy as np
import pytest

import noisycount as nc
from noisycount.analysis.evaluation.estimates import table_of
from noisycount.analysis.posterior.laplace_cells import SummedSides


@pytest.mark.parametrize("noise", [nc.Gaussian(1000), nc.DiscreteGaussian(800)], ids=str)
def test_sums_by_quadrature_equal_sums_of_all_terms(noise: nc.Gaussian | nc.DiscreteGaussian) -> None:
    """Around the mean, and far out, for edges at the answers and beside them."""
    size = 10**6
    table = table_of(nc.Binomial(size, 0.3).law(), size)
    span = (float(table.first - 8000), float(table.last + 8000))
    quick = SummedSides(table, noise.errors, span, has_smooth_prior=True)
    plain = SummedSides(table, noise.errors, span)
    answers = np.round(np.linspace(296_000, 304_000, 41))
    for offset in (-300, 0, 37):
        for side in ("lower", "upper"):
            fast, slow = (getattr(sides, side)(answers, answers + offset) for sides in (quick, plain))
            reached = slow.logs > slow.logs.max() - 40
            assert fast.logs[reached] == pytest.approx(slow.logs[reached], abs=1e-11)
            assert fast.distances[reached] == pytest.approx(slow.distances[reached], rel=1e-10)
