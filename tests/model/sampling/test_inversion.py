import os
from bisect import bisect_right
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from itertools import islice

import numpy as np
import pytest
from mpmath import mp, mpf

from noisycount.model.sampling import inversion as enclosure
from noisycount.model.sampling.inversion import (
    Geometric,
    HalfGaussian,
    Inversion,
    Law,
    enclosed_exponential,
    laplace_by_inversion,
)
from noisycount.model.sampling.vectors import discrete_gaussian_array, discrete_laplace_array
from tests.model.sampling.test_draws import gaussian_p_value, laplace_p_value

SCALES = [Fraction(1, 3), Fraction(1), Fraction(7, 3), Fraction(10), Fraction(355, 113)]
LAWS: list[Law] = [
    *map(Geometric, SCALES),
    *map(HalfGaussian, SCALES),
    Geometric(Fraction(1000), 1024),
    Geometric(Fraction(10**9), 1024),
    Geometric(Fraction(3), 2),
    HalfGaussian(Fraction(123)),
]
FALSE_ALARM = 1e-6


@pytest.fixture(autouse=True)
def _digits() -> Iterator[None]:
    """Compute in 150 digits, however many other tests take."""
    with mp.workdps(150):
        yield


@cache
def below(law: Law) -> list[mpf]:
    """P[X < m] for m = 1, 2, …, 3000 at most, by the definition of the law, in 150 digits."""
    return list(islice(_below(law), 3000))


def _below(law: Law) -> Iterator[mpf]:
    if isinstance(law, Geometric):
        q = mp.exp(-mpf(law.scale.denominator) / law.scale.numerator)
        whole = 1 if law.limit is None else 1 - q**law.limit
        for m in range(1, law.limit or 10**9):
            yield (1 - q**m) / whole
        return
    assert isinstance(law, HalfGaussian)
    half = mpf(law.scale.denominator) ** 2 / (2 * mpf(law.scale.numerator) ** 2)
    weights = [1 + mpf(0), *(2 * mp.exp(-x * x * half) for x in range(1, int(30 * law.scale) + 9))]
    whole, sums = mp.fsum(weights), mpf(0)
    for weight in weights:
        sums += weight
        yield sums / whole


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_edges_are_those_of_the_law(law: Law) -> None:
    """In 63 and in 255 binary digits, each is ⌊2^bits·P[X < m]⌋."""
    for bits in (63, 255):
        edges = law.edges(bits)[:2000]
        exact = [int(mp.floor(level * 2**bits)) for level in below(law)[: len(edges)]]
        assert edges == exact


@pytest.mark.parametrize("law", LAWS[1:5] + LAWS[6:10], ids=repr)
def test_edges_take_as_many_digits_as_they_need(law: Law, monkeypatch: pytest.MonkeyPatch) -> None:
    """Digits are added until every edge is decided."""
    edges = law.edges(31)
    monkeypatch.setattr(enclosure, "_GUARD", 5)
    assert law._certain_edges(31, 36) is None  # noqa: SLF001 - so that digits must be added
    assert law.edges(31) == edges


@pytest.mark.parametrize("power", [Fraction(0), Fraction(1, 10**9), Fraction(1, 3), Fraction(1), Fraction(700, 3)])
def test_an_exponential_lies_between_its_bounds(power: Fraction) -> None:
    """They are two units apart at most."""
    low, high = enclosed_exponential(power, 200)
    exact = mp.exp(-mpf(power.numerator) / power.denominator) * mpf(2) ** 200
    assert low <= exact <= high <= low + 2


def scripted(*parts: bytes) -> Callable[[int], bytes]:
    """Random bytes that are given: one part a call, of the length that is asked."""
    left = list(parts)

    def entropy(size: int) -> bytes:
        part = left.pop(0)
        assert len(part) == size
        return part

    return entropy


