from fractions import Fraction
from itertools import product

import duckdb
import numpy as np
import pytest
from audits.table_estimates import (
    LAWS,
    Estimate,
    SimulatedRelease,
    TrueTable,
    nearest_counts,
    nearest_tree,
    survey,
    true_tables,
)
from numpy.typing import NDArray

from noisycount.data import survey_path
from noisycount.model.tables.levels import Level, range_levels

QUERY = "SELECT year, site, health, count(*) FROM read_parquet(?) GROUP BY ALL"
RATINGS = ["excellent", "good", "fair", "poor"]


def by_name(name: str) -> TrueTable:
    """The table of that name."""
    return next(table for table in true_tables() if table.name == name)


def test_the_survey_is_the_bundled_one() -> None:
    """Each of its 120 cells, as DuckDB counts them."""
    counts = np.zeros((5, 6, 4), dtype=np.int64)
    for year, site, health, count in duckdb.execute(QUERY, [str(survey_path())]).fetchall():
        counts[year - 1, site - 1, RATINGS.index(health)] = count
    assert survey().counts.tolist() == counts.ravel().tolist()
    assert survey().sums(survey().inner[0]).tolist() == counts.sum(axis=(1, 2)).tolist()


def test_tables_of_laws_have_their_records_and_never_change() -> None:
    """2,500 records in 64 cells, the smallest and the largest of each as they were drawn."""
    made = {table.name: table for table in true_tables()[1:]}
    assert list(made) == list(LAWS)
    assert {table.total for table in made.values()} == {2500}
    assert {len(table.counts) for table in made.values()} == {64}
    extremes = {name: (table.counts.min(), table.counts.max()) for name, table in made.items()}
    assert extremes == {
        "even": (27, 54),
        "Zipf": (4, 522),
        "log-normal": (0, 821),
        "one big": (8, 1270),
        "smooth": (0, 161),
    }


@pytest.mark.parametrize("name", ["survey", "smooth"])
def test_levels_nest_from_the_total_to_the_cells(name: str) -> None:
    """Every node lies in one node of the level above."""
    table = by_name(name)
    assert table.levels[0].size == 1
    assert table.levels[-1].of_cell.tolist() == list(range(len(table.counts)))
    for above, below in zip(table.levels, table.levels[1:], strict=False):
        pairs = set(zip(below.of_cell.tolist(), above.of_cell.tolist(), strict=True))
        assert len(pairs) == below.size


@pytest.mark.parametrize("name", ["survey", "smooth"])
def test_the_price_is_shared_by_the_levels(name: str) -> None:
    """Each level has an equal part of ε."""
    table = by_name(name)
    release = SimulatedRelease.draw(table, 0.3, table.answered, np.random.default_rng(1))
    assert [noise.size for noise in release.answers] == [level.size for level in release.levels]
    assert release.noise.epsilon == Fraction(3, 10) / len(table.answered)
    assert release.variances == [release.noise.variance] * len(table.answered)


@pytest.mark.parametrize("name", ["survey", "smooth"])
@pytest.mark.parametrize("is_split", [False, True])
def test_sums_of_raw_answers_take_the_fewest_nodes(name: str, is_split: bool) -> None:  # noqa: FBT001
    """Against a walk from the first cell, always by the largest answered node that fits."""
    table = by_name(name)
    places = table.answered if is_split else table.answered[-1:]
    release = SimulatedRelease.draw(table, 1, places, np.random.default_rng(2))
    raw = release.raw()
    for end in (1, 4, 23, 24, 25, 63, table.counts.size):
        first, told = 0, 0.0
        while first < end:
            for level, answers in zip(release.levels, release.answers, strict=True):
                inside = np.flatnonzero(level.of_cell == level.of_cell[first])
                if inside[0] == first and inside[-1] < end:
                    told, first = told + answers[level.of_cell[first]], inside[-1] + 1
                    break
        assert raw.sums[end - 1] == pytest.approx(told)


def test_margins_of_raw_answers_are_own_or_of_the_next_finer_level() -> None:
    """Answered levels speak for themselves."""
    table = by_name("smooth")
    release = SimulatedRelease.draw(table, 1, table.answered, np.random.default_rng(3))
    margins = release.raw().margins
    assert margins[2].tolist() == release.answers[0].tolist()  # 8 nodes
    assert margins[1].tolist() == release.answers[0].reshape(4, 2).sum(axis=1).tolist()
    assert margins[3].tolist() == release.answers[1].reshape(16, 4).sum(axis=1).tolist()


