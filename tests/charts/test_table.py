import struct
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from noisycount.charts.picture import BarMarks, Frame, SpanMarks, TextMark
from noisycount.charts.picture_svg import save_picture
from noisycount.charts.table import MOST_ROWS, TableBar, TableBars, table_picture
from tests.helpers.picture_marks import marks_of, svg_texts

BARS = TableBars(
    [TableBar("Bern", 40, 9), TableBar("Überlingen am Bodensee, Landkreis Konstanz", -3, 9)],
    "Persons by town",
    ["line: ±9"],
    "persons, with noise",
)


@dataclass(frozen=True)
class Row:
    """A row as tables have it."""

    labels: tuple[object, ...]
    answer: int
    level: str = "cells"
    error: int = 9
    error_of_all: int = 14


def told(rows: list[Row], names: tuple[str, ...], where: str | None = None) -> Any:  # noqa: ANN401
    """A table as the chart sees one."""
    return SimpleNamespace(
        answers=([row.answer for row in rows if row.level != "total"],),
        labels=SimpleNamespace(names=names),
        rows=rows,
        where=where,
        unit="person",
        confidence=0.95,
    )


def frame_of(bars: TableBars) -> Frame:
    """Return the frame of the cells."""
    return table_picture(bars).frames[0]


def labels_of(frame: Frame) -> list[TextMark]:
    """Return the texts left of the axes; the last is the common name of the labels."""
    return marks_of(frame, TextMark)


def test_each_row_has_a_bar_and_its_interval() -> None:
    """From 0 to the answer, negative ones too, and ±error around it."""
    frame = frame_of(BARS)
    (bars,), (spans,) = marks_of(frame, BarMarks), marks_of(frame, SpanMarks)
    assert [answer for answer, _ in bars.rows] == [40, -3]
    assert [(low, high) for low, high, _ in spans.rows] == [(31, 49), (-12, 6)]
    assert [place for _, place in bars.rows] == [place for _, _, place in spans.rows]
    assert frame.x.low < -12
    assert frame.x.high > 49


def test_long_labels_are_cut_into_lines() -> None:
    """None is lost, and the lines of one label do not overlap those of the next."""
    *labels, _ = labels_of(frame_of(BARS))
    assert [label.text for label in labels] == ["Bern", "Überlingen am Bodensee, Landkreis\nKonstanz"]
    assert labels[1].place[1] - labels[0].place[1] >= 16


def test_few_last_keys_have_colours() -> None:
    """Bars of one label stand together, and a legend names the colours."""
    rows = [Row((site, sex), 10) for site in (1, 2, 3) for sex in (False, True)]
    bars = TableBars.from_table(told(rows, ("site", "female"), "age >= 40"))
    assert (bars.kinds, bars.names) == ("female", ["false", "true"])
    assert bars.title == "Persons by site and female"
    assert bars.notes == ["age >= 40", "line: ±9 around each answer, 95 % sure; all at once within ±14"]
    frame = frame_of(bars)
    assert [label.text for label in labels_of(frame)] == ["1", "2", "3", "site"]
    assert [(mark.kind, mark.colour) for mark in marks_of(frame, BarMarks)] == frame.legend
    assert svg_texts(table_picture(bars))[3:6] == ["female", "false", "true"]


def test_errors_that_differ_are_all_stated() -> None:
    """The note gives the smallest and the largest ±, and every bar has the line of its own."""
    rows = [Row(("a",), 40, error=7), Row(("b",), 400, error=30, error_of_all=50), Row(("c",), 90, error=12)]
    bars = TableBars.from_table(told(rows, ("town",)))
    assert bars.notes == ["line: ±7 to ±30 around each answer, 95 % sure; all at once within ±50"]
    assert [bar.error for bar in bars.bars] == [7, 30, 12]


@pytest.mark.parametrize(
    "rows",
    [
        [Row((site, plan), 10) for site in (1, 2) for plan in range(9)],
        [*(Row((site, sex), 1) for sex in "fm" for site in (1, 2))],
        [Row((1, None), 1), Row((None, None), 1, "other")],
    ],
)
def test_other_keys_are_in_the_label(rows: list[Row]) -> None:
    """Many keys, unordered keys and the row of other keys are part of the label."""
    bars = TableBars.from_table(told(rows, ("site", "plan")))
    assert not bars.kinds
    assert len({bar.label for bar in bars.bars}) == len(rows)


