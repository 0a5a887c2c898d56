import math

import numpy as np
import pytest
from dp_accounting import get_epsilon_gaussian
from dp_accounting.pld import privacy_loss_distribution
from dp_accounting.pld.privacy_loss_mechanism import (
    DiscreteGaussianPrivacyLoss,
    DiscreteLaplacePrivacyLoss,
    GaussianPrivacyLoss,
    LaplacePrivacyLoss,
)
from mpmath import mp, mpf
from numpy.typing import NDArray
from scipy import stats

import noisycount as nc
from tests.oracles import enclosed
from tests.oracles.pairs import Outsider, Pair, binomial_pairs, binomial_sample_pairs, sampled
from tests.oracles.privacy import delta_by_quadrature, directions

Table = NDArray[np.float64]
KINDS = {
    "independent": Outsider(nc.Binomial(12, 0.3)),
    "uncertain rate": Outsider(nc.BetaBinomial(12, 0.5, 1.5)),
    "gaps": Outsider.of_table([0.25, 0.0, 0.5, 0.0, 0.25, 0.0, 0.0]),
    "known": Outsider(nc.Known(9, 4)),
    "sample": Outsider(nc.Binomial(12, 0.3)),
}


def answering(kind: str, noise: nc.Mechanism) -> nc.Mechanism:
    """Noise on the count, or on that of a sample."""
    return nc.Subsample(5, noise) if kind == "sample" else noise


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("noise", [nc.DiscreteLaplace(2), nc.DiscreteGaussian(2), nc.DiscreteGaussian(0.25)], ids=str)
@pytest.mark.parametrize("epsilon", [0.0, 0.05, 0.4])
def test_one_threshold_gives_the_sum_over_all_integer_answers(kind: str, noise: nc.Mechanism, epsilon: float) -> None:
    """The oracle's threshold loses nothing: the sum of max(0, P₊ − e^ε·P₋) assumes none."""
    outsider, mechanism = KINDS[kind], answering(kind, noise)
    sums = enclosed.directions(mechanism, outsider, epsilon)
    for one, other in zip(directions(mechanism, outsider.pairs(), epsilon), sums, strict=True):
        assert abs(one - mpf(other)) <= mpf("1e-50")


@pytest.mark.few(2)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "noise",
    [
        nc.Laplace(2.0),
        nc.Gaussian(1.5),
        nc.NoiseSum([nc.Laplace(1.0), nc.Laplace(2.5)]),
        nc.NoiseSum([nc.Laplace(2.0), nc.Laplace(2.0)]),
        nc.NoiseSum([nc.Laplace(1.0), nc.Gaussian(1.5)]),
    ],
    ids=str,
)
def test_one_threshold_gives_the_integral_over_all_answers(kind: str, noise: nc.Mechanism) -> None:
    """As far as numerical integration of max(0, f₊ − e^ε·f₋) goes."""
    _, (pair,) = enclosed.told_pairs(answering(kind, noise), KINDS[kind])
    for one, other in zip(directions(noise, [pair], 0.05), delta_by_quadrature(noise, pair, 0.05, 60), strict=True):
        assert float(one) == pytest.approx(other, abs=1e-5)


@pytest.mark.parametrize(("size", "rate", "drawn"), [(30, 0.2, 7), (12, 0.999, 11), (9, 1e-9, 9)])
def test_a_sample_of_independent_records_is_a_mixture_of_two_binomial_laws(size: int, rate: float, drawn: int) -> None:
    """λ·(1 + Bin(m−1, p)) + (1−λ)·Bin(m, p), as the hypergeometric law has it."""
    (mixed,) = binomial_sample_pairs(size, rate, drawn)
    counted = sampled(binomial_pairs(size, rate)[0], drawn)
    with mp.workdps(80):
        for one, other in zip([*mixed.positive, *mixed.negative], [*counted.positive, *counted.negative], strict=True):
            assert abs(one - other) <= mpf("1e-75")


