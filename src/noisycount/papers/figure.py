"""What a text claims, and what was found.

A figure of a paper: a plot, and what is claimed of it.

A paper: where it appeared, its figures and its numbers.
"""

from collections.abc import Callable, Mapping
from enum import StrEnum
from html import escape
from typing import Any

from noisycount.charts.chart import chart, check_charts
from noisycount.charts.plot import Plot
from noisycount.errors import NoisyCountError
from noisycount.frozen import frozen


class Verdict(StrEnum):
    """What a computation says about a claim: "holds", "holds in part" or "does not hold".

    `HOLDS`, `PARTLY` and `FAILS`; `verdict.value` is the text.
    """

    HOLDS = "holds"
    PARTLY = "holds in part"
    FAILS = "does not hold"

    @classmethod
    def of(cls, *checks: bool) -> "Verdict":
        """All checks hold, some do, or none does.

        Example:
            >>> Verdict.of(True, False).value
            'holds in part'
        """
        if all(checks):
            return cls.HOLDS
        return cls.PARTLY if any(checks) else cls.FAILS


@frozen
class Claim:
    """What a text says, and what was found.

    Args:
        source: Where it says so.
        says: What it says.
        found: Our numbers.
        verdict: Whether they agree.
    """

    source: str
    says: str
    found: str
    verdict: Verdict

    @property
    def words(self) -> str:
        """The claim, what was found, and the verdict."""
        return f"{self.says} ({self.source}) {self.found} {self.verdict.value.capitalize()}."

    def to_dict(self) -> dict[str, str]:
        """The claim as text by name."""
        return {"source": self.source, "says": self.says, "found": self.found, "verdict": self.verdict.value}


@frozen(repr=False)
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

    def chart(self) -> Any:  # noqa: ANN401 - of Altair, which is an extra
        """Its Altair chart; NoisyCountError where the extra is not installed."""
        return chart(self)

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
        from noisycount.charts.plot_chart import plot_svg  # noqa: PLC0415  (loads Altair)

        return plot_svg(self)


# How a claim in words is judged: texts do not say what they mean by them.
ALIKE = 0.02  # "the same", "fall together", ≃: within 2 %
NEARLY = 0.9  # "similar to", "levels off": from 90 % on
CLEARLY = 1.1  # "significantly larger": by a tenth at least
CLOSE = 0.05  # "very close": within 5 %
SIMILAR = 1.5  # "quite similar", "quite small": less than half as much again
MUCH = 2.0  # "much", "quite helpful": twice at least


@frozen
class Paper:
    """A paper and how its figures are computed."""

    key: str  # the first part of the keys of its figures
    name: str  # authors and year
    reference: str  # title and place
    figures: Mapping[str, Callable[[], Figure]]  # what computes each figure, by its key, in order
    # what computes the numbers that it states outside its figures; none by default
    claims: Callable[[], tuple[Claim, ...]] = tuple


def number(value: float, digits: int = 3) -> str:
    """A number with so many digits, as a text has it.

    Example:
        >>> number(0.0123456), number(1234.5), number(2.0), number(3.2e-9)
        ('0.0123', '1230', '2', '3.2e-9')
    """
    text = f"{value:.{digits}g}"
    mantissa, _, power = text.partition("e")
    if power:
        text = f"{float(text):.0f}" if int(power) > 0 else f"{mantissa}e{int(power)}"
    return text.replace("-", "\N{MINUS SIGN}", 1) if value < 0 else text


def percent(share: float) -> str:
    """A share in percent, with two digits.

    Example:
        >>> percent(0.5347), percent(1.06)
        ('53 %', '110 %')
    """
    return f"{number(100 * share, 2)} %"
