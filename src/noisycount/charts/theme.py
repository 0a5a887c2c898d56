"""Colours, dashes and fonts of all charts: each quantity has the same style everywhere.

Start with `STYLES`, the style of each quantity.
"""

from noisycount.frozen import frozen

# Four colours of the palette of Okabe and Ito, which readers with any colour vision can distinguish. They are darkened
# to a contrast of at least 4.5 to white, so that text in these colours is readable.
BLUE, VERMILION, GREEN, PURPLE = "#0072B2", "#C24A00", "#00805C", "#A0447E"
INK, MUTED, GRID = "#222222", "#555555", "#E4E4E4"
INDIGOS = ("#2B1B5A", "#4A3795", "#6450B4", "#7A66C6")  # dark to light, for the levels of one quantity
SOLID, LONG, DOTS, MIXED = (1, 0), (9, 4), (2, 3), (9, 3, 2, 3)
DENSE, PAIRS, DASHED = (5, 1), (9, 3, 2, 3, 2, 3), (6, 4)
MOST_ROWS = 200  # rows of a chart; a longer one is unreadable
BAR_OPACITY = 0.55
# Fonts of equal letter widths, since a picture is laid out here and may be shown on another machine.
FONT = "Arial, Helvetica, Liberation Sans, sans-serif"


@frozen
class Style:
    """Colour, dashes and width of a line."""

    colour: str  # colour of the line and of its name
    dash: tuple[int, ...] = SOLID  # lengths of strokes and gaps in pixels, so that lines differ without colour
    width: float = 2.5  # in pixels

    def dashed(self, dash: tuple[int, ...]) -> "Style":
        """Return this style with other dashes."""
        return Style(self.colour, dash, self.width)


# Style of each quantity. Two quantities of the same colour never appear in one chart.
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

# Styles of one quantity at several levels, such as four values of ε.
LEVELS = tuple(map(Style, INDIGOS, (SOLID, LONG, MIXED, DOTS)))
GUIDE = Style(MUTED, (4, 4), 1.25)  # style of a line for comparison
_OTHERS = (STYLES["worst case"], STYLES["partly informed"], STYLES["distribution only"])


def styles(names: list[str]) -> list[Style]:
    """Return a style for each name. Names without an entry in `STYLES` get those of three styles that are still free.

    Example:
        >>> [style.colour for style in styles(["worst case", "somebody"])]
        ['#C24A00', '#0072B2']
    """
    assigned = [STYLES.get(name) for name in names]
    free_styles = iter([style for style in _OTHERS if style not in assigned])
    return [style or next(free_styles) for style in assigned]
