"""Building blocks of the reproduced papers: `Claim` and `Verdict`, `Figure` (a plot with claims), and `Paper`.

`catalogue` collects the papers; the constants below state when a claim in words counts as true.
"""

import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from functools import cache, partial
from html import escape
from importlib.resources import files
from string import Formatter
from typing import Any, NamedTuple, Self

from noisycount.charts.chart import chart
from noisycount.charts.picture_svg import picture_svg
from noisycount.charts.plot import Axis, Line, Panel, Plot
from noisycount.charts.plot_picture import plot_picture
from noisycount.display.values import members
from noisycount.frozen import frozen


class Verdict(StrEnum):
    """Result of checking a claim: "holds", "holds in part" or "does not hold".

    `HOLDS`, `PARTLY` and `FAILS`; `verdict.value` is the text.
    """

    HOLDS = "holds"
    PARTLY = "holds in part"
    FAILS = "does not hold"

    @classmethod
    def from_checks(cls, *checks: bool) -> "Verdict":
        """Return HOLDS if all checks are true, PARTLY if some are, FAILS if none is.

        Example:
            >>> Verdict.from_checks(True, False).value
            'holds in part'
        """
        if all(checks):
            return cls.HOLDS
        return cls.PARTLY if any(checks) else cls.FAILS


@frozen
class Claim:
    """A claim of a text, our numbers, and a verdict.

    Args:
        source: The place in the text, such as a section or an equation.
        says: The claim.
        found: Our numbers, as a sentence.
        verdict: The result of the comparison.
    """

    source: str
    says: str
    found: str
    verdict: Verdict

    @property
    def words(self) -> str:
        """The claim, our numbers and the verdict as text."""
        return f"{self.says} ({self.source}) {self.found} {self.verdict.value.capitalize()}."

    def to_dict(self) -> dict[str, str]:
        """Return the parts of the claim as JSON members."""
        return members(self, "source", "says", "found", "verdict")


@frozen(repr=False)
class Figure(Plot):
    """A plot with the claims about it. The function `figure` computes it from its key.

    Args:
        key: The identifier, such as `naldi2014.1`.
        source: Authors and year.
        number: The number in the source, such as `Fig. 1`.
        title: The title, one line.
        caption: The settings, and additions to the printed figure.
        x: The horizontal axis.
        y: The vertical axis.
        panels: Panels, each with title and lines; a line has a name, `xs` and `ys`.
        claims: Claims of the text about the figure, with our verdicts.
    """

    claims: tuple[Claim, ...] = ()

    def __repr__(self) -> str:
        return f"Figure({self.key!r}: {self.title}, {len(self.claims)} claims)"

    def chart(self) -> Any:  # noqa: ANN401 - of Altair, which is an extra
        """Return an Altair chart of the figure.

        Raises:
            NoisyCountError: The extra `charts` is not installed.
        """
        return chart(self)

    def to_dict(self) -> dict[str, Any]:
        """Return title, caption, data and claims as JSON members."""
        return {
            "figure": self.key,
            **members(self, "source", "number", "title", "caption"),
            "x": self.x.to_dict(),
            "y": self.y.to_dict(),
            "panels": [panel.to_dict() for panel in self.panels],
            "claims": [claim.to_dict() for claim in self.claims],
        }

    def _repr_html_(self) -> str:
        """Return the HTML for notebooks: the picture, the caption and the claims."""
        claims = "".join(f"<li>{escape(claim.words)}</li>" for claim in self.claims)
        return f"{picture_svg(plot_picture(self))}<p>{escape(self.caption)}</p><ol>{claims}</ol>"


class ClaimCheck(NamedTuple):
    """Our result on a claim. `figures.toml` has the claim, and the sentence with our numbers: `found`."""

    numbers: Mapping[str, Any]  # value of each field of the sentence: a number, a text, or a sequence of them
    parts_hold: Sequence[bool]  # True for each part of the claim that holds


class Drawing(NamedTuple):
    """Computed part of a figure; `figures.toml` has its number, title, caption, axes and the texts of its claims."""

    panels: tuple[Panel, ...]
    checks: tuple[ClaimCheck, ...]  # results on the claims about the figure, in the order of `figures.toml`

    @classmethod
    def from_lines(cls, lines: Iterable[Line], *checks: ClaimCheck) -> Self:
        """Return a drawing of one panel."""
        return cls((Panel("", tuple(lines)),), checks)


