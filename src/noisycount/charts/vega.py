"""Vega-Lite specifications of pictures, from which `chart` makes Altair charts.

Begin with `vega_lite`. The size of the parts outside the axes is left to Vega-Lite.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import singledispatch
from typing import Any

from noisycount.charts.picture import (
    AxisRange,
    BandMark,
    BarMarks,
    CurveMark,
    DotMarks,
    Frame,
    Picture,
    PictureMark,
    RibbonMark,
    RuleMark,
    SegmentMark,
    SpanMarks,
    TextMark,
)
from noisycount.charts.theme import BAR_OPACITY, FONT, GRID, INK, MUTED, Style

Json = dict[str, Any]

_SHARE = "format(100 * datum.value, '.12~g') + ' %'"
_POWER = "datum.value < 1e-3 ? format(datum.value, '.0e') : format(datum.value, '~g')"
_SIGNED = "datum.value == 0 ? '0' : format(datum.value, '+,d')"
_TITLE = {"anchor": "start", "color": INK, "fontSize": 15, "offset": 8}
_SUBTITLE = {"subtitleColor": MUTED, "subtitleFontSize": 14, "subtitleLineHeight": 18}
CONFIG: Json = {
    "aria": False,  # pages describe each picture in a text of their own
    "axis": {
        "domainColor": MUTED,
        "gridColor": GRID,
        "labelColor": MUTED,
        "labelFontSize": 13,
        "tickColor": MUTED,
        "titleColor": INK,
        "titleFontSize": 14,
        "titleFontWeight": "normal",
        "titlePadding": 8,
    },
    "axisY": {"domain": False, "labelPadding": 6, "ticks": False},
    "background": "white",
    "font": FONT,
    "padding": {"bottom": 12, "left": 12, "right": 24, "top": 12},
    "title": {**_TITLE, **_SUBTITLE},
    "view": {"stroke": None},
}


def vega_lite(picture: Picture) -> Json:
    """Return the Vega-Lite specification of a picture."""
    title = {"text": picture.title, "subtitle": list(picture.notes), "fontSize": picture.title_size, "offset": 18}
    frames = [_frame(frame) for frame in picture.frames]
    if len(frames) == 1:
        return {**frames[0], "title": {**title, "frame": "group"}, "config": CONFIG}
    resolve = {"scale": {"x": "independent", "y": "independent", "color": "independent"}}
    return {"vconcat": frames, "title": title, "spacing": picture.spacing, "resolve": resolve, "config": CONFIG}


def _frame(frame: Frame) -> Json:
    width, height = frame.size
    layers = [layer for mark in frame.marks for layer in layers_of(mark, frame)]
    heading = {"title": {"text": frame.title, "subtitle": list(frame.notes)}} if frame.title else {}
    return {"layer": layers, "width": width, "height": height, **heading}


def _x(frame: Frame) -> Json:
    return {"field": frame.x.axis.field or "x", "type": "quantitative", **_scale_and_axis(frame.x)}


def _y(frame: Frame) -> Json:
    if frame.y is None:
        scale = {"domain": [0, frame.size[1]], "reverse": True, "nice": False}
        return {"field": "place", "type": "quantitative", "axis": None, "scale": scale}
    encoding = {"field": frame.y.axis.field or "y", "type": "quantitative", **_scale_and_axis(frame.y)}
    above = {"titleAngle": 0, "titleAlign": "left", "titleAnchor": "end", "titleBaseline": "bottom"}
    encoding["axis"] |= {**above, "titleX": -44, "titleY": -10, "title": frame.y.axis.label or None}
    return encoding


def _scale_and_axis(axis_range: AxisRange) -> Json:
    axis = axis_range.axis
    scale = {
        "type": "log" if axis.is_log else "linear",
        "domain": [axis_range.low, axis_range.high],
        "nice": False,
        "zero": False,
        "reverse": axis.is_reversed,
    }
    kinds = ((axis.is_share, _SHARE), (axis.is_log, _POWER), (axis.is_signed, _SIGNED))
    expression = next((text for is_kind, text in kinds if is_kind), None)
    numbers = {"format": ",.12~g"} if expression is None else {"labelExpr": expression}
    values = [value for value, _ in axis_range.ticks]
    drawn: Json = {"values": values, "grid": axis_range.has_grid, **numbers, "title": axis.label or None}
    if not axis_range.has_numbers:
        drawn |= {"labels": False, "title": None}
    return {"scale": scale, "axis": drawn}


def _layer(kind: str, values: Sequence[Mapping[str, object]], encoding: Json, **style: object) -> Json:
    return {"data": {"values": list(values)}, "mark": {"type": kind, **style}, "encoding": encoding}


def _stroke(style: Style) -> Json:
    return {"color": style.colour, "strokeDash": list(style.dash), "strokeWidth": style.width}


def _rows(x: Json, y: Json, points: Sequence[tuple[float, float]], kind: str = "") -> list[Json]:
    """Return points as rows with the fields of two encodings, and the kind of the mark if it has one."""
    kinds = {"kind": kind} if kind else {}
    return [{x["field"]: x_value, y["field"]: y_value, **kinds} for x_value, y_value in points]


def _kind_colour(kind: str, colour: str, frame: Frame) -> Json:
    """Return the encoding of the colour of a mark; the legend of the frame, if it has one, explains the kinds."""
    if not kind or not frame.legend:
        return {"color": {"value": colour}}
    names, colours = zip(*frame.legend, strict=True)
    legend = {"orient": "top", "labelFontSize": 13, "titleFontSize": 13, "title": frame.legend_title or None}
    scale = {"domain": list(names), "range": list(colours)}
    return {"color": {"field": "kind", "type": "nominal", "scale": scale, "legend": legend}}


@singledispatch
def layers_of(mark: PictureMark, frame: Frame) -> Iterator[Json]:  # noqa: ARG001 - used by each kind
    """Yield the layers that draw a mark."""
    raise TypeError(f"mark must be one of the marks of a picture, got {mark!r}")


@layers_of.register
def _(mark: CurveMark, frame: Frame) -> Iterator[Json]:
    x, y = _x(frame), _y(frame)
    values, encoding = _rows(x, y, mark.points), {"x": x, "y": y}
    if mark.is_area:
        line = {"color": mark.style.colour, "strokeWidth": mark.style.width}
        style = {"color": mark.style.colour, "fillOpacity": 0.2, "interpolate": "step", "line": line}
        yield _layer("area", values, encoding, **style)
    else:
        yield _layer("line", values, encoding, **_stroke(mark.style))


@layers_of.register
def _(mark: DotMarks, frame: Frame) -> Iterator[Json]:
    x, y = _x(frame), _y(frame)
    encoding = {"x": x, "y": y, **_kind_colour(mark.kind, mark.colour, frame)}
    yield _layer("circle", _rows(x, y, mark.points, mark.kind), encoding, opacity=1, size=mark.diameter**2)


@layers_of.register
def _(mark: BandMark, frame: Frame) -> Iterator[Json]:
    x = _x(frame)
    values = [{x["field"]: mark.low, "end": mark.high}]
    yield _layer("rect", values, {"x": x, "x2": {"field": "end"}}, color=mark.colour, opacity=0.15)


@layers_of.register
def _(mark: RibbonMark, frame: Frame) -> Iterator[Json]:
    x, y = _x(frame), _y(frame)
    values = [{x["field"]: place, "low": low, "high": high} for place, low, high in mark.rows]
    yield _layer(
        "area", values, {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}}, color=mark.colour, opacity=0.2
    )


@layers_of.register
def _(mark: RuleMark, frame: Frame) -> Iterator[Json]:
    x = _x(frame)
    yield _layer("rule", [{x["field"]: mark.x}], {"x": x}, **_stroke(mark.style))


@layers_of.register
def _(mark: BarMarks, frame: Frame) -> Iterator[Json]:
    x, y = _x(frame), _y(frame)
    encoding = {"x": x, "x2": {"datum": 0}, "y": y, **_kind_colour(mark.kind, mark.colour, frame)}
    yield _layer("bar", _rows(x, y, mark.rows, mark.kind), encoding, height=mark.thickness, opacity=BAR_OPACITY)


@layers_of.register
def _(mark: SpanMarks, frame: Frame) -> Iterator[Json]:
    y = _y(frame)
    values = [{"low": low, "high": high, y["field"]: place} for low, high, place in mark.rows]
    encoding = {"x": {**_x(frame), "field": "low"}, "x2": {"field": "high"}, "y": y}
    yield _layer("rule", values, encoding, **_stroke(mark.style))


@layers_of.register
def _(mark: SegmentMark, frame: Frame) -> Iterator[Json]:  # noqa: ARG001 - in pixels already
    values = zip(("x", "y", "x2", "y2"), (*mark.start, *mark.end), strict=True)
    yield _layer("rule", [{}], {name: {"value": value} for name, value in values}, **_stroke(mark.style))


@layers_of.register
def _(mark: TextMark, frame: Frame) -> Iterator[Json]:  # noqa: ARG001 - in pixels already
    (x, y), align = mark.place, {"start": "left", "middle": "center", "end": "right"}[mark.anchor]
    encoding = {"x": {"value": x}, "y": {"value": y}, "text": {"value": mark.text}}
    style = {"align": align, "baseline": "middle", "color": mark.colour, "fontSize": mark.size}
    weight = "bold" if mark.is_bold else "normal"
    yield _layer("text", [{}], encoding, **style, fontWeight=weight, lineBreak="\n", lineHeight=16)
