"""SVG files of pictures. Colours and widths are attributes, which programs without style sheets understand.

Begin with `save_picture` and `picture_svg`. `_draw_frame` draws a frame, and `_draw_mark` each of its marks.
"""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import assert_never

from noisycount.charts.picture import (
    BandMark,
    BarMarks,
    CurveMark,
    DotMarks,
    Frame,
    Picture,
    PictureMark,
    Point,
    RibbonMark,
    RuleMark,
    SegmentMark,
    SpanMarks,
    TextMark,
    text_width,
)
from noisycount.charts.png import svg_as_png
from noisycount.charts.theme import BAR_OPACITY, FONT, GRID, INK, MUTED, Style

_MARGIN = 12.0  # space around a picture
_HEADING, _NOTE, _NUMBER = 15, 14, 13  # font sizes of the heading of a frame, of notes, and of numbers of axes
_LINE = 18.0  # height of a line of a heading
_TEXT_LINE = 16.0  # height of a line of a text in a frame
_X_NUMBERS, _X_TITLE = 22.0, 20.0  # heights of the numbers below an axis, and of its title
_LEGEND_ROW, _SAMPLE = 20.0, 30.0  # height of a row of a legend of lines, and length of the sample of a line
_TICK, _GAP = 5.0, 8.0  # length of a tick, and distance of numbers from their axis
_BESIDE = 40.0  # pixels by which a number may reach beyond the ends of its axis
_LETTER, _LABEL_GAP = 8.4, 6.0  # largest width of a character below an axis, and smallest gap between two labels


def picture_svg(picture: Picture, *, description: str = "", is_headed: bool = True) -> str:
    """Return the SVG text of a picture.

    Args:
        picture: The picture.
        description: The content in words, for readers who cannot see it.
        is_headed: False to leave out the heading, for pages that print it themselves.
    """
    parts, width, height = _draw_picture(picture, is_headed=is_headed)
    label = f' role="img" aria-label="{escape(description)}"' if description else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {_size_attributes(width, height)}{label} font-family="{FONT}">'
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>{parts}</svg>'
    )


def page_svg(picture: Picture, name: str, description: str) -> str:
    """Return the SVG of a picture for a page that prints its heading, and whose style sheet replaces the colours.

    Args:
        picture: The picture.
        name: The prefix of the identifiers in the SVG, unique on its page.
        description: The content in words, for readers who cannot see it.
    """
    parts, width, height = _draw_picture(picture, is_headed=False)
    return (
        f'<svg class="chart" role="img" aria-labelledby="{name}-title {name}-desc" {_size_attributes(width, height)}>'
        f'<title id="{name}-title">{escape(picture.title)}</title>'
        f'<desc id="{name}-desc">{escape(description)}</desc>{parts}</svg>'
    )


def _size_attributes(width: int, height: int) -> str:
    return f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'


def _draw_picture(picture: Picture, *, is_headed: bool) -> tuple[str, int, int]:
    """Return the elements of a picture, its width and its height."""
    left = _MARGIN + max(_left_extent(frame) for frame in picture.frames)
    parts, bottom, right = list[str](), _MARGIN, 0.0
    if is_headed:
        heading = list(_heading_lines(picture.title, picture.notes, picture.title_size))
        parts += [svg for svg, _ in heading]
        right = max(end for _, end in heading)
        bottom += _LINE * len(heading) + 10
    for number, frame in enumerate(picture.frames):
        top = bottom + (picture.spacing if number else 0)
        frame_parts, bottom = _draw_frame(frame, left, top)
        parts += frame_parts
        right = max(right, left + _right_extent(frame))
    return "".join(parts), math.ceil(right + _MARGIN), math.ceil(bottom + _MARGIN)  # a PNG has whole pixels


def save_picture(picture: Picture, file: Path) -> None:
    """Write a picture to a file, as SVG or PNG by its ending."""
    svg = picture_svg(picture)
    if file.suffix.lower() == ".svg":
        file.write_text(svg, encoding="utf-8")
    else:
        file.write_bytes(svg_as_png(svg))


def fit_width(frame: Frame, width: float) -> Frame:
    """Return a frame whose axes are so wide that a picture of it alone, without a heading, has this width."""
    beyond = _left_extent(frame) + _right_extent(frame) - frame.size[0]
    return replace(frame, size=(width - 2 * _MARGIN - beyond, frame.size[1]))


