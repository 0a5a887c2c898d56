from collections.abc import Callable

import numpy as np
import pytest
from mpmath import mp, mpf

from noisycount.analysis.arithmetic.unbiased import unbiased
from noisycount.model.noises.discrete_laplace import DiscreteLaplace
from noisycount.model.noises.laplace import Laplace

FUNCTIONS: list[Callable[..., object]] = [
    lambda k: k,
    lambda k: k * k,
    abs,
    lambda k: (k > 4) * 1,
    lambda k: k**3 - 7 * k,
]


@pytest.mark.few(10)
@pytest.mark.parametrize("function", FUNCTIONS, ids=["k", "k²", "|k|", "k > 4", "cubic"])
@pytest.mark.parametrize("count", [0, 5, 31])
@pytest.mark.parametrize("scale", [1, 3])
def test_the_estimate_is_right_on_average(
    function: Callable[..., mpf], count: int, scale: int
) -> None:
    """Σ_z P[Z = z]·g(k + z) = f(k) in 50 digits, with g by the formula that the class computes."""
    with mp.workdps(60):
        a = mp.exp(mpf(-1) / scale)
        weight = a / (1 - a) ** 2

        def estimate(y: int) -> mpf:
            bend = function(y + 1) - 2 * function(y) + function(y - 1)
            return function(y) - weight * bend

        reach = 160 * scale
        mean = mp.fsum(
            (1 - a) / (1 + a) * a ** abs(z) * estimate(count + z) for z in range(-reach, reach + 1)
        )
        assert abs(mean - function(count)) < mpf(10) ** -50
        ours = unbiased(function, DiscreteLaplace(scale))
        answers = np.arange(-6, 40)
        for answer, found in zip(answers.tolist(), ours(answers).tolist(), strict=True):
            assert found == pytest.approx(float(estimate(answer)), rel=1e-13, abs=1e-12)


def test_the_variance_of_the_square_is_as_told() -> None:
    """4k²·v + Var[Z²], v the variance of the noise."""
    noise, errors = DiscreteLaplace(3), np.arange(-400, 401, dtype=np.float64)
    chances = np.exp(noise.logpmf(0, errors))
    estimates = unbiased(np.square, noise)(9 + errors)
    variance = chances @ estimates**2 - 81**2
    of_squares = chances @ errors**4 - (chances @ errors**2) ** 2
    assert variance == pytest.approx(4 * 81 * float(noise.variance) + of_squares, rel=1e-11)


def test_answers_come_in_any_shape_and_are_whole() -> None:
    """A number gives a number, nan stays; a fraction is no answer of discrete noise."""
    count = unbiased(np.positive, DiscreteLaplace(2))
    assert count(7) == 7
    np.testing.assert_array_equal(count([[1, np.nan]]), [[1, np.nan]])
    with pytest.raises(
        ValueError, match=r"^answers must be integers under discrete noise, got 0.5"
    ):
        count([1, 0.5])


def test_other_noises_are_refused() -> None:
    """Their laws are not undone by a second difference."""
    with pytest.raises(ValueError, match=r"^noise must be DiscreteLaplace, got Laplace"):
        unbiased(np.square, Laplace(2))
