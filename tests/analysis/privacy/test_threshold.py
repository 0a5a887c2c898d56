import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import noisycount as nc
from noisycount.analysis.privacy.bounds import BoundedProbability
from noisycount.analysis.privacy.threshold import Search, extrapolate, first_whole, root
from tests.helpers.cases import case_name


@given(place=st.floats(-1e6, 1e6), guess=st.floats(-1e6, 1e6), steepness=st.floats(1e-3, 1e3))
def test_roots_of_curves_that_flatten_are_found(place: float, guess: float, steepness: float) -> None:
    """Tanh is 1 to all digits not far from its root."""
    found = root(lambda x: math.tanh((x - place) * steepness), Search(guess, 1.0))
    assert found.answer == pytest.approx(place, abs=1e-10 / steepness + 1e-9)
    assert -1e-9 <= found.log_odds <= 0 or found.next - found.answer <= 1e-9


def test_a_step_is_found_however_sharp() -> None:
    """The log-odds are infinite on both sides."""
    found = root(lambda x: math.copysign(math.inf, x - 0.3), Search(5.0, 1.0))
    assert found.answer < 0.3 <= found.next
    assert found.next - found.answer <= 1e-15


def test_log_odds_that_stay_below_0_have_no_root() -> None:
    """Up to the limit."""
    for search in (root, first_whole):
        assert search(lambda x: -1 / (1 + x * x), Search(0.0, 1.0, 1000.0)).answer == math.inf


def test_log_odds_that_stay_above_0_have_no_root() -> None:
    """Down to the lowest answer, below which they are constant."""
    search = Search(0.0, 1.0, 1000.0, lowest=-1000.0)
    assert root(lambda _: 0.5, search).answer == -math.inf
    assert first_whole(lambda _: 0.5, search).answer == -math.inf
    assert first_whole(lambda x: x + 999.5, search).answer == -999


def test_log_odds_with_a_flat_top_are_followed_to_their_root() -> None:
    """They grow up to a kink, and stay a millionth above 0: the root is just before the kink."""
    found = root(lambda x: min(x, 1.0) - 1 + 1e-6, Search(5.0, 1.0, 1000.0))
    assert found.answer == pytest.approx(1 - 1e-6, abs=1e-11)
    assert -1e-12 <= found.log_odds <= 0


@given(place=st.integers(-(10**6), 10**6), guess=st.integers(-(10**6), 10**6))
def test_the_first_integer_is_found(place: int, guess: int) -> None:
    """Also where the log-odds are 0 there."""
    found = first_whole(lambda x: x - place, Search(float(guess), 1.0))
    assert found.answer == place
    assert found.log_odds < 0
    assert place - 1 <= found.place <= place
    assert first_whole(lambda x: x - place - 0.5, Search(float(guess), 3.0)).answer == place + 1


def test_a_root_beyond_the_margin_is_not_searched_for() -> None:
    """The result lies beyond it, too."""
    assert root(lambda x: x - 1000, Search(0.0, 1.0, margin=40.0)).answer > 40
    assert first_whole(lambda x: x + 1000, Search(0.0, 1.0, margin=40.0)).answer < -40


def test_polynomials_are_extrapolated_exactly() -> None:
    """A parabola from three points, with the size of the last correction."""
    value, correction = extrapolate([(0.0, 1.0), (1.0, 2.0), (3.0, 10.0)], 4.0)
    assert value == pytest.approx(17.0)
    assert correction == pytest.approx(17.0 - 14.0)


EPSILONS = (0.0, 1e-12, 0.1, 1.0, 5.0, 50.0, 350.0, 690.0, 710.0, 1e300)
RECORDS = nc.Binomial(100, 0.3)
TWO = nc.Atoms.independent(100, [0.3, 0.3])
FEW = nc.Atoms.independent(12, [0.3, 0.3])
CELLS = nc.Atoms.disjoint(100, [0.1] * 5)
SAMPLES = [nc.Subsample(10), nc.Subsample(20, nc.Laplace(2))]
CURVES = [
    lambda: nc.privacy_curve(nc.Gaussian(3)),
    lambda: nc.privacy_curve(nc.Gaussian(3), RECORDS),
    lambda: nc.privacy_curve(nc.Exact(), nc.BetaBinomial(10, 0.3, 1)),
    lambda: nc.privacy_curve([nc.DiscreteLaplace(3)] * 3),
    lambda: nc.privacy_curve([nc.DiscreteGaussian(3)] * 3, RECORDS),
    lambda: nc.privacy_curve([nc.Laplace(3)] * 2, nc.BetaBinomial(50, 2, 3)),
    lambda: nc.privacy_curve([nc.DiscreteLaplace(3), nc.Gaussian(2)], nc.Strata([50, 9], [0.2, 0.4])),
    lambda: nc.privacy_curve([nc.Exact()] * 2, TWO),
    lambda: nc.privacy_curve([nc.DiscreteLaplace(1)] * 2, TWO),
    lambda: nc.privacy_curve(nc.Gaussian(3), CELLS),
    lambda: nc.privacy_curve(nc.Exact(), CELLS),
    pytest.param(lambda: nc.parts_curve(SAMPLES, TWO), marks=pytest.mark.thorough),  # 1 s for each ε
    lambda: nc.parts_curve(SAMPLES, TWO, adaptive=True),
    lambda: nc.samples_curve(SAMPLES, RECORDS),
    lambda: nc.samples_curve(SAMPLES, TWO),
]