# Thresholds for claims in words, since the texts do not define them.
ALIKE = 0.02  # "the same", "fall together", ≃: differ by at most 2 %
NEARLY = 0.9  # "similar to", "levels off": at least 90 %
CLEARLY = 1.1  # "significantly larger": at least 10 % larger
CLOSE = 0.05  # "very close": within 5 %
SIMILAR = 1.5  # "quite similar", "quite small": by a factor of less than 1.5
MUCH = 2.0  # "much", "quite helpful": at least by a factor of 2


@frozen
class Paper:
    """A paper with the functions that compute its figures and claims."""

    key: str  # the first part of the keys of its figures
    name: str  # authors and year
    reference: str  # title and place
    figures: Mapping[str, Callable[[], Figure]]  # function that computes each figure, by its key, in order
    # function that computes the claims outside the figures; by default there are none
    claims: Callable[[], tuple[Claim, ...]] = tuple


def paper_of_key(
    key: str, drawings: Mapping[str, Callable[[], Drawing]], checks: Callable[[], tuple[ClaimCheck, ...]] = tuple
) -> Paper:
    """Return a paper, whose name, reference, titles, captions and claims are in `figures.toml`.

    Args:
        key: The first part of the keys of its figures.
        drawings: The function that computes each figure, by the last part of its key, in order.
        checks: The function that computes the results on the claims outside the figures.
    """
    texts = _figure_texts()[key]
    figures = {f"{key}.{last}": partial(_figure_of_key, f"{key}.{last}", draw) for last, draw in drawings.items()}
    return Paper(key, texts["name"], texts["reference"], figures, lambda: _claims_with_verdicts(texts, checks()))


def _figure_of_key(key: str, draw: Callable[[], Drawing]) -> Figure:
    """Return the figure of a key: its texts from `figures.toml`, its panels and checks of claims from `draw`."""
    paper, last = key.split(".")
    texts = _figure_texts()[paper]
    text = texts["figures"][last]
    x, y = (Axis(**{**text[name], "ticks": tuple(text[name].get("ticks", ()))}) for name in ("x", "y"))
    drawing = draw()
    claims = _claims_with_verdicts(text, drawing.checks)
    return Figure(key, texts["name"], text["number"], text["title"], text["caption"], x, y, drawing.panels, claims)


def _claims_with_verdicts(text: dict[str, Any], checks: Sequence[ClaimCheck]) -> tuple[Claim, ...]:
    """Return the claims of a figure or paper of `figures.toml`, each with our result and a verdict."""
    stated = text.get("claims", ())
    if len(stated) != len(checks):
        raise ValueError(f"figures.toml has {len(stated)} claims, the code {len(checks)} checks: give one for each")
    return tuple(
        Claim(
            claim["source"],
            claim["says"],
            _Sentence().vformat(claim["found"], (), check.numbers),
            Verdict.from_checks(*check.parts_hold),
        )
        for claim, check in zip(stated, checks, strict=True)
    )


class _Sentence(Formatter):
    """Sentence of `figures.toml` with fields such as {ratio}, {ratio:4} for four significant digits, and {share:%}."""

    def format_field(self, value: Any, format_spec: str) -> str:  # noqa: ANN401 - a number, a text, or a sequence
        if isinstance(value, (list, tuple)):
            return ", ".join(self.format_field(item, format_spec) for item in value)
        if format_spec == "%":
            return percent(value)
        if isinstance(value, str) or not (format_spec or "3").isdigit():
            return format(value, format_spec)
        return number(value, int(format_spec or 3))


@cache
def _figure_texts() -> dict[str, Any]:
    """Return the texts of all papers and figures."""
    return tomllib.loads(files(__package__).joinpath("figures.toml").read_text(encoding="utf-8"))


def number(value: float, digits: int = 3) -> str:
    """Return a number with `digits` significant digits, as text.

    Example:
        >>> number(0.0123456), number(1234.5), number(2.0), number(3.2e-9)
        ('0.0123', '1230', '2', '3.2e-9')
    """
    text = f"{value:.{digits}g}"
    mantissa, _, power = text.partition("e")
    if power:
        text = f"{float(text):.0f}" if int(power) > 0 else f"{mantissa}e{int(power)}"
    return text.replace("-", "\N{MINUS SIGN}", 1) if value < 0 else text


def extremes(values: Iterable[float]) -> tuple[float, float]:
    """Return the smallest and the largest value."""
    ordered = sorted(values)
    return ordered[0], ordered[-1]


def percent(share: float) -> str:
    """Return a share in percent with two significant digits, as text.

    Example:
        >>> percent(0.5347), percent(1.06)
        ('53 %', '110 %')
    """
    return f"{number(100 * share, 2)} %"
