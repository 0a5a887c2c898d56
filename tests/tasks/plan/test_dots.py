from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisycount.tasks.plan import Dots

HALVES = st.lists(st.integers(0, 10**12), min_size=25, max_size=25)
COLUMNS = st.integers(5, 50)


def symmetric(half: list[int]) -> list[int]:
    """Errors and their mirror images, rising."""
    return sorted([*half, *(-error for error in half)])


@given(half=HALVES, most=COLUMNS, centre=st.integers(-(10**12), 10**12))
def test_every_error_is_one_dot_in_its_column(half: list[int], most: int, centre: int) -> None:
    """No dot is lost, none is farther than half a column from its error, and there is room."""
    errors = symmetric(half)
    dots = Dots.of(errors, centre, most)
    assert sum(dots.heights) == 50
    assert len(dots.heights) <= most
    assert dots.heights == dots.heights[::-1]
    middles = [(column - dots.reach) * dots.step for column, height in enumerate(dots.heights) for _ in range(height)]
    assert all(abs(error - middle) <= dots.step / 2 for error, middle in zip(errors, middles, strict=True))


@given(half=HALVES, most=COLUMNS, is_offset=st.booleans())
def test_the_text_shows_every_dot(half: list[int], most: int, *, is_offset: bool) -> None:
    """Fifty dots above an axis that has at least one label, all equally long below ten rows."""
    *rows, axis, labels = Dots.of(symmetric(half), 7, most).lines(is_offset=is_offset)
    assert "".join(rows).count("●") == 50
    assert len(rows) <= 10
    assert set(axis) <= {"─", "┬"}
    assert max(map(len, rows)) <= len(axis)
    assert labels.strip()
    assert len(labels) <= max(len(axis) + 2, 20)


@given(half=HALVES, most=COLUMNS)
def test_dots_of_the_picture_do_not_overlap(half: list[int], most: int) -> None:
    """Places are distinct, a gap apart in each row, and centred on their columns."""
    dots = Dots.of(symmetric(half), 0, most)
    assert len(set(dots.places)) == len(dots.places) == 50
    rows: dict[int, list[float]] = {}
    for value, level in dots.places:
        rows.setdefault(level, []).append(value)
    for values in rows.values():
        gaps = [after - before for before, after in pairwise(values)]
        assert all(gap >= dots.gap * (1 - 1e-9) for gap in gaps)
        assert sum(values) == pytest.approx(0, abs=1e-3 * dots.step)


def test_labels_stand_below_their_marks() -> None:
    """The middle of a label is under its mark, or half a character to its left."""
    errors = symmetric([0] * 10 + [3] * 8 + [6] * 5 + [9, 12])
    *_, axis, labels = Dots.of(errors, 100, 30).lines(is_offset=False)
    marks = [place for place, mark in enumerate(axis) if mark == "┬"]
    found = [labels.index(label) + (len(label) - 1) // 2 for label in labels.split()]
    assert "100" in labels.split()
    assert set(found) <= set(marks)


def test_errors_have_signs() -> None:
    """Below no error a minus, above a plus."""
    *_, labels = Dots.of(symmetric([0] * 20 + [5] * 5), 0, 30).lines(is_offset=True)
    assert labels.split()[0] == "−5"
    assert "0" in labels.split()
    assert labels.split()[-1] == "+5"


def test_many_dots_of_one_value_stand_abreast() -> None:
    """Fifty equal answers make five columns of ten."""
    *rows, axis, labels = Dots.of([0] * 50, 7, 30).lines(is_offset=False)
    assert rows == ["●●●●●"] * 10
    assert (axis, labels.strip()) == ("──┬──", "7")


def test_columns_hold_equally_many_whole_numbers() -> None:
    """With each error from −24 to 24 once, and 0 twice, only the middle column stands out."""
    dots = Dots.of(sorted([*range(-24, 25), 0]), 0, 20)
    assert dots.step == 3
    assert set(dots.heights[1:-1]) == {3, 4}
    assert dots.heights[dots.reach] == 4
