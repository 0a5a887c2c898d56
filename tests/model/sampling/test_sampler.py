import math
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from io import BytesIO
from itertools import product
from textwrap import dedent

import numpy as np
import pytest
from mpmath import mp, mpf

import noisycount as nc
from noisycount.model.sampling import scalar as sampler
from noisycount.model.sampling.scalar import (
    RandomIntegers,
    bernoulli_exp,
    discrete_laplace,
    public_grid,
    rounded_laplace,
)
from noisycount.model.sampling.vectors import _below_by_product
from tests.oracles.enumeration import Script, ScriptOfIntegers, bracket, enumerated, scripted_exponential


def probability(value: int, scale: Fraction) -> mpf:
    """P[Z = value] of the discrete Laplace law."""
    x = mp.exp(-mpf(scale.denominator) / scale.numerator)
    return (1 - x) / (1 + x) * x ** abs(value)


@pytest.mark.parametrize("width", [0, 1, 2, 7, 64, 511, 513])
def test_bits_are_those_of_the_entropy_each_once(width: int) -> None:
    """The random bytes are one long integer, of which each call takes the next bits."""
    random_bytes = os.urandom(4096)
    integers = RandomIntegers(BytesIO(random_bytes).read)
    rest = int.from_bytes(random_bytes, "little")
    for _ in range(20):
        assert integers.bits(width) == rest % 2**width
        rest >>= width


@pytest.mark.parametrize("bound", [1, 2, 3, 5, 7, 12])
def test_below_is_uniform_as_rationals(bound: int) -> None:
    """Within any number of bits every value below the bound has the same probability."""
    masses, undecided = enumerated(lambda integers: integers.below(bound), Script, 2**-12)
    assert set(masses) == set(range(bound))
    assert len(set(masses.values())) == 1
    assert undecided < Fraction(1, 4)


@pytest.mark.parametrize("gamma", [Fraction(0), Fraction(1, 3), Fraction(1, 2), Fraction(1)])
def test_bernoulli_exp_is_exact_as_rationals(gamma: Fraction) -> None:
    """P[stops at trial k] is γ^(k−1)/(k−1)! − γ^k/k!, whose odd terms add up to e^−γ."""

    class Counting(RandomIntegers):
        def __init__(self, fails_at: int) -> None:
            super().__init__()
            self.fails_at, self.trials, self.chance = fails_at, 0, Fraction(1)

        def below(self, bound: int) -> int:
            self.trials += 1
            success = Fraction(gamma.numerator, bound)
            self.chance *= 1 - success if self.trials == self.fails_at else success
            return gamma.numerator if self.trials == self.fails_at else -1

    power, factorial, total = Fraction(1), 1, Fraction(0)
    for fails_at in range(1, 12):
        integers = Counting(fails_at)
        accepted = bernoulli_exp(gamma.numerator, gamma.denominator, integers)
        following = power * gamma
        chance = power / factorial - following / (factorial * fails_at)
        assert integers.chance == chance
        assert accepted == (fails_at % 2 == 1)
        power, factorial = following, factorial * fails_at
        total += chance if accepted else 0
    assert abs(float(total) - np.exp(-float(gamma))) < 1e-5


SMALL_SCALES = [Fraction(1, 2), Fraction(1), Fraction(3, 2), Fraction(2)]


@pytest.mark.thorough
@pytest.mark.parametrize("scale", SMALL_SCALES)
def test_small_scales_agree_with_the_enumerated_random_bits(scale: Fraction) -> None:
    """Every probability lies between the decided mass and the decided plus the undecided mass."""
    masses, undecided = enumerated(lambda integers: discrete_laplace(scale, integers), ScriptOfIntegers, 1e-5)
    assert undecided < Fraction(1, 4)
    for value in range(-6, 7):
        low, high = bracket(masses[value], undecided)
        assert low <= probability(value, scale) <= high
        assert masses[value] == masses[-value]


