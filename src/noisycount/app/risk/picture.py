"""The picture of what an answer reveals: δ against ε, one line an adversary."""

from pathlib import Path

from noisycount.app.risk.risk import Risks
from noisycount.app.risk.words import answer_words
from noisycount.app.terminal.files import writing
from noisycount.app.terminal.progress import Done
from noisycount.charts.files import save_file
from noisycount.charts.privacy.chart import privacy_chart
from noisycount.charts.privacy.view import NamedCurve, PrivacyView
from noisycount.shown.numbers import approximately, at_most, signed

__all__ = ["save_risk_plot"]


def save_risk_plot(risks: Risks, file: Path, done: Done) -> None:
    """The picture of privacy curves as one file, SVG or PNG by its ending.

    Raises:
        NoisyCountError: The file cannot be written.
    """
    curves = [
        NamedCurve(
            risk.adversary.name, risk.adversary.curve, risk.delta, f"δ = {at_most(risk.delta)}"
        )
        for risk in risks.risks
    ]
    words = f"ε = {approximately(risks.epsilon)}"
    view = PrivacyView.of(curves, float(risks.epsilon), words, done)
    size = signed(risks.setting.assumed.population.records)
    subtitle = f"{size} records; {answer_words(risks.setting)}"
    chart = privacy_chart(view.lines, view.axes, "What can one record change?", subtitle)
    with writing(file):
        save_file(chart, file)
