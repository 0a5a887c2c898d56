"""A chart as a piece of a page, remembered by where all sliders stand."""

from collections.abc import Iterator
from functools import lru_cache

from markupsafe import Markup

from noisycount.app.explore.picture import view_picture
from noisycount.app.explore.sliders import Sliders
from noisycount.app.explore.view import View
from noisycount.app.explore.views import view
from noisycount.app.server.pages.layout import piece

__all__ = ["fragment", "remembered_view"]

_FRAGMENTS, _VIEWS = 512, 128  # some 30 kB each


@lru_cache(_FRAGMENTS)
def fragment(name: str, sliders: Sliders) -> str:
    """The picture of a chart, the sentence that tells what it means, and its numbers.

    Args:
        name: Of the chart.
        sliders: Where all sliders stand.

    Raises:
        NoisyCountError: There is no chart of that name.
    """
    shown = remembered_view(name, sliders)
    return piece(
        "explore_chart.html",
        name=name,
        query=sliders.query,
        shown=shown,
        picture=Markup(view_picture(shown, name)),  # noqa: S704  (which escapes its words)
        rows=list(_rows(shown)),
    )


@lru_cache(_VIEWS)
def remembered_view(name: str, sliders: Sliders) -> View:
    """The same as `view`."""
    return view(name, sliders)


def _rows(shown: View) -> Iterator[list[str]]:
    """The rows of the table, with four digits of what is not whole."""
    for row in shown.rows():
        yield [cell if isinstance(cell, str) else _number(cell) for cell in row]


def _number(value: float) -> str:
    is_whole = value == int(value) and abs(value) < 2**53
    return (f"{value:,.0f}" if is_whole else f"{value:,.4g}").replace("-", "−")
