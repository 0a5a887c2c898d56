"""Tables of disjoint cells: every database of a few records, limits, order and speed."""

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from numpy.typing import NDArray

import noisycount as nc
from noisycount.analysis.privacy.bounds import Bounded
from noisycount.analysis.privacy.disjoint_cells import (
    Cell,
    CellMove,
    TableAnswers,
    delta_upper_given_total,
    worst_moves,
)
from noisycount.model.noises.additive import SymmetricNoise
from tests.oracles.databases import answered_delta, exact_delta

HALVES = (Fraction(1, 8), Fraction(1, 4), Fraction(5, 8))
SIZES = (1, 2, 4)
EPSILONS = [0.0, 0.1, 1.0]
NOISES = (nc.DiscreteLaplace(1), nc.DiscreteGaussian(1), nc.Laplace(1), nc.Gaussian(1))


def table(
    size: int,
    rates: Sequence[float | Fraction],
    mechanism: nc.Exact | SymmetricNoise,
    epsilons: list[float],
    *,
    rest: bool = False,
) -> list[Bounded]:
    """δ of a table for each ε; the last cell may be what is left and not asked for."""
    cells = [Cell(float(rate), mechanism) for rate in rates]
    if rest:
        cells[-1] = Cell(cells[-1].rate, None)
    plus, minus = TableAnswers(size, tuple(cells)).directions(epsilons)
    assert plus == minus
    return plus


def cells(rates: Sequence[Fraction]) -> list[set[int]]:
    """A question for each cell."""
    return [{cell} for cell in range(len(rates))]


