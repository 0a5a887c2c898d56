"""Independent answers under discrete Gaussian noise combined: exact likelihood, and a ± that is never too small."""

import itertools
import math
from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import noisycount as nc
from noisycount.analysis.posterior.observed import likelihood
from noisycount.model.half_width import error_within
from noisycount.model.noises.combined_gaussian import CombinedGaussian

Scales = tuple[Fraction, ...]
SCALES: list[Scales] = [
    tuple(map(Fraction, scales))
    for scales in (
        ("2", "2"),
        ("0.3", "0.5"),
        ("0.1", "10"),
        ("2.236068", "1.581139"),
        ("2", "4", "3"),
        ("1", "1", "1"),
        ("1/2", "1", "1", "2"),
    )
]


def column(*answers: int) -> list[np.ndarray]:
    """Give one answer of each part."""
    return [np.array([answer], dtype=np.int64) for answer in answers]


def law_of_nearest(scales: Scales) -> dict[int, float]:
    """Give the law of the nearest whole number less the count, from every draw up to 7 scales, term by term."""
    noise, law = CombinedGaussian.from_scales(scales), defaultdict(list)
    reaches = [range(-math.ceil(7 * scale) - 1, math.ceil(7 * scale) + 2) for scale in scales]
    masses = []
    for scale, reach in zip(scales, reaches, strict=True):
        weights = [math.exp(float(-Fraction(place**2) / (2 * scale**2))) for place in reach]
        masses.append([weight / math.fsum(weights) for weight in weights])
    draws = list(itertools.product(*reaches))
    nearest = noise.nearest([np.array(part) for part in zip(*draws, strict=True)]).tolist()
    for error, chances in zip(nearest, itertools.product(*masses), strict=True):
        law[error].append(math.prod(chances))
    return {error: math.fsum(chances) for error, chances in law.items()}


@pytest.mark.parametrize("scales", SCALES, ids=str)
def test_the_mean_tells_all_that_the_answers_tell(scales: Scales) -> None:
    """Σ (yᵢ − x)²/σᵢ² less τ·(ȳ − x)² has no x: as rationals, without rounding."""
    noise, answers = CombinedGaussian.from_scales(scales), [7, -3, 12, 40][: len(scales)]
    (whole,), parts = noise.sums(column(*answers))
    mean, precision = Fraction(whole, parts), sum(1 / scale**2 for scale in scales)

    def rest(count: int) -> Fraction:
        each = zip(answers, scales, strict=True)
        return sum((answer - count) ** 2 / scale**2 for answer, scale in each) - precision * (mean - count) ** 2

    assert rest(0) == rest(5) == rest(-1000)
    assert 1 <= precision * Fraction(noise.scale) ** 2 < 1 + Fraction(3, 10**15)
    assert precision * noise.exact_scale**2 == pytest.approx(1, abs=3e-15)
    assert noise.nearest(column(*answers)).tolist() == [math.floor(mean + Fraction(1, 2))]
    assert noise.means(column(*answers)).tolist() == [float(mean)]


@pytest.mark.parametrize("scales", SCALES, ids=str)
def test_what_is_stated_of_errors_holds_and_is_near(scales: Scales) -> None:
    """Against the law of all draws: no tail is below the true one, and no ± is more than one record too wide."""
    noise, law = CombinedGaussian.from_scales(scales), law_of_nearest(scales)
    for least in range(1, math.ceil(5 * noise.scale) + 2):
        true = math.fsum(chance for error, chance in law.items() if abs(error) >= least)
        assert noise.log_tail(least) >= math.log(true or 1e-300) - 1e-9
    for confidence in (0.5, 0.8, 0.9, 0.95, 0.99, 0.999):
        stated = error_within(noise, confidence)
        held = [math.fsum(c for error, c in law.items() if abs(error) <= width) for width in (stated, stated - 2)]
        assert held[0] >= confidence - 1e-9
        assert held[1] < confidence or stated < 2
    variance = noise.variance
    rounded = math.fsum(error**2 * chance for error, chance in law.items())
    assert variance <= noise.scale**2
    assert rounded <= variance + math.sqrt(variance) + 0.25


@pytest.mark.parametrize("scale", ["0.7", "3", "50", "2000", "1e6"])
def test_an_equal_share_of_many_is_as_good_as_one(scale: str) -> None:
    """Of k answers of the scale √k·σ the ± is that of one of σ, or one record more, for many counts at once too."""
    alone = nc.DiscreteGaussian(Fraction(scale))
    for number in (2, 3, 10):
        part = Fraction(math.isqrt(int(alone.scale**2 * number * 10**12)) + 1, 10**6)
        noise = CombinedGaussian.from_scales([part] * number)
        for confidence, counts in ((0.5, 1), (0.95, 1), (0.95, 10**6), (0.999999, 10**6)):
            fresh, together = (error_within(each, confidence, counts) for each in (alone, noise))
            slack = 1 + fresh * number // 1000  # the grid of a thousandth of a scale a draw
            assert fresh - 1 <= together <= fresh + slack


def test_far_tails_follow_the_bound_in_closed_form() -> None:
    """Beyond the grid the tail is that of normal noise 1.5 records nearer, and never 0."""
    noise = CombinedGaussian.from_scales([Fraction(20), Fraction(30)])
    for alpha in (150, 400, 3000):
        assert noise.log_tail(alpha) == pytest.approx(stats.norm.logsf((alpha - 1.5) / noise.scale) + math.log(2))
    assert noise.log_tail(0) == 0.0
    assert noise.smallest_error(1e-200) >= nc.DiscreteGaussian(noise.scale).smallest_error(1e-200)


def test_discrete_noise_is_below_normal_noise_and_a_record() -> None:
    """The lemma of the closed form, P[Z >= m] <= P[N >= m − 1] on both sides of 0, at many scales."""
    for scale in (0.1, 0.3, 0.5, 0.8, 0.9, 1.0, 1.5, 3.0, 10.0, 100.0):
        places = np.arange(-5 * math.ceil(scale), 5 * math.ceil(scale) + 1, dtype=np.float64)
        above = nc.DiscreteGaussian(scale).errors.exceedance(places)
        assert (above <= stats.norm.sf((places - 1) / scale) * (1 + 1e-12)).all()


def test_a_likelihood_is_that_of_all_answers() -> None:
    """The factor of the mean changes with the count as the product of the factors of all answers does."""
    scales, answers = (Fraction(20), Fraction(30), Fraction("7.5")), (512, 480, 497)
    noise, counts = CombinedGaussian.from_scales(scales), np.arange(450.0, 550.0)
    together = noise.logpmf(float(noise.means(column(*answers))[0]), counts)
    apart = sum(nc.DiscreteGaussian(each).logpmf(one, counts) for each, one in zip(scales, answers, strict=True))
    assert together - together[0] == pytest.approx(apart - apart[0], rel=1e-9, abs=1e-9)
    assert likelihood(498.5, noise, 1000).log_ratio_to_next(498) == pytest.approx(0, abs=1e-12)
    with pytest.raises(ValueError, match="noise must be that of one draw, got a combination of 3"):
        noise.release(3)