def _heading_lines(title: str, notes: Sequence[str], size: float) -> Iterator[tuple[str, float]]:
    """Yield the lines of a heading at the top left of a picture, each with its right end."""
    yield (
        _text_element(title, (_MARGIN, _MARGIN + 10), INK, size, is_bold=True),
        _MARGIN + text_width(title, size, is_bold=True),
    )
    for row, note in enumerate(notes, 1):
        middle = _MARGIN + 12 + row * _LINE
        yield _text_element(note, (_MARGIN, middle), MUTED, _NOTE), _MARGIN + text_width(note, _NOTE)


def _left_extent(frame: Frame) -> float:
    """Return the width of the numbers or labels left of the axes."""
    texts = [mark for mark in frame.marks if isinstance(mark, TextMark) and mark.anchor == "end"]
    labels = [_text_extent(mark) - mark.place[0] for mark in texts]
    numbers = [] if frame.y is None or not frame.y.has_numbers else [number for _, number in frame.y.ticks]
    first = -min((start for start, _ in _spans_of_axis_numbers(frame)), default=0.0)
    return max(0.0, first, *labels, *(text_width(number, _NUMBER) + _GAP for number in numbers))


def _right_extent(frame: Frame) -> float:
    """Return the distance from the left end of the axes to the right end of the widest part of the frame."""
    texts = [mark for mark in frame.marks if isinstance(mark, TextMark) and mark.anchor != "end"]
    notes = [text_width(note, _NOTE) for note in frame.notes]
    numbers = [end for _, end in _spans_of_axis_numbers(frame)]
    return max(frame.size[0] + _MARGIN, *(mark.place[0] + _text_extent(mark) for mark in texts), *notes, *numbers)


def _spans_of_axis_numbers(frame: Frame) -> list[tuple[float, float]]:
    """Return the start and the end of each number below the x axis, in pixels from the left end of the axis."""
    if not frame.x.has_numbers:
        return []
    places = [
        (frame.x.share(value) * frame.size[0], text_width(number, _NUMBER) / 2) for value, number in frame.x.ticks
    ]
    return [(middle - half, middle + half) for middle, half in places]


def _text_extent(mark: TextMark) -> float:
    return max(text_width(line, mark.size, is_bold=mark.is_bold) for line in mark.text.split("\n"))


def _draw_frame(frame: Frame, left: float, top: float) -> tuple[list[str], float]:
    """Return the SVG of a frame whose axes begin at `left`, and its bottom; `top` is the top of its heading."""
    parts = []
    if frame.title:
        parts.append(_text_element(frame.title, (_MARGIN, top + 9), INK, _HEADING, is_bold=True))
        top += 22
    for note in frame.notes:
        parts.append(_text_element(note, (_MARGIN, top + 7), MUTED, _NOTE))
        top += _LINE
    if frame.legend:
        parts += _draw_legend(frame, left, top)
        top += _legend_height(frame)
    if frame.y is not None and frame.y.axis.label:
        parts.append(_text_element(frame.y.axis.label, (_MARGIN, top + 12), INK, _NOTE))
        top += 20
    top += max(8.0, *(8 - mark.place[1] for mark in frame.marks if isinstance(mark, TextMark)), 0.0)
    height = frame.size[1]
    inside = [*_draw_axes(frame), *(part for mark in frame.marks for part in _draw_mark(mark, frame))]
    parts.append(f'<g transform="translate({pixels(left)} {pixels(top)})">{"".join(inside)}</g>')
    numbers = _X_NUMBERS + _TEXT_LINE * (_tick_lines(frame) - 1)
    below = numbers + (_X_TITLE if frame.x.axis.label else 0) if frame.x.has_numbers else 0
    return parts, top + height + below


def _draw_legend(frame: Frame, left: float, top: float) -> Iterator[str]:
    """Yield a sample and a name for each entry: kinds of marks in one row after the title, lines in a row each."""
    if frame.legend_title:
        yield _text_element(frame.legend_title, (left, top + 8), INK, _NUMBER, is_bold=True)
        left += text_width(frame.legend_title, _NUMBER, is_bold=True) + 10
    for name, sample in frame.legend:
        if isinstance(sample, Style):
            yield _line_element((_MARGIN, top + 8), (_MARGIN + _SAMPLE, top + 8), sample)
            yield _text_element(name, (_MARGIN + _SAMPLE + _GAP, top + 8), INK, _NUMBER)
            top += _LEGEND_ROW
        else:
            yield _circle_element((left + 5, top + 8), 5, sample)
            yield _text_element(name, (left + 15, top + 8), INK, _NUMBER)
            left += text_width(name, _NUMBER) + 30


