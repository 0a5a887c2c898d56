"""One look for all charts: the same colour and dashes for the same thing everywhere."""

from typing import Any

from noisycount.frozen import frozen

# Four of the palette of Okabe and Ito, which every kind of colour vision tells apart, made darker
# until a text in them is read as easily as one in ink: its contrast to white is at least 4.5.
BLUE, VERMILION, GREEN, PURPLE = "#0072B2", "#C24A00", "#00805C", "#A0447E"
INK, MUTED, GRID = "#222222", "#555555", "#E4E4E4"
INDIGOS = ("#2B1B5A", "#4A3795", "#6450B4", "#7A66C6")  # dark to light, for one thing's levels
SOLID, LONG, DOTS, MIXED = (1, 0), (9, 4), (2, 3), (9, 3, 2, 3)
DENSE, PAIRS = (5, 1), (9, 3, 2, 3, 2, 3)
MOST_ROWS = 200  # nobody reads a longer chart


@frozen
class Style:
    """How a line is drawn."""

    colour: str  # of the line and of its name
    dash: tuple[int, ...] = SOLID  # lengths of strokes and gaps, in pixels, which tell lines apart in grey
    width: float = 2.5  # in pixels

    def dashed(self, dash: tuple[int, ...]) -> "Style":
        """This colour with other dashes."""
        return Style(self.colour, dash, self.width)


# The style of each thing; two things of one colour are never in one chart.
STYLES = {
    "answer": Style(VERMILION),
    "rounded": Style(PURPLE, DOTS),
    "mean": Style(GREEN, LONG),
    "median": Style(BLUE, MIXED),
    "worst case": Style(VERMILION),
    "partly informed": Style(BLUE, LONG),
    "distribution only": Style(GREEN, DOTS),
    "Laplace": Style(PURPLE),
    "Gaussian": Style(BLUE, LONG),
    "sample": Style(INK, DOTS),
    "exact": Style(GREEN),
    "printed": Style(VERMILION, LONG),
    "proved": Style(BLUE, MIXED),
    "approximated": Style(PURPLE, DOTS),
    "clamped": Style(PURPLE, DOTS),
    "projected": Style(BLUE, MIXED),
    "flat posterior": Style(VERMILION, LONG),
    "independent": Style(PURPLE, DOTS),
    "tree": Style(GREEN),
}

# The styles of one thing at several levels, such as four values of ε.
LEVELS = tuple(map(Style, INDIGOS, (SOLID, LONG, MIXED, DOTS)))
GUIDE = Style(MUTED, (4, 4), 1.25)  # the style of a line that is there to compare with
_OTHERS = (STYLES["worst case"], STYLES["partly informed"], STYLES["distribution only"])


def styles(names: list[str]) -> list[Style]:
    """The style of each name; those of no known thing get what is left of three, in order.

    Example:
        >>> [style.colour for style in styles(["worst case", "somebody"])]
        ['#C24A00', '#0072B2']
    """
    known = [STYLES.get(name) for name in names]
    left = iter([style for style in _OTHERS if style not in known])
    return [style or next(left) for style in known]


# What Vega-Lite takes as the configuration of a chart.
CONFIG: dict[str, Any] = {
    "background": "white",
    # Fonts of one width, as pictures are laid out here and shown elsewhere.
    "font": "Arial, Helvetica, Liberation Sans, sans-serif",
    "padding": {"bottom": 12, "left": 12, "right": 24, "top": 12},
    "aria": False,  # a page says in one text what a picture shows
    "title": {
        "anchor": "start",
        "color": INK,
        "fontSize": 15,
        "offset": 8,
        "subtitleColor": MUTED,
        "subtitleFontSize": 14,
        "subtitleLineHeight": 18,
    },
    "axis": {
        "domainColor": MUTED,
        "gridColor": GRID,
        "labelColor": MUTED,
        "labelFlush": False,
        "labelFontSize": 13,
        "tickColor": MUTED,
        "titleColor": INK,
        "titleFontSize": 14,
        "titleFontWeight": "normal",
        "titlePadding": 8,
    },
    "axisX": {"grid": False, "tickCount": 8},
    "axisY": {"domain": False, "format": ".2~p", "labelPadding": 6, "tickCount": 3, "ticks": False},
    "view": {"stroke": None},
}