@pytest.mark.parametrize("size", [1, 2, 5, pytest.param(7, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("rates", [HALVES, (Fraction(1, 2), *([Fraction(1, 8)] * 4))])
def test_the_noiseless_table_is_exact(size: int, rates: Sequence[Fraction]) -> None:
    """The sum over every database in 50 digits lies in the bracket, which is that of rounding."""
    for epsilon, found in zip(EPSILONS, table(size, rates, nc.Exact(), EPSILONS), strict=True):
        true = exact_delta(size, rates, cells(rates), epsilon)
        assert found.lower <= true <= found.upper
        assert found.upper - found.lower < 1e-10


@pytest.mark.thorough
@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: type(noise).__name__)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("rest", [False, True])
def test_the_bracket_of_a_noisy_table_holds_the_truth(noise: SymmetricNoise, size: int, *, rest: bool) -> None:
    """So it does with all cells answered, and with what is left of the records not asked for."""
    reach, width = (26.0, 1.0) if noise.is_discrete else (9.0, 0.25)

    def answer(count: int) -> NDArray[np.float64]:
        """The probabilities of whole answers, or of bins of a quarter of a record."""
        starts = np.arange(-reach, reach + 5, width) - count
        return noise.errors.between(starts, np.full_like(starts, width))

    asked = cells(HALVES)[: len(HALVES) - rest]
    for epsilon, one in zip(EPSILONS, table(size, HALVES, noise, EPSILONS, rest=rest), strict=True):
        true = answered_delta(size, HALVES, asked, epsilon, answer)
        slack = 1e-9 if noise.is_discrete else 1e-2 * true
        assert one.lower - slack <= true <= one.upper + slack


@pytest.mark.parametrize("mechanism", [nc.Exact(), nc.Gaussian(2), nc.DiscreteLaplace(2)], ids=str)
def test_two_cells_that_hold_all_records_are_one_count(mechanism: nc.Exact | SymmetricNoise) -> None:
    """With both answered it is one count that is answered twice, with one of them once."""
    both, one = [Cell(0.25, mechanism), Cell(0.75, mechanism)], Cell(0.75, None)
    once = nc.privacy_curve(mechanism, nc.Binomial(50, 0.25)).bracket(0.1)
    found = TableAnswers(50, (both[0], one)).directions([0.1])[0][0]
    assert found.lower <= once[1]
    assert once[0] <= found.upper <= once[1] * (1 + 1e-9)
    if isinstance(mechanism, nc.Gaussian):
        twice = nc.privacy_curve([mechanism] * 2, nc.Binomial(50, 0.25)).delta(0.1)
        found = TableAnswers(50, tuple(both)).directions([0.1])[0][0]
        assert found.lower <= twice * (1 + 1e-9)
        assert twice <= found.upper * (1 + 1e-9)


@pytest.mark.thorough
def test_the_figure_of_the_issue_is_met() -> None:
    """Two disjoint groups of a tenth of 400 records, Gaussian noise of 3: δ(0.1) = .04238."""
    (found,) = table(400, [0.1, 0.1, 0.8], nc.Gaussian(3), [0.1], rest=True)
    assert found.lower <= 0.042385
    assert found.upper >= 0.042375
    assert found.upper - found.lower < 1e-4


@pytest.mark.thorough
@pytest.mark.parametrize("mechanism", [nc.Exact(), nc.Gaussian(2)], ids=str)
def test_the_rarest_two_cells_are_the_worst(mechanism: nc.Exact | SymmetricNoise) -> None:
    """No other move between cells that are answered alike shows more, if the total is told."""
    cells = [Cell(rate, mechanism) for rate in (0.02, 0.05, 0.13, 0.3, 0.5)]
    moves = list(worst_moves(20, cells))
    assert [(one.first.rate, one.second.rate) for one in moves] == [(0.02, 0.05), (0.05, 0.02)]
    worst = max(delta_upper_given_total(move, [0.1])[0] for move in moves)
    for first, second in permutations(cells, 2):
        assert delta_upper_given_total(CellMove(20, first, second), [0.1])[0] <= worst * (1 + 1e-9)


@pytest.mark.thorough
def test_delta_falls_with_more_records_more_noise_and_a_larger_epsilon() -> None:
    """More records, more noise and a larger ε show less."""
    rates = [0.1, 0.2, 0.7]
    sizes = [table(size, rates, nc.Exact(), [0.1])[0].value for size in (1, 10, 100)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] == pytest.approx(1.0)
    scales = [table(20, rates, nc.Gaussian(scale), [0.1])[0] for scale in (0.1, 1.0, 10.0)]
    assert scales[0].lower > scales[1].upper > scales[2].upper
    at = table(20, rates, nc.Gaussian(2), [0.0, 0.5, 1.0])
    assert [one.upper for one in at] == sorted((one.upper for one in at), reverse=True)


def test_a_table_of_one_record_is_the_worst_case() -> None:
    """A record that may be in either of two answered cells has the δ of an answer with scale/√2."""
    (found,) = table(1, [0.5, 0.5], nc.Gaussian(2), [0.1])
    worst = nc.privacy_curve(nc.Gaussian(2 / math.sqrt(2))).delta(0.1)
    assert found.value == pytest.approx(worst, rel=1e-9)


@pytest.mark.thorough
@pytest.mark.parametrize("size", [10**6, 10**9])
def test_large_tables_have_brackets_too(size: int) -> None:
    """A hundred cells of a million records: the ends are a few percent apart."""
    (found,) = table(size, [0.01] * 100, nc.Exact(), [0.01])
    assert 0 < found.lower <= found.upper <= 1.1 * found.lower + 1e-290


@pytest.mark.thorough
def test_a_list_of_many_disjoint_questions_is_a_table() -> None:
    """`privacy_curve` takes a table as the list that it is; δ is its upper end."""
    cells = nc.Atoms.disjoint(50, [0.1, 0.1, 0.2, 0.3])
    curve = nc.privacy_curve(nc.Gaussian(2), cells)
    (found,) = table(50, [0.1, 0.1, 0.2, 0.3, 0.3], nc.Gaussian(2), [0.1], rest=True)
    assert curve.bracket(0.1) == (found.lower, found.upper)
    assert curve.delta(0.1) == found.upper
    exact = nc.privacy_curve(nc.Exact(), cells).bracket(0.1)
    (found,) = table(50, [0.1, 0.1, 0.2, 0.3, 0.3], nc.Exact(), [0.1])
    assert exact == (found.lower, found.upper)


def test_cells_answered_unlike_are_all_compared() -> None:
    """A frequent cell without noise beside rare ones under much noise is looked at, too."""
    cells = [Cell(0.1, nc.Gaussian(50)), Cell(0.1, nc.Gaussian(50)), Cell(0.4, nc.Exact())]
    cells.append(Cell(0.4, nc.Exact()))
    (found,) = TableAnswers(40, tuple(cells)).directions([0.1])[0]
    exact = nc.privacy_curve(nc.Exact(), nc.Binomial(40, 0.4)).bracket(0.1)[0]
    assert found.upper >= exact
    assert found.lower >= 0.9 * exact


@pytest.mark.parametrize("power", [15, 17, 300])
def test_a_cell_may_be_as_rare_as_a_number_can_say(power: int) -> None:
    """The count is of the rarer cell, beside which the other's share is no more than 1 − 1e-17."""
    rare = Fraction(1, 10**power)
    rates = [Fraction(2, 5) - rare, Fraction(3, 5), rare]
    for epsilon, found in zip(EPSILONS, table(3, rates, nc.Exact(), EPSILONS), strict=True):
        true = exact_delta(3, rates, cells(rates), epsilon)
        assert found.lower <= true <= found.upper
    usual = table(3, [0.4 - 1e-12, 0.6, 1e-12], nc.Gaussian(1), EPSILONS)
    for found, near in zip(table(3, rates, nc.Gaussian(1), EPSILONS), usual, strict=True):
        assert found.upper == pytest.approx(near.upper, abs=1e-10)
        assert found.lower == pytest.approx(near.lower, abs=1e-10)
