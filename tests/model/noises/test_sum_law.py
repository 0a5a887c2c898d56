"""Tests of `model/noises/sum_formulas.py`, `model/noises/sum_tables.py` and `model/noises/sum_transforms.py`."""

import math
import warnings
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

import noisycount as nc
from noisycount.model.noises.sum_law import SumLaw
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
        weights = [mp.fprod(one / (one - other) for other in squares if other != one) for one in squares]
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


@pytest.mark.thorough
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
    exact = [mp.log(mp.tanh(1 / (2 * b)) ** 2 * (mpf(x) + mp.coth(1 / b))) - mpf(x) / b for x in errors]
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


SCALES = st.one_of(st.floats(0.01, 1e9), st.floats(-2, 9).map(lambda digits: 10.0**digits), st.just(7.0))
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


LAWS = [((2.0, 0.5), ()), ((), (0.5, 0.5, 2.0)), ((1.5,), (1.0,))]


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
def test_masses_and_tails_are_those_of_the_convolution(laplace: tuple[float, ...], gaussian: tuple[float, ...]) -> None:
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
def test_the_table_goes_on_as_the_integrals_do(laplace: tuple[float, ...], gaussian: tuple[float, ...]) -> None:
    """The table and the contour integral agree to 1e-11 at every integer."""
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


CLOSE = 1e-12
TRANSFORM_REACHES = [1e-14, 1e-9, 1e-6, 1e-3, 0.1, 1.0, 3.0, 10.0]


@pytest.mark.parametrize("ratio", [1.0, 1 - 1e-9, 0.5, 1e-3, 1e-6])
def test_the_mass_within_two_laplace_noises_has_its_closed_form(ratio: float) -> None:
    """To 1e-12 relative, from 1e-14 scales around 0 on, where the complement of a tail has none."""
    b, c = mpf(1), mpf(ratio)
    for reach in TRANSFORM_REACHES:
        x = mpf(reach)
        outside = (1 + x / 2) * mp.exp(-x) if b == c else (mp.exp(-x) - c**2 * mp.exp(-x / c)) / (1 - c**2)
        assert abs(nc.NoiseSum([nc.Laplace(1.0), nc.Laplace(ratio)]).log_within(reach) - mp.log(1 - outside)) < (CLOSE)


@pytest.mark.thorough
@pytest.mark.parametrize("deviation", [1e-6, 0.03, 1.0, 30.0, 1e6])
def test_the_mass_within_laplace_and_gaussian_noise_is_the_integral(deviation: float) -> None:
    """Of the closed form of the density, decade by decade."""
    for reach in (1e-12, 1.0, 10.0):
        alpha = mpf(reach) * max(1, mpf(deviation))
        cuts = sorted({min(alpha, mpf(10) ** k) for k in range(-13, 9)})
        mass = mp.quad(lambda e: mp.exp(laplace_and_gaussian(1.0, deviation, e)), [0, *cuts])
        found = nc.NoiseSum([nc.Laplace(1.0), nc.Gaussian(deviation)]).log_within(float(alpha))
        assert abs(found - mp.log(2 * mass)) < CLOSE


@pytest.mark.parametrize("noises", DISCRETE, ids=str)
def test_the_mass_within_discrete_noises_is_a_sum(noises: list[nc.Mechanism]) -> None:
    """Of the convolution, term by term; between two integers nothing is added."""
    noise, reach = nc.NoiseSum(noises), 60
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
        assert abs(nc.NoiseSum([nc.DiscreteLaplace(scale)] * 2).log_within(alpha) - mp.log1p(-2 * outside)) < (CLOSE)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "noises",
    [
        [nc.DiscreteLaplace(1000), nc.DiscreteGaussian(2)],
        [nc.DiscreteLaplace(50), nc.DiscreteGaussian(10**6)],
        [nc.DiscreteGaussian(10**6)] * 3,
        [nc.DiscreteGaussian(2)] * 1000,
        [nc.DiscreteLaplace(20 + index) for index in range(300)],
    ],
    ids=["narrow Gaussian", "wide Gaussian", "three", "a thousand", "unequal"],
)
def test_masses_within_many_noises_add_up_to_1_with_their_tails(noises: list[nc.Mechanism]) -> None:
    """The mass of 1..w beside the tail, and beside the sum of its terms where they are few."""
    noise = nc.NoiseSum(noises)
    for share in (1e-3, 0.1, 1.0, 4.0):
        alpha = max(1, round(share * noise.variance**0.5))
        within = noise.log_within(alpha)
        assert abs(np.exp(within) + np.exp(noise.log_tail(alpha)) - 1) < 1e-11
        if alpha < 500:
            terms = [noise.log_density(error) for error in np.arange(1.0 - alpha, alpha)]
            assert within == pytest.approx(np.log(np.sum(np.exp(terms))), abs=CLOSE)


@pytest.mark.parametrize("scales", [(3, 4), (1, 100), (2, 3, 5), (1, 1.1)], ids=str)
def test_intervals_of_different_laplace_noises_are_differences_of_tails(scales: tuple[float, ...]) -> None:
    """By partial fractions in 60 digits, from intervals far shorter than a scale to those around 0."""
    errors = nc.NoiseSum([nc.Laplace(scale) for scale in scales]).errors
    lows, widths = np.array([0.0, -0.3, 5.0, 200.0, -7.0, 1.0, -1e3]), np.array([1e-9, 1.0, 1e-6, 3.0, 2.0, 0.5, 2e3])
    with mp.workdps(60):
        squares = [mpf(scale) ** 2 for scale in scales]
        shares = [mp.fprod(one / (one - other) for other in squares if other != one) for one in squares]

        def tail(error: mpf) -> mpf:
            above = mp.fsum(a * mp.exp(-abs(error) / mpf(b)) / 2 for a, b in zip(shares, scales, strict=True))
            return above if error >= 0 else 1 - above

        exact = [float(tail(mpf(low)) - tail(mpf(low) + mpf(width))) for low, width in zip(lows, widths, strict=True)]
    assert errors.between(lows, widths) == pytest.approx(exact, rel=1e-12)
