"""Ways to what noise hides of one count, held against each other."""

from dataclasses import replace

import numpy as np
import pytest

import noisycount as nc
from noisycount.analysis.privacy.pairs.of_population import record_pairs
from noisycount.analysis.privacy.repeated import chain
from noisycount.analysis.privacy.repeated.chain import Chain
from noisycount.analysis.privacy.repeated.two_counts import hidden_by_twos
from noisycount.analysis.privacy.repeated.weighed import Weighed, weighed
from tests.layers import case_name

PEOPLE = {
    "four": nc.Binomial(4, 0.3),
    "hundred": nc.Binomial(100, 0.1),
    "dependent": nc.BetaBinomial(30, 0.5, 1.5),
    "gaps": nc.Tabulated([0.2, 0.0, 0.3, 0.0, 0.0, 0.2, 0.3]),
}


def windows(people: str, epsilon: float, reach: int) -> list[Weighed]:
    """Both directions around their thresholds."""
    (pair,) = record_pairs(nc.Exact(), PEOPLE[people])
    found = [weighed(one, [epsilon], reach)[0] for one in (pair, pair.mirrored)]
    return [one for one in found if one.is_hidden]


def enumerated(one: Weighed, grid: Chain) -> float:
    """Σ_y min(Σ v·L, Σ −v·L) over every way in which answers lie on a grid, or in its cells."""
    counts = np.arange(-one.below.size, one.above.size) * grid.steps
    weights = np.concatenate([-one.below[::-1], one.above])
    reach = int(40 / grid.slope)
    places = np.arange(counts[0] - reach, counts[-1] + reach + 1.0)
    if grid.is_centred:
        law = np.tanh(grid.slope / 2) * np.exp(-grid.slope * np.abs(places - counts[:, None]))
    else:
        lower = places - counts[:, None]
        nearest = np.minimum(np.abs(lower), np.abs(lower + 1))
        law = -np.expm1(-grid.slope) / 2 * np.exp(-grid.slope * nearest)
    likely = law
    for _ in range(grid.answers - 1):
        likely = (likely[:, :, None] * law[:, None, :]).reshape(counts.size, -1)
    above = weights[counts >= 0] @ likely[counts >= 0]
    below = -weights[counts < 0] @ likely[counts < 0]
    return float(np.minimum(above, below).sum())


GRIDS = [
    ("four", Chain(2, 1.5, 1, is_centred=True, width=0.1)),
    ("four", Chain(2, 0.75, 4, is_centred=False, width=0.1)),
    ("four", Chain(3, 2.0, 2, is_centred=True, width=0.1)),
    ("dependent", Chain(2, 2.0, 1, is_centred=False, width=0.1)),
    ("gaps", Chain(2, 1.25, 2, is_centred=True, width=0.1)),
    ("gaps", Chain(3, 3.0, 1, is_centred=False, width=0.1)),
    ("gaps", Chain(4, 4.0, 1, is_centred=True, width=0.1)),
]


@pytest.mark.parametrize("grid", range(len(GRIDS)))
@pytest.mark.parametrize("epsilon", [0.0, 0.3])
def test_what_is_hidden_is_a_sum_over_all_answers(grid: int, epsilon: float) -> None:
    """By lists of values, or directly of two answers: within bounds that are apart by rounding."""
    people, one = GRIDS[grid]
    found = windows(people, epsilon, 6)
    assert found
    for window, (least, most) in zip(found, one.hidden(found), strict=True):
        true = enumerated(window, one)
        assert least <= true * (1 + 1e-12)
        assert true <= most * (1 + 1e-12)
        assert most - least <= 1e-9 * true + 1e-14


WIDE = [
    ("hundred", Chain(3, 0.3, 1, is_centred=True, width=0.1)),
    ("hundred", Chain(5, 0.25, 2, is_centred=False, width=0.1)),
    ("hundred", Chain(12, 0.4, 1, is_centred=True, width=0.1)),
    ("dependent", Chain(3, 2.0, 1, is_centred=False, width=0.1)),
    ("four", Chain(6, 0.25, 3, is_centred=False, width=0.1)),
    ("gaps", Chain(4, 1.5, 2, is_centred=True, width=0.1)),
]


@pytest.mark.few(6)
@pytest.mark.parametrize("width", [0.05, 0.2, 0.9])
@pytest.mark.parametrize("grid", range(len(WIDE)))
def test_clusters_bound_what_lists_of_values_have(
    grid: int, width: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At ε = 0, where both sides often weigh the same, and beyond; closer if they are narrower."""
    people, one = WIDE[grid][0], replace(WIDE[grid][1], width=width)
    for epsilon in (0.0, 0.2):
        found = windows(people, epsilon, 4)
        monkeypatch.setattr(chain, "_MOST_PATHS", 10**9)
        true = one.hidden(found)
        monkeypatch.setattr(chain, "_MOST_PATHS", 0)
        bounds, only = one.hidden(found), one.hidden(found, with_most=False)
        for window, (least, most), (exact, _), (low, _) in zip(
            found, bounds, true, only, strict=True
        ):
            assert least <= exact * (1 + 1e-12)
            assert exact <= most * (1 + 1e-12)
            assert low == pytest.approx(least, rel=1e-12)
            assert most - least <= 0.5 * width * exact + 1e-4 * window.known.value


@pytest.mark.parametrize(("noise", "answers"), [("Laplace", 64), ("DiscreteLaplace", 256)])
def test_two_counts_hide_less_than_all_and_pairs_more(noise: str, answers: int) -> None:
    """Their bounds contain what a chain finds, and are close where answers are many."""
    is_discrete = noise == "DiscreteLaplace"
    one_chain = Chain(answers, 1 / 3, 1, is_centred=is_discrete, width=0.1)
    found = windows("hundred", 0.1, 5)
    for one, (low, high) in zip(found, one_chain.hidden(found), strict=True):
        least, most = hidden_by_twos(one, answers, 1 / 3, 1, is_centred=is_discrete)
        assert least <= high
        assert low <= most
        assert answers < 100 or most - least < 1e-3 * most


@pytest.mark.parametrize("answers", [2, 3, 16, 40])
def test_noise_that_hides_nothing_leaves_the_count(answers: int) -> None:
    """Of a scale whose inverse has no exponential, and of one at which it is next to 0."""
    whole = nc.privacy_curve(nc.Exact(), nc.Binomial(100, 0.1)).delta(0.1)
    for scale in (3e-4, 0.01):
        lower, upper = nc.privacy_curve([nc.Laplace(scale)] * answers, PEOPLE["hundred"]).bracket(
            0.1
        )
        assert (1 - 1e-6) * whole < lower <= upper <= whole * (1 + 1e-9)


@pytest.mark.parametrize(
    "noise",
    [nc.Laplace(3), nc.DiscreteLaplace(3), nc.Laplace(20), nc.DiscreteLaplace(20)],
    ids=case_name,
)
@pytest.mark.few(2)
@pytest.mark.parametrize("epsilon", [0.0, 0.02, 0.1])
def test_brackets_are_within_what_is_said(noise: nc.Mechanism, epsilon: float) -> None:
    """5e-4 of δ, at ε = 0 too, for few and for many answers."""
    for population in (nc.Binomial(100, 0.1), nc.Binomial(1000, 0.1)):
        for answers in (2, 3, 5, 16) if float(noise.scale) > 3 else (2, 3, 5, 16, 40, 256):
            lower, upper = nc.privacy_curve([noise] * answers, population).bracket(epsilon)
            assert upper - lower < 5e-4 * upper + 1e-12