def exact_draw(law: Law, digits: int, bits: int) -> int:
    """Return the number of m with P[X < m] <= digits/2^bits."""
    return bisect_right(below(law), mpf(digits) / mpf(2) ** bits)


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_a_draw_at_an_edge_takes_more_digits_until_its_side_is_sure(law: Law) -> None:
    """With first digits just below, at and above each edge, it is that of U in all its digits."""
    inversion = Inversion.from_law(law)
    for edge in sorted({*law.edges(63)[:40]}):
        for first in {max(0, (edge >> 32) - 1), edge >> 32, min(2**31 - 1, (edge >> 32) + 1)}:
            for rest in {0, edge & 0xFFFFFFFF, max(0, (edge & 0xFFFFFFFF) - 1), 2**32 - 1}:
                further = os.urandom(24)
                digits = (first << 32 | rest) << 192 | int.from_bytes(further, "little")
                words = [np.array([word], dtype=np.uint32).tobytes() for word in (first << 1, rest)]
                draws, coins = inversion.draws(1, scripted(*words, further))
                assert draws.tolist() == [exact_draw(law, digits, 255)]
                assert not coins[0]


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_the_first_digits_tell_all_draws_alike(law: Law) -> None:
    """By a look at the guide or at the edges: many words, one by one."""
    words = np.random.default_rng(14).integers(0, 2**32, 4000, dtype=np.uint32)
    draws, coins = Inversion.from_law(law).draws(words.size, lambda size: words.tobytes()[:size])
    assert draws.tolist() == np.searchsorted(law.edges(31), words >> 1, side="right").tolist()
    assert coins.tolist() == (words % 2 == 1).tolist()


@pytest.mark.parametrize("scale", [Fraction(20), Fraction(5000, 3)])
def test_the_digits_of_a_geometric_number_are_independent(scale: Fraction) -> None:
    """The product of their laws is the geometric law, 1024 to a digit."""
    low, high = Geometric(scale, 1024), Geometric(scale / 1024)
    lows, highs = [*below(low), mpf(1)], below(high)
    q = mp.exp(-mpf(scale.denominator) / scale.numerator)
    for x in (0, 1, 7, 1023, 1024, 1500, 2049):
        a, b = x % 1024, x // 1024
        mass = (lows[a] - (lows[a - 1] if a else 0)) * (highs[b] - (highs[b - 1] if b else 0))
        assert abs(mass / ((1 - q) * q**x) - 1) < mpf(10) ** -100


@pytest.mark.parametrize("scale", [Fraction(20), Fraction(123_457, 100), Fraction(2**40, 3)])
def test_laplace_draws_of_several_digits_follow_the_law(scale: Fraction) -> None:
    """χ²; false-alarm rate of all scales together 1e-6."""
    assert laplace_p_value(discrete_laplace_array(scale, 1_000_000), scale) > FALSE_ALARM / 3


def test_gaussian_draws_of_a_long_table_follow_the_law() -> None:
    """χ² with 1e-6 of false alarms."""
    scale = Fraction(1000)
    assert gaussian_p_value(discrete_gaussian_array(scale, 1_000_000), scale) > FALSE_ALARM


@pytest.mark.thorough
@pytest.mark.parametrize("scale", [Fraction(7, 3), Fraction(10)])
def test_few_draws_follow_the_law_too(scale: Fraction) -> None:
    """χ² of draws by the thousand, which are made without tables; 1e-6 of false alarms for all."""
    laplace = np.concatenate([discrete_laplace_array(scale, 1000) for _ in range(200)])
    gaussian = np.concatenate([discrete_gaussian_array(scale, 1000) for _ in range(200)])
    assert laplace_p_value(laplace, scale) > FALSE_ALARM / 4
    assert gaussian_p_value(gaussian, scale) > FALSE_ALARM / 4


def test_the_largest_scales_stay_within_64_bits() -> None:
    """A draw of nearly all ones is negative and far out, and no more."""
    nearly = np.array([2**32 - 2**10 + 1], dtype=np.uint32).tobytes()
    draws = laplace_by_inversion(Fraction(2**52), 1, lambda _: nearly)
    assert -(2**60) < draws[0] < -(2**52)
