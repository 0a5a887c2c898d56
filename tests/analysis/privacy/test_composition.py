import math

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution

import noisycount as nc

SIZE, RATE, SCALE, EPSILON = 1000, 0.1, 3.0, 0.01


def test_two_answers_about_one_database_are_not_two_independent_ones() -> None:
    """They share its randomness: composing says .0522 where .0365 is true, and says it of others.

    Two answers with Gaussian noise tell what their mean tells, whose noise is 1/√2 as wide.
    """
    population = nc.Binomial(SIZE, RATE)
    true = nc.privacy_curve(nc.Gaussian(SCALE / math.sqrt(2)), population).delta(EPSILON)
    counts = np.arange(-60, 300)
    errors = np.exp(-(np.arange(-60, 61) ** 2) / (2 * SCALE**2))
    law = np.convolve(errors / errors.sum(), nc.Binomial(SIZE - 1, RATE).law().pmf(counts))
    lower = {k: math.log(mass) for k, mass in enumerate(law) if mass > 1e-300}
    upper = {k + 1: mass for k, mass in lower.items()}
    composed = privacy_loss_distribution.from_two_probability_mass_functions(
        lower, upper, symmetric=False
    ).self_compose(2)
    assert true == pytest.approx(0.0365, abs=5e-5)
    assert composed.get_delta_for_epsilon(EPSILON) == pytest.approx(0.0522, abs=2e-4)


def test_samples_among_several_answers_are_refused() -> None:
    """A sample beside another answer has no exact curve."""
    both = [nc.Laplace(3), nc.Subsample(4)]
    with pytest.raises(ValueError, match=r"^mechanism must be Exact or additive noise .*Subsample"):
        nc.privacy_curve(both, nc.Binomial(10, 0.5))


def test_adding_curves_is_refused_with_the_reason() -> None:
    """So is everything that looks like composition."""
    curve = nc.privacy_curve(nc.Laplace(3), nc.Binomial(10, 0.5))
    with pytest.raises(ValueError, match=r"^privacy curves cannot be added: .* share what hides"):
        curve + curve