@pytest.mark.thorough
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("made", CURVES)
def test_no_curve_rises(made: Callable[[], nc.PrivacyCurve]) -> None:
    """Neither end of a bracket, nor δ; and what is told of one ε alone does not contradict."""
    curve = made()
    low, high = curve.bracket(EPSILONS)
    delta = curve.delta(EPSILONS)
    for ends in (low, high):
        assert all(one >= other for one, other in pairwise(ends.tolist()))
    assert ((low <= delta) & (delta <= high)).all()
    for epsilon, least, most in list(zip(EPSILONS, low.tolist(), high.tolist(), strict=True))[::5]:
        alone = curve.bracket(epsilon)
        assert alone[0] <= most
        assert alone[1] >= least


@pytest.mark.thorough
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "population", [TWO, pytest.param(CELLS, marks=pytest.mark.thorough)], ids=["two questions", "five cells"]
)
def test_no_risk_rises(population: nc.Atoms) -> None:
    """Each of its numbers, at any ε, but for rounding: each ε is a computation of its own."""
    risk = nc.list_risk([nc.Gaussian(3)] * len(population.questions), population)
    for told in (risk.delta, risk.rest, risk.worst, risk.adaptive):
        falling = pairwise(told([0.0, 0.1, 50.0, 350.0, 710.0, 1e300]).tolist())
        assert all(one * (1 + 1e-9) + 1e-150 >= other for one, other in falling)


@pytest.mark.parametrize(
    ("population", "questions", "noise"),
    [
        (None, None, nc.DiscreteLaplace(3)),
        (None, None, nc.Laplace(3)),
        (RECORDS, None, nc.DiscreteLaplace(3)),
        (RECORDS, None, nc.Laplace(3)),
        (nc.Strata([5, 9], [0.2, 0.4]), None, nc.DiscreteLaplace(3)),
        (nc.Strata([5, 9], [0.2, 0.4]), None, nc.Laplace(3)),
        (TWO, [{0, 1}, {0, 2}], nc.DiscreteLaplace(3)),
        pytest.param(FEW, [{0, 1}, {0, 2}], nc.Laplace(3), marks=pytest.mark.thorough),
    ],
    ids=case_name,
)
def test_answers_never_tell_more_than_their_price(
    population: nc.Binomial | nc.Atoms | None, questions: list[set[int]] | None, noise: nc.Mechanism
) -> None:
    """Two answers at ε = 1/3 have δ(2/3) = 0, and at most (e^(2/3) − e^ε)/(1 + e^(2/3)) before."""
    curve = nc.privacy_curve([noise] * 2, population, questions)
    assert curve.epsilon(0) <= 2 / 3 * (1 + 1e-8)
    assert curve.bracket(0.67) == (0.0, 0.0)
    epsilons = np.linspace(0, 0.66, 3)
    most = (np.exp(2 / 3) - np.exp(epsilons)) / (1 + np.exp(2 / 3))
    assert (curve.bracket(epsilons)[1] <= most * (1 + 1e-12)).all()


def test_a_number_never_leaves_its_bounds() -> None:
    """Nor by the last digit, to which it is rounded."""
    low, high = 0.0586226547090065, 0.2414899231099131
    assert BoundedProbability.of_bounds(low, high).value == high


@pytest.mark.thorough
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("rate", [1e-300, 1e-200, 1e-100])
def test_parts_of_the_rarest_records_have_a_curve(rate: float) -> None:
    """If the grid of a sum overflows, the upper end is that of the adaptive curve."""
    atoms, parts = nc.Atoms(5, [rate, 0.25, 0.75]), [nc.Subsample(2), nc.Subsample(3)]
    told = nc.parts_curve(parts, atoms, [{0}, {1}], adaptive=True)
    untold = nc.parts_curve(parts, atoms, [{0}, {1}])
    for epsilon in (0.0, 3.0, 50.0, 300.0):
        low, high = untold.bracket(epsilon)
        assert 0 <= low <= high <= told.bracket(epsilon)[1]
