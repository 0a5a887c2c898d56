import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisycount.analysis.posterior.laplace_intervals import GeometricSides, Side, SummedSides, mean_of
from noisycount.analysis.posterior.law import CountTable, bulk_end
from noisycount.model.laws.gamma import Reals
from noisycount.model.noises.laplace import Laplace
from noisycount.model.populations.binomial import Binomial
from tests.helpers.cases import examples

LOGS = st.lists(st.one_of(st.floats(-700, 0), st.just(-math.inf)), min_size=1, max_size=40).filter(
    lambda logs: max(logs) > -math.inf
)


def brute_force(logs: Reals, away: Reals) -> tuple[float, float]:
    """The logarithm of Σ e^logs and the mean of what is away, term by term."""
    peak = logs.max(initial=-math.inf)
    if peak == -math.inf:
        return -math.inf, 0.0
    terms = np.exp(logs - peak)
    return peak + math.log(terms.sum()), float(terms @ away / terms.sum())


@examples(200)
@given(logs=LOGS, rate=st.sampled_from([1e-6, 0.01, 1.0, 30.0, 1e4, 1e280]), data=st.data())
def test_geometric_sides_are_the_sums(logs: list[float], rate: float, data: st.DataObject) -> None:
    """On both sides of any edge, over gaps of impossible counts and 700 nats of the others."""
    table = CountTable(5, np.array(logs))
    sides = GeometricSides(table, rate)
    edge = data.draw(st.integers(0, 50))
    answer = np.array([float(edge)])
    for side, outwards, found in (
        ("lower", -1, sides.lower(answer, answer)),
        ("upper", 1, sides.upper(answer, answer)),
    ):
        away = outwards * (table.counts - edge)
        held = away >= 0
        log_sum, distance = brute_force(table.logs[held] - rate * away[held], away[held])
        assert found.logs[0] == pytest.approx(log_sum, rel=1e-13, abs=1e-12), side
        if log_sum > -math.inf:
            assert found.distances[0] == pytest.approx(distance, rel=1e-11, abs=1e-12), side


@pytest.mark.thorough
def test_a_long_run_keeps_its_digits() -> None:
    """The look-up and the sum term by term agree, over a hundred thousand counts."""
    law = Binomial(10**8, 0.3).law()
    table = CountTable.between(law, bulk_end(law, 60.0, 0), bulk_end(law, 60.0, 10**8))
    assert table.logs.size > 90_000
    noise = Laplace(1000.0)
    answers = 3e7 + np.array([-40_000.0, -999.5, 0.25, 7000.0, 45_000.0])
    means = [
        mean_of(answers, sides.sums_around(answers))
        for sides in (GeometricSides(table, 1e-3), SummedSides(table, noise.errors, (answers[0], answers[-1])))
    ]
    assert means[0][0] == pytest.approx(means[1][0], abs=1e-9)
    assert means[0][1] == pytest.approx(means[1][1], abs=1e-6, rel=0)


def test_nothing_on_a_side_weighs_nothing() -> None:
    """The mean is that of the other side."""
    nothing, some = Side(np.array([-math.inf]), np.zeros(1)), Side(np.array([-3.0]), np.ones(1))
    assert mean_of(np.array([4.5]), (nothing, some))[1] == 6.0
    assert mean_of(np.array([4.5]), (some, nothing))[1] == 3.0


def test_the_bulk_ends_where_the_law_has_fallen() -> None:
    """The last count within the depth on each side, or the end if it is within."""
    law = Binomial(1000, 0.3).law()
    logs = law.log_pmf(np.arange(1001.0))
    held = np.flatnonzero(logs > logs.max() - 50)
    assert (bulk_end(law, 50, 0), bulk_end(law, 50, 1000)) == (held[0], held[-1])
    assert bulk_end(law, 50, 299) == 299
