"""Finds the marks of a picture, and the texts of its SVG."""

from typing import TypeVar
from xml.etree import ElementTree as ET

from noisycount.charts.picture import Frame, Picture, PictureMark
from noisycount.charts.picture_svg import picture_svg

__all__ = ["marks_of", "svg_texts"]

Kind = TypeVar("Kind", bound=PictureMark)


def marks_of(frame: Frame, kind: type[Kind]) -> list[Kind]:
    """Return the marks of one kind, from back to front."""
    return [mark for mark in frame.marks if isinstance(mark, kind)]


def svg_texts(picture: Picture) -> list[str]:
    """Return the texts that the SVG of a picture shows."""
    root = ET.fromstring(picture_svg(picture))  # noqa: S314 - our own
    return ["".join(text.itertext()) for text in root.iter("{http://www.w3.org/2000/svg}text")]
