"""Tests of `papers/naldi2014.py`, `papers/naldi2015.py`, `papers/our_lists.py` and `papers/our_privacy.py`."""

import math
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import betabinom, binom, laplace

import noisycount as nc
from noisycount.charts.plot import Line
from noisycount.charts.theme import GUIDE
from noisycount.papers.catalogue import PAPERS, select_keys
from noisycount.papers.figure import Figure, Verdict
from tests.oracles import privacy
from tests.oracles.pairs import Pair, beta_binomial_pairs, binomial_pairs, binomial_sample_pairs, known_pairs

KEYS = select_keys([])
SLOW = {"naldi2014.6", "naldi2014.8", "breutigam.8", "ours.assumed", "ours.price"}
CASES = [pytest.param(key, marks=pytest.mark.thorough if key in SLOW else ()) for key in KEYS]
ESTIMATES = ("mean", "median", "rounded")
NOISES = {"Laplace": nc.Laplace, "Gaussian": nc.Gaussian}
Reals = NDArray[np.float64]


@cache
def figure(key: str) -> Figure:
    """A figure, computed once."""
    return nc.figure(key)


def lines(key: str, panel: int = 0) -> dict[str, Line]:
    """The lines of a panel without its guides."""
    return {line.name: line for line in figure(key).panels[panel].lines if line.style != GUIDE}


def near(line: Line, x: float) -> tuple[float, float]:
    """The point of a line that is nearest to a place."""
    return min(zip(line.xs, line.ys, strict=True), key=lambda point: abs(point[0] - x))


def exact(mechanism: nc.Mechanism, pairs: list[Pair], epsilon: float = 0.01) -> float:
    """δ by its definition."""
    return float(privacy.delta(mechanism, pairs, epsilon))


def worst_case(noise: nc.Mechanism) -> float:
    """δ of noise for somebody who knows all other records."""
    return exact(noise, known_pairs(1))


def test_every_figure_of_the_papers_is_there() -> None:
    """Eight of 2014, two of 2015, eight of Breutigam and Reischuk, and twelve of ours."""
    numbered = [f"naldi2014.{each}" for each in range(1, 9)] + ["naldi2015.1", "naldi2015.2"]
    numbered += [f"breutigam.{each}" for each in range(1, 9)]
    assert KEYS[:18] == numbered
    assert KEYS[18:] == [
        f"ours.{name}"
        for name in (
            *("sums", "samples", "price", "knowledge", "assumed"),
            *("tables", "ranges", "coverage"),
            *("repeated", "overlap", "rule", "first"),
        )
    ]


@pytest.mark.parametrize("key", CASES)
def test_a_figure_names_itself_and_what_it_shows(key: str) -> None:
    """Key, number, axes with units or plain numbers, a caption, and a description in words."""
    shown = figure(key)
    assert shown.key == key
    if key[-1].isdigit():
        assert shown.number == f"Fig. {key[-1]}"
    assert all([shown.title, shown.caption, shown.x.title, shown.y.title])
    for line in (line for panel in shown.panels for line in panel.lines):
        assert line.name in shown.description
    assert len({panel.title for panel in shown.panels}) == len(shown.panels)


@pytest.mark.parametrize("key", CASES)
def test_a_verdict_comes_with_a_number(key: str) -> None:
    """Every claim has its place in the text, and our finding has digits."""
    claims = figure(key).claims
    assert claims
    for claim in claims:
        assert claim.source
        assert claim.says.endswith(".")
        assert claim.found.endswith(".")
        assert any(letter.isdigit() for letter in claim.found)


