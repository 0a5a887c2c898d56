import numpy as np
import pytest

import noisycount as nc
from noisycount.model.noises.additive import AdditiveNoise
from noisycount.tasks.refine import refined as drawn
from noisycount.tasks.refine.published import (
    GroupedRows,
    PublishedLevel,
    PublishedTable,
    grouped_by_empty,
    grouped_by_name,
    nested_levels,
)
from noisycount.tasks.refine.refined import ranks, selected_estimates, shares
from tests.helpers.cases import case_name

GRID = [(town, sex) for town in "ab" for sex in "mf"]
CROSSED = [*GRID, (None, "f"), (None, "m"), ("b", None), ("a", None), (None, None)]


def table(grouped: GroupedRows, names: tuple[str, ...], *, is_hierarchy: bool = False) -> PublishedTable:
    """Rows as a table whose answers are their places."""
    answers = np.arange(len(grouped.keys), dtype=np.float64)
    noises = [nc.DiscreteLaplace(place + 1) for place in range(len(grouped.levels))]
    levels = grouped.with_noises(noises, "'t.csv'")
    missing = np.full(answers.size, np.nan)
    return PublishedTable("", names, grouped.keys, answers, levels, missing, {}, is_hierarchy=is_hierarchy)


def sums(found: PublishedTable) -> dict[int, set[tuple[int, ...]]]:
    """For each row of a level in the tree the cells that it is the sum of."""
    placed = nested_levels(found)
    return {
        int(row): tuple(np.flatnonzero(placed.tree.levels[level.depth] == place).tolist())
        for level in placed.levels
        for row, place in zip(level.published.rows, level.places, strict=True)
    }


@pytest.mark.parametrize("is_hierarchy", [False, True])
def test_each_sum_is_of_the_cells_with_its_keys(*, is_hierarchy: bool) -> None:
    """Sums that cross the others are left out, by name; all rows find their cells."""
    names = ("town", "sex")
    found = table(grouped_by_empty(CROSSED, names), names, is_hierarchy=is_hierarchy)
    assert nested_levels(found).left_out in {("town",), ("sex",)}
    each = sums(found)
    assert [each[row] for row in range(4)] == [(0,), (1,), (2,), (3,)]
    assert each[8] == (0, 1, 2, 3)
    others = {row: cells for row, cells in each.items() if 4 <= row < 8}
    assert others in ({4: (1, 3), 5: (0, 2)}, {6: (2, 3), 7: (0, 1)})


def test_columns_are_a_hierarchy_where_somebody_says_so() -> None:
    """Each has a level then; else only what was published has one."""
    rows, names = [("a", "x", "1"), ("a", "y", "2"), ("b", "x", "3")], ("state", "county", "town")
    grouped = grouped_by_empty(rows, names)
    assert nested_levels(table(grouped, names, is_hierarchy=True)).tree.sizes == (1, 2, 3, 3)
    assert nested_levels(table(grouped, names)).tree.sizes == (1, 3)


def test_ranges_of_ordered_cells_nest() -> None:
    """As `count --cumulative` publishes them, the last one shorter."""
    keys = [(str(key),) for key in range(5)]
    ranges = {
        "ranges of 2": [("0 … 1",), ("2 … 3",), ("4 … 4",)],
        "ranges of 4": [("0 … 3",), ("4 … 4",)],
        "ranges of 8": [("0 … 4",)],
    }
    names = [*["day"] * 5, *(name for name, each in ranges.items() for _ in each)]
    rows = [*keys, *(key for each in ranges.values() for key in each)]
    found = table(grouped_by_name(rows, names, ["day"]), ("day",))
    assert nested_levels(found).tree.sizes == (1, 2, 3, 5)
    assert sums(found)[5 + 2] == (4,)
    assert sums(found)[5 + 3] == (0, 1, 2, 3)
    assert sums(found)[5 + 5] == (0, 1, 2, 3, 4)


def test_other_keys_are_a_part_of_the_total_alone() -> None:
    """The row of other keys, as `count --other` publishes it, belongs to the total only."""
    rows = [("a", "m"), ("b", "m"), (None, None), ("a", None), ("b", None), (None, None)]
    names = ["town,sex", "town,sex", "other", "town", "town", "total"]
    each = sums(table(grouped_by_name(rows, names, ["town", "sex"]), ("town", "sex")))
    assert each[2] == (2,)
    assert each[3] == (0,)
    assert each[5] == (0, 1, 2)


