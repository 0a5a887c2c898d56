"""A figure of a paper: a plot, and what is claimed of it."""

from dataclasses import dataclass
from html import escape
from typing import Any

from noisycount.charts.extra import check_charts
from noisycount.charts.plot.plot import Plot
from noisycount.errors import NoisyCountError
from noisycount.study.claim import Claim

__all__ = ["Figure"]


@dataclass(frozen=True, slots=True, repr=False)
class Figure(Plot):
    """A plot, with what is claimed of it; `figure` computes it by its key.

    Args:
        key: What it is called by, such as `naldi2014.1`.
        source: Whose it is.
        number: What it is called there, such as `Fig. 1`.
        title: What it shows, one line.
        caption: Its settings, and what was added to the printed figure.
        x: The axis across.
        y: The axis upwards.
        panels: Each with its title and lines; a line has a name, `xs` and `ys`.
        claims: What the text says of it, with our verdicts.
    """

    claims: tuple[Claim, ...] = ()

    def __repr__(self) -> str:
        return f"Figure({self.key!r}: {self.title}, {len(self.claims)} claims)"

    def to_dict(self) -> dict[str, Any]:
        """Its words, its data and its claims, as JSON has them."""
        return {
            "figure": self.key,
            "source": self.source,
            "number": self.number,
            "title": self.title,
            "caption": self.caption,
            "x": self.x.to_dict(),
            "y": self.y.to_dict(),
            "panels": [panel.to_dict() for panel in self.panels],
            "claims": [claim.to_dict() for claim in self.claims],
        }

    def _repr_html_(self) -> str:
        """Its picture, or what to install for it, and its claims, for a notebook."""
        claims = "".join(f"<li>{escape(claim.words)}</li>" for claim in self.claims)
        return f"{self._picture()}<p>{escape(self.caption)}</p><ol>{claims}</ol>"

    def _picture(self) -> str:
        try:
            check_charts()
        except NoisyCountError as refusal:
            return f"<p>{escape(str(refusal), quote=False)}</p>"
        from noisycount.charts.plot.chart import plot_svg  # noqa: PLC0415  (loads Altair)

        return plot_svg(self)
