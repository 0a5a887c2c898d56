"""Tables and lists within a share of their counts: one price at which all stop, and what is told of each count."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import noisycount as nc
from noisycount.analysis.within import coverage, price_grid
from noisycount.engines.memory import MemorySource
from noisycount.errors import BudgetError, SourceError
from noisycount.ledger.budget import ApproximateBudget, Loss
from noisycount.ledger.entries import Analyst
from noisycount.ledger.ledger import Ledger
from noisycount.query.query import Query
from noisycount.query.schema import Kind
from noisycount.release import drawing
from noisycount.release.dataset import Dataset
from noisycount.release.desk import Desk
from noisycount.release.goal import AccuracyGoal, StoppingSchedule
from noisycount.release.query_plan import CellsPlan, QueryPlan, plan_of
from noisycount.release.rehearsal import rehearse_query
from noisycount.release.stored_question import StoredQuestion
from noisycount.release.table_release import TableRelease

RECORDS = [{"town": town} for town in [*["Bern"] * 1000, *["Chur"] * 120, *["Genf"] * 5]]
TOWNS = {"town": ["Bern", "Chur", "Genf", "Sion"]}
LISTED = ["town = 'Bern'", "town = 'Chur'"]
SCHEMA = {"town": Kind.TEXT}
HALF = Fraction(1, 2)
GOAL = AccuracyGoal(Fraction(1, 5), Fraction(19, 20), HALF)
LARGEST, MOST, TOTAL = {"of": "largest"}, {"of": "90%-of-cells"}, {"of": "total", "margins": "total"}
KINDS = pytest.mark.parametrize("kind", [LARGEST, MOST, TOTAL], ids=["largest", "most", "total"])
DeskOf = Callable[..., Desk]


class FailingSource(MemorySource):
    """Records that cannot be counted for a while."""

    __slots__ = ("fails",)

    def __init__(self) -> None:
        super().__init__(RECORDS, SCHEMA)
        self.fails = False

    def count_cells(self, question: object) -> Any:  # noqa: ANN401 - as its base
        """Give the true counts, or fail."""
        if self.fails:
            raise SourceError("no")
        return super().count_cells(question)  # type: ignore[arg-type]


@pytest.fixture
def source() -> FailingSource:
    """Give the records."""
    return FailingSource()


@pytest.fixture
def desk_of(ledger: Ledger, source: FailingSource) -> DeskOf:
    """Return a function that opens desks of the records, for any analyst."""

    def made(dataset: Dataset = Dataset("survey", Fraction(2)), analyst: Analyst = Analyst()) -> Desk:  # noqa: B008
        return Desk(source, ledger, dataset, analyst=analyst)

    return made


def table(desk: Desk, kind: dict[str, Any], **changed: Any) -> TableRelease:  # noqa: ANN401
    """Ask for towns."""
    return desk.release_table("town", TOWNS, **{"within": "20%", "at_most": HALF, **kind, **changed})


def plan_for(kind: dict[str, Any], size: int | None = None, **changed: Any) -> QueryPlan:  # noqa: ANN401
    """The plan of such a table."""
    query = Query(by="town", keys=TOWNS, **{"within": "20%", "at_most": HALF, **kind, **changed})
    return plan_of(query, SCHEMA, None, is_replacement=size is not None)


@pytest.mark.thorough
@KINDS
def test_a_table_stops_at_one_price_and_gives_the_rest_back(desk_of: DeskOf, kind: dict[str, Any]) -> None:
    """Told is which counts are near, and the ± of the others; the same again is free."""
    desk = desk_of()
    told = table(desk, kind)
    price = told.price.epsilon
    assert price is not None
    assert price < HALF
    assert (told.charged.epsilon, told.remaining, told.is_near, told.near_of) == (price, 2 - price, True, kind["of"])
    (place,) = [place for place, near in enumerate(told.near) if near.any()]
    assert place == (kind is TOTAL)
    for answer, error, near in zip(told.answers[place], told.own_errors[place], told.near[place], strict=True):
        assert not near or error <= answer // 5
    for level, errors in zip(told.plan.levels, told.own_errors, strict=True):
        assert level.mechanism.exact_scale == level.sensitivity / (level.share * price)
        assert level.error() == max(errors)
    again = table(desk, kind)
    assert (again.key, again.charged, again.price) == (told.key, Loss(), told.price)
    for one, other in zip((*told.answers, *told.near), (*again.answers, *again.near), strict=True):
        assert one.tolist() == other.tolist()
    assert [row.error for row in again.rows] == [row.error for row in told.rows]
    assert table(desk, kind, at_most=1).charged == Loss()
    assert desk.ledger.verify().broken is None
    assert told.combined is None


@pytest.mark.thorough
def test_a_list_stops_when_every_count_is_near(desk_of: DeskOf) -> None:
    """The smallest decides; a large count is told by its noise, which is less than the share."""
    desk = desk_of()
    told = desk.release_many(LISTED, within="20%", at_most=HALF)
    large, small = told.rows
    assert told.is_near
    assert told.near[0].all()
    assert small.error <= small.answer / 5
    assert large.error < large.answer / 10
    assert told.charged.epsilon == told.price.epsilon == 2 - desk.remaining
    capped = desk.release_many([LISTED[0], "town = 'Sion'"], within="20%", at_most="0.2")
    assert (capped.price.epsilon, capped.is_near, capped.near[0].tolist()) == (Fraction(1, 5), False, [True, False])


@KINDS
def test_a_failure_leaves_the_most_charged_and_who_asks_again_settles_it(
    desk_of: DeskOf, source: FailingSource, kind: dict[str, Any]
) -> None:
    """Reserved before anything is counted; at a price, too, it is answered as it was asked first."""
    desk = desk_of()
    source.fails = True
    with pytest.raises(SourceError, match="the debit stays"):
        table(desk, kind)
    assert desk.remaining == Fraction(3, 2)
    source.fails = False
    told = table(desk, kind)
    assert (told.charged, told.remaining) == (Loss(), 2 - (told.price.epsilon or 0))
    finer = table(desk, {**kind, "of": None}, within=None, at_most=None, epsilon="0.3")
    assert (finer.replaces, finer.price.epsilon, desk.remaining) == ((told.key,), Fraction(3, 10), Fraction(17, 10))
    assert finer.within is None
    assert desk.ledger.verify().broken is None


@pytest.mark.thorough
@KINDS
def test_a_nearer_table_goes_on_from_the_one_that_is_known(desk_of: DeskOf, kind: dict[str, Any]) -> None:
    """By a rule for any time; one that was bought and is near enough is given for nothing."""
    desk = desk_of()
    first = table(desk, kind)
    nearer = table(desk, kind, within="1%")
    assert nearer.replaces == (first.key,)
    assert nearer.charged.epsilon == (nearer.price.epsilon or 0) - (first.price.epsilon or 0)
    assert table(desk, kind, within="40%", at_most=1).charged == Loss()
    entry = desk.ledger.entry(nearer.key)
    assert entry is not None
    goal = AccuracyGoal.from_entry(entry)
    assert goal is not None
    stopping = StoppingSchedule(goal, nearer.plan, entry.base)
    assert stopping.must_hold_at_any_time
    assert stopping.prices[0] == first.price.epsilon


def test_a_sum_of_rho_keeps_the_most_and_both_budgets_must_pay_it(desk_of: DeskOf) -> None:
    """As of one count."""
    told = table(desk_of(Dataset("survey", ApproximateBudget(Fraction(2), Fraction(1, 10**9)))), LARGEST)
    assert desk_of().ledger.paid("survey") == Loss(told.price.epsilon, Fraction(1, 8))
    with pytest.raises(BudgetError, match="of analyst"):
        table(desk_of(Dataset("other", Fraction(2)), Analyst("poor", Fraction(1, 4))), LARGEST)


@KINDS
def test_the_stored_question_is_asked_again_as_it_was(desk_of: DeskOf, kind: dict[str, Any]) -> None:
    """From what the ledger keeps of it."""
    desk = desk_of()
    told = table(desk, kind)
    (entry,) = desk.ledger.entries()
    query = StoredQuestion(entry).query(SCHEMA)
    assert query is not None
    assert (query.of, Fraction(str(query.within)), query.epsilon) == (kind["of"], Fraction(1, 5), None)
    assert desk.answer(query).key == told.key
    assert Query.from_json(query.to_json()).of == kind["of"]


@KINDS
def test_a_rehearsal_stops_as_a_real_table(kind: dict[str, Any]) -> None:
    """Of made-up records."""
    query = Query(by="town", keys=TOWNS, within="20%", at_most=HALF, **kind)
    told = rehearse_query(query, plan_for(kind), None, size=1000).release
    assert isinstance(told, TableRelease)
    assert told.near_of == kind["of"]
    assert told.is_near is (told.price.epsilon != HALF) or told.is_near


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({"of": None}, "of is missing: state which counts are meant, of='largest', of='total' or of='90%-of-cells'"),
        ({"of": "median"}, "of must be largest, total or a share such as 90%-of-cells, got 'median'"),
        ({"of": "0%-of-cells"}, "of must be largest, total or a share"),
        ({"of": "total"}, "of='total' needs the total as an answer of its own: add margins='total'"),
        ({"cumulative": True, **LARGEST}, "at_most knows no sums of ranges"),
        ({"delta": "1e-6", **LARGEST}, "does not go with at_most, which is for Laplace"),
        (
            {"delta": "1e-6", "keys": None, **LARGEST},
            "does not go with at_most, which is for Laplace noise and known keys",
        ),
        (
            {"noise": nc.DiscreteGaussian, **LARGEST},
            "does not go with at_most, which is for Laplace noise and known keys",
        ),
        ({"epsilon": 1, **LARGEST}, "give one price: .* got epsilon and within"),
        ({"within": None, **LARGEST}, "give one price: .* got none"),
        ({"within": "100%", **LARGEST}, "within must lie between 0 and 1"),
        (
            {"at_most": None, "within": None, "epsilon": 1, **LARGEST},
            "of belongs to a table with by",
        ),
    ],
)
def test_what_no_table_keeps_is_refused_before_anything_is_charged(
    desk_of: DeskOf, asked: dict[str, Any], why: str
) -> None:
    """In one line."""
    desk = desk_of()
    with pytest.raises(ValueError, match=why):
        desk.release_table("town", **{"keys": TOWNS, "within": "20%", "at_most": HALF, **asked})
    assert desk.ledger.entries() == []


def test_a_margin_of_a_column_that_is_called_total_is_not_the_total(ledger: Ledger) -> None:
    """Its cells would have to be large all at once, at a confidence that is for one alone."""
    source = MemorySource([{"total": "a", "sex": "f"}], {"total": Kind.TEXT, "sex": Kind.TEXT})
    desk = Desk(source, ledger, Dataset("survey", Fraction(2)))
    keys = {"total": ["a", "b"], "sex": ["f", "m"]}
    with pytest.raises(ValueError, match="of='total' needs the total as an answer of its own"):
        desk.release_table("total,sex", keys, within="20%", at_most=HALF, **TOTAL)
    assert ledger.entries() == []


@pytest.mark.parametrize(
    ("kind", "fails", "anytime"),
    [(LARGEST, Fraction(1, 20) / 4, False), (TOTAL, Fraction(1, 20), False), (MOST, Fraction(3, 80), True)],
)
def test_the_rule_of_a_cell_is_as_sure_as_it_must_be(kind: dict[str, Any], fails: Fraction, anytime: bool) -> None:  # noqa: FBT001
    """Of the largest of four each is at a quarter of what may fail; of most of the mass it holds at any time."""
    plan = plan_for(kind)
    assert plan.goal is not None
    stopping = StoppingSchedule(plan.goal, plan.noise)
    rule, level = stopping.rule, plan.noise.levels[stopping.deciding_level]
    assert (1 - rule.confidence, rule.anytime) == (fails, anytime)
    assert rule.prices == tuple(price * level.share / level.sensitivity for price in stopping.prices)
    for count in (0, 30, 100, 1000):
        assert 1 - coverage(rule, count) <= fails
    unsure = rule.chain_of(0.8 * rule.slack)
    counts = np.arange(20, 400)
    assert rule.failures(unsure, counts, counts).max() > fails


def failures(noise: nc.Mechanism, error: int) -> float:
    """The probability that one count is off by more than an error."""
    return float(nc.failure_probability(noise, error + 1))  # type: ignore[arg-type]


@KINDS
def test_all_counts_at_once_lie_within_their_error_at_all_prices(kind: dict[str, Any]) -> None:
    """By a union bound over counts and prices, and by no more than that: one record less breaks it."""
    plan = plan_for(kind)
    assert plan.goal is not None
    stopping = StoppingSchedule(plan.goal, plan.noise)
    chances = plan.noise.size * len(stopping.prices)
    assert len(stopping.prices) > 70
    for level in stopping.with_noise_errors.levels:
        error = level.error(counts=2)
        assert failures(level.mechanism, error) * chances <= 0.05 * (1 + 1e-9)
        assert failures(level.mechanism, error - 1) * chances > 0.05


@pytest.mark.parametrize(
    ("kind", "place", "alone", "known"),
    [
        (LARGEST, 0, Fraction(3, 4), Fraction(1, 4 * 74)),
        (MOST, 0, Fraction(1, 4 * 73), Fraction(1, 4 * 74)),
        (TOTAL, 0, Fraction(1), Fraction(1, 74)),
        (TOTAL, 1, Fraction(1, 4), Fraction(1, 4 * 74)),
        ({**LARGEST, "margins": "total"}, 1, Fraction(1), Fraction(1, 74)),
    ],
    ids=["largest", "most", "cells beside the total", "total", "total beside the largest"],
)
def test_the_error_of_noise_alone_holds_wherever_answers_stop(
    desk_of: DeskOf, kind: dict[str, Any], place: int, alone: Fraction, known: Fraction
) -> None:
    """At one price of 73, or at each of the 74 that the rule of a known answer covers: shares of what may fail."""
    desk, plan = desk_of(), plan_for(kind)
    first = table(desk, {**kind, "of": None}, within=None, at_most=None, epsilon="0.105")
    assert plan.goal is not None
    for base, share in ((None, alone), (desk.ledger.entry(first.key), known)):
        stopping = StoppingSchedule(plan.goal, plan.noise, base)
        assert len(stopping.covered_prices) == (73 if base is None else 74)
        level = stopping.with_noise_errors.levels[place]
        assert failures(level.mechanism, level.error()) <= 0.05 * share * (1 + 1e-9)
        assert failures(level.mechanism, level.error() - 1) > 0.05 * share


@pytest.mark.thorough
def test_a_rule_after_a_goal_does_not_depend_on_where_that_one_stopped(desk_of: DeskOf) -> None:
    """A single slack covers all prices at which the earlier goal could have stopped."""
    rules = set()
    for name in ("first", "second", "third"):
        desk = desk_of(Dataset(name, Fraction(2)))
        known = table(desk, LARGEST, within="60%", at_most="0.3")
        base = desk.ledger.entry(known.key)
        goal = replace(GOAL, scope="largest")
        stopping = StoppingSchedule(goal, plan_for(LARGEST).noise, base)
        rules.add((stopping.rule.prices, stopping.rule.slack))
        assert stopping.prices[0] == known.price.epsilon
        of_price = dict(zip(stopping.covered_prices, stopping.rule.thresholds, strict=True))
        assert stopping.thresholds == tuple(of_price[price] for price in stopping.prices)
        assert Fraction(3, 10) in stopping.covered_prices
        assert {*price_grid("0.5")} <= {*stopping.covered_prices}
    assert len(rules) == 1


def told_of(plan: CellsPlan, counts: Sequence[np.ndarray[Any, Any]]) -> tuple[dict[str, Any], Sequence[Any]]:
    """Return the published bounds of a table of these counts, and its answers, as a desk draws them."""
    with patch.object(drawing, "count_levels", lambda _, __: counts):
        answer, price = drawing.draw_answer(plan, MemorySource([], SCHEMA))
    assert plan.goal is not None
    return StoppingSchedule(plan.goal, plan.at_price(price).noise).table_fields(answer.levels), answer.levels


def test_counts_that_do_not_decide_have_the_noise_of_the_price_that_is_charged() -> None:
    """Not that of the reserve, which is a tenth as wide: the mean error of 400 cells, by six standard deviations."""
    cells = np.array([50] * 400)
    keys = {"town": [f"t{place}" for place in range(cells.size)]}
    plan = plan_of(Query(by="town", keys=keys, within="50%", at_most=HALF, **TOTAL), SCHEMA, None, is_replacement=False)
    assert isinstance(plan, CellsPlan)
    counts = [cells, np.array([cells.sum()])]
    with patch.object(drawing, "count_levels", lambda _, __: counts):
        answer, price = drawing.draw_answer(plan, MemorySource([], SCHEMA))
    assert price is not None
    assert price < Fraction(1, 20)
    scale = float(plan.at_price(price).noise.levels[0].mechanism.exact_scale)
    assert abs(np.abs(answer.levels[0] - cells).mean() / scale - 1) < 0.3


def check_coverage(shape: Sequence[int], kind: dict[str, Any], draws: int) -> None:
    """Cell by cell; and of the largest and of the total that whatever is told to be near is."""
    keys = {"town": [f"t{place}" for place in range(len(shape))]}
    query = Query(by="town", keys=keys, within="50%", at_most=HALF, confidence=0.9, **kind)
    plan = plan_of(query, SCHEMA, None, is_replacement=False)
    assert isinstance(plan, CellsPlan)
    cells = np.array(shape)
    counts = [cells, np.array([cells.sum()])][: len(plan.noise.levels)]
    wrong, wrong_near = np.zeros(sum(map(len, counts))), 0
    for _ in range(draws):
        told, answers = told_of(plan, counts)
        off = [np.abs(a - c) > e for a, c, e in zip(answers, counts, told["own_errors"], strict=True)]
        wrong += np.concatenate(off)
        wrong_near += any((o & n).any() for o, n in zip(off, told["near"], strict=True))
    limit = draws / 10 + 4 * (draws * 0.09) ** 0.5
    assert wrong.max() <= limit
    assert kind is MOST or wrong_near <= limit


@pytest.mark.thorough
@KINDS
def test_each_count_is_where_it_is_told_as_often_as_it_says(kind: dict[str, Any]) -> None:
    """Of a table of one large cell and some of nothing."""
    check_coverage([2000, 0, 0, 0], kind, 25)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "shape",
    [[2000, *[0] * 19], [90] * 10, [700, 350, 175, 90, 45, 20, 10, 5, 2, 1], [0] * 10],
    ids=["one large, many of nothing", "alike", "falling", "nothing"],
)
@KINDS
def test_each_count_of_other_shapes_is_where_it_is_told(kind: dict[str, Any], shape: list[int]) -> None:
    """With more draws."""
    check_coverage(shape, kind, 60)
