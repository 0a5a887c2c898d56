import math
from dataclasses import field
from fractions import Fraction
from typing import ClassVar

import numpy as np
import pytest

import noisycount as nc
from noisycount.frozen import frozen
from noisycount.model.laws.gamma import Reals
from noisycount.model.noises.additive import AdditiveNoise, ClosedForm, ContinuousNoise
from noisycount.model.sampling.scalar import public_grid
from noisycount.validation import whole_number
from tests.model.noises.contract import NoiseCase, NoiseContract
from tests.oracles.noise_definition import Definition


@frozen
class Logistic(ContinuousNoise):
    """Noise of density 1/(4·scale·cosh²(z/(2·scale))): a noise from outside the package."""

    name: ClassVar[str] = "logistic"
    is_log_concave: ClassVar[bool] = True

    @property
    def errors(self) -> "LogisticErrors":
        """Distribution of the noise at many errors at once."""
        return LogisticErrors(self.scale)

    @property
    def variance(self) -> float:
        """(π·scale)²/3."""
        return (math.pi * self.scale) ** 2 / 3

    @property
    def mean_absolute(self) -> float:
        """2·ln 2·scale."""
        return 2 * math.log(2) * self.scale

    def release(self, count: int) -> float:
        """Return the count plus the logit of a uniform number, rounded to a public grid. This suffices for a test."""
        grid = float(public_grid(self.scale))
        noise = self.draws(1, np.random.default_rng()).item()
        return whole_number(count, "count") + round(noise / grid) * grid

    def draws(self, runs: int, generator: np.random.Generator) -> Reals:
        """Return draws from a seed."""
        return generator.logistic(0.0, self.scale, runs)


@frozen
class LogisticErrors(ClosedForm):
    """Distribution of logistic noise at many errors."""

    is_discrete: ClassVar[bool] = False

    spread: float = field()

    @property
    def largest_log_change(self) -> Fraction:
        """1/scale, which the slope reaches in the end."""
        return 1 / Fraction(self.spread)

    @property
    def smooth_over(self) -> float:
        """The scale."""
        return self.spread

    @property
    def peak(self) -> float:
        """1/(4·scale)."""
        return 1 / (4 * self.spread)

    def distance_at_depth(self, depth: float) -> float:
        """Return the error at which the bound 4·peak·e^(−z/scale) of the density is e^(−depth) of the peak."""
        return self.spread * (depth + math.log(4))

    def log_density(self, errors: Reals) -> Reals:
        """Return −u − 2·ln(1 + e^−u) with u = |z|/scale."""
        units = np.abs(errors) / self.spread
        return -units - 2 * np.log1p(np.exp(-units))

    def log_change(self, error: float, steps: Reals) -> Reals:
        """Return 2·ln(cosh(a)/cosh(b)) of the halved errors a and b, in a form without cancellation."""
        here, there = error / (2 * self.spread), (error - steps) / (2 * self.spread)
        is_near = np.abs(there - here) < 1
        near = np.where(is_near, there, here)
        change = 2 * np.sinh((near - here) / 2) * np.sinh((near + here) / 2) / math.cosh(here)
        far = np.logaddexp(there, -there) - np.logaddexp(here, -here)
        return -2 * np.where(is_near, np.log1p(change), far)

    def log_tail(self, distances: Reals) -> Reals:
        """Return ln 2 − z/scale − ln(1 + e^(−z/scale))."""
        units = distances / self.spread
        return math.log(2) - units - np.log1p(np.exp(-units))

    def between(self, low: Reals, widths: Reals) -> Reals:
        """Return e^a·(1 − e^−w)/((1 + e^a)·(1 + e^(a − w))) for a = −low/scale, from the smaller tail."""
        starts = np.where(2 * low + widths < 0, -low - widths, low) / self.spread
        units = widths / self.spread
        falls = -np.expm1(-units) * np.exp(-np.maximum(starts, 0))
        return falls / (1 + np.exp(-np.abs(starts))) / (1 + np.exp(-starts - units))


def logistic(scale: float) -> Definition:
    """Return the density by its definition."""
    return Definition(lambda z: np.cosh(np.clip(z / scale / 2, -350, 350)) ** -2.0, scale)


class TestLogistic(NoiseContract):
    """A noise from outside the package passes the contract tests of all noises."""

    cases = [NoiseCase(Logistic(scale), logistic(scale)) for scale in (0.6, 1.75)]  # noqa: RUF012


def test_the_mean_absolute_error_is_that_of_the_density() -> None:
    """The mean absolute error is that of the logistic density, not of Gaussian noise of the same scale."""
    population = nc.Binomial(12, 0.3)
    assert nc.mean_absolute_error(population, Logistic(4), "answer") == 8 * math.log(2)


def test_the_least_scale_and_the_loss_are_found_for_the_class() -> None:
    """Both functions accept the class, as they accept the classes of the package."""
    scale = nc.smallest_scale(Logistic, 0.5, 1e-3)
    assert nc.privacy_curve(Logistic(scale)).delta(0.5) == pytest.approx(1e-3, rel=1e-6)
    loss = nc.utility_loss(Logistic(3), nc.Binomial(100, 0.3))
    assert nc.scale_for_utility_loss(Logistic, loss, 100) == pytest.approx(3, rel=1e-12)


def test_a_noise_without_a_transform_is_not_summed() -> None:
    """The refusal names the noise."""
    with pytest.raises(ValueError, match=r"^noises must be .*Logistic\(scale=3"):
        nc.NoiseSum([Logistic(3), Logistic(4)])


def test_a_noise_that_does_not_state_all_is_refused_by_name() -> None:
    """A class with missing members cannot be instantiated, and the error names them."""

    class Half(AdditiveNoise):
        """A noise that states only its name."""

        name = "half"

    with pytest.raises(TypeError, match=r"abstract class Half .*is_log_concave.*mean_absolute"):
        Half(3.0)  # type: ignore[abstract]
