from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from mpmath import mp, mpf
from numpy.typing import NDArray
from scipy import special

import noisycount as nc

DRAWS = 2_000_000
FALSE_ALARM = 1e-6

Answers = NDArray[np.float64]
Simulation = Callable[[np.random.Generator, NDArray[np.int64]], Answers]


@dataclass(frozen=True)
class Setting:
    """Curve to be audited, and the simulation of its answers."""

    mechanism: nc.Mechanism
    size: int
    rate: float
    epsilon: float
    answers: Simulation


def exactly(_: np.random.Generator, counts: NDArray[np.int64]) -> Answers:
    """No noise."""
    return counts.astype(np.float64)


SETTINGS = {
    "exact": Setting(nc.Exact(), 200, 0.05, 0.05, exactly),
    "gaussian": Setting(nc.Gaussian(1.0), 200, 0.05, 0.05, lambda r, k: k + r.standard_normal(k.size)),
    "laplace": Setting(nc.Laplace(2.0), 100, 0.05, 0.1, lambda r, k: k + r.laplace(scale=2.0, size=k.size)),
    "discrete laplace": Setting(
        nc.DiscreteLaplace(2),
        100,
        0.05,
        0.1,
        lambda r, k: (
            k + r.geometric(1 - np.exp(-0.5), k.size) - r.geometric(1 - np.exp(-0.5), k.size).astype(np.float64)
        ),
    ),
    "sample": Setting(nc.Subsample(20), 40, 0.1, 0.05, lambda r, k: r.hypergeometric(k, 40 - k, 20).astype(float)),
    "noisy sample": Setting(
        nc.Subsample(20, nc.Gaussian(0.5)),
        40,
        0.1,
        0.05,
        lambda r, k: r.hypergeometric(k, 40 - k, 20) + 0.5 * r.standard_normal(k.size),
    ),
}


def bounds(hits: int, draws: int) -> tuple[float, float]:
    """Clopper and Pearson's bounds of a probability, each wrong with a chance of 1e-6 at most."""
    low = special.betaincinv(hits, draws - hits + 1, FALSE_ALARM) if hits else 0.0
    high = special.betaincinv(hits + 1, draws - hits, 1 - FALSE_ALARM) if hits < draws else 1.0
    return float(low), float(high)


def beyond(answers: Answers, places: Answers, sign: int) -> Answers:
    """The share of sorted answers from each place on, upwards or downwards."""
    if sign > 0:
        return 1 - np.searchsorted(answers, places, "left") / answers.size
    return np.searchsorted(answers, places, "right") / answers.size


def audited(setting: Setting) -> list[tuple[float, float]]:
    """Bounds of P₊[S] − e^ε·P₋[S], and of the other direction, for the best of a few sets S.

    The sets are chosen by other draws than those that are counted.
    """
    random = np.random.default_rng(20261120)

    def both(draws: int) -> tuple[Answers, Answers]:
        others = random.binomial(setting.size - 1, setting.rate, draws)
        return setting.answers(random, others + 1), setting.answers(random, others)

    factor = np.exp(setting.epsilon)
    trial = [np.sort(side) for side in both(DRAWS // 4)]
    grid = np.arange(-2, setting.size * setting.rate * 4, 0.25)
    found = []
    final = both(DRAWS)
    for sign, upper, lower in ((1, 0, 1), (-1, 1, 0)):
        gains = beyond(trial[upper], grid, sign) - factor * beyond(trial[lower], grid, sign)
        best = grid[int(np.argmax(gains))]
        hits = [int((sign * side >= sign * best).sum()) for side in final]
        low, high = bounds(hits[upper], DRAWS), bounds(hits[lower], DRAWS)
        found.append((low[0] - factor * high[1], low[1] - factor * high[0]))
    return found


@pytest.mark.thorough
@pytest.mark.parametrize("name", SETTINGS)
def test_an_audit_accepts_delta_and_rejects_nine_tenths_of_it(name: str) -> None:
    """Two million answers with the record and without: a false alarm in 1e-6 of all audits."""
    setting = SETTINGS[name]
    curve = nc.privacy_curve(setting.mechanism, nc.Binomial(setting.size, setting.rate))
    for (low, high), delta in zip(audited(setting), curve.directions(setting.epsilon), strict=True):
        assert low <= delta, f"δ is at least {low}, but {delta} is claimed"
        assert delta <= high + 0.01 * delta, f"δ is about {high} at most, but {delta} is claimed"
        assert 0.9 * delta < low, f"{0.9 * delta} is not rejected by a δ of at least {low}"


def test_bounds_hold_their_level() -> None:
    """The lower bound p of h hits has P[at least h hits | p] = 1e-6."""
    low, high = bounds(40, 1000)
    above = mp.fsum(mp.binomial(1000, k) * mpf(low) ** k * (1 - mpf(low)) ** (1000 - k) for k in range(40, 1001))
    below = mp.fsum(mp.binomial(1000, k) * mpf(high) ** k * (1 - mpf(high)) ** (1000 - k) for k in range(41))
    assert float(above) == pytest.approx(1e-6, rel=1e-6)
    assert float(below) == pytest.approx(1e-6, rel=1e-6)
