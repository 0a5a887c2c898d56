"""Shared parts of Altair charts (headings, axes, row labels) and writing of SVG and PNG files without a browser.

Charts are not validated against the schema of Vega-Lite, because that takes several times as long as the drawing
itself; the tests validate them. A chart with most of these parts is in `table`.

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

_ROOM = 0.02  # share of the width that is left free beyond the ends of an axis
_LABEL = 38  # characters of a line of a row label
_NOTE = 70  # characters of a line of a note
_LINE = 16  # height of a line of text, in pixels
Build = TypeVar("Build", bound=Callable[..., alt.TopLevelMixin])


def as_lines(text: str, longest: int) -> list[str]:
    """Return the text wrapped to lines of at most `longest` characters, at least one line.

    Example:
        >>> as_lines("age >= 50 and site = 4", 12)
        ['age >= 50', 'and site = 4']
    """
    return wrap(text, longest) or [text]


def label_height(label: str) -> int:
    """Return the height of a row label, in pixels."""
    return _LINE * len(as_lines(label, _LABEL))


def data_chart(values: Sequence[Mapping[str, object]]) -> alt.Chart:
    """Return a chart without marks whose data are the given rows."""
    return alt.Chart(alt.InlineData(list(values)))


def heading(title: str, notes: Sequence[str] | str, offset: int = 18) -> alt.TitleParams:
    """Return the heading of a chart: its title, and the notes below it."""
    return alt.TitleParams(title, subtitle=notes, fontSize=19, offset=offset)


def table_heading(title: str, notes: Sequence[str]) -> alt.TitleParams:
    """Return the heading of a chart of rows, with long notes wrapped."""
    lines = [line for note in notes for line in as_lines(note, _NOTE)]
    return alt.TitleParams(title, subtitle=lines, fontSize=19, offset=18, frame="group")


def area(values: Sequence[Mapping[str, float]], colour: str) -> alt.Chart:
    """Return an area chart in steps, one for each count, because only whole counts have a value."""
    line = {"color": colour, "strokeWidth": 2}
    chart: alt.Chart = data_chart(values).mark_area(color=colour, fillOpacity=0.2, interpolate="step", line=line)
    return chart


def band(low: float, high: float, name: str = "count") -> alt.Chart:
    """Return a shaded band that covers the counts from low to high, each one wide: from low − ½ to high + ½."""
    chart: alt.Chart = data_chart([{name: low - 0.5, "end": high + 0.5}]).mark_rect(color=GREEN, opacity=0.15)
    return chart.encode(x2="end:Q")


def rows_axis(height: float) -> alt.Y:
    """Return a hidden y axis for rows placed in pixels from the top."""
    return alt.Y("place:Q", axis=None, scale=alt.Scale(domain=[0, height], reverse=True, nice=False))


def row_labels(labels: Iterable[tuple[str, float]], y: alt.Y, name: str) -> list[alt.Chart]:
    """Return the marks of the row labels, each at the middle of its row, and of their common name above them.

    Args:
        labels: The text of each label, and the middle of its row in pixels from the top.
        y: The axis of the rows.
        name: The name of the labels, such as that of a column.
    """
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
    """Return a vertical line at 0."""
    line: alt.Chart = data_chart([{}]).mark_rule(color=MUTED)
    return line.encode(x=alt.XDatum(0))


def count_scale(rows: Sequence[Mapping[str, Any]]) -> alt.Scale:
    """Return the scale from 0 or the smallest `low` of the rows to their largest `high`, with some free space."""
    smallest = min(row["low"] for row in rows)
    low, high = min(0, smallest), max(1, smallest + 1, *(row["high"] for row in rows))
    room = _ROOM * (high - low)
    return alt.Scale(domain=[low - room if low else 0, high + room], nice=False)


def count_axis() -> alt.Axis:
    """Return an axis of whole numbers with grid lines."""
    return alt.Axis(format=",d", grid=True, tickCount=5, tickMinStep=1, domain=False)


_SCALE = 2.0  # resolution of a PNG relative to its size in pixels, for high-resolution screens


def unchecked(build: Build) -> Build:
    """Decorate a function that builds a chart: Altair does not validate the parts of the chart."""
    return debug_mode(arg=False)(build)


def specification(chart: alt.TopLevelMixin) -> dict[str, Any]:
    """Return the Vega-Lite specification of a chart."""
    with debug_mode(arg=False):
        vega_lite: dict[str, Any] = chart.to_dict(validate=False)
    return vega_lite


def svg(vega_lite: dict[str, Any]) -> str:
    """Return the SVG text of a Vega-Lite specification."""
    return str(vl_convert.vegalite_to_svg(vega_lite))


def png(vega_lite: dict[str, Any]) -> bytes:
    """Return the PNG of a Vega-Lite specification, in double resolution."""
    return bytes(vl_convert.vegalite_to_png(vega_lite, scale=_SCALE))


def svg_as_png(text: str) -> bytes:
    """Return the PNG of an SVG text, in double resolution."""
    return bytes(vl_convert.svg_to_png(text, scale=_SCALE))


def save(chart: alt.TopLevelMixin, folder: Path, stem: str) -> list[Path]:
    """Write a chart as SVG and as PNG of double resolution, and return the two paths. No browser is needed."""
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / f"{stem}.svg", folder / f"{stem}.png"]
    for file in files:
        save_file(chart, file)
    return files


def save_file(chart: alt.TopLevelMixin, file: Path) -> None:
    """Write a chart as SVG if the name of the file ends with .svg, else as PNG of double resolution."""
    vega_lite = specification(chart)
    if file.suffix.lower() == ".svg":
        file.write_text(svg(vega_lite), encoding="utf-8")
    else:
        file.write_bytes(png(vega_lite))