def test_words_stand_for_keys_without_text() -> None:
    """Missing values and other keys; margins are no bars, as they would hide the cells."""
    rows = [Row((None,), 4), Row((None,), 2, "other"), Row((None,), 7, "total")]
    bars = TableBars.from_table(told(rows, ("town",)))
    assert [bar.label for bar in bars.bars] == ["(missing)", "(other)"]


def test_what_nobody_could_read_is_refused() -> None:
    """More rows than fit, or none at all."""
    with pytest.raises(ValueError, match="result has 201 rows, and a chart shows 1 to 200"):
        TableBars.from_table(told([Row((number,), 1) for number in range(MOST_ROWS + 1)], ("town",)))
    with pytest.raises(ValueError, match="result has 0 rows"):
        replace(BARS, bars=[])


SUMS = SimpleNamespace(cumulative=np.array([40.5, 30.25, 100.0]), cumulative_errors=np.array([3.0, 4.0, 5.5]))


def test_sums_of_a_cumulative_table_stand_below_its_rows() -> None:
    """Each with two standard errors on both sides, on a scale of its own, with the same labels in the same order."""
    rows = [Row(("18 to 64",), 40), Row(("0 to 17",), -10), Row(("65 or more",), 70)]
    table = told(rows, ("age",))
    table.cumulative, table.cumulative_errors = SUMS.cumulative, SUMS.cumulative_errors
    bars = TableBars.from_table(table)
    assert [(bar.label, bar.answer, bar.error) for bar in bars.sums] == [
        ("18 to 64", 40.5, 6.0),
        ("0 to 17", 30.25, 8.0),
        ("65 or more", 100.0, 11.0),
    ]
    cells, sums = table_picture(bars).frames
    assert (sums.title, sums.notes) == ("Sum so far", ["line: 2 standard errors on each side"])
    for frame, answers in ((cells, [40, -10, 70]), (sums, [40.5, 30.25, 100.0])):
        (drawn,), (spans,), labels = marks_of(frame, BarMarks), marks_of(frame, SpanMarks), labels_of(frame)[:-1]
        assert [answer for answer, _ in drawn.rows] == answers
        assert [label.text for label in labels] == ["18 to 64", "0 to 17", "65 or more"]
        assert [label.place[1] for label in labels] == sorted(label.place[1] for label in labels)
        assert frame.x.low <= min(low for low, _, _ in spans.rows)
        assert frame.x.high >= max(high for _, high, _ in spans.rows)


def test_a_list_keeps_its_order() -> None:
    """Questions stand as they were asked, whatever their counts, and each bar beside its own."""
    questions = ["town = 'Bern'", "age >= 65", "10 <= age", "age < 9", "age >= 65 and town = 'Bern'"]
    counts = [30, 900, 5, 400, 1]
    rows = [Row((question,), count) for question, count in zip(questions, counts, strict=True)]
    frame = frame_of(TableBars.from_table(told(rows, ("question",))))
    (bars,), (*labels, name) = marks_of(frame, BarMarks), labels_of(frame)
    assert [label.text for label in labels] == questions
    assert list(bars.rows) == list(zip(counts, [label.place[1] for label in labels], strict=True))
    assert name.text == "question"


@pytest.mark.thorough
@pytest.mark.parametrize("rows", [1, 100])
def test_pictures_have_room_for_all_rows(tmp_path: Path, rows: int) -> None:
    """Pictures of one and of a hundred rows have room for each row, in SVG and PNG."""
    table = told([Row((f"town {number}",), number) for number in range(rows)], ("town",))
    for name in ("table.svg", "table.png"):
        save_picture(table_picture(TableBars.from_table(table)), tmp_path / name)
    _, height = struct.unpack(">II", (tmp_path / "table.png").read_bytes()[16:24])
    assert height > 2 * 20 * rows
    assert f"town {rows - 1}" in (tmp_path / "table.svg").read_text("utf-8")