def _legend_height(frame: Frame) -> float:
    """Return the height of the legend: a row for each line, or one row for all kinds of marks."""
    lines = [sample for _, sample in frame.legend if isinstance(sample, Style)]
    return _LEGEND_ROW * len(lines) if lines else 24


def _tick_lines(frame: Frame) -> int:
    """Return the largest number of lines of the texts below the x axis."""
    return max((number.count("\n") + 1 for _, number in frame.x.ticks), default=1)


def _draw_axes(frame: Frame) -> Iterator[str]:
    """Yield the grid lines, the numbers and the titles of both axes."""
    width, height = frame.size
    if frame.y is not None:
        for value, number in frame.y.ticks:
            middle = (1 - frame.y.share(value)) * height
            if frame.y.has_grid:
                yield _line_element((0, middle), (width, middle), Style(GRID, width=1))
            if frame.y.has_numbers:
                yield _text_element(number, (-_GAP, middle), MUTED, _NUMBER, anchor="end")
    x_ticks = [(frame.x.share(value) * width, number) for value, number in frame.x.ticks]
    for place, _ in x_ticks:
        ends = (place, 0.0 if frame.x.has_grid else height), (place, height + (0 if frame.x.has_grid else _TICK))
        yield _line_element(*ends, Style(GRID if frame.x.has_grid else MUTED, width=1))
    if not frame.x.has_grid:
        yield _line_element((0, height), (width, height), Style(MUTED, width=1))
    if frame.x.has_numbers:
        yield from _draw_x_texts(frame)


def _draw_x_texts(frame: Frame) -> Iterator[str]:
    """Yield the numbers or names below the x axis, and its title."""
    width, height = frame.size
    x_ticks = [(frame.x.share(value) * width, number) for value, number in frame.x.ticks]
    lines = [(_BESIDE + place, number.split("\n")) for place, number in sorted(x_ticks)]
    rows = [[(place, texts[row]) for place, texts in lines if row < len(texts)] for row in range(_tick_lines(frame))]
    for row, labels in enumerate(rows):
        for place, number in labels_that_fit(labels, width + 2 * _BESIDE):
            middle = place - _BESIDE, height + 14 + _TEXT_LINE * row
            yield _text_element(number, middle, MUTED, _NUMBER, anchor="middle")
    if frame.x.axis.label:
        title_width = text_width(frame.x.axis.label, _NOTE)
        middle = max(width / 2, title_width / 2), height + 33 + _TEXT_LINE * (len(rows) - 1)
        yield _text_element(frame.x.axis.label, middle, INK, _NOTE, anchor="middle")


def labels_that_fit(labels: Sequence[tuple[float, str]], width: float) -> list[tuple[float, str]]:
    """Return the labels below an axis; if they would overlap, only every second, third … of them.

    Args:
        labels: The position of the middle of each label from the left, in ascending order, and its text.
        width: Width of the picture. A label that would reach beyond the picture is moved inwards.
    """
    halves = [_LETTER * len(text) / 2 for _, text in labels]
    inside = [min(max(place, half), width - half) for (place, _), half in zip(labels, halves, strict=True)]
    ends = [(middle - half, middle + half) for middle, half in zip(inside, halves, strict=True)]
    for step in range(1, len(labels) + 1):
        if all(end + _LABEL_GAP <= start for (_, end), (start, _) in pairwise(ends[::step])):
            return list(zip(inside, (text for _, text in labels), strict=True))[::step]
    return []


def _draw_mark(mark: PictureMark, frame: Frame) -> Iterator[str]:
    """Yield the SVG elements of a mark."""
    width, height = frame.size
    match mark:
        case CurveMark():
            yield from _draw_curve(mark, frame)
        case DotMarks():
            yield from (_circle_element(frame.place(*point), mark.diameter / 2, mark.colour) for point in mark.points)
        case BandMark():
            left, right = (frame.x.share(value) * width for value in (mark.low, mark.high))
            yield _rectangle_element((left, 0), (right - left, height), mark.colour, 0.15)
        case RibbonMark():
            below = [frame.place(x, low) for x, low, _ in mark.rows]
            above = [frame.place(x, high) for x, _, high in mark.rows]
            yield f'<path d="{_path_element([*below, *reversed(above)])}Z" fill="{mark.colour}" fill-opacity=".2"/>'
        case RuleMark():
            place = frame.x.share(mark.x) * width
            is_inside = frame.x.low <= mark.x <= frame.x.high
            yield _line_element((place, 0), (place, height), mark.style) if is_inside else ""
        case BarMarks():
            yield from _draw_bars(mark, frame)
        case SpanMarks():
            spans = ((frame.place(low, middle), frame.place(high, middle)) for low, high, middle in mark.rows)
            yield from (_line_element(*ends, mark.style) for ends in spans)
        case SegmentMark():
            yield _line_element(mark.start, mark.end, mark.style)
        case TextMark():
            draw = partial(_text_element, colour=mark.colour, size=mark.size, anchor=mark.anchor, is_bold=mark.is_bold)
            x, y = mark.place
            yield from (draw(line, (x, y + row * _TEXT_LINE)) for row, line in enumerate(mark.text.split("\n")))
        case _:
            assert_never(mark)


