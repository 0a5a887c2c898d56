from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import polars as pl
import pytest

import noisycount as nc
from noisycount.analysis.tables.answers import read_answers, resolve_inputs

Release = Callable[..., Any]
TOWNS = {"town": ["Bern", "Bern", "Biel", "Biel"], "sex": ["f", "m", "f", "m"]}


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Release]:
    """Publishes tables of twelve persons."""
    frame = pl.DataFrame(TOWNS).sample(12, with_replacement=True, seed=1)
    frame = frame.with_columns(age=pl.int_range(12))
    ledger = tmp_path_factory.mktemp("ledger") / "ledger.db"
    with nc.open_desk(frame, unit="row", ledger=ledger, budget="1000") as desk:

        def table(by: str, keys: object = None, **asked: Any) -> Any:  # noqa: ANN401
            return desk.release_table(by, keys, epsilon=1, **asked)

        yield table


def test_margins_that_nest_become_the_tree(release: Release) -> None:
    """From the total to the cells, each with its own answers, noise and keys."""
    table = release("town,sex", pl.DataFrame(TOWNS), margins=["town", "total"])
    answers, mechanism, tree = resolve_inputs(table, None, None)
    assert tree.names == ("total", "town", "town,sex")
    assert tree.sizes == (1, 2, 4)
    assert tree.label(2, 3) == ("Biel", "m")
    found = {one.level: one for one in read_answers(answers, mechanism, tree, None)}
    for level, place in ((0, 2), (1, 1), (2, 0)):
        assert found[level].answers.tolist() == table.answers[place].tolist()
        assert found[level].mechanism == table.plan.levels[place].mechanism


def test_margins_that_cross_are_left_out_aloud(release: Release) -> None:
    """No tree holds both of two; the longest chain stays."""
    table = release("town,sex", pl.DataFrame(TOWNS), margins=["town", "sex", "total"])
    with pytest.warns(UserWarning, match="left out: sex"):
        tree = resolve_inputs(table, None, None).tree
    assert tree.names == ("total", "town", "town,sex")


def test_cells_alone_are_a_flat_table(release: Release) -> None:
    """A root is added, about which nothing was answered."""
    answers, _, tree = resolve_inputs(release("town", {"town": ["Bern", "Biel"]}), None, None)
    assert tree.sizes == (1, 2)
    assert tree.place("Biel") == (1, 1)
    assert list(answers) == [1]


def test_other_keys_are_a_part_of_the_total_alone(release: Release) -> None:
    """A margin has one node more for them, without an answer."""
    table = release("town,sex", pl.DataFrame(TOWNS), margins=["town", "total"], other=True)
    answers, mechanism, tree = resolve_inputs(table, None, None)
    assert tree.sizes == (1, 3, 5)
    assert np.isnan(answers[1][2])
    assert tree.label(2, 4)[0] == "(other)"
    assert read_answers(answers, mechanism, tree, None)


def test_ranges_become_a_binary_tree(release: Release) -> None:
    """Each level of them, named by its first and last cell."""
    table = release("age:0,2,4,6,8", cumulative=True)
    tree = resolve_inputs(table, None, None).tree
    assert tree.sizes == nc.Tree.binary(5).sizes
    assert tree.label(1, 0) == ("0 to 1 … 6 to 7",)


def test_margins_that_are_no_sums_are_refused(release: Release) -> None:
    """Persons in several cells count once in the total."""
    table = release("town,sex", pl.DataFrame(TOWNS), margins="total")
    object.__setattr__(table, "is_additive", False)
    with pytest.raises(ValueError, match="margins are sums of its cells"):
        resolve_inputs(table, None, None)


def test_tree_goes_without_saying_for_cells() -> None:
    """Of a flat table, also beside an answer about its total."""
    assert resolve_inputs([1, 2, 3], nc.Exact(), None).tree.sizes == (1, 3)
    assert resolve_inputs({0: [6], -1: [1, 2, 3]}, nc.Exact(), None).tree.sizes == (1, 3)
    for answers in ({0: [6]}, 3, [], [[1, 2]]):
        with pytest.raises(ValueError, match="tree must be given"):
            resolve_inputs(answers, nc.Exact(), None)
    with pytest.raises(ValueError, match="got 3: build it by Tree"):
        resolve_inputs([1, 2], nc.Exact(), 3)  # type: ignore[arg-type]


def test_table_libraries_read_a_posterior() -> None:
    """Its cells with their keys, the answers that there are, and estimates."""
    tree = nc.Tree.of_keys({"year": [1, 1, 2], "mean": ["A", "B", "A"]})
    told = nc.table_posterior([12, np.nan, 3], nc.DiscreteLaplace(2), tree, total=20)
    read = pl.DataFrame(told)
    assert read.to_dict(as_series=False) == told.columns
    assert read.columns == ["year", "mean", "answer", "mean_", "median", "low", "high"]
    assert read["year"].to_list() == ["1", "1", "2"]
    assert read["answer"].to_list() == [12.0, None, 3.0]
    assert read["mean_"].to_numpy() == pytest.approx(told.mean)
    assert read["high"].to_list() == told.high.tolist()


def test_a_posterior_without_one_answer_a_cell_has_no_such_column() -> None:
    """Of sums alone, or several about each cell; one below a threshold is no number."""
    noise = nc.DiscreteLaplace(2)
    sums = nc.table_posterior({0: [20]}, noise, nc.Tree.flat(2), prior=nc.Splits(1))
    assert list(sums.columns) == ["cell", "mean", "median", "low", "high"]
    hidden = nc.table_posterior([12, nc.below(4)], noise, total=16)
    assert hidden.columns["answer"] == [12.0, None]
