"""The black-box audit of answers at rising prices: two neighbouring data sets, and nothing but what is told."""

import math
from collections.abc import Callable
from contextlib import nullcontext
from fractions import Fraction
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from scipy import stats
from tests.helpers.black_box import FALSE_ALARM, log_ratio

from noisycount.analysis.within import StoppingRule, coverage, price_grid
from noisycount.engines.interface import Source
from noisycount.engines.memory import MemorySource
from noisycount.ledger.entries import Entry, TableAnswer
from noisycount.ledger.ledger import Ledger
from noisycount.model.noises.laplace import DiscreteLaplace
from noisycount.query.schema import Kind
from noisycount.release import drawing
from noisycount.release.dataset import Dataset
from noisycount.release.desk import Desk
from noisycount.release.goal import AccuracyGoal, StoppingSchedule
from noisycount.release.query_plan import QueryPlan
from noisycount.release.results import Release

COARSE, FINE = Fraction(1), Fraction(11, 10)
COUNT = 20  # persons; the second data set has one more
PAIRS, LIST = 3000, 1000
RICH = Dataset("survey", Fraction(10**6))

Tell = Callable[[str], None]


def desk_of(count: int, path: Path) -> Desk:
    """A desk of so many persons of an age."""
    return Desk(MemorySource([{"age": 30}] * count, {"age": Kind.INTEGER}), Ledger.open(f"sqlite:///{path}"), RICH)


def pairs(count: int, path: Path) -> np.ndarray:
    """Coarse and fine answers of many questions, each about all."""
    with desk_of(count, path) as desk:
        told = []
        for start in range(1000, 1000 + PAIRS, LIST):
            wheres = [f"age = 30 and age <> {number}" for number in range(start, start + LIST)]
            told.append([desk.release_many(wheres, LIST * price).answers[0] for price in (COARSE, FINE)])
        return np.concatenate(told, axis=1).T


@pytest.mark.parametrize("mutant", ["", "drawn afresh"])
def test_a_pair_loses_the_finer_price(mutant: str, tmp_path: Path, tell: Tell) -> None:
    """Of one person more or less, whatever two answers are together; a finer answer drawn afresh loses the sum."""
    coarser = (lambda *_: None) if mutant else drawing._coarser_answer  # noqa: SLF001 - a mutant
    with patch.object(drawing, "_coarser_answer", coarser):
        fewer, more = (pairs(count, tmp_path / f"{count}.db") for count in (COUNT, COUNT + 1))
    level = FALSE_ALARM / 4
    shown = max(
        log_ratio((more > COUNT).all(axis=1), (fewer > COUNT).all(axis=1), level),
        log_ratio((fewer <= COUNT).all(axis=1), (more <= COUNT).all(axis=1), level),
    )
    tell(f"pairs {mutant}, ε = {FINE}: {2 * PAIRS:,} pairs show a loss of at least {shown:.3f}")
    assert (shown <= FINE) == (not mutant)
    assert shown > 0.5 * FINE


FEW, MOST, CHAINS = 2, Fraction(2), 2500  # persons, so few that chains stop late; ε; chains of each data set


def chains(count: int, number: int, path: Path, **goal: object) -> list[Release]:
    """As many answers within a share of the count, each to a question of its own about all."""
    with desk_of(count, path) as desk:
        wheres = (f"age = 30 and age <> {1000 + place}" for place in range(number))
        return [desk.release(where, **goal) for where in wheres]  # type: ignore[arg-type]


def drawn_anew(errors: np.ndarray, _: Fraction, fine: Fraction) -> np.ndarray:
    """A mutant: the noise of each answer is independent of those before."""
    return DiscreteLaplace(fine).samples(len(errors))


def cheaper(plan: QueryPlan, source: Source, base: Entry | None = None) -> tuple[TableAnswer, Fraction]:
    """A mutant: charged is six prices less than that at which the chain stopped."""
    answer, stopped = drawing.draw_answer(plan, source, base)
    assert plan.goal is not None
    assert stopped is not None
    grid = price_grid(plan.goal.at_most)
    return answer, grid[max(0, grid.index(stopped) - 6)]


