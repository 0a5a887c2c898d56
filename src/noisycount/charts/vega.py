"""Vega-Lite specifications of pictures, from which `chart` makes Altair charts.

Begin with `vega_lite`. The size of the parts outside the axes is left to Vega-Lite.
"""

from collections.abc import Sequence
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
    frames = [_frame_layers(frame) for frame in picture.frames]
    if len(frames) == 1:
        return {**frames[0], "title": {**title, "frame": "group"}, "config": CONFIG}
    resolve = {"scale": {"x": "independent", "y": "independent", "color": "independent"}}
    return {"vconcat": frames, "title": title, "spacing": picture.spacing, "resolve": resolve, "config": CONFIG}


def _frame_layers(frame: Frame) -> Json:
    width, height = frame.size
    layers = [layer_of(mark, frame) for mark in frame.marks]
    heading = {"title": {"text": frame.title, "subtitle": list(frame.notes)}} if frame.title else {}
    return {"layer": layers, "width": width, "height": height, **heading}


def _x_encoding(frame: Frame) -> Json:
    return {"field": frame.x.axis.field or "x", "type": "quantitative", **_scale_and_axis(frame.x)}


def _y_encoding(frame: Frame) -> Json:
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


def layer_of(mark: PictureMark, frame: Frame) -> Json:
    """Return the layer that draws a mark."""
    x, y = _x_encoding(frame), _y_encoding(frame)
    fields, both = (x["field"], y["field"]), {"x": x, "y": y}
    match mark:
        case CurveMark(points, style, is_area=True):
            line = {"color": style.colour, "strokeWidth": style.width}
            area: Json = {"color": style.colour, "fillOpacity": 0.2, "interpolate": "step", "line": line}
            layer = _marks_layer("area", fields, points, both, **area)
        case CurveMark(points, style):
            layer = _marks_layer("line", fields, points, both, **_stroke_properties(style))
        case DotMarks(points, colour, diameter, kind):
            encoding = {**both, **_kind_colour(kind, colour, frame)}
            layer = _marks_layer("circle", fields, points, encoding, kind, opacity=1, size=diameter**2)
        case BandMark(low, high, colour):
            ends = {"x": x, "x2": {"field": "end"}}
            layer = _marks_layer("rect", (fields[0], "end"), [(low, high)], ends, color=colour, opacity=0.15)
        case RuleMark(place, style):
            layer = _marks_layer("rule", fields[:1], [(place,)], {"x": x}, **_stroke_properties(style))
        case BarMarks(rows, colour, thickness, kind):
            encoding = {"x": x, "x2": {"datum": 0}, "y": y, **_kind_colour(kind, colour, frame)}
            layer = _marks_layer("bar", fields, rows, encoding, kind, height=thickness, opacity=BAR_OPACITY)
        case SpanMarks(rows, style):
            encoding = {"x": {**x, "field": "low"}, "x2": {"field": "high"}, "y": y}
            layer = _marks_layer("rule", ("low", "high", fields[1]), rows, encoding, **_stroke_properties(style))
        case SegmentMark(start, end, style):
            ends = {name: {"value": value} for name, value in zip(("x", "y", "x2", "y2"), (*start, *end), strict=True)}
            layer = _marks_layer("rule", (), [()], ends, **_stroke_properties(style))
        case TextMark():
            layer = _text_layer(mark)
        case _:
            raise TypeError(f"mark must be one of those that results have, got {mark!r}")
    return layer


def _marks_layer(
    shape: str, fields: Sequence[str], rows: Sequence[Sequence[float]], encoding: Json, kind: str = "", **style: object
) -> Json:
    """Return a layer with a mark of one shape for each row. The fields are the numbers of the row, and `kind`."""
    kinds = {"kind": kind} if kind else {}
    values = [dict(zip(fields, row, strict=True)) | kinds for row in rows]
    return {"data": {"values": values}, "mark": {"type": shape, **style}, "encoding": encoding}


def _text_layer(mark: TextMark) -> Json:
    """Return the layer of a text at a place in pixels."""
    values = {"x": mark.place[0], "y": mark.place[1], "text": mark.text}
    encoding = {name: {"value": value} for name, value in values.items()}
    style: Json = {"align": {"start": "left", "middle": "center", "end": "right"}[mark.anchor], "baseline": "middle"}
    style |= {"color": mark.colour, "fontSize": mark.size, "fontWeight": "bold" if mark.is_bold else "normal"}
    return _marks_layer("text", (), [()], encoding, **style, lineBreak="\n", lineHeight=16)


def _stroke_properties(style: Style) -> Json:
    return {"color": style.colour, "strokeDash": list(style.dash), "strokeWidth": style.width}


def _kind_colour(kind: str, colour: str, frame: Frame) -> Json:
    """Return the encoding of the colour of a mark; the legend of the frame, if it has one, explains the kinds."""
    if not kind or not frame.legend:
        return {"color": {"value": colour}}
    names, colours = zip(*frame.legend, strict=True)
    legend = {"orient": "top", "labelFontSize": 13, "titleFontSize": 13, "title": frame.legend_title or None}
    scale = {"domain": list(names), "range": list(colours)}
    return {"color": {"field": "kind", "type": "nominal", "scale": scale, "legend": legend}}