def metrics(size: int, rate: float, epsilon: float, by: str, assumed: Reals | None = None) -> tuple[float, float]:
    """The average error, eq. (12), and the probability of a smaller error, eq. (13).

    The law of count and answer is summed over all counts and the middles of narrow cells of answers, a hundred to a
    unit; `assumed` is what the estimate takes for the law of the count.
    """
    counts = np.arange(size + 1)
    reach = 23 / epsilon  # e^−23 of the noise lies beyond
    first, last = np.floor(-reach), np.ceil(size + reach)
    answers = np.arange(first, last, 0.01) + 0.005
    law = binom.pmf(counts, size, rate)
    believed = law if assumed is None else assumed
    likely = np.maximum(law, believed) > 1e-20
    counts, law, believed = counts[likely], law[likely], believed[likely]
    error = improved = 0.0
    for part in np.array_split(answers, max(1, answers.size // 5000)):
        far = np.abs(part[:, None] - counts)
        kernel = np.exp(-epsilon * far)
        weights = 0.01 * epsilon / 2 * kernel * law
        away = np.abs(estimates(part, kernel * believed, counts, by, size)[:, None] - counts)
        error += float((weights * away).sum())
        improved += float((weights * (away < far)).sum())
    return error, improved


def estimates(answers: Reals, weights: Reals, counts: NDArray[np.int64], by: str, size: int) -> Reals:
    """Return the estimate of each answer; the mean is eq. (11)."""
    if by == "answer":
        return answers
    if by == "rounded":
        return np.clip(np.floor(answers + 0.5), 0, size)
    if by == "mean":
        return np.asarray(weights @ counts / weights.sum(axis=1))
    totals = np.cumsum(weights, axis=1)
    return counts[0] + np.asarray((totals < totals[:, -1:] / 2).sum(axis=1), dtype=float)


@pytest.mark.thorough
@pytest.mark.parametrize(("key", "size"), [("naldi2014.1", 100), ("naldi2014.2", 1000)])
def test_the_average_error_is_that_of_the_definition(key: str, size: int) -> None:
    """Eq. (12) summed over all counts and a fine grid of answers; eq. (14) for the answer."""
    found = lines(key)
    for place in (0.75, 1.5, 14.0) if size == 100 else (1.5,):
        deviation, error = near(found["answer"], place)
        epsilon = math.sqrt(2) / deviation
        assert error == pytest.approx(1 / epsilon, rel=1e-9)
        for by in ESTIMATES:
            assert found[by].at(deviation) == pytest.approx(metrics(size, 0.3, epsilon, by)[0], rel=1e-4)


@pytest.mark.thorough
def test_the_guide_is_the_error_of_the_best_guess() -> None:
    """Without any answer: the least E|K − g| over all g."""
    counts = np.arange(101)
    law = binom.pmf(counts, 100, 0.3)
    least = min(float(np.abs(counts - guess) @ law) for guess in counts)
    assert figure("naldi2014.1").panels[0].lines[-1].ys == pytest.approx((least, least))


@pytest.mark.thorough
@pytest.mark.parametrize(("noisy", "private"), [(1, 3), (2, 4)])
def test_figures_3_and_4_are_1_and_2_against_epsilon(noisy: int, private: int) -> None:
    """A standard deviation of √2/ε; the axis runs from little privacy to much."""
    first, second = lines(f"naldi2014.{noisy}"), lines(f"naldi2014.{private}")
    for name, line in first.items():
        assert line.ys == second[name].ys
        assert [math.sqrt(2) / x for x in line.xs] == pytest.approx(second[name].xs)
    assert figure(f"naldi2014.{private}").x.is_reversed


@pytest.mark.thorough
@pytest.mark.parametrize("rate", [0.01, 0.3, 0.5])
def test_error_and_improvement_against_the_rate_are_those_of_the_definition(rate: float) -> None:
    """Fig. 5 and 8 at n = 100 and ε = 0.1."""
    errors, chances = lines("naldi2014.5"), lines("naldi2014.8")
    assert errors["answer"].at(rate) == pytest.approx(10)
    for by in ESTIMATES:
        error, chance = metrics(100, rate, 0.1, by)
        assert errors[by].at(rate) == pytest.approx(error, rel=1e-4)
        assert chances[by].at(rate) == pytest.approx(chance, abs=2e-3)


@pytest.mark.thorough
@pytest.mark.parametrize("epsilon", [2.0, 0.6, 0.1])
def test_improvement_against_privacy_is_that_of_the_definition(epsilon: float) -> None:
    """Fig. 6 and 7 at n = 100, eq. (13)."""
    private, noisy = lines("naldi2014.7"), lines("naldi2014.6")
    for by in ESTIMATES:
        place, chance = near(private[by], epsilon)
        assert chance == pytest.approx(metrics(100, 0.3, place, by)[1], abs=2e-3)
        assert near(noisy[by], math.sqrt(2) / place)[1] == chance


def test_iso_lambda_curves_keep_their_confidence() -> None:
    """Laplace noise of scale 1/λ lies within ±100w with probability p."""
    for line in lines("naldi2015.1").values():
        scale = 1 / float(line.name.removeprefix("λ = "))
        for confidence, width in zip(line.xs, line.ys, strict=True):
            assert 1 - 2 * laplace.sf(100 * width, scale=scale) == pytest.approx(confidence)


def test_epsilon_against_the_count_keeps_its_goal() -> None:
    """Noise of scale 1/ε lies within ±w of the count with probability p."""
    for line in lines("naldi2015.2").values():
        within, confidence = (float(part.strip("± %")) / 100 for part in line.name.split(","))
        for count, epsilon in zip(line.xs, line.ys, strict=True):
            assert 1 - 2 * laplace.sf(within * count, scale=1 / epsilon) == pytest.approx(confidence)


@pytest.mark.thorough
@pytest.mark.parametrize(("key", "kind"), [("breutigam.1", nc.Gaussian), ("breutigam.3", nc.Laplace)])
@pytest.mark.parametrize("scale", [1.0, 3.0])
def test_delta_against_the_rate_is_that_of_the_definition(key: str, kind: type[nc.Laplace], scale: float) -> None:
    """In the worst case, and for the outsider."""
    found = lines(key)
    worst, outside = found[f"DP, ν = {scale:g}"], found[f"SP, ν = {scale:g}"]
    assert worst.ys == pytest.approx([worst_case(kind(scale))] * len(worst.ys))
    for place in (0.0, 0.01, 0.5):
        rate, delta = near(outside, place)
        assert delta == pytest.approx(exact(kind(scale), binomial_pairs(1000, rate)))


@pytest.mark.few(0)
@pytest.mark.parametrize(
    ("key", "panel", "kind", "size"),
    [
        ("breutigam.2", 0, nc.Gaussian, 1000),
        ("breutigam.4", 0, nc.Laplace, 1000),
        ("breutigam.6", 0, nc.Gaussian, 100),
        ("breutigam.6", 1, nc.Laplace, 100),
    ],
)
def test_ratios_are_of_the_worst_case_to_the_outsider(key: str, panel: int, kind: type[nc.Laplace], size: int) -> None:
    """Both δ by themselves, at the ends of the axis."""
    for line in lines(key, panel).values():
        rate = float(line.name.removeprefix("π = "))
        for scale in (1.0, 10.0):
            outside = exact(kind(scale), binomial_pairs(size, rate))
            assert line.at(scale) == pytest.approx(worst_case(kind(scale)) / outside)


def equal_loss_deltas(rate: float, drawn: int) -> dict[str, float]:
    """δ of a sample by its mixture, and of noise whose variance is that of the sample's error."""
    deviation = 1000 * math.sqrt(rate * (1 - rate) * (1 / drawn - 1 / 1000))
    pairs = binomial_pairs(1000, rate)
    return {
        "sample": exact(nc.Exact(), binomial_sample_pairs(1000, rate, drawn)),
        "Gaussian": exact(nc.Gaussian(deviation), pairs),
        "Laplace": exact(nc.Laplace(deviation / math.sqrt(2)), pairs),
    }


@pytest.mark.thorough
@pytest.mark.parametrize("rate", [0.01, 0.5])
def test_mechanisms_of_equal_loss_are_those_of_the_definition(rate: float) -> None:
    """Fig. 5 at λ = 0.1."""
    place = near(lines("breutigam.5")["sample"], rate)[0]
    for name, delta in equal_loss_deltas(place, 100).items():
        assert lines("breutigam.5")[name].at(place) == pytest.approx(delta)


@pytest.mark.thorough
@pytest.mark.parametrize(("panel", "rate"), [(0, 0.5), (1, 0.1)])
def test_mechanisms_against_the_share_are_those_of_the_definition(panel: int, rate: float) -> None:
    """Fig. 8 at a small and at a large sample; lines end where nothing is left."""
    found = lines("breutigam.8", panel)
    for place in (0.03, 0.3):
        share = near(found["sample"], place)[0]
        for name, delta in equal_loss_deltas(rate, round(1000 * share)).items():
            assert found[name].at(share) == pytest.approx(delta)
    free = 1000 * min(found["Laplace"].xs)
    assert 1 / (1000 * math.sqrt(rate * (1 - rate) * (1 / free - 1 / 1000) / 2)) > 0.01


@pytest.mark.thorough
def test_amplification_is_that_of_the_definition() -> None:
    """Fig. 7: the mixture of the sample at ε', and the count of as many records at ε."""
    found = lines("breutigam.7")
    for place in (0.001, 0.1, 1.0):
        share, delta = near(found["sample"], place)
        drawn, shrunk = round(1000 * share), math.log1p(share * math.expm1(0.1))
        assert delta == pytest.approx(exact(nc.Exact(), binomial_sample_pairs(1000, 0.5, drawn), shrunk))
        pure = exact(nc.Exact(), binomial_pairs(drawn, 0.5), 0.1)
        assert found["conjecture"].at(share) == pytest.approx(share * pure)
        assert delta <= found["proved"].at(share) * (1 + 1e-9)
        assert found["proved"].at(share) <= share * pure * (1 + 1e-9)


def test_bounds_of_sums_fail_as_often_as_the_sum_reaches_them() -> None:
    """For two equal scales P[|Z| ≥ α] = e^−α·(1 + α/2)."""

    def tail(alpha: float) -> float:
        return math.exp(-alpha) * (1 + alpha / 2)

    found = lines("ours.sums")
    for beta, ratio in zip(found["printed, 2"].xs, found["printed, 2"].ys, strict=True):
        assert ratio == pytest.approx(tail(-math.sqrt(2) * math.log(beta)) / beta)
        odds = math.log(2 / beta)
        alpha = max(math.sqrt(2), math.sqrt(odds)) * math.sqrt(8 * odds)
        assert found["Chan et al., 2"].at(beta) == pytest.approx(tail(alpha) / beta)
    assert max(found["printed, 20"].ys) > 1 > max(found["Chan et al., 20"].ys)


def test_samples_stay_below_their_bounds() -> None:
    """The mixture of the sample over λ times δ of the count of as many records."""
    for line in lines("ours.samples").values():
        rate = float(line.name.removeprefix("π = "))
        for epsilon in (line.xs[5], line.xs[-1]):
            larger = math.log1p(math.expm1(epsilon) * 10)
            bound = 0.1 * exact(nc.Exact(), binomial_pairs(100, rate), larger)
            found = exact(nc.Exact(), binomial_sample_pairs(1000, rate, 100), epsilon)
            assert line.at(epsilon) == pytest.approx(found / bound)


@pytest.mark.thorough
def test_what_an_error_buys_is_that_of_the_definition() -> None:
    """The standard error of the noise, or of a sample, and δ on both sides."""
    for panel, outside in ((0, True), (1, False)):
        for name, line in lines("ours.price", panel).items():
            error, delta = near(line, 0.01)
            if name == "sample":
                drawn = round(1 / (1 / 1000 + error**2 / 0.09))
                pairs = binomial_sample_pairs(1000, 0.1, drawn)
                assert math.sqrt(0.09 * (1 / drawn - 1 / 1000)) == pytest.approx(error)
                assert not outside or delta == pytest.approx(exact(nc.Exact(), pairs))
                continue
            noise = NOISES[name](1000 * error / (math.sqrt(2) if name == "Laplace" else 1))
            assert delta == pytest.approx(exact(noise, binomial_pairs(1000, 0.1) if outside else known_pairs(1)))


@pytest.mark.thorough
@pytest.mark.parametrize("kind", NOISES)
def test_knowledge_is_that_of_the_definition(kind: str) -> None:
    """An adversary who holds k records faces the law of the 1,000 − k others."""
    known, unsure = (lines("ours.knowledge", panel)[kind] for panel in (0, 1))
    noise, strength = NOISES[kind](3.0), 0.1 * 0.9 / 0.04**2 - 1  # α + β of a rate of 10 % ± 4 %
    for share in (0.0, 0.5, 0.95):
        held = round(1000 * share)
        assert known.at(share) == pytest.approx(exact(noise, binomial_pairs(1000 - held, 0.1)))
        pairs = beta_binomial_pairs(1000, 0.1 * strength, 0.9 * strength, held, held // 10)
        assert unsure.at(share) == pytest.approx(exact(noise, pairs))
    assert [known.ys[-1], unsure.ys[-1]] == pytest.approx([worst_case(noise)] * 2)


@pytest.mark.thorough
@pytest.mark.parametrize("rate", [0.2, 0.3, 0.4])
def test_wrong_rates_cost_what_the_definition_says(rate: float) -> None:
    """An estimate that believes in one law while the count has another; n = 100, ε = 0.1."""
    found, counts = lines("ours.assumed"), np.arange(101)
    for by in ("mean", "median"):
        believed = binom.pmf(counts, 100, rate)
        expected = metrics(100, 0.3, 0.1, by, believed)[0]
        assert found[by].at(rate) == pytest.approx(expected, rel=1e-4)
    strength = rate * (1 - rate) / 0.03**2 - 1
    unsure = betabinom.pmf(counts, 100, rate * strength, (1 - rate) * strength)
    expected = metrics(100, 0.3, 0.1, "mean", unsure)[0]
    assert found["mean ±3 %"].at(rate) == pytest.approx(expected, rel=1e-4)


VERDICTS = [
    ("naldi2014.6", "The gap", Verdict.PARTLY),
    ("naldi2015.1", "A count of 100", Verdict.PARTLY),
    ("breutigam.2", "Even for the maximum", Verdict.PARTLY),
    ("breutigam.5", "Laplace noise is about 20 %", Verdict.FAILS),
    ("breutigam.8", "Laplace noise is always", Verdict.PARTLY),
    ("breutigam.7", "We conjecture", Verdict.HOLDS),
    ("breutigam.1", "With ν = 1 differential", Verdict.HOLDS),
    ("ours.sums", "P[Y", Verdict.PARTLY),
    ("ours.price", "Given a maximal", Verdict.PARTLY),
    ("ours.assumed", "The Bayesian approach", Verdict.PARTLY),
]


@pytest.mark.parametrize(
    ("key", "start", "verdict"),
    [pytest.param(*row, marks=pytest.mark.thorough if row[0] in SLOW else ()) for row in VERDICTS],
)
def test_verdicts_are_as_the_errata_say(key: str, start: str, verdict: Verdict) -> None:
    """A claim that the errata refute has not the verdict of a true one."""
    (claim,) = [each for each in figure(key).claims if each.says.startswith(start)]
    assert claim.verdict is verdict


def test_numbers_outside_figures_are_confirmed() -> None:
    """The widths, 1/ε, the largest chance out of range and eq. (3) hold; eq. (6) does as an approximation."""
    verdicts = {claim.source: claim.verdict for paper in PAPERS for claim in paper.claims()}
    for source in ("Theorem 1", "eq. (6)", "section 3.2", "eq. (14)", "eq. (3)", "Lemma 5"):
        assert verdicts[source] is Verdict.HOLDS


def test_numbers_outside_figures_are_told_by_paper() -> None:
    """Claims outside figures are listed by paper, and the key of a figure is refused."""
    assert [claim.source for claim in nc.claims("naldi2015")] == ["eq. (3)"]
    assert [len(nc.claims(key)) for key in ("naldi2014", "breutigam", "ours")] == [4, 2, 0]
    assert len(nc.claims()) == 7
    with pytest.raises(
        ValueError, match=r"must be one of naldi.*, got 'naldi2015.1': for claims about a figure use figure"
    ):
        nc.claims("naldi2015.1")


def test_unknown_names_are_refused_with_the_known_ones() -> None:
    """Figures and papers may be named."""
    assert select_keys(["naldi2015.2", "ours"])[:2] == ["naldi2015.2", "ours.sums"]
    with pytest.raises(ValueError, match=r"got 'naldi2014.9': use naldi2014 \(naldi2014\.1 to"):
        select_keys(["naldi2014.9"])
