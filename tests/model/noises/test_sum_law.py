import warnings

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

import noisycount as nc
from tests.oracles.convolution import (
    DISCRETE,
    TOLERANCE,
    assert_close,
    convolved,
    density,
    equal_laplace,
    laplace_and_gaussian,
    two_laplace,
)

CANCELLED = 1e-5  # below, what the tables leave out would show in a difference from 1
REACHES = [0, 1e-9, 1e-4, 0.01, 0.3, 1, 3, 10, 40, 100, 400, 1000]


@pytest.mark.parametrize("unit", [0.01, 1.0, 1e9])
@pytest.mark.parametrize("ratio", [1.0, 1 - 1e-15, 1 - 1e-9, 0.999, 0.5, 1e-3, 1e-6])
def test_two_laplace_noises_have_their_closed_form(unit: float, ratio: float) -> None:
    """Equal, nearly equal and distinct scales, from the kink to 1,000 scales away."""
    noise = nc.NoiseSum([nc.Laplace(unit), nc.Laplace(unit * ratio)])
    errors = [unit * reach for reach in REACHES]
    found = [noise.log_density(error) for error in errors]
    assert_close(found, [two_laplace(unit, unit * ratio, error) for error in errors])


@pytest.mark.few(1)
@pytest.mark.parametrize("count", [3, 33, 100, 10_000])
def test_equal_laplace_noises_have_a_bessel_law(count: int) -> None:
    """From a few to ten thousand noises."""
    noise = nc.NoiseSum([nc.Laplace(1.0)] * count)
    found = [noise.log_density(float(reach)) for reach in REACHES]
    assert_close(found, [equal_laplace(count, reach) for reach in REACHES])


def test_many_different_laplace_noises_have_the_sum_of_their_residues() -> None:
    """A hundred distinct scales, by partial fractions in enough digits."""
    scales = [1 + index / 128 for index in range(100)]
    noise = nc.NoiseSum([nc.Laplace(scale) for scale in scales])
    errors = [0.0, 1.0, 30.0, 500.0, 1500.0]
    with mp.workdps(300):
        squares = [mpf(scale) ** 2 for scale in scales]
        weights = [
            mp.fprod(one / (one - other) for other in squares if other != one) for one in squares
        ]
        exact = [
            mp.log(
                mp.fsum(
                    weight * mp.exp(-mpf(error) / scale) / (2 * mpf(scale))
                    for weight, scale in zip(weights, scales, strict=True)
                )
            )
            for error in errors
        ]
    assert_close([noise.log_density(error) for error in errors], exact)


@pytest.mark.parametrize("deviation", [1e-6, 1e-3, 0.03, 0.3, 1.0, 3.0, 30.0, 1e3, 1e6])
def test_laplace_and_gaussian_noise_have_their_closed_form(deviation: float) -> None:
    """Whichever of the two is wider."""
    noise = nc.NoiseSum([nc.Laplace(1.0), nc.Gaussian(deviation)])
    errors = [max(1.0, deviation) * reach for reach in REACHES]
    found = [noise.log_density(error) for error in errors]
    assert_close(found, [laplace_and_gaussian(1.0, deviation, error) for error in errors])


@pytest.mark.few(2)
@pytest.mark.parametrize("noises", DISCRETE, ids=str)
def test_discrete_noises_have_the_convolution_of_their_laws(noises: list[nc.Mechanism]) -> None:
    """Probabilities and upper tails at 0..60, term by term."""
    reach = 60
    law = convolved(noises, reach)[reach:]
    noise = nc.NoiseSum(noises)
    assert_close([noise.log_density(float(k)) for k in range(reach + 1)], [mp.log(p) for p in law])
    tails = [(1 + law[0]) / 2 - mp.fsum(law[:k]) for k in range(reach)]
    seen = [(noise.log_exceedance(float(k)), p) for k, p in enumerate(tails) if p > CANCELLED]
    assert_close([value for value, _ in seen], [mp.log(p) for _, p in seen])


@pytest.mark.parametrize("scale", [4, 50, 10**6, 10**9])
def test_wide_discrete_noises_are_smooth_between_the_integers(scale: int) -> None:
    """The law of two equal noises, (x + coth(1/b))·tanh²(1/2b)·e^(−x/b), holds at real x."""
    noise = nc.NoiseSum([nc.DiscreteLaplace(scale)] * 2)
    b = mpf(scale)
    errors = [0.0, 0.5, 1.0, 2.25, 10.75, 0.3 * scale, 7.7 * scale, 1000.0 * scale]
    exact = [
        mp.log(mp.tanh(1 / (2 * b)) ** 2 * (mpf(x) + mp.coth(1 / b))) - mpf(x) / b for x in errors
    ]
    assert_close([noise.log_density(error) for error in errors], exact)


