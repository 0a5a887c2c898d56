import numpy as np
import pytest

import noisycount as nc
from noisycount.model.laws.smooth_law import mesh_points


@pytest.mark.parametrize(
    ("size", "rate"), [(30, 0.3), (1000, 0.1), (10**6, 0.5), (10**6, 1e-6), (10**12, 0.2)]
)
@pytest.mark.parametrize("kink", [-2.0, 0.0, 3.0])
def test_sums_that_bend_in_a_fine_place_are_exact(size: int, rate: float, kink: float) -> None:
    """E|K − k| from the mesh and from the tails of the law on each side of k."""
    law = nc.Binomial(size, rate).law()
    deviation = law.variance**0.5
    place = float(round(kink * deviation))
    support = float(law.support[0] - law.centre), float(law.support[1] - law.centre)
    mesh = mesh_points(
        law.log_weight,
        (-14 * deviation, 14 * deviation),
        support,
        [(place, place)],
        max(24.0, deviation),
    )
    weights = mesh.weights / np.exp(law.log_mass)
    above = law.probability(law.centre + place + 1, size)
    assert weights.sum() == pytest.approx(1, rel=1e-12)
    assert weights[mesh.offsets > place].sum() == pytest.approx(above, rel=1e-11)
    assert mesh.offsets.size < 4000


def test_points_stay_inside_the_support() -> None:
    """Whose ends are cut finely, as laws are rough there."""
    law = nc.BetaBinomial(10**6, 0.5, 0.5).law()
    support = float(law.support[0] - law.centre), float(law.support[1] - law.centre)
    mesh = mesh_points(law.log_weight, support, support, [], 1e5)
    assert mesh.offsets.min() == support[0]
    assert mesh.offsets.max() == support[1]
    assert not mesh.is_every_integer
    mean = mesh.weights @ mesh.offsets / mesh.weights.sum()
    assert mean == pytest.approx(law.mean - law.centre, rel=1e-10)
    assert mesh.weights.sum() == pytest.approx(np.exp(law.log_mass), rel=1e-12)


def test_short_runs_are_taken_whole() -> None:
    """Every integer once."""
    mesh = mesh_points(lambda offsets: -0.1 * offsets, (0.0, 50.0), (0.0, 50.0), [], 24.0)
    assert mesh.is_every_integer
    assert mesh.offsets.tolist() == list(range(51))
    assert mesh.highest_log_weight == 0.0
