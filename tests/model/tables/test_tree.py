import numpy as np
import pytest

from noisycount import Tree

ROWS = {"year": [1975, 1974, 1974, 1975], "site": ["Fitchburg", "Seattle", "Dayton", "Seattle"]}


def test_flat_tree_has_a_root_and_the_cells() -> None:
    """Two levels, all cells children of the root."""
    tree = Tree.flat(3)
    assert (tree.cells, tree.depth, tree.sizes) == (3, 2, (1, 3))
    assert tree.parents(-1).tolist() == [0, 0, 0]


@pytest.mark.parametrize("cells", [1, 2, 3, 8, 13])
def test_binary_tree_halves_down_to_the_cells(cells: int) -> None:
    """Each node has at most two children, and a level has half as many nodes as the next."""
    tree = Tree.binary(cells)
    assert tree.sizes[0] == 1
    assert tree.sizes[-1] == cells
    for level in range(1, tree.depth):
        assert np.bincount(tree.parents(level)).max() <= 2
        assert tree.sizes[level - 1] == -(-tree.sizes[level] // 2)


def test_keys_give_nodes_in_order_of_appearance() -> None:
    """Cells stay in the order of the rows, whatever their keys."""
    tree = Tree.of_keys(ROWS)
    assert tree.names == ("total", "year", "site")
    assert tree.sizes == (1, 2, 4)
    assert tree.parents(2).tolist() == [0, 1, 1, 0]
    assert [tree.label(2, cell) for cell in range(4)] == [
        ("1975", "Fitchburg"),
        ("1974", "Seattle"),
        ("1974", "Dayton"),
        ("1975", "Seattle"),
    ]


class Frame:
    """Columns by name, as data frames give them."""

    columns = tuple(ROWS)

    def __getitem__(self, name: str) -> np.ndarray:
        return np.array(ROWS[name])


@pytest.mark.parametrize("keys", [list(ROWS.values()), Frame(), np.array([*ROWS.values()])])
def test_every_form_of_keys_gives_the_same_tree(keys: object) -> None:
    """A sequence of columns, a data frame and an array are as good as a mapping."""
    tree, same = Tree.of_keys(ROWS), Tree.of_keys(keys)
    assert all(map(np.array_equal, tree.levels, same.levels))
    assert same.label(1, 0) == ("1975",)


def test_missing_keys_and_days_have_texts() -> None:
    """None and nan are missing; a day is told as ISO 8601 writes it."""
    days = np.array(["2024-02-05", "2024-02-05", "2024-02-06"], dtype="datetime64[D]")
    tree = Tree.of_keys({"day": days, "share": [1.5, float("nan"), None]})
    assert tree.label(-1, 1) == ("2024-02-05", "(missing)")


@pytest.mark.parametrize("tree", [Tree.of_keys(ROWS), Tree.binary(5), Tree.flat(["a", "b", "c"])])
def test_nodes_are_found_by_number_by_place_and_by_label(tree: Tree) -> None:
    """Every way to name a node leads to the same one."""
    number = 0
    for level, size in enumerate(tree.sizes):
        for position in range(size):
            assert tree.place(number) == tree.place((level, position)) == (level, position)
            found = tree.place(tree.label(level, position))
            assert tree.label(*found) == tree.label(level, position)
            number += 1
    assert tree.place((-1, 0)) == (tree.depth - 1, 0)


def test_text_alone_is_a_key() -> None:
    """A node of one key needs no tuple."""
    assert Tree.flat(["a", "b"]).place("b") == (1, 1)
    assert Tree.of_keys(ROWS).place((1974, "Dayton")) == (2, 2)


@pytest.mark.parametrize("node", [9, -1, (2, 4), (3, 0), ("1976",), ("1975", "Dayton"), 1.5])
def test_nodes_that_are_none_are_refused(node: object) -> None:
    """No number, place or key that the tree does not have passes for a node."""
    with pytest.raises(ValueError, match=r"^(node|level) must be"):
        Tree.of_keys(ROWS).place(node)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        ([[0, 0]], "at least two"),
        ([[0, 1], [0, 1]], "begin with the root"),
        ([[0, 0], [0, 0]], "each cell once"),
        ([[0, 0], [1, 0]], "each cell once"),
        ([[0, 0, 0], [0, -1, 0], [0, 1, 2]], "got -1 for cell 1 of level 1"),
        ([[0, 0, 0], [0, 2, 0], [0, 1, 2]], "got no cell in 1 of level 1"),
        ([[0, 0], [0, 2**40]], "no cell in some node"),
        ([[0, 0, 0], [0, 0, 1], [0, 1, 1], [0, 1, 2]], "node 1 of level 2 lies in nodes 0 and 1"),
        ([[0, 0, 0], [0, 1]], "a node for each cell"),
        ([[0.0, 0.0], [0.0, 1.0]], "whole numbers"),
        ([[], []], "whole numbers"),
    ],
)
def test_levels_that_are_no_tree_are_refused(levels: list[list[int]], message: str) -> None:
    """Cells in no node or in two, empty nodes and crossing levels are told in one line."""
    with pytest.raises(ValueError, match=message) as refused:
        Tree(levels)  # type: ignore[arg-type]
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"a": [1, 1], "b": [2, 2]}, "once, got 1, 2 in rows 0 and 1"),
        ({"a": [1, 2], "b": [2]}, "a: 2, b: 1"),
        ({"a": []}, "a: 0"),
        ({}, "no column"),
        (["ab"], "columns such as lists"),
        (3, "got int"),
    ],
)
def test_keys_that_name_no_cells_are_refused(keys: object, message: str) -> None:
    """A cell twice, and columns of different lengths, are told in one line."""
    with pytest.raises(ValueError, match=message):
        Tree.of_keys(keys)


def test_other_refusals_of_trees() -> None:
    """Labels of cells differ, names are as many as levels, the root has no parent."""
    with pytest.raises(ValueError, match="in rows 0 and 1"):
        Tree.flat(["a", "a"])
    with pytest.raises(ValueError, match="names must be 2"):
        Tree([[0, 0], [0, 1]], names=("total",))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="below the root"):
        Tree.flat(2).parents(0)
    with pytest.raises(ValueError, match="cells must be"):
        Tree.flat(0)


def test_tree_shows_its_size() -> None:
    """The text of a tree has its cells and levels, not every node."""
    assert repr(Tree.flat(3)) == "Tree(cells=3, sizes=(1, 3), names=('total', 'cell'))"
