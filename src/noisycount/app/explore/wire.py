"""A chart of Explore as JSON."""

from typing import Any

from noisycount.app.explore.sliders import Sliders
from noisycount.app.explore.view import View

__all__ = ["view_object"]


def view_object(name: str, sliders: Sliders, shown: View) -> dict[str, Any]:
    """A chart: what was asked, what it means, and all of its numbers.

    Args:
        name: Of the chart.
        sliders: Where all sliders stand.
        shown: The chart.
    """
    plot = shown.plot
    return {
        "chart": name,
        "sliders": sliders.texts,
        "epsilon": None if sliders.epsilon is None else float(sliders.epsilon),
        "answer": sliders.answer,
        "title": plot.title,
        "sentence": shown.sentence,
        "note": shown.note,
        "x": plot.x.to_dict(),
        "y": plot.y.to_dict(),
        "lines": [line.to_dict() for line in shown.lines],
        "marks": [{"x": mark.x, "words": mark.words} for mark in shown.marks],
        "band": None if shown.band is None else list(shown.band),
    }
