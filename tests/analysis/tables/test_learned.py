"""Priors that are learned from the answers, and what another concentration would change."""

from types import SimpleNamespace

import numpy as np
import pytest

from noisycount import Binomial, DiscreteGaussian, DiscreteLaplace, Gaussian, Splits, Tree, table_posterior
from noisycount.analysis.tables import learning, sums, tree_solution
from noisycount.analysis.tables.passes import UpwardPass
from noisycount.analysis.tables.prior import CellLevel
from noisycount.model.laws.gamma import Reals
from noisycount.model.tables.cells import CellSums

NOISE = DiscreteLaplace(10)


def drawn(shares: Reals, records: int, tree: Tree, seed: int) -> tuple[Reals, dict[int, Reals]]:
    """Cells of a table, and an answer about every node below the root."""
    random = np.random.default_rng(seed)
    cells = random.multinomial(records, shares / shares.sum()).astype(np.float64)
    levels = range(1, tree.depth)
    answers = {
        level: np.bincount(tree.levels[level], cells) + NOISE.draws(tree.sizes[level], random) for level in levels
    }
    return cells, answers


@pytest.mark.thorough
@pytest.mark.parametrize("form", ["even", "zipf", "smooth"])
def test_a_learned_tree_is_nearer_than_its_answers(form: str) -> None:
    """Cells and sums up to a cell are nearer to the truth, and intervals hold 93 % of the cells."""
    places = np.arange(64)
    shares = {
        "even": np.ones(64),
        "zipf": 1 / (places + 1.0),
        "smooth": np.exp(-0.5 * ((places - 25) / 9.0) ** 2) + 0.02,
    }[form]
    tree = Tree.binary(64)
    cells, answers = drawn(shares, 2500, tree, 11)
    told = table_posterior(answers, NOISE, tree, total=2500)
    raw = answers[tree.depth - 1]
    assert np.abs(told.mean - cells).mean() < 0.8 * np.abs(raw - cells).mean()
    prefix = np.abs(np.cumsum(told.mean - cells)).mean()
    assert prefix < 0.5 * np.abs(np.cumsum(raw - cells)).mean()
    assert ((told.low <= cells) & (cells <= told.high)).mean() >= 0.93
    assert told.rounding < 0.05
    assert told.prior.is_learned