CHAIN_MUTANTS = {
    "drawn afresh": ("noisycount.release.drawing.finer_errors", drawn_anew),
    "charged less": ("noisycount.release.desk.draw_answer", cheaper),
}


def beyond_charge(likely: list[Release], others: list[Release], side: int) -> tuple[float, float]:
    """Between which bounds E[e^−charged; answers on the likelier side] less their chance elsewhere lies."""
    is_there = [np.array([side * (each.answer - FEW - 0.5) > 0 for each in told]) for told in (likely, others)]
    parts = [is_there[0] * np.exp([-float(each.charged) for each in likely]), is_there[1].astype(float)]
    width = stats.norm.isf(FALSE_ALARM / 8) * math.hypot(*(part.std() / part.size**0.5 for part in parts))
    excess = float(parts[0].mean() - parts[1].mean())
    return excess - width, excess + width


@pytest.mark.parametrize("mutant", ["", *CHAIN_MUTANTS])
def test_a_stopped_chain_loses_what_it_is_charged(mutant: str, tmp_path: Path, tell: Tell) -> None:
    """A person more or less changes P[answer and charge] by e^±charge: no more, and no less.

    By Theorem 4 of docs/why/accuracy-first.md. So the mean of e^−charge where answers are on the likelier side is the
    chance of that side where they are not; and the dearest answers show their price alone.
    """
    with patch(*CHAIN_MUTANTS[mutant]) if mutant else nullcontext():
        fewer, more = (
            chains(count, CHAINS, tmp_path / f"{count}.db", within="50%", confidence=0.5, at_most=MOST)
            for count in (FEW, FEW + 1)
        )
    found = [beyond_charge(more, fewer, 1), beyond_charge(fewer, more, -1)]
    bounds = " and ".join(f"{low:.3f} to {high:.3f}" for low, high in found)
    tell(f"chains {mutant}, ε <= {MOST}: {2 * CHAINS:,} show {bounds} beyond what they are charged")
    assert all(low <= 0 <= high for low, high in found) == (not mutant)
    if not mutant:
        dear = (np.array([each.charged == MOST and each.answer <= FEW for each in told]) for told in (fewer, more))
        shown = log_ratio(*dear, FALSE_ALARM / 4)
        tell(f"chains that cost {MOST} show a loss of at least {shown:.3f}")
        assert 0.5 * MOST < shown <= MOST


WIDE = {"within": Fraction(1, 2), "confidence": Fraction(9, 10)}
RELEASES = 1500


def without_slack(goal: AccuracyGoal) -> StoppingRule:
    """A mutant: the thresholds of somebody who does not select by stopping."""
    with patch("noisycount.analysis.within._SlackSearch.solution", lambda search: (1.0, search.rule.chain_of(1.0))):
        return StoppingRule(goal.within, goal.confidence, price_grid(goal.at_most))


@pytest.mark.parametrize("is_mutant", [False, True])
def test_a_desk_is_near_as_often_as_it_promises(*, is_mutant: bool, tmp_path: Path, tell: Tell) -> None:
    """Real answers keep the goal at the worst count; a rule without a slack is found."""
    goal = AccuracyGoal(**WIDE, at_most=Fraction(1, 2))
    prices = price_grid(goal.at_most)
    rule = without_slack(goal) if is_mutant else StoppingRule(goal.within, goal.confidence, prices)
    worst = min(range(1, 400), key=lambda count: coverage(rule, count))
    with patch.object(StoppingSchedule, "rule", rule):
        told = chains(worst, RELEASES, tmp_path / "ledger.db", within="50%", confidence=0.9, at_most=goal.at_most)
    near = 0
    for each in told:
        estimate = rule.estimate(each.answer)
        low, high = each.bounds or (0, 0)
        is_true = abs(estimate - worst) <= goal.within * worst if each.is_near else low <= worst <= high
        near += is_true
        assert is_true == (low <= worst <= high)
    tell(f"±50 % at 90 %{' without a slack' * is_mutant}, of {worst}: {near / RELEASES:.3f} of {RELEASES:,} were near")
    promised = stats.binomtest(near, RELEASES, 0.9, alternative="less").pvalue
    assert (promised > FALSE_ALARM) == (not is_mutant)
    assert stats.binomtest(near, RELEASES, coverage(rule, worst)).pvalue > FALSE_ALARM
