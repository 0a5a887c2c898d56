import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisycount.model.tables.levels import TOTAL, Codes, Level, cell_level, margin_levels, range_bounds, range_levels

NAMES = ("town", "sex", "age")


@st.composite
def cells(draw: st.DrawFn) -> Codes:
    """Some distinct combinations of keys of three parts, in any order."""
    keys = st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 1))
    return np.array(draw(st.lists(keys, min_size=1, max_size=24, unique=True)), dtype=np.int32)


@given(codes=cells(), margin=st.sets(st.sampled_from(NAMES), max_size=2), has_other=st.booleans())
def test_a_margin_has_a_node_for_each_combination_in_order(*, codes: Codes, margin: set[str], has_other: bool) -> None:
    """Each cell lies in the node of its own keys; nodes are sorted by the places of their keys."""
    kept = [part for part, name in enumerate(NAMES) if name in margin]
    (level,) = margin_levels(codes, NAMES, [tuple(margin)], has_other=has_other)
    nodes = sorted({tuple(int(cell[part]) for part in kept) for cell in codes})
    assert level.size == len(nodes)
    assert level.of_cell[: len(codes)].tolist() == [
        nodes.index(tuple(int(cell[part]) for part in kept)) for cell in codes
    ]
    assert level.of_cell[len(codes) :].tolist() == [0 if not kept else -1] * has_other
    assert level.codes is not None
    assert [tuple(node[kept]) for node in level.codes] == nodes
    assert (np.delete(level.codes, kept, axis=1) == -1).all()


def test_margins_come_as_they_are_asked_and_have_names() -> None:
    """A margin is called after its parts in the order of the table; without any, the total."""
    codes = np.zeros((1, 3), dtype=np.int32)
    levels = margin_levels(codes, NAMES, [(), ("sex", "town"), ("age",)])
    assert [level.name for level in levels] == [TOTAL, "town,sex", "age"]


def test_a_margin_of_what_is_no_part_is_refused() -> None:
    """The message names it, and the parts."""
    with pytest.raises(ValueError, match=r"^margins name 'region': choose parts of town, sex, age"):
        margin_levels(np.zeros((1, 3), dtype=np.int32), NAMES, [("region",)])


@given(codes=cells(), has_other=st.booleans())
def test_the_cells_are_their_own_nodes(*, codes: Codes, has_other: bool) -> None:
    """Other, the last one, has no keys."""
    level = cell_level(codes, NAMES, has_other=has_other)
    assert level.of_cell.tolist() == list(range(len(codes) + has_other))
    assert (level.name, level.size) == ("town,sex,age", len(codes) + has_other)
    assert level.codes is codes


@given(st.integers(1, 200))
def test_ranges_are_a_binary_tree(size: int) -> None:
    """Each level halves the one below, the last has one node; its bounds hold what it counts."""
    levels = range_levels(size)
    below = np.arange(size)
    for power, level in enumerate(levels, start=1):
        assert level.of_cell.tolist() == [cell // 2**power for cell in range(size)]
        assert level.size == len(set(level.of_cell.tolist())) == (below.max() + 2) // 2
        assert range_bounds(level).tolist() == [_ends(level, node) for node in range(level.size)]
        below = level.of_cell
    assert below.max() == 0
    assert (levels[-1].size if levels else size) == 1


def _ends(level: Level, node: int) -> list[int]:
    inside = np.flatnonzero(level.of_cell == node)
    return [int(inside[0]), int(inside[-1])]


def test_a_million_cells_take_no_loop_of_python() -> None:
    """The largest table has its margins and ranges at once."""
    grid = np.indices((1000, 1000)).reshape(2, -1).T.astype(np.int32)
    row, total = margin_levels(grid, ("a", "b"), [("a",), ()])
    assert (row.size, total.size, len(range_levels(10**6))) == (1000, 1, 20)
