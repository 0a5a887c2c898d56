"""What a page shows of one chart: lines, marks, and the sentence that tells what they mean."""

from collections.abc import Iterator
from dataclasses import dataclass

from noisycount.charts.plot.plot import Line, Plot

__all__ = ["Mark", "View"]


@dataclass(frozen=True, slots=True)
class Mark:
    """A place across that the picture marks from top to bottom.

    Args:
        x: Where, on the axis across.
        words: What it is.
        is_dashed: Whether the line is.
    """

    x: float
    words: str
    is_dashed: bool = False


@dataclass(frozen=True, slots=True)
class View:
    """One chart, whole.

    Args:
        plot: Its axes, with units, and its lines, in one panel.
        sentence: What it means.
        marks: Places to note.
        band: From where to where the picture is shaded; None: nowhere.
        band_words: What is shaded.
        note: What is not shown, and why; empty where all is.
    """

    plot: Plot
    sentence: str
    marks: tuple[Mark, ...] = ()
    band: tuple[float, float] | None = None
    band_words: str = ""
    note: str = ""

    @property
    def lines(self) -> tuple[Line, ...]:
        """The lines, each with a name."""
        return self.plot.panels[0].lines

    @property
    def header(self) -> tuple[str, ...]:
        """The names of the columns of the table, with units."""
        plot = self.plot
        if self._shares_places:
            return (plot.x.label, *(f"{plot.y.label}: {line.name}" for line in self.lines))
        return "line", plot.x.label, plot.y.label

    def rows(self) -> Iterator[tuple[str | float, ...]]:
        """The rows of the table: every number that is drawn."""
        if self._shares_places:
            yield from zip(self.lines[0].xs, *(line.ys for line in self.lines), strict=True)
        else:
            yield from (row[1:] for row in self.plot.rows())

    @property
    def _shares_places(self) -> bool:
        return len({line.xs for line in self.lines}) == 1
