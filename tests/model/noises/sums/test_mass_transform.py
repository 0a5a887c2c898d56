import numpy as np
import pytest
from mpmath import mp, mpf

from noisycount.model.mechanism import Mechanism
from noisycount.model.noises.discrete_gaussian import DiscreteGaussian
from noisycount.model.noises.discrete_laplace import DiscreteLaplace
from noisycount.model.noises.gaussian import Gaussian
from noisycount.model.noises.laplace import Laplace
from noisycount.model.noises.noise_sum import NoiseSum
from tests.oracles.convolution import (
    DISCRETE,
    convolved,
    laplace_and_gaussian,
)

CLOSE = 1e-12
REACHES = [1e-14, 1e-9, 1e-6, 1e-3, 0.1, 1.0, 3.0, 10.0]


@pytest.mark.parametrize("ratio", [1.0, 1 - 1e-9, 0.5, 1e-3, 1e-6])
def test_the_mass_within_two_laplace_noises_has_its_closed_form(ratio: float) -> None:
    """To 1e-12 relative, from 1e-14 scales around 0 on, where the complement of a tail has none."""
    b, c = mpf(1), mpf(ratio)
    for reach in REACHES:
        x = mpf(reach)
        outside = (
            (1 + x / 2) * mp.exp(-x)
            if b == c
            else (mp.exp(-x) - c**2 * mp.exp(-x / c)) / (1 - c**2)
        )
        assert abs(
            NoiseSum([Laplace(1.0), Laplace(ratio)]).log_within(reach) - mp.log(1 - outside)
        ) < (CLOSE)


@pytest.mark.few(0)
@pytest.mark.parametrize("deviation", [1e-6, 0.03, 1.0, 30.0, 1e6])
def test_the_mass_within_laplace_and_gaussian_noise_is_the_integral(deviation: float) -> None:
    """Of the closed form of the density, decade by decade."""
    for reach in (1e-12, 1e-3, 1.0, 10.0):
        alpha = mpf(reach) * max(1, mpf(deviation))
        cuts = sorted({min(alpha, mpf(10) ** k) for k in range(-13, 9)})
        mass = mp.quad(lambda e: mp.exp(laplace_and_gaussian(1.0, deviation, e)), [0, *cuts])
        found = NoiseSum([Laplace(1.0), Gaussian(deviation)]).log_within(float(alpha))
        assert abs(found - mp.log(2 * mass)) < CLOSE


@pytest.mark.few(4)
@pytest.mark.parametrize("noises", DISCRETE, ids=str)
def test_the_mass_within_discrete_noises_is_a_sum(noises: list[Mechanism]) -> None:
    """Of the convolution, term by term; between two integers nothing is added."""
    noise, reach = NoiseSum(noises), 60
    probabilities = convolved(noises, reach)
    for alpha in (1, 2, 3, 10, 50):
        exact = mp.log(mp.fsum(probabilities[reach - alpha + 1 : reach + alpha]))
        assert abs(noise.log_within(alpha) - exact) < CLOSE
        assert noise.log_within(alpha - 0.5) == noise.log_within(alpha)


@pytest.mark.parametrize("scale", [10**6, 10**12, 10**15])
def test_the_mass_within_wide_discrete_noises_has_its_closed_form(scale: int) -> None:
    """Of two equal ones, P[Z >= m] = Σ_{k >= m} (k + coth(1/b))·tanh²(1/2b)·e^(−k/b)."""
    b = mpf(scale)
    fall = mp.exp(-1 / b)
    for alpha in (1, 2, 1000, scale // 1000, scale, 30 * scale):
        outside = mp.tanh(1 / (2 * b)) ** 2 * fall**alpha / (1 - fall)
        outside *= alpha + mp.coth(1 / b) + fall / (1 - fall)
        assert abs(
            NoiseSum([DiscreteLaplace(scale)] * 2).log_within(alpha) - mp.log1p(-2 * outside)
        ) < (CLOSE)


@pytest.mark.few(0)
@pytest.mark.parametrize(
    "noises",
    [
        [DiscreteLaplace(1000), DiscreteGaussian(2)],
        [DiscreteLaplace(50), DiscreteGaussian(10**6)],
        [DiscreteGaussian(10**6)] * 3,
        [DiscreteGaussian(2)] * 1000,
        [DiscreteLaplace(20 + index) for index in range(300)],
    ],
    ids=["narrow Gaussian", "wide Gaussian", "three", "a thousand", "unequal"],
)
def test_masses_within_many_noises_add_up_to_1_with_their_tails(noises: list[Mechanism]) -> None:
    """The mass of 1..w beside the tail, and beside the sum of its terms where they are few."""
    noise = NoiseSum(noises)
    for share in (1e-3, 0.1, 1.0, 4.0):
        alpha = max(1, round(share * noise.variance**0.5))
        within = noise.log_within(alpha)
        assert abs(np.exp(within) + np.exp(noise.log_tail(alpha)) - 1) < 1e-11
        if alpha < 2000:
            terms = [noise.log_density(error) for error in np.arange(1.0 - alpha, alpha)]
            assert within == pytest.approx(np.log(np.sum(np.exp(terms))), abs=CLOSE)