@pytest.mark.parametrize("scale", [0.2, 1.0, 3.0, 30.0, 1e4])
def test_worst_cases_are_those_of_dp_accounting(scale: float) -> None:
    """Its closed forms subtract two tails: 1e-13 absolute is what they hold."""
    epsilons = np.array([0.0, 1e-6, 0.01, 0.3, 1.0, 4.0])
    pairs = [
        (nc.Laplace(scale), LaplacePrivacyLoss(scale)),
        (nc.Gaussian(scale), GaussianPrivacyLoss(scale)),
        (nc.DiscreteLaplace(scale), DiscreteLaplacePrivacyLoss(1 / scale)),
    ]
    if 1 <= scale <= 30:
        pairs.append((nc.DiscreteGaussian(scale), DiscreteGaussianPrivacyLoss(scale)))
    for ours, theirs in pairs:
        found = nc.privacy_curve(ours).delta(epsilons)
        expected = theirs.get_delta_for_epsilon(epsilons.tolist())
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-13), ours


@pytest.mark.parametrize("scale", [0.5, 3.0, 100.0])
@pytest.mark.parametrize("delta", [0.1, 1e-6, 1e-12])
def test_the_epsilon_of_gaussian_noise_is_that_of_dp_accounting(scale: float, delta: float) -> None:
    """The analytic Gaussian mechanism, solved to its 1e-12 in ε."""
    theirs = get_epsilon_gaussian(scale, delta)
    found = nc.privacy_curve(nc.Gaussian(scale)).epsilon(delta)
    assert found == pytest.approx(theirs, rel=1e-8, abs=1e-11)


def loss_distribution(
    upper: Table, lower: Table, *, pessimistic: bool
) -> privacy_loss_distribution.PrivacyLossDistribution:
    """dp-accounting's loss of one table against the other, rounded to multiples of 1e-5."""
    return privacy_loss_distribution.from_two_probability_mass_functions(
        *({k: math.log(p) for k, p in enumerate(side) if p > 0} for side in (lower, upper)),
        pessimistic_estimate=pessimistic,
        value_discretization_interval=1e-5,
        symmetric=False,
    )


def told(noise: nc.Mechanism, law: Table) -> Table:
    """The law of the answer: its integers, or its cells of a sixteenth of a record."""
    if isinstance(noise, nc.Exact):
        return law
    if isinstance(noise, nc.DiscreteLaplace):
        return np.convolve(law, math.tanh(1 / 6) * np.exp(-np.abs(np.arange(-200, 201)) / 3))
    errors = stats.norm(scale=3) if isinstance(noise, nc.Gaussian) else stats.laplace(scale=3)
    fine = np.zeros(16 * law.size)
    fine[::16] = law
    return np.convolve(fine, np.diff(errors.cdf(np.arange(-60 * 16, 60 * 16 + 1) / 16)))


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("noise", "rate", "margin"),
    [
        (nc.Exact(), 0.01, 0.0),
        (nc.Exact(), 0.5, 0.0),
        (nc.DiscreteLaplace(3), 0.1, 0.0),
        (nc.Gaussian(3.0), 0.1, 1e-4),
        (nc.Laplace(3.0), 0.01, 1e-4),
    ],
    ids=str,
)
def test_statistical_privacy_lies_between_the_estimates_of_dp_accounting(
    noise: nc.Mechanism, rate: float, margin: float
) -> None:
    """Of 1,000 records. A rounded answer hides more: the upper estimate gets a margin for it.

    Only the cell around the threshold hides: an eighth of its width² times the steepest change of P₊ − e^ε·P₋, which is
    below 0.13 a record² here. That is below 1e-4.
    """
    others = stats.binom.pmf(np.arange(1000), 999, rate)
    sides = [told(noise, np.concatenate(one)) for one in (([0.0], others), (others, [0.0]))]
    both = [loss_distribution(*sides, pessimistic=side) for side in (False, True)]
    curve = nc.privacy_curve(noise, nc.Binomial(1000, rate))
    for epsilon in (0.0, 0.01, 0.1):
        low, high = (losses.get_delta_for_epsilon(epsilon) for losses in both)
        assert low - 1e-9 <= curve.delta(epsilon) <= high + margin + 1e-9
        assert high - low <= 1e-5


def test_oracles_tell_pairs_apart() -> None:
    """A law moved by two records in place of one has another δ: the checks can fail."""
    (pair,) = binomial_pairs(30, 0.3)
    moved = Pair(pair.first, [mpf(0), *pair.positive], [*pair.negative, mpf(0)], pair.records)
    one, two = (directions(nc.Gaussian(2.0), [p], 0.05)[0] for p in (pair, moved))
    assert two > mpf("1.8") * one