@pytest.mark.parametrize("scale", [6, 1000, 10**6])
def test_narrow_gaussian_noise_leaves_wide_noise_smooth_farther_out(scale: int) -> None:
    """From 24 records on it only multiplies e^(−x/b) by E[e^(Z/b)], at real x too."""
    noise = nc.NoiseSum([nc.DiscreteLaplace(scale), nc.DiscreteGaussian(2)])
    b, weight = mpf(scale), density(nc.DiscreteGaussian(2))
    lift = mp.fsum(weight(mpf(k)) * mp.exp(k / b) for k in range(-60, 61))
    errors = [30.0, 40.5, 55.25, 300.75, 0.7 * scale + 30, 900.3 * scale]
    exact = [mp.log(mp.tanh(1 / (2 * b)) * lift) - mpf(x) / b for x in errors]
    assert_close([noise.log_density(error) for error in errors], exact)


@pytest.mark.parametrize("ratio", [1.0, 0.5, 1e-6])
def test_two_laplace_noises_have_their_tail(ratio: float) -> None:
    """P[|Z| >= alpha] is (b²·e^(−α/b) − c²·e^(−α/c))/(b² − c²), or (1 + α/2b)·e^(−α/b)."""
    noise = nc.NoiseSum([nc.Laplace(1.0), nc.Laplace(ratio)])
    b, c = mpf(1), mpf(ratio)
    alphas = [1e-3, 0.3, 1.0, 10.0, 1000.0]
    exact = [
        mp.log(
            (1 + mpf(alpha) / 2) * mp.exp(-mpf(alpha))
            if b == c
            else (mp.exp(-mpf(alpha)) - c**2 * mp.exp(-mpf(alpha) / c)) / (1 - c**2)
        )
        for alpha in alphas
    ]
    assert_close([noise.log_tail(alpha) for alpha in alphas], exact)
    assert noise.log_tail(0) == noise.log_tail(-1) == 0


def test_the_tail_of_discrete_noise_is_that_of_the_next_integer() -> None:
    """Nothing lies between two integers."""
    noise = nc.NoiseSum([nc.DiscreteLaplace(3), nc.DiscreteLaplace(2)])
    assert noise.log_tail(4.2) == noise.log_tail(5)


SCALES = st.one_of(
    st.floats(0.01, 1e9), st.floats(-2, 9).map(lambda digits: 10.0**digits), st.just(7.0)
)
CONTINUOUS = st.sampled_from([nc.Laplace, nc.Gaussian])
ON_INTEGERS = st.sampled_from([nc.DiscreteLaplace, nc.DiscreteGaussian])


@given(
    parts=st.sampled_from([CONTINUOUS, ON_INTEGERS]).flatmap(
        lambda kinds: st.lists(st.tuples(kinds, SCALES), min_size=2, max_size=12)
    ),
    reach=st.one_of(st.floats(0, 3), st.floats(0, 1000)),
)
@example(parts=[(nc.DiscreteGaussian, 0.125)] * 2, reach=12.0)
@settings(deadline=None)
def test_every_mix_has_a_finite_even_law_that_falls(
    parts: list[tuple[type[nc.Mechanism], float]], reach: float
) -> None:
    """No nan and no warning at any scales; f(−x) = f(x); tails and their complements add up."""
    noise = nc.NoiseSum([kind(scale) for kind, scale in parts])
    error = float(round(reach * max(scale for _, scale in parts)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        here, farther = noise.log_density(error), noise.log_density(error + 1)
        above = np.exp(noise.log_exceedance(error))
        below = np.exp(noise.log_exceedance(1 - error if noise.is_discrete else -error))
    assert here == noise.log_density(-error)
    assert farther <= here + TOLERANCE * max(1.0, abs(here))
    assert above + below == pytest.approx(1, abs=1e-11)


@pytest.mark.parametrize("noise", [nc.Laplace(3.0), nc.DiscreteLaplace(7), nc.Gaussian(2.0)])
def test_the_law_of_one_noise_is_known(noise: nc.Mechanism) -> None:
    """The inversion gives back the law that it starts from."""
    errors = [0.0, 1.0, 10.0, 60.0]
    exact = [mp.log(chance) for chance in map(density(noise), map(mpf, errors))]
    assert_close([nc.NoiseSum([noise]).log_density(error) for error in errors], exact)
