import csv
import io
import json

import pytest

import noisycount as nc
from noisycount.charts.plot import Axis, Line, Panel
from noisycount.charts.theme import STYLES
from noisycount.papers.figure import Claim, Figure, Verdict, number, percent
from tests.papers.test_papers import KEYS, figure

STYLE = STYLES["answer"]


@pytest.mark.thorough
@pytest.mark.parametrize("key", KEYS[::5])
def test_the_csv_holds_every_point_to_the_last_digit(key: str) -> None:
    """Four columns, the last two with units in their headers."""
    shown = figure(key)
    header, *rows = csv.reader(io.StringIO(shown.csv()))
    assert header == ["panel", "line", shown.x.header, shown.y.header]
    assert all(name.endswith(")") and "()" not in name for name in header[2:])
    points = [
        (panel.title, line.name, x, y)
        for panel in shown.panels
        for line in panel.lines
        for x, y in zip(line.xs, line.ys, strict=True)
    ]
    assert [(panel, line, float(x), float(y)) for panel, line, x, y in rows] == points


def test_headers_have_units() -> None:
    """Records, shares and plain numbers."""
    assert Axis("error", "records").header == "error (records)"
    assert Axis("rate", is_share=True).header == "rate (share)"
    assert Axis("ε").header == "ε (no unit)"
    assert Axis("ε").label == "ε"


def test_lines_that_cannot_be_drawn_are_refused() -> None:
    """Each place has one finite value."""
    with pytest.raises(ValueError, match="the same length, got 2 and 1"):
        Line("a", STYLE, (1.0, 2.0), (1.0,))
    with pytest.raises(ValueError, match="the same length, got 0 and 0"):
        Line("a", STYLE, (), ())
    with pytest.raises(ValueError, match="must be finite, got nan: leave it out"):
        Line("a", STYLE, (1.0, 2.0), (1.0, float("nan")))


@pytest.mark.parametrize(
    ("axis", "value"), [(Axis("y", low=0.0, high=3.0), 4.0), (Axis("y", low=0.5), 0.0), (Axis("y", is_log=True), 0.0)]
)
def test_a_line_that_leaves_the_picture_is_refused(axis: Axis, value: float) -> None:
    """The message names the figure, the line and the value."""
    line = Line("a", STYLE, (1.0, 2.0), (1.0, value))
    message = rf"y of 'a' in a\.1 must lie on its axis, got {value}: widen"
    with pytest.raises(ValueError, match=message):
        Figure("a.1", "A", "1", "T", "", Axis("x"), axis, (Panel("", (line,)),))


def test_what_is_not_there_is_refused() -> None:
    """A line by a wrong name, a value at a wrong place."""
    line = Line("a", STYLE, (1.0, 2.0), (3.0, 4.0))
    panel = Panel("", (line,))
    assert panel.line("a").at(2.0) == 4.0
    with pytest.raises(ValueError, match=r"one of \['a'\], got 'b'"):
        panel.line("b")
    with pytest.raises(ValueError, match=r"a point of the line 'a', got 1\.5"):
        line.at(1.5)


def test_a_description_tells_ends_and_turns() -> None:
    """A description states the ends of each line and its extreme between them."""
    line = Line("a", STYLE, (0.0, 1.0, 2.0), (1.0, 5.0, 2.0))
    shown = Figure("a.1", "A", "1", "Title", "", Axis("x"), Axis("y"), (Panel("left", (line,)),))
    told = "Title. y against x. left: a: from 1 at 0 to 2 at 2, highest 5 at 1."
    assert shown.description == told


def test_verdicts_count_their_checks() -> None:
    """Checks that all hold, hold in part, or all fail give three verdicts."""
    assert Verdict.from_checks(True) is Verdict.HOLDS  # noqa: FBT003  (checks are truths)
    assert Verdict.from_checks(False, True) is Verdict.PARTLY  # noqa: FBT003  (the same)
    assert Verdict.from_checks(False) is Verdict.FAILS  # noqa: FBT003  (the same)


def test_numbers_are_as_in_print() -> None:
    """So many digits, no power where none is needed, a true minus sign."""
    numbers = [number(0.00012345), number(123456.0), number(-0.5), number(1e-7), number(0.0)]
    assert numbers == ["0.000123", "123000", "−0.5", "1e-7", "0"]
    assert percent(1.5) == "150 %"


def test_figures_have_public_names() -> None:
    """Every key that `figures` lists is one that `figure` computes; another is refused."""
    assert nc.figures() == KEYS
    shown = nc.figure("naldi2015.1")
    assert isinstance(shown, nc.Figure)
    assert repr(shown) == "Figure('naldi2015.1': Iso-λ curves, 2 claims)"
    assert shown == figure("naldi2015.1")
    with pytest.raises(ValueError, match=r"^key must name a figure, got 'naldi2015': use one"):
        nc.figure("naldi2015")


def test_a_figure_is_one_json_object() -> None:
    """Its words, its points and its claims."""
    claim = Claim("section 1", "It rises.", "it does.", Verdict.HOLDS)
    lines = Line("a", STYLE, (0.0, 1.0), (2.0, 3.0)), Line("promised", STYLE, (0.0, 1.0), (1.0, 1.0))
    axes = Axis("x", is_log=False), Axis("error", "records", low=0.0)
    shown = Figure("a.1", "A", "Fig. 1", "Title", "Note.", *axes, (Panel("", lines),), (claim,))
    assert json.loads(json.dumps(shown.to_dict())) == {
        "figure": "a.1",
        "source": "A",
        "number": "Fig. 1",
        "title": "Title",
        "caption": "Note.",
        "x": {"title": "x", "unit": "", "log": False},
        "y": {"title": "error", "unit": "records", "log": False},
        "panels": [
            {
                "title": "",
                "lines": [
                    {"name": "a", "x": [0.0, 1.0], "y": [2.0, 3.0]},
                    {"name": "promised", "x": [0.0, 1.0], "y": [1.0, 1.0]},
                ],
            }
        ],
        "claims": [{"source": "section 1", "says": "It rises.", "found": "it does.", "verdict": "holds"}],
    }
