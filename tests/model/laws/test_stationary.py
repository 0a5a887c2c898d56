from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import noisycount as nc
from noisycount.model.laws.factors import Factor, LogStep, Product, mode_and_turns
from noisycount.model.laws.gamma import Expansion, Reals


@dataclass(frozen=True, slots=True)
class Watched:
    """A factor that counts how often it is asked for steps."""

    factor: Factor
    asked: list[int] = field(default_factory=list)

    @property
    def support(self) -> tuple[float, float]:
        """Of the factor."""
        return self.factor.support

    @property
    def kinks(self) -> tuple[float, ...]:
        """Of the factor."""
        return self.factor.kinks

    @property
    def is_log_concave(self) -> bool:
        """Of the factor."""
        return self.factor.is_log_concave

    def expansion(self, centre: int) -> Expansion:
        """Of the factor."""
        return self.factor.expansion(centre)

    def log_step(self, count: int) -> float:
        """The step, counted."""
        self.asked.append(1)
        return self.factor.log_step(count)

    def log_steps(self, counts: Sequence[int]) -> Reals:
        """The steps, counted once."""
        self.asked.append(1)
        return self.factor.log_steps(counts)

    def exact_log_step(self, count: int) -> LogStep:
        """Of the factor."""
        return self.factor.exact_log_step(count)


NOISES: list[Callable[[], nc.NoiseSum]] = [
    lambda: nc.NoiseSum([nc.DiscreteLaplace(30), nc.DiscreteLaplace(40)]),
    lambda: nc.NoiseSum([nc.DiscreteGaussian(3), nc.DiscreteGaussian(2)]),
]


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize(
    "prior",
    [nc.Binomial(10**15, 0.3), nc.BetaBinomial(10**15, 3, 7), nc.BetaBinomial(10**15, 0.3, 0.7)],
)
def test_a_mode_among_very_many_counts_takes_few_steps(
    prior: nc.Binomial | nc.BetaBinomial, noise: Callable[[], nc.NoiseSum]
) -> None:
    """Far fewer than halving would for each turn, as every step of a sum of noises is dear."""
    watched = Watched(noise().likelihood(10**15, prior.size))
    mode, turns = mode_and_turns(Product((prior, watched)), (0, prior.size))
    assert 0 <= mode <= prior.size
    assert len(watched.asked) <= 60 * (1 + len(turns))


@given(
    size=st.integers(1, 60),
    rate=st.sampled_from([0.01, 0.3, 0.5, 0.99]),
    answer=st.integers(-5, 65),
    scale=st.sampled_from([0.2, 1.0, 7.0]),
)
def test_the_mode_is_the_smallest_largest(
    size: int, rate: float, answer: int, scale: float
) -> None:
    """Against all counts, compared exactly."""
    prior = nc.Binomial(size, rate)
    product = Product((prior, nc.DiscreteLaplace(Fraction(scale)).likelihood(answer, size)))
    steps = [product.exact_log_step(count).is_positive for count in range(size)]
    assert mode_and_turns(product, (0, size))[0] == sum(steps)


def test_many_steps_are_each_step() -> None:
    """The steps of many counts at once are those of each."""
    counts = [0, 1, 29, 30, 31, 99]
    product = Product((nc.Binomial(100, 0.3), NOISES[0]().likelihood(30, 100)))
    each = [product.rise_after(count) for count in counts]
    assert product.rises_after(counts) == pytest.approx(np.array(each), rel=1e-12)
