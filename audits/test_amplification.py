"""Theorems 4.3 and 4.4 of docs/mathematics/privacy.md on a large grid."""

from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
import pytest
from tests.oracles.subsampled_sum import Reals, subsampled_deltas

from noisycount.analysis.privacy.privacy_curve import privacy_curve
from noisycount.analysis.privacy.smallest_scale import amplified_directions
from noisycount.model.exact import Exact
from noisycount.model.populations.binomial import Binomial

SIZES = [2, 3, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 10**4, 10**6, 10**9]
SAMPLES = [1, 2, 3, 5, 10, 19, 20, 50, 99, 100, 200, 500, 999, 1000, 2000]
SMALL_RATES = np.array([1e-9, 1e-6, 1e-4, 1e-3, 0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.4])
RATES = [*SMALL_RATES.tolist(), 0.5, *(1 - SMALL_RATES).tolist()]
EPSILONS = np.append(0.0, np.geomspace(1e-4, 12, 79))
NUMERICS = 1e-9  # the error of a privacy curve, relative
DEEP = 1e-50  # below it that error is not promised
NEAR_ZERO = 1e-3  # a smaller u of Theorem 4.4 has lost digits in 1 − (1 − λ)(α − 1)π
ROUNDING = 1e-15

Setting = tuple[int, int, float]


def settings() -> Iterator[Setting]:
    """Every size, sample size and rate of the grid."""
    for size, drawn, rate in product(SIZES, SAMPLES, RATES):
        if drawn <= size:
            yield size, drawn, rate


@pytest.fixture(scope="module")
def exact() -> dict[Setting, tuple[Reals, Reals]]:
    """δ₊ and δ₋ of each setting at every ε, by the sum over all counts."""
    return {setting: subsampled_deltas(*setting, EPSILONS) for setting in settings()}


def test_the_bound_is_never_below_the_sample(
    exact: dict[Setting, tuple[Reals, Reals]], tell: Callable[[str], None]
) -> None:
    """Theorem 4.3 in both directions: no violation beyond the numerical error of a curve."""
    truths = np.array(list(exact.values()))
    bounds = np.array([amplified_directions(*setting, EPSILONS) for setting in exact])
    violations = truths > bounds * (1 + NUMERICS) + 1e-300
    for side, name in enumerate(("δ₊", "δ₋")):
        truth, bound = truths[:, side], bounds[:, side]
        tell(f"Theorem 4.3, {name}: {violations[:, side].sum()} violations in {truth.size} settings")
        for least in (DEEP, 1e-6):
            tight = truth[truth >= least] / bound[truth >= least]
            tell(
                f"  exact/bound of {tight.size} settings with exact >= {least:g}: "
                f"median {np.median(tight):.4f}, smallest {tight.min():.2g}"
            )
    assert truths[:, 0].size >= 100_000
    assert not violations.any()


def test_the_exact_value_is_a_curve_of_the_sample_size(
    exact: dict[Setting, tuple[Reals, Reals]], tell: Callable[[str], None]
) -> None:
    """Theorem 4.4 in both directions, against the same sums."""
    worst, compared = 0.0, 0
    for (size, drawn, rate), truths in exact.items():
        rise = np.expm1(EPSILONS) * size / drawn
        count = privacy_curve(Exact(), Binomial(drawn, rate))
        for side, share in enumerate((rate, 1 - rate)):
            kept = 1 - (size - drawn) / size * rise * share
            assert (truths[side][kept <= -ROUNDING] <= ROUNDING).all()
            shown = (kept >= NEAR_ZERO) & (truths[side] >= DEEP)
            if not shown.any():
                continue
            found = count.directions(np.log1p(rise[shown] / kept[shown]))[side]
            ratio = drawn / size * kept[shown] * found / truths[side][shown]
            worst = max(worst, float(np.abs(ratio - 1).max()))
            compared += int(shown.sum())
    tell(f"Theorem 4.4: largest relative difference {worst:.1g} in {compared} values >= {DEEP:g}")
    assert worst <= NUMERICS