def test_a_learned_concentration_is_near_the_one_that_was_drawn() -> None:
    """Forty nodes with Dirichlet shares of concentration 1/2 teach a mixture around it."""
    random = np.random.default_rng(5)
    tree = Tree([np.zeros(240, np.int64), np.arange(240) // 6, np.arange(240)])
    shares = random.dirichlet(np.full(6, 0.5), 40).ravel()
    _, answers = drawn(shares, 24_000, tree, 6)
    level = table_posterior(answers, NOISE, tree, total=24_000).prior.levels[1].parameters
    typical = np.exp(np.asarray(level["chances"]) @ np.log(np.asarray(level["concentrations"])))
    assert 0.25 < typical < 1.0


def test_a_mean_of_cells_is_told_in_digits() -> None:
    """Three of them count, with separators of thousands and without a power of ten."""
    for mean, told in ((1570.4, "1,570"), (2.344, "2.34"), (0.0123, "0.0123")):
        level = CellLevel(SimpleNamespace(mean=mean), given=3)  # type: ignore[arg-type]
        assert level.words == f"as independent counts of {told} on average"


@pytest.mark.thorough
@pytest.mark.parametrize("total", [None, 40])
def test_answers_far_below_zero_leave_the_others_alone(total: int | None) -> None:
    """No count is negative, so none is weighed: its likelihood beside that of 0 is no double."""
    far, near = (
        table_posterior([26.0, low, 24.0], DiscreteGaussian(1.0), Tree.flat(3), total=total) for low in (-982.0, -20.0)
    )
    assert far.mean == pytest.approx(near.mean, abs=1e-3)


ANSWERS = np.array([31, -4, 0, 118, 9])
STATED_NOISE = DiscreteLaplace(7)


def test_sensitivity_is_that_of_the_table_solved_again() -> None:
    """Moves are differences to posteriors under half and twice the stated concentration."""
    known = Binomial(200, 0.8)
    own = table_posterior(ANSWERS, STATED_NOISE, total=known, prior=Splits(0.6))
    found = own.sensitivity
    assert [move.factor for move in found.moves] == [0.5, 2]
    for move in found.moves:
        prior = Splits(0.6 * move.factor)
        other = table_posterior(ANSWERS, STATED_NOISE, total=known, prior=prior)
        moved = np.abs(other.mean - own.mean)
        assert move.largest == pytest.approx(moved.max(), rel=1e-7)
        assert move.average == pytest.approx(moved.mean(), rel=1e-7)
        assert move.largest_deviations == pytest.approx((moved / own.std).max(), rel=1e-7)
        assert move.average_deviations == pytest.approx((moved / own.std).mean(), rel=1e-7)
        assert move.log_evidence == pytest.approx(other.evidence - own.evidence, abs=1e-9)
    assert f"{max(move.largest for move in found.moves):.1f} at most" in found.words
    assert found.to_dict()["moves"][1]["factor"] == 2


@pytest.mark.parametrize(
    ("total", "prior", "words"),
    [
        (None, None, "a distribution of cells has no concentration"),
        (160, None, "a distribution of cells has no concentration"),
        (160, Splits.multinomial([2, 1, 1, 6, 1]), "known rates have no concentration"),
    ],
)
def test_what_has_no_concentration_says_so(total: int | None, prior: Splits | None, words: str) -> None:
    """Nothing is varied under a law of a cell or known rates."""
    found = table_posterior(ANSWERS, STATED_NOISE, total=total, prior=prior).sensitivity
    assert (found.moves, found.words) == ((), words)


@pytest.mark.filterwarnings("ignore:one of several answers")
def test_sums_of_cells_are_computed_once_for_all_tilts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Narrow noise against a far total tilts the laws of cells in dozens of ways."""
    computed, inside = [], CellSums.log_pmf

    def counted(sums: CellSums, first: int, width: int) -> Reals:
        computed.append((first, width))
        return inside(sums, first, width)

    monkeypatch.setattr(CellSums, "log_pmf", counted)
    table_posterior([18.07, 20.0, 20.0, 14.77], Gaussian(0.9566), Tree.flat(4), total=Binomial(60, 0.5))
    assert 0 < len(computed) <= 10


def peaks(cells: int) -> Reals:
    """Return a histogram of 20,000 records with two peaks and many empty cells."""
    places = np.arange(cells)
    shares = np.exp(-places / (cells / 20)) + 3.0 * (places == cells // 2)
    return np.random.default_rng(1).multinomial(20_000, shares / shares.sum()).astype(np.float64)


@pytest.mark.parametrize("prior", [None, Splits.multinomial(1)], ids=["learned", "known rates without a total"])
def test_work_follows_the_noise_and_not_the_total(prior: Splits | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Passes, windows of nodes and multiplications are few, however many records a table has."""
    work, passes, convolve, spectrum = [0], [], np.convolve, np.fft.rfft

    def convolved(first: Reals, second: Reals, mode: str = "full") -> Reals:
        work[0] += first.size * second.size
        return convolve(first, second, mode)

    def transformed(values: Reals, *rest: object, **named: object) -> Reals:
        work[0] += values.size * 30  # a transform takes about so many multiplications a number
        return spectrum(values, *rest, **named)

    class Counted(UpwardPass):
        def __init__(self, *given: object) -> None:
            super().__init__(*given)
            passes.append(max(message.logs.size for level in self.messages for message in level))

    monkeypatch.setattr(sums.np, "convolve", convolved)
    monkeypatch.setattr(sums.np.fft, "rfft", transformed)
    for module in (learning, tree_solution):
        monkeypatch.setattr(module, "UpwardPass", Counted)
    cells = np.full(32, 625.0) if prior else peaks(32)
    answers = cells + NOISE.draws(32, np.random.default_rng(2))
    told = table_posterior(answers, NOISE, Tree.binary(32), None if prior else 20_000, prior)
    assert len(passes) <= 8
    assert max(passes) <= 5_000
    assert work[0] <= 5e8
    assert np.abs(told.mean - cells).mean() < np.abs(answers - cells).mean()
    assert told.rounding < 1e-3