def test_missing_keys_are_keys() -> None:
    """An empty key in a level that sums over nothing is the key of missing values."""
    rows = [("a",), (None,), (None,)]
    grouped = grouped_by_name(rows, ["town", "town", "total"], ["town"])
    assert grouped.keys == [("a",), ("(missing)",), ("all of a, (missing)",)]
    assert sums(table(grouped, ("town",)))[2] == (0, 1)


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([*GRID, ("c", None)], "town has an answer for c, but the table has no cell with these keys"),
        ([*GRID, ("a", None), ("a", None)], "rows 5 and 6 below the names have answers for one sum, a: add"),
        ([*GRID, ("a", "m")], "rows 1 and 5 below the names have answers for one cell, a, m: add"),
        ([("a", None)], "no row has a key in each of town, sex"),
    ],
)
def test_sums_that_do_not_fit_are_refused(rows: list[tuple[str, str]], reason: str) -> None:
    """By their keys."""
    names = ("town", "sex")
    with pytest.raises((nc.NoisyCountError, ValueError), match=reason):
        nested_levels(table(grouped_by_empty(rows, names), names, is_hierarchy=True))


def test_each_level_needs_its_noise() -> None:
    """The levels are named in the order in which noises are given."""
    grouped = grouped_by_empty(CROSSED, ("town", "sex"))
    with pytest.raises(nc.NoisyCountError, match=r"4 levels \(town,sex; sex; town; total\), and 2 are"):
        grouped.with_noises([nc.DiscreteLaplace(1), nc.DiscreteLaplace(2)], "'t.csv'")


ANSWERS = [-3.0, 0.0, 2.0, 11.0, 40.0, 5000.0]


def selected(answers: list[float], *noises: AdditiveNoise) -> PublishedTable:
    """Rows of which each noise has as many, in turn."""
    values = np.array(answers, dtype=np.float64)
    rows = np.arange(values.size)
    levels = [PublishedLevel("page", rows[place :: len(noises)], noise) for place, noise in enumerate(noises)]
    keys = [(str(row),) for row in rows]
    missing = np.full(values.size, np.nan)
    return PublishedTable("", ("page",), keys, values, tuple(levels), missing, {}, is_selected=True)


@pytest.mark.parametrize("noise", [nc.DiscreteLaplace(3), nc.DiscreteGaussian(4.5), nc.Laplace(2.5)], ids=case_name)
@pytest.mark.parametrize("level", [0.95, 0.5])
def test_each_count_has_the_law_of_its_own_answer(noise: AdditiveNoise, level: float) -> None:
    """Summed term by term over all counts from 0, each as likely before."""
    found = selected_estimates(selected(ANSWERS, noise), level)
    counts = np.arange(6000)
    for row, answer in enumerate(ANSWERS):
        logs = noise.logpmf(answer, counts)
        weights = np.exp(logs - logs.max())
        law = weights / weights.sum()
        below = np.cumsum(law)
        assert found["mean"][row] == pytest.approx(float(law @ counts), rel=1e-9, abs=1e-9)
        for name, share in (("median", 0.5), ("low", (1 - level) / 2), ("high", (1 + level) / 2)):
            assert found[name][row] == int(np.argmax(below >= share * (1 - 1e-12)))


def test_each_row_has_its_own_noise() -> None:
    """Countries differ in their noise."""
    narrow, wide = nc.DiscreteGaussian(18.23), nc.DiscreteGaussian(90.05)
    found = selected_estimates(selected([500.0] * 4, narrow, wide), 0.95)
    widths = (found["high"] - found["low"]).tolist()
    assert widths == [72, 352, 72, 352]


@pytest.mark.parametrize("answer", [2.5, -1e6])
def test_what_no_threshold_lets_through_is_refused(answer: float) -> None:
    """Parts of records, and what lies far below 0."""
    with pytest.raises(nc.NoisyCountError, match="must be whole numbers"):
        selected_estimates(selected([answer], nc.DiscreteLaplace(3)), 0.95)


def tables() -> np.ndarray:
    """Some tables, of few different counts, so that ranks are shared."""
    return np.random.default_rng(5).integers(0, 6, (501, 7))


def test_shares_are_those_of_each_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    """In whatever blocks they are looked at; a table with no record has shares of 0."""
    whole = np.vstack([tables(), np.zeros((1, 7), np.int64)])
    each = np.array([row / max(row.sum(), 1) for row in whole])
    monkeypatch.setattr(drawn, "_BLOCK", 1200)
    expected = each.mean(axis=0), *np.quantile(each, (0.05, 0.95), axis=0)
    assert shares(whole, 0.9) == pytest.approx(np.array(expected))


def test_a_rank_is_how_many_are_larger() -> None:
    """Plus one; the median and the ends of the interval are ranks of draws."""
    each = np.array([[1 + sum(other > one for other in row) for one in row] for row in tables()])
    assert ranks(tables(), 0.9).tolist() == np.sort(each, axis=0)[[250, 25, 475]].tolist()
