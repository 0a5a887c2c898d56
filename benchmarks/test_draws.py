"""Exact noise beside OpenDP's exact noise and NumPy's inexact noise."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import opendp.prelude as dp
import pytest

from benchmarks.comparison import Comparison, Run, Show, medians, seconds, sized
from noisycount import DiscreteGaussian, DiscreteLaplace
from noisycount.model.sampling.inversion import Inversion

ROUNDS = 8
SINGLES = sized(1000, 10)
DRAWS = sized(10**6, 1000)
DRAWS_OF_OPENDP = DRAWS // 10  # a value costs OpenDP the same in a tenth of the time

SCALES = [
    Fraction(1, 2),
    Fraction(1),
    Fraction(7, 3),
    Fraction(10),
    Fraction(1000),
    Fraction(355, 113),
    Fraction(10**9),
]

dp.enable_features("contrib")


def each(times: int, draw: Callable[[], object]) -> Run:
    """The time of one draw among many single ones."""

    def repeated() -> None:
        for _ in range(times):
            draw()

    return lambda: seconds(repeated) / times


def in_bulk(values: int, draw: Callable[[], object]) -> Run:
    """The time of one value of a draw that gives many."""
    return lambda: seconds(draw) / values


def opendp_single(scale: Fraction) -> Callable[[], object]:
    """Return a single draw by OpenDP."""
    domain, metric = dp.atom_domain(T="i64"), dp.absolute_distance(T="i64")
    measurement = dp.m.make_laplace(domain, metric, float(scale))
    return lambda: measurement(0)


def opendp_vector(scale: Fraction, *, is_gaussian: bool = False) -> Callable[[], object]:
    """Many draws by OpenDP at once."""
    domain = dp.vector_domain(dp.atom_domain(T="i64"))
    if is_gaussian:
        measurement = dp.m.make_gaussian(domain, dp.l2_distance(T="f64"), float(scale))
    else:
        measurement = dp.m.make_laplace(domain, dp.l1_distance(T="i64"), float(scale))
    zeros = np.zeros(DRAWS_OF_OPENDP, dtype=np.int64)
    return lambda: measurement(zeros)


@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_a_single_draw_takes_at_most_15_microseconds(show: Show, scale: Fraction) -> None:
    """It holds at every scale, the awkward ones too."""
    noise = DiscreteLaplace(scale)
    ours, opendp = medians(ROUNDS, each(SINGLES, lambda: noise.release(0)), each(SINGLES, opendp_single(scale)))
    found = Comparison(f"one draw, scale {scale}", ours, "OpenDP", opendp, 15e-6)
    show(found)
    assert found.kept


@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_a_draw_among_a_million_takes_at_most_500_ns(show: Show, scale: Fraction) -> None:
    """It holds at every scale, and NumPy's floating-point noise is shown for reference."""
    noise = DiscreteLaplace(scale)
    generator = np.random.default_rng()
    ours, opendp, inexact = medians(
        ROUNDS,
        in_bulk(DRAWS, lambda: noise.samples(DRAWS)),
        in_bulk(DRAWS_OF_OPENDP, opendp_vector(scale)),
        in_bulk(DRAWS, lambda: generator.laplace(0, float(scale), DRAWS)),
    )
    name = f"a draw among 1e6, scale {scale}"
    found = Comparison(name, ours, "OpenDP", opendp, 0.5e-6)
    show(found)
    show(Comparison(name, ours, "NumPy, inexact", inexact))
    assert found.kept


@pytest.mark.parametrize("scale", [scale for scale in SCALES if scale <= 1000], ids=str)
def test_a_gaussian_draw_among_a_million_takes_at_most_500_ns(show: Show, scale: Fraction) -> None:
    """It holds at the scales of tables, with what it takes to make the table of the law."""
    noise = DiscreteGaussian(scale)

    def afresh() -> None:
        Inversion.from_law.cache_clear()  # type: ignore[attr-defined]
        noise.samples(DRAWS)

    ours, opendp = medians(
        ROUNDS, in_bulk(DRAWS, afresh), in_bulk(DRAWS_OF_OPENDP, opendp_vector(scale, is_gaussian=True))
    )
    found = Comparison(f"a Gaussian draw among 1e6, scale {scale}", ours, "OpenDP", opendp, 0.5e-6)
    show(found)
    assert found.kept
