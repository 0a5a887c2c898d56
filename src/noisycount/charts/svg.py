"""Elements of SVG pictures: texts, axes whose labels do not overlap, and coordinates as text.

`answer_svg` and `picture_svg` draw with them.
"""

from collections.abc import Iterator, Sequence
from html import escape
from itertools import pairwise

_LETTER, _LABEL_GAP = 8.4, 6.0  # largest width of a character below an axis, and smallest gap between two labels


def below_axis(labels: Sequence[tuple[float, str]], floor: float, width: float) -> Iterator[str]:
    """Yield the SVG of a tick at each position of an axis, and of as many labels as fit below it."""
    for place, _ in labels:
        yield f'<path class="axis" d="M{digits(place)} {digits(floor)}v5"/>'
    for place, text in fitted(labels, width):
        yield svg_text(text, place, floor + 19, anchor="middle")


def fitted(labels: Sequence[tuple[float, str]], width: float) -> list[tuple[float, str]]:
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


def svg_text(text: str, x: float, y: float, *, anchor: str = "start", kind: str = "") -> str:
    """Return the SVG of a text; its start, middle or end is at (x, y), by `anchor`."""
    position = f'x="{digits(x)}" y="{digits(y)}"'
    alignment = "" if anchor == "start" else f' text-anchor="{anchor}"'
    css_class = f' class="{kind}"' if kind else ""
    return f"<text{css_class} {position}{alignment}>{escape(text)}</text>"


def digits(number: float) -> str:
    """Return a coordinate as text, rounded to a tenth of a pixel."""
    return f"{number:.1f}".removesuffix(".0")
