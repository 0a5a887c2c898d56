"""Texts in charts, cut into lines.

The drawing of charts: SVG and PNG, without a browser.

Charts are made and written down without the checks of Vega-Lite's schema, which take several times
as long as all else; the tests make them.
"""

from collections.abc import Callable
from textwrap import wrap
from typing import Any, TypeVar

import altair as alt
import vl_convert
from altair.utils.schemapi import debug_mode

__all__ = ["as_lines", "png", "specification", "svg", "unchecked"]


def as_lines(text: str, longest: int) -> list[str]:
    """The lines of a text that stands above a chart, at least one.

    Args:
        text: Words.
        longest: The most characters of a line, where no word is longer.

    Example:
        >>> as_lines("age >= 65 and site = 4", 12)
        ['age >= 65', 'and site = 4']
    """
    return wrap(text, longest) or [text]


Build = TypeVar("Build", bound=Callable[..., alt.TopLevelMixin])


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