@pytest.fixture
def _scripted_exponentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each e^−γ becomes one choice of that probability: the steps are tested exact above."""
    monkeypatch.setattr(sampler, "bernoulli_exp", scripted_exponential)


@pytest.mark.usefixtures("_scripted_exponentials")
def test_rounded_laplace_is_exact_by_enumerating_every_choice() -> None:
    """P[|Z| >= j] = e^(−(j − 1/2)/scale) within the undecided mass."""
    masses, undecided = enumerated(lambda integers: rounded_laplace(Fraction(3, 2), integers), ScriptOfIntegers, 1e-5)
    assert undecided < Fraction(1, 200)
    for size in range(1, 8):
        tail = sum((m for value, m in masses.items() if abs(value) >= size), Fraction(0))
        low, high = bracket(tail, undecided)
        assert low <= mp.exp((mpf(1) / 2 - size) * 2 / 3) <= high


@pytest.mark.usefixtures("_scripted_exponentials")
def test_enumeration_refuses_a_scale_a_hundredth_off() -> None:
    """The bracket of the enumeration is narrow enough to refuse a scale that is 1 % off."""
    masses, undecided = enumerated(lambda integers: discrete_laplace(Fraction(1, 2), integers), ScriptOfIntegers, 1e-5)
    low, high = bracket(masses[0], undecided)
    assert not low <= probability(0, Fraction(101, 200)) <= high


@pytest.mark.parametrize(("bound", "value"), list(product([3, 10, 1000, 2**24 - 3], [0, 1, 2])))
def test_bulk_integers_are_uniform_word_by_word(bound: int, value: int) -> None:
    """Each value belongs to exactly ⌊2^32/bound⌋ accepted words of 32 bits."""
    first = -(-value * 2**32 // bound)
    after = -(-(value + 1) * 2**32 // bound)
    words = np.unique(np.clip([first - 1, first, first + 1, after - 1, after], 0, 2**32 - 1))
    values, fair = _below_by_product(bound, words.size, lambda _: words.astype(np.uint32).tobytes())
    accepted = words[fair & (values == value)]
    assert accepted.max() - accepted.min() + 1 == 2**32 // bound


WORKERS = 8
DRAWS = 20
# In a process of its own: a fork of the one that runs the tests would copy their threads.
FORKING = """
    import os
    from fractions import Fraction
    from noisycount.model.noises import additive as noise
    from noisycount.model.noises import noise_sum
    from noisycount.model.sampling import scalar as sampler
    from noisycount.model.noises.discrete_gaussian import DiscreteGaussian
    from noisycount.model.noises.laplace import DiscreteLaplace
    from noisycount.model.noises.laplace import Laplace

    {before}
    laws = [law(2**45) for law in (DiscreteLaplace, DiscreteGaussian, Laplace)]
    for law in laws:
        law.release(0)  # whatever the parent keeps after a release, its children have too
        law.samples(3) if hasattr(law, "samples") else None
    {after}
    for worker in range({workers}):
        reading, writing = os.pipe()
        if os.fork() == 0:
            draws = [law.release(0) for law in laws for _ in range({draws})]
            draws += [int(x) for law in laws[:2] for x in law.samples({draws})]
            os.write(writing, " ".join(map(repr, draws)).encode())
            os._exit(0)
        os.wait()
        print(os.read(reading, 1 << 16).decode())
        os.close(reading), os.close(writing)
"""


def draws_of_workers(before: str = "", after: str = "") -> Counter[str]:
    """Count how often each draw occurs, over all workers."""
    code = dedent(FORKING).format(before=dedent(before), after=after, workers=WORKERS, draws=DRAWS)
    told = subprocess.run(  # noqa: S603 - our own interpreter and code
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    )
    return Counter(told.stdout.split())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_forked_workers_never_share_a_stream() -> None:
    """Among 800 draws at a scale of 2^45 two are equal by chance once in 10^8 runs."""
    counts = draws_of_workers()
    assert counts.total() == WORKERS * 5 * DRAWS
    assert len(counts) == counts.total()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_stream_that_is_kept_across_a_fork_is_found() -> None:
    """The comparison above can fail: with one pool of random bits for all, workers repeat it."""
    counts = draws_of_workers(
        """
        kept = sampler.RandomIntegers()
        noise.RandomIntegers = lambda: kept
        """,
        after="kept._available, kept._pool = 10**5, kept.bits(10**5) | 1 << 10**5",
    )
    assert max(counts.values()) == WORKERS


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
    """Return True if some float of noise, added to the count, gives the answer."""
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


@pytest.mark.thorough
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
