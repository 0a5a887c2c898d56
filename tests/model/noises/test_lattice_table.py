import math
from collections.abc import Sequence

import numpy as np
import pytest
from mpmath import mp, mpf

import noisycount as nc
from noisycount.model.noises.sum_law import SumLaw

LAWS = [
    ((2.0, 0.5), ()),
    ((), (0.5, 0.5, 2.0)),
    ((1.5,), (1.0,)),
]


def masses(laplace: Sequence[float], gaussian: Sequence[float], reach: int) -> list[mpf]:
    """P[Z = z] for z = 0..reach by products of parts of ±reach in 50 digits."""
    total = {0: mpf(1)}
    for logs in (
        *(lambda z, b=b: -abs(z) / mpf(b) for b in laplace),
        *(lambda z, s=s: -(mpf(z) ** 2) / (2 * mpf(s) ** 2) for s in gaussian),
    ):
        part = {z: mp.exp(logs(z)) for z in range(-reach, reach + 1)}
        whole = mp.fsum(part.values())
        total = {
            z: mp.fsum(p * part[z - x] for x, p in total.items() if z - x in part) / whole
            for z in range(-reach, reach + 1)
        }
    return [total[z] for z in range(reach + 1)]


@pytest.mark.parametrize(("laplace", "gaussian"), LAWS)
def test_masses_and_tails_are_those_of_the_convolution(
    laplace: tuple[float, ...], gaussian: tuple[float, ...]
) -> None:
    """Each to 1e-13 of itself, down to e^−20."""
    table = SumLaw(laplace, gaussian, is_discrete=True).table
    assert table is not None
    with mp.workdps(50):
        exact = masses(laplace, gaussian, 120)
        for z, mass in enumerate(exact):
            if mass < math.exp(-20):
                break
            assert abs(mp.exp(float(table.log_masses[z])) / mass - 1) < 1e-13
            tail = mp.fsum(exact[z:])
            assert abs(mp.exp(float(table.log_tails[z])) / tail - 1) < 1e-13


@pytest.mark.parametrize(("laplace", "gaussian"), [*LAWS, ((7.0, 7.0), ()), ((), (64.0, 3.0))])
def test_the_table_goes_on_as_the_integrals_do(
    laplace: tuple[float, ...], gaussian: tuple[float, ...]
) -> None:
    """What the table tells and what the contour tells agree to 1e-11 at every integer."""
    law = SumLaw(laplace, gaussian, is_discrete=True)
    table = law.table
    assert table is not None
    distances = np.arange(table.log_masses.size, dtype=np.float64)
    assert np.abs(law.log_profile(distances) - table.log_masses).max() < 1e-11
    assert table.log_masses[0] - table.log_masses[-1] > 150


def test_wide_and_continuous_sums_have_no_table() -> None:
    """They are smooth, and a table of them would be long."""
    assert SumLaw((1e3, 1e3), (), is_discrete=True).table is None
    assert SumLaw((2.0, 2.0), (), is_discrete=False).table is None


def test_noise_too_narrow_for_floats_keeps_its_logarithms() -> None:
    """P[Z = 1] of scale 2^−10 is e^−1024: below a double, not below its logarithm."""
    noise = nc.NoiseSum([nc.DiscreteLaplace(2**-10), nc.DiscreteGaussian(2**-10)])
    assert noise.log_density(1.0) == pytest.approx(-1024, abs=1e-6)
