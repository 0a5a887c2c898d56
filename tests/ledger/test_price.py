from fractions import Fraction
from math import sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisycount.ledger.budget import Loss
from noisycount.ledger.price import TablePrice
from noisycount.model.concentrated import epsilon_of_rho
from noisycount.model.noises.additive import DiscreteNoise
from noisycount.model.noises.discrete_gaussian import DiscreteGaussian
from noisycount.model.noises.laplace import DiscreteLaplace

MILLIONTH = Fraction(1, 10**6)


@given(
    epsilon=st.fractions(Fraction(1, 100), 10, max_denominator=100),
    sensitivity=st.integers(1, 1000),
    share=st.fractions(Fraction(1, 100), 1, max_denominator=100),
)
def test_laplace_noise_costs_its_share_of_epsilon(epsilon: Fraction, sensitivity: int, share: Fraction) -> None:
    """Counts that move by Δ in all cost Δ/scale, exactly."""
    price = TablePrice.from_amounts(DiscreteLaplace, epsilon, None, None, is_hidden=False)
    noise = price.mechanism(sensitivity, share)
    assert sensitivity / noise.exact_scale == share * epsilon
    assert price.loss == Loss.from_epsilon(epsilon)


@given(
    rho=st.integers(1, 10**7).map(lambda millionths: Fraction(millionths, 10**6)),
    sensitivity=st.integers(1, 1000),
    share=st.fractions(Fraction(1, 100), 1, max_denominator=100),
)
def test_gaussian_noise_costs_at_most_its_share_of_rho(rho: Fraction, sensitivity: int, share: Fraction) -> None:
    """Moves whose squares add up to Δ cost Δ/(2σ²): the scale is rounded up, by little."""
    noise = TablePrice.from_amounts(DiscreteGaussian, None, rho, None, is_hidden=False).mechanism(sensitivity, share)
    cost = sensitivity / (2 * noise.exact_scale**2)
    assert cost <= share * rho
    assert float(noise.exact_scale) == pytest.approx(sqrt(sensitivity / (2 * share * rho)), rel=1.1e-6)


def test_epsilon_and_delta_of_gaussian_noise_are_kept() -> None:
    """The ρ that is charged implies both, and a larger one at six digits does not."""
    price = TablePrice.from_amounts(DiscreteGaussian, "0.5", None, "1e-6", is_hidden=False)
    assert epsilon_of_rho(price.loss.rho, MILLIONTH) <= 0.5
    assert epsilon_of_rho(price.loss.rho * Fraction(10001, 10000), MILLIONTH) > 0.5
    assert (price.loss.epsilon, price.loss.delta) == (None, 0)


def test_hidden_keys_pay_delta() -> None:
    """The threshold takes all of δ with Laplace noise, and half of it with Gaussian noise."""
    laplace = TablePrice.from_amounts(DiscreteLaplace, 1, None, MILLIONTH, is_hidden=True)
    assert (laplace.loss, laplace.threshold_delta) == (Loss.from_epsilon(Fraction(1), MILLIONTH), MILLIONTH)
    gaussian = TablePrice.from_amounts(DiscreteGaussian, 1, None, MILLIONTH, is_hidden=True)
    assert gaussian.threshold_delta == gaussian.loss.delta == MILLIONTH / 2
    assert epsilon_of_rho(gaussian.loss.rho, MILLIONTH / 2) <= 1
    by_rho = TablePrice.from_amounts(DiscreteGaussian, None, "0.1", MILLIONTH, is_hidden=True)
    assert by_rho.loss == Loss.concentrated(Fraction(1, 10), MILLIONTH)


@pytest.mark.parametrize(
    ("noise", "prices", "words"),
    [
        (DiscreteLaplace, (1, None, 1), "delta must be"),
        (DiscreteLaplace, (0, None, None), "epsilon must be"),
        (DiscreteGaussian, (None, -1, None), "rho must be"),
    ],
)
def test_a_price_out_of_range_is_refused_in_one_line(
    noise: type[DiscreteNoise], prices: tuple[int | None, int | None, int | None], words: str
) -> None:
    """The refusal names the amount."""
    with pytest.raises(ValueError, match=words) as refused:
        TablePrice.from_amounts(noise, *prices, is_hidden=True)
    assert "\n" not in str(refused.value)