def _draw_curve(mark: CurveMark, frame: Frame) -> Iterator[str]:
    """Yield the line of a curve, and the area below it if it is filled."""
    points = [frame.place(*point) for point in mark.points]
    if mark.is_area:
        points = _step_corners(points)
        height = frame.size[1]
        closed = (
            f"{_path_element(points)}L{_point_text((points[-1][0], height))}L{_point_text((points[0][0], height))}Z"
        )
        yield f'<path d="{closed}" fill="{mark.style.colour}" fill-opacity=".2"/>'
    yield f'<path d="{_path_element(points)}" fill="none" stroke-linejoin="round"{_stroke_attributes(mark.style)}/>'


def _draw_bars(mark: BarMarks, frame: Frame) -> Iterator[str]:
    """Yield the bars from 0 to their values."""
    zero = frame.x.share(0) * frame.size[0]
    for value, middle in mark.rows:
        left, right = sorted((zero, frame.x.share(value) * frame.size[0]))
        corner = left, middle - mark.thickness / 2
        yield _rectangle_element(corner, (right - left, mark.thickness), mark.colour, BAR_OPACITY)


def _step_corners(points: Sequence[Point]) -> list[Point]:
    """Return the corners of a curve that jumps in the middle between two points."""
    corners = [points[0]]
    for (before, high), (after, low) in pairwise(points):
        middle = (before + after) / 2
        corners += [(middle, high), (middle, low)]
    return [*corners, points[-1]]


def _text_element(  # noqa: PLR0913 - the attributes of a text
    text: str, place: Point, colour: str, size: float, *, anchor: str = "start", is_bold: bool = False
) -> str:
    """Return the SVG of a line of text; the middle of its height is at the point."""
    position = f'x="{pixels(place[0])}" y="{pixels(place[1] + 0.35 * size)}"'
    alignment = "" if anchor == "start" else f' text-anchor="{anchor}"'
    weight = ' font-weight="bold"' if is_bold else ""
    content = _POWER.sub(_raise_power, escape(text))
    return f'<text {position}{alignment} font-size="{pixels(size)}"{weight} fill="{colour}">{content}</text>'


_POWER = re.compile("([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)([^⁻⁰¹²³⁴⁵⁶⁷⁸⁹]*)")
_LOWERED = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "−0123456789")


def _raise_power(power: re.Match[str]) -> str:
    """Return superscript digits as small digits, since many fonts lack some superscripts, and the text after them."""
    digits_above = f'<tspan dy="-4" font-size="9">{power[1].translate(_LOWERED)}</tspan>'
    return f'{digits_above}<tspan dy="4">{power[2]}</tspan>' if power[2] else digits_above


def _line_element(start: Point, end: Point, style: Style) -> str:
    return f'<path d="{_path_element([start, end])}"{_stroke_attributes(style)}/>'


def _path_element(points: Sequence[Point]) -> str:
    return f"M{'L'.join(map(_point_text, points))}"


def _point_text(point: Point) -> str:
    return f"{pixels(point[0])} {pixels(point[1])}"


def _stroke_attributes(style: Style) -> str:
    dashes = f' stroke-dasharray="{" ".join(map(str, style.dash))}"' if style.dash[1] else ""
    return f' stroke="{style.colour}" stroke-width="{style.width:g}"{dashes}'


def _circle_element(centre: Point, radius: float, colour: str) -> str:
    return f'<circle cx="{pixels(centre[0])}" cy="{pixels(centre[1])}" r="{pixels(radius)}" fill="{colour}"/>'


def _rectangle_element(corner: Point, size: Point, colour: str, opacity: float) -> str:
    (left, top), (width, height) = corner, size
    where = f'x="{pixels(left)}" y="{pixels(top)}" width="{pixels(width)}" height="{pixels(height)}"'
    return f'<rect {where} fill="{colour}" opacity="{opacity:g}"/>'


def pixels(number: float) -> str:
    """Return a coordinate as text, rounded to a tenth of a pixel."""
    return f"{number:.1f}".removesuffix(".0")
