"""How charts are drawn and written: SVG and PNG without a browser, long texts in lines.

Vega-Lite's schema is not checked, which takes several times as long as all else; the tests do.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from textwrap import wrap
from typing import Any, TypeVar

import altair as alt
import vl_convert
from altair.utils.schemapi import debug_mode

from noisycount.charts.theme import GREEN, INK, MUTED

_ROOM = 0.02  # of the width, beyond the ends of an axis
_LABEL = 38  # characters of a line beside an axis
_NOTE = 70  # of a line above rows
_LINE = 16  # pixels of a line of text
Build = TypeVar("Build", bound=Callable[..., alt.TopLevelMixin])


def as_lines(text: str, longest: int) -> list[str]:
    """The lines of a text that stands above a chart, at least one.

    Example:
        >>> as_lines("age >= 50 and site = 4", 12)
        ['age >= 50', 'and site = 4']
    """
    return wrap(text, longest) or [text]


def label_height(label: str) -> int:
    """The height of a label beside an axis, in pixels."""
    return _LINE * len(as_lines(label, _LABEL))


def data_chart(values: Sequence[Mapping[str, object]]) -> alt.Chart:
    """Rows to be drawn."""
    return alt.Chart(alt.InlineData(list(values)))


def heading(title: str, notes: Sequence[str] | str, offset: int = 18) -> alt.TitleParams:
    """What stands above a chart."""
    return alt.TitleParams(title, subtitle=notes, fontSize=19, offset=offset)


def table_heading(title: str, notes: Sequence[str]) -> alt.TitleParams:
    """Return the heading of rows, with long notes in lines."""
    lines = [line for note in notes for line in as_lines(note, _NOTE)]
    return alt.TitleParams(title, subtitle=lines, fontSize=19, offset=18, frame="group")


def area(values: Sequence[Mapping[str, float]], colour: str) -> alt.Chart:
    """One step a count, since nothing lies between two counts."""
    line = {"color": colour, "strokeWidth": 2}
    drawn: alt.Chart = data_chart(values).mark_area(color=colour, fillOpacity=0.2, interpolate="step", line=line)
    return drawn


def band(low: float, high: float, name: str = "count") -> alt.Chart:
    """A band over whole steps, from half a count below low to half a count above high."""
    drawn: alt.Chart = data_chart([{name: low - 0.5, "end": high + 0.5}]).mark_rect(color=GREEN, opacity=0.15)
    return drawn.encode(x2="end:Q")


def rows_axis(height: float) -> alt.Y:
    """Rows from the top down, in pixels."""
    return alt.Y("place:Q", axis=None, scale=alt.Scale(domain=[0, height], reverse=True, nice=False))


def row_labels(labels: Iterable[tuple[str, float]], y: alt.Y, name: str) -> list[alt.Chart]:
    """Return the labels, each beside the middle of its row, and above them the name of what they are."""
    values = [
        {"label": "\n".join(as_lines(label, _LABEL)), "place": middle - (label_height(label) - _LINE) / 2}
        for label, middle in labels
    ]
    texts: alt.Chart = data_chart(values).mark_text(
        align="right", baseline="middle", lineBreak="\n", lineHeight=_LINE, fontSize=13, color=INK
    )
    heading: alt.Chart = data_chart([{}]).mark_text(align="right", baseline="middle", fontSize=13, color=MUTED)
    return [
        texts.encode(x=alt.XValue(-8), y=y, text="label:N"),
        heading.encode(x=alt.XValue(-8), y=alt.YValue(-12), text=alt.TextValue(name)),
    ]


def zero_line() -> alt.Chart:
    """A line from top to bottom at 0."""
    line: alt.Chart = data_chart([{}]).mark_rule(color=MUTED)
    return line.encode(x=alt.XDatum(0))


def count_scale(rows: Sequence[Mapping[str, Any]]) -> alt.Scale:
    """From the least `low` of the rows, or 0, to their largest `high`, with a little room."""
    least = min(row["low"] for row in rows)
    low, high = min(0, least), max(1, least + 1, *(row["high"] for row in rows))
    room = _ROOM * (high - low)
    return alt.Scale(domain=[low - room if low else 0, high + room], nice=False)


def count_axis() -> alt.Axis:
    """Whole numbers, with lines through the chart."""
    return alt.Axis(format=",d", grid=True, tickCount=5, tickMinStep=1, domain=False)


_SCALE = 2.0  # of a PNG, for sharp screens


def unchecked(build: Build) -> Build:
    """The function of a chart, by which the parts of the chart are not checked one by one."""
    return debug_mode(arg=False)(build)


def specification(chart: alt.TopLevelMixin) -> dict[str, Any]:
    """What Vega-Lite draws."""
    with debug_mode(arg=False):
        whole: dict[str, Any] = chart.to_dict(validate=False)
    return whole


def svg(drawn: dict[str, Any]) -> str:
    """The text of an SVG."""
    return str(vl_convert.vegalite_to_svg(drawn))


def png(drawn: dict[str, Any]) -> bytes:
    """A PNG of double resolution."""
    return bytes(vl_convert.vegalite_to_png(drawn, scale=_SCALE))


def svg_as_png(text: str) -> bytes:
    """The picture of an SVG as a PNG of double resolution."""
    return bytes(vl_convert.svg_to_png(text, scale=_SCALE))


def save(chart: alt.TopLevelMixin, folder: Path, stem: str) -> list[Path]:
    """The two files of a chart, SVG and PNG of double resolution, written without a browser."""
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / f"{stem}.svg", folder / f"{stem}.png"]
    for file in files:
        save_file(chart, file)
    return files


def save_file(chart: alt.TopLevelMixin, file: Path) -> None:
    """Write a chart as SVG or as PNG of double resolution, by the ending of the file's name."""
    drawn = specification(chart)
    if file.suffix.lower() == ".svg":
        file.write_text(svg(drawn), encoding="utf-8")
    else:
        file.write_bytes(png(drawn))
