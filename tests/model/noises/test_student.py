import math
from dataclasses import field
from fractions import Fraction
from typing import ClassVar

import numpy as np
import pytest

import noisycount as nc
from noisycount.frozen import frozen
from noisycount.model.laws.gamma import Reals
from noisycount.model.noises.additive import ClosedForm, ContinuousNoise
from noisycount.validation import whole_number
from tests.model.noises.contract import NoiseCase, NoiseContract
from tests.oracles.noise_definition import Definition

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(60)
_SERIES = 0.3  # of √3·scale/z, from which on the closed form of the tail keeps its digits


@frozen
class Student(ContinuousNoise):
    """Noise of density ∝ (1 + z²/(3·scale²))^−2: Student's law, whose tails are not log-concave."""

    name: ClassVar[str] = "Student"
    is_log_concave: ClassVar[bool] = False  # far out the density falls more and more slowly

    @property
    def errors(self) -> "StudentErrors":
        """The law of the noise at many errors at once."""
        return StudentErrors(self.scale)

    @property
    def variance(self) -> float:
        """3·scale²."""
        return 3 * self.scale**2

    @property
    def mean_absolute(self) -> float:
        """2·√3·scale/π."""
        return 2 * math.sqrt(3) * self.scale / math.pi

    def release(self, count: int) -> float:
        """The count plus a draw, which suffices for a test."""
        return whole_number(count, "count") + self.draws(1, np.random.default_rng()).item()

    def draws(self, runs: int, generator: np.random.Generator) -> Reals:
        """Draws from a seed."""
        return self.scale * generator.standard_t(3, runs)


@frozen
class StudentErrors(ClosedForm):
    """The law at many errors."""

    is_discrete: ClassVar[bool] = False

    spread: float = field()

    @property
    def largest_log_change(self) -> Fraction:
        """A bit more than 2/(√3·scale), the slope at √3·scale."""
        return Fraction(2 / (math.sqrt(3) * self.spread) * (1 + 1e-15))

    @property
    def smooth_over(self) -> float:
        """The scale."""
        return self.spread

    @property
    def peak(self) -> float:
        """2/(π·√3·scale)."""
        return 2 / (math.pi * math.sqrt(3) * self.spread)

    def distance_at_depth(self, depth: float) -> float:
        """√3·scale·√(e^(depth/2) − 1)."""
        return self.spread * math.sqrt(3 * math.expm1(depth / 2))

    def log_density(self, errors: Reals) -> Reals:
        """−2·ln(1 + z²/(3·scale²))."""
        return -2 * np.log1p(np.square(errors / self.spread) / 3)

    def log_change(self, error: float, steps: Reals) -> Reals:
        """−2·ln of the ratio of 3·scale² + z² at both errors."""
        change = steps * (steps - 2 * error) / (3 * self.spread**2 + error**2)
        return -2 * np.log1p(change)

    def log_tail(self, distances: Reals) -> Reals:
        """2·(arctan x − x/(1 + x²))/π with x = √3·scale/z, or its series where x is small."""
        with np.errstate(divide="ignore"):
            x = math.sqrt(3) * self.spread / np.asarray(distances, dtype=np.float64)
        small = np.minimum(x, _SERIES)
        orders = np.arange(1.0, 30.0)
        terms = 2 * orders / (2 * orders + 1) * -np.power(-np.square(small)[..., None], orders)
        series = small * terms.sum(axis=-1)
        large = np.maximum(x, _SERIES)
        closed = np.arctan(large) - 1 / (large + 1 / large)
        return np.log(2 / math.pi * np.where(x < _SERIES, series, closed))

    def between(self, low: Reals, widths: Reals) -> Reals:
        """A Gauss rule in the angle arctan(z/(√3·scale)), in which the density is smooth."""
        unit = math.sqrt(3) * self.spread
        lows, highs = low / unit, (low + widths) / unit
        turns = np.arctan2(highs - lows, 1 + lows * highs)
        angles = np.arctan(lows)[..., None] + turns[..., None] * (1 + _NODES) / 2
        return np.square(np.cos(angles)) @ _WEIGHTS * turns / math.pi


def student(scale: float) -> Definition:
    """The density by its definition."""
    return Definition(lambda z: (1 + (z / scale) ** 2 / 3) ** -2.0, scale, reach=math.inf)


class TestStudent(NoiseContract):
    """Posterior and accuracy serve it; what rests on a single threshold refuses it by name."""

    cases = [NoiseCase(Student(scale), student(scale)) for scale in (0.6, 1.75)]  # noqa: RUF012


def test_no_scale_is_found_for_a_curve_that_is_refused() -> None:
    """By name."""
    with pytest.raises(ValueError, match=r"log-concave density .*got Student\(scale="):
        nc.smallest_scale(Student, 0.5, 1e-3)


def test_a_posterior_with_two_peaks_is_summed_around_both() -> None:
    """A far answer and a sure prior each keep their own."""
    size, rate, answer = 4000, 0.25, 2000.0
    told = nc.posterior(answer, nc.Binomial(size, rate), Student(0.05))
    counts = np.arange(size + 1.0)
    logs = nc.Binomial(size, rate).law().log_pmf(counts) - 2 * np.log1p(((answer - counts) / 0.05) ** 2 / 3)
    weights = np.exp(logs - logs.max())
    assert told.mean == pytest.approx(float(weights @ counts / weights.sum()), rel=1e-10)
