"""The picture of what an answer reveals: δ against ε, one line an adversary."""

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from noisycount.app.risk.risk import Risk, Risks
from noisycount.app.risk.words import answer_words
from noisycount.app.terminal.files import writing
from noisycount.app.terminal.numbers import approximately, at_most, signed
from noisycount.app.terminal.progress import Done
from noisycount.charts.privacy import PrivacyAxes, PrivacyLine, privacy_chart
from noisycount.charts.refinement import save_file

__all__ = ["save_risk_plot"]

_POINTS = 120
_FLOORS = (1e-6, 1e-9, 1e-12)
_BESIDE = 1.25  # how far the axis goes beyond the ε that is asked for
_WIDEST = 3.0  # how often the shortest line fits into the axis
_ROOM = 4.0  # how often the axis without the ε that is asked for fits into that with it


def save_risk_plot(risks: Risks, file: Path, done: Done) -> None:
    """Draw the privacy curves as one file, SVG or PNG by its ending.

    Raises:
        NoisyCountError: The file cannot be written.
    """
    floor, asked = _floor(risks), float(risks.epsilon)
    ends = [float(risk.adversary.curve.epsilon(floor)) for risk in risks.risks]
    width = _width(ends, asked)
    lines = []
    for number, (risk, end) in enumerate(zip(risks.risks, ends, strict=True), start=1):
        lines.append(_line(risk, min(end, width), floor, asked))
        done(number / len(ends))
    top = float(f"1e{math.ceil(math.log10(max(line.deltas[0] for line in lines)))}")
    words = f"ε = {approximately(risks.epsilon)}"
    axes = PrivacyAxes(width, floor, max(top, 10 * floor), asked, words)
    size = signed(risks.setting.assumed.population.records)
    subtitle = f"{size} records; {answer_words(risks.setting)}"
    chart = privacy_chart(lines, axes, "What can one record change?", subtitle)
    with writing(file):
        save_file(chart, file)


def _floor(risks: Risks) -> float:
    """A δ that is negligible, and below all that are asked for if one of them is."""
    least = min((risk.delta for risk in risks.risks if risk.delta), default=1.0)
    return next((floor for floor in _FLOORS if floor < least), _FLOORS[-1])


def _width(ends: Sequence[float], asked: float) -> float:
    """The largest ε to show, from those at which the lines come down to the floor."""
    down = [end for end in ends if 0 < end < math.inf]
    if not down:
        return _BESIDE * asked
    longest = min(max(down), _WIDEST * min(down))
    if asked <= max(down) or _BESIDE * asked <= _ROOM * longest:
        return max(longest, _BESIDE * asked)
    return longest


def _line(risk: Risk, end: float, floor: float, asked: float) -> PrivacyLine:
    """A line from ε = 0 to where it leaves the picture."""
    steep = np.linspace(1.0, 0.0, _POINTS if end else 1) ** 3  # lines fall steepest at their end
    epsilons = end * (1 - steep)
    deltas = np.maximum(risk.adversary.curve.delta(epsilons), floor)
    is_shown = asked <= end and risk.delta >= floor
    return PrivacyLine(
        name=risk.adversary.name,
        note=f"δ = {at_most(risk.delta)}",
        epsilons=epsilons.tolist(),
        deltas=deltas.tolist(),
        mark=risk.delta if is_shown else None,
    )
