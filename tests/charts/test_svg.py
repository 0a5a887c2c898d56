import re
from fractions import Fraction
from xml.etree import ElementTree as ET

import pytest

from noisycount.charts.picture import AxisRange
from noisycount.charts.picture_svg import page_svg
from noisycount.charts.plot import Axis
from noisycount.charts.plot_picture import view_picture
from noisycount.tasks.explore.sliders import Sliders
from noisycount.tasks.explore.views import VIEWS, view

PLACES = (
    Sliders(),
    Sliders(size=2, rate=Fraction(1, 2), scale=Fraction(3, 10)),
    Sliders(size=10**6, scale=Fraction(10000), known=Fraction(0)),
    Sliders(size=300, noise="gaussian", sample=Fraction(1, 10), deviations=Fraction(-4)),
)


@pytest.fixture(scope="module", params=PLACES, ids=["start", "tiny", "wide", "sampled"])
def placed(request: pytest.FixtureRequest) -> Sliders:
    """Places at the ends of ranges."""
    found: Sliders = request.param
    return found


@pytest.mark.parametrize("name", VIEWS)
def test_picture_is_whole_and_plain(name: str, placed: Sliders) -> None:
    """The SVG is well-formed, says what it shows, and has nothing that a strict policy refuses."""
    shown = view(name, placed)
    root = ET.fromstring(page_svg(view_picture(shown), name, shown.sentence))  # noqa: S314  (our own)
    assert root.get("role") == "img"
    assert root.get("aria-labelledby") == f"{name}-title {name}-desc"
    assert root.findtext("title") == shown.plot.title
    assert shown.sentence in (root.findtext("desc") or "")
    for part in root.iter():
        assert part.tag in {"svg", "title", "desc", "g", "path", "rect", "text", "tspan"}
        assert not {each for each in part.attrib if each == "style" or each.startswith("on")}
    words = ["".join(part.itertext()) for part in root.iter("text")]
    raised = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "−0123456789")  # small digits above the line
    assert {axis.label.translate(raised) for axis in (shown.plot.x, shown.plot.y)} <= set(words)
    assert {line.name for line in shown.lines} <= set(words)
    assert len(list(filter(None, words))) == len(words)


@pytest.mark.parametrize("name", VIEWS)
def test_nothing_leaves_the_picture(name: str, placed: Sliders) -> None:
    """Every coordinate is a number inside the picture."""
    text = page_svg(view_picture(view(name, placed)), name, "")
    assert "nan" not in text
    assert "inf" not in text
    root = ET.fromstring(text)  # noqa: S314  (our own)
    width, height = (float(root.get(side) or 0) for side in ("width", "height"))
    for part in root.iter("path"):
        path = part.get("d") or ""
        for x, y in re.findall(r"[ML](\S+) (-?[\d.]+)", path):
            assert 0 <= float(x) <= width
            assert -10 <= float(y) <= height
    for part in root.iter("rect"):
        assert float(part.get("width") or -1) >= 0


def test_same_place_same_bytes() -> None:
    """A picture depends on nothing but where the sliders stand."""
    first, second = (page_svg(view_picture(view("delta", Sliders())), "delta", "") for _ in range(2))
    assert first == second


@pytest.mark.parametrize(
    ("axis", "values", "ticks"),
    [
        (Axis("x"), [0, 10], ["0", "2", "4", "6", "8", "10"]),
        (Axis("x"), [-3, 3], ["−3", "−2", "−1", "0", "1", "2", "3"]),
        (Axis("x", is_log=True), [1, 100], ["1", "2", "5", "10", "20", "50", "100"]),
        (Axis("x", is_log=True, low=1e-9, high=1.0), [1], ["10⁻⁹", "10⁻⁷", "10⁻⁵", "0.001", "0.1"]),
        (Axis("x", is_share=True, low=0.5), [0.6], ["50 %", "52 %", "54 %", "56 %", "58 %", "60 %"]),
    ],
)
def test_numbers_are_round(axis: Axis, values: list[float], ticks: list[str]) -> None:
    """Axes have few round numbers, in the form in which people write them."""
    assert [text for _, text in AxisRange.from_values(axis, values).ticks] == ticks


@pytest.mark.parametrize("is_log", [False, True])
@pytest.mark.parametrize("values", [[5.0, 5.0], [5.0, 5.0001], [1e-12, 1e9]])
def test_every_span_has_a_width(values: list[float], is_log: bool) -> None:  # noqa: FBT001
    """Values that are hardly apart, or far apart, are drawn from end to end."""
    span = AxisRange.from_values(Axis("x", is_log=is_log), values)
    assert span.low < span.high
    assert 0 <= span.share(values[0]) <= span.share(values[1]) <= 1
    assert len(span.ticks) > 1
