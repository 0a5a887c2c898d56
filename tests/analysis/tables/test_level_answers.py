import numpy as np
import pytest

from noisycount import DiscreteGaussian, DiscreteLaplace, Exact, Gaussian, Laplace, Mechanism, NoiseSum
from noisycount.analysis.tables.likelihoods import LevelAnswers

NOISES = [
    DiscreteLaplace(3),
    DiscreteGaussian(4),
    Laplace(2.5),
    Gaussian(3),
    NoiseSum([DiscreteLaplace(2), DiscreteGaussian(3)]),
    NoiseSum([Laplace(2), Gaussian(3)]),
]
VALUES = np.array([-40.0, -3.0, 0.0, 2.0, 57.0])


def level(mechanism: Mechanism, *, suppressed: bool = False) -> LevelAnswers:
    """Five answers under a mechanism."""
    flags = np.full(VALUES.size, suppressed)
    return LevelAnswers(1, np.arange(VALUES.size), VALUES, flags, mechanism)


@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_likelihood_is_that_of_the_mechanism(noise: Mechanism) -> None:
    """Each value is `logpmf` of its answer, in a table as alone."""
    counts = np.arange(60)
    found = level(noise).log_likelihood(slice(None), counts[None])
    for row, answer in zip(found, VALUES, strict=True):
        assert np.allclose(row, noise.logpmf(answer, counts), rtol=1e-10, atol=1e-10)
    some = level(noise).log_likelihood(np.array([3, 1]), counts[None] + np.array([[0], [5]]))
    assert np.allclose(some[0], found[3])
    assert np.allclose(some[1][:55], found[1][5:])


@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_suppressed_answers_have_the_mass_below(noise: Mechanism) -> None:
    """P[Y < t | k] + P[Y >= t | k] = 1, the second by the mechanism's own tail."""
    counts = np.arange(0, 60, 7)
    found = np.exp(level(noise, suppressed=True).log_likelihood(slice(None), counts[None]))
    for row, answer in zip(found, VALUES, strict=True):
        above = noise.tail(answer, 100, upper=True)
        whole = [np.exp(above.log_value(count)) + low for count, low in zip(counts, row, strict=True)]
        assert np.allclose(whole, 1, atol=1e-11)


@pytest.mark.parametrize("suppressed", [False, True])
@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_reach_leaves_nothing_out(noise: Mechanism, *, suppressed: bool) -> None:
    """Beyond it the likelihood is e^−42 of its largest; it is not much wider."""
    counts = np.arange(1200)
    answers = level(noise, suppressed=suppressed)
    logs = answers.log_likelihood(slice(None), counts[None])
    low, high = answers.reach()
    outside = (counts < low[:, None]) | (counts > high[:, None])
    assert (logs[outside] < np.broadcast_to(logs.max(axis=1)[:, None] - 42, logs.shape)[outside]).all()
    assert high.max() < 57 + 45 * 4


def test_exact_answers_are_one_count() -> None:
    """The count that was told, or all below a threshold."""
    told = LevelAnswers(0, np.arange(2), np.array([3.0, 2.0]), np.array([False, True]), Exact())
    assert np.exp(told.log_likelihood(slice(None), np.arange(5)[None])).tolist() == [[0, 0, 0, 1, 0], [1, 1, 0, 0, 0]]
    assert [ends.tolist() for ends in told.reach()] == [[3, 0], [3, 1]]
