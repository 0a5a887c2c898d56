"""The attack of Mironov (2012) on floating-point noise, against `Laplace.release`."""

import math
from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np
import pytest

import noisycount as nc
from noisycount.model.sampling.scales import public_grid

ANSWERS = 4000
EPSILONS = [0.1, 1.0, 3.0, 1 / 3]
COUNTS = [0, 1, 2, 1000, 2**31, 2**52]


def naive(count: int, scale: float, generator: np.random.Generator) -> float:
    """A count with noise as it is usually added."""
    return float(count + generator.laplace(0.0, scale))


def near(value: float) -> Iterator[float]:
    """A number and those beside it."""
    yield value
    for direction in (-math.inf, math.inf):
        other = value
        for _ in range(2):
            other = math.nextafter(other, direction)
            yield other


def is_possible(answer: float, count: int) -> bool:
    """Whether any float of noise, added to the count, gives the answer."""
    return any(count + noise == answer for noise in near(answer - count))


def told_apart(answers: list[float], other_count: int) -> float:
    """The share of answers that cannot be about the other count."""
    return sum(not is_possible(answer, other_count) for answer in answers) / len(answers)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_attack_tells_naive_noise(epsilon: float) -> None:
    """More than a hundredth of its answers about 0 are impossible under 1, by their low bits."""
    generator = np.random.default_rng()
    answers = [naive(0, 1 / epsilon, generator) for _ in range(ANSWERS)]
    assert told_apart(answers, 1) > 0.01


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_attack_finds_nothing_in_our_noise(epsilon: float, count: int) -> None:
    """Every answer about a count is as possible about its neighbours."""
    law = nc.Laplace.for_epsilon(epsilon)
    answers = [law.release(count) for _ in range(ANSWERS // 4)]
    assert told_apart(answers, count + 1) == 0
    assert told_apart(answers, abs(count - 1)) == 0


@pytest.mark.few(1)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_low_bits_have_one_law_for_all_counts(epsilon: float) -> None:
    """An answer less its count is a multiple of the grid, odd ones as often as even ones.

    The number of odd multiples of 4,000 is 2,000 within 5.5 standard errors, for each count.
    """
    law = nc.Laplace.for_epsilon(epsilon)
    grid = public_grid(law.scale)
    for count in (0, 1, 7):
        steps = [(Fraction(law.release(count)) - count) / grid for _ in range(ANSWERS)]
        assert all(step.denominator == 1 for step in steps)
        odd = sum(step.numerator % 2 for step in steps)
        assert abs(odd - ANSWERS / 2) < 5.5 * math.sqrt(ANSWERS / 4)


@pytest.mark.parametrize("release", [naive, lambda count, *_: nc.Laplace(1.0).release(count)])
def test_only_naive_noise_leaves_the_grid(release: Callable[..., float]) -> None:
    """Float noise has multiples of much finer steps; about as many as half of its answers."""
    generator = np.random.default_rng()
    grid = public_grid(1.0)
    answers = [release(0, 1.0, generator) for _ in range(1000)]
    finer = sum(Fraction(answer) % grid != 0 for answer in answers)
    assert (finer > 500) == (release is naive)
    assert (finer == 0) == (release is not naive)