def test_estimates_of_cells_are_added_up() -> None:
    """The true counts give the true margins and sums."""
    table = by_name("survey")
    added = Estimate.from_cells(table, table.counts.astype(float))
    assert [each.tolist() for each in added.margins] == [table.sums(level).tolist() for level in table.inner]
    assert added.sums[-1] == table.total


Reals = NDArray[np.float64]


def cells(size: int) -> Level:
    """The cells themselves."""
    return Level("cells", np.arange(size, dtype=np.int32), size)


def tree(size: int) -> list[Level]:
    """Two levels of ranges, and the cells."""
    return [*range_levels(size)[:2], cells(size)]


def distance(levels: list[Level], answers: list[Reals], found: Reals) -> float:
    """The sum of squares that the nearest table makes least."""
    sums = [np.bincount(level.of_cell, found, level.size) for level in levels]
    return sum(float(np.square(a - s).sum()) for a, s in zip(answers, sums, strict=True))


def faces(levels: list[Level], answers: list[Reals], total: float) -> float:
    """The least distance, over all sets of cells that are 0, of tables that are not negative."""
    size = levels[-1].size
    rows = np.concatenate([np.arange(level.size)[:, None] == level.of_cell for level in levels])
    told, least = np.concatenate(answers), np.inf
    for kept in product((False, True), repeat=size):
        free = np.flatnonzero(kept)
        if free.size:
            # one cell carries what the others leave of the total
            base, steps = np.eye(size)[free[-1]] * total, np.eye(size)[free[:-1]]
            steps = steps - np.eye(size)[free[-1]]
            shares = np.linalg.lstsq((rows @ steps.T), told - rows @ base, rcond=None)[0]
            found = base + shares @ steps
            if found.min() >= -1e-9:
                least = min(least, distance(levels, answers, found))
    return least


@pytest.mark.parametrize("seed", range(20))
def test_no_table_is_nearer_than_the_projection(seed: int) -> None:
    """Against the best of all faces of the simplex, at six cells."""
    generator = np.random.default_rng(seed)
    answers, total = generator.normal(0, 5, 6), float(generator.integers(1, 20))
    found = nearest_counts(answers, total)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(total)
    least = faces([cells(6)], [answers], total)
    assert distance([cells(6)], [answers], found) == pytest.approx(least)


@pytest.mark.parametrize("seed", range(20))
def test_no_table_is_nearer_to_the_answers_of_a_tree(seed: int) -> None:
    """Against the best of all faces, at six cells and answers of three levels."""
    generator = np.random.default_rng(seed)
    levels, total = tree(6), float(generator.integers(1, 20))
    answers = [generator.normal(0, 5, level.size) for level in levels]
    found = nearest_tree(levels, answers, [1.0] * 3, total)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(total)
    assert distance(levels, answers, found) == pytest.approx(faces(levels, answers, total))


def test_both_agree_where_the_cells_alone_are_answered() -> None:
    """Five hundred cells, most of them 0."""
    generator = np.random.default_rng(1)
    answers = generator.laplace(0, 30, 500) + generator.integers(0, 40, 500)
    found = nearest_tree([cells(500)], [answers], [900.0], 2000)
    assert found == pytest.approx(nearest_counts(answers, 2000), abs=1e-6)


def test_variances_weigh_the_levels() -> None:
    """Two cells that say 10 and 10, and a pair that says 26; a level that is worse counts less."""
    levels = [Level("pair", np.array([0, 0, 1], dtype=np.int32), 2), cells(3)]
    answers = [np.array([26.0, 74.0]), np.array([10.0, 10.0, 80.0])]
    trusted = nearest_tree(levels, answers, [1e-6, 1.0], 100)
    ignored = nearest_tree(levels, answers, [1e12, 1.0], 100)
    assert trusted == pytest.approx([13, 13, 74], abs=1e-3)
    assert ignored == pytest.approx([10, 10, 80], abs=1e-3)


@pytest.mark.parametrize("answers", [[5.0, -3.0], [-7.0, -3.0], [0.0, 0.0]])
def test_nothing_is_shared_out_of_nothing(answers: list[float]) -> None:
    """A total of 0 has one table."""
    told = np.array(answers)
    assert nearest_counts(told, 0).tolist() == [0, 0]
    assert nearest_tree([cells(2)], [told], [1.0], 0).tolist() == [0, 0]
