"""What an answer reveals, as JSON."""

from math import isfinite
from typing import Any

from noisycount.app.refine.wire import assumed_members
from noisycount.app.risk.risk import Risks
from noisycount.app.risk.words import cautions, meanings
from noisycount.model.exact import Exact
from noisycount.release.budget.exact import exact_text
from noisycount.shown.numbers import odds_sentence

__all__ = ["risks_object"]


def risks_object(risks: Risks) -> dict[str, Any]:
    """What an answer reveals to each adversary; an ε that no answer has is null."""
    setting = risks.setting
    size = setting.assumed.population.records
    return {
        **assumed_members(setting.assumed),
        "mechanism": "none" if isinstance(setting.noise, Exact) else setting.noise.name,
        "scale": None if setting.scale is None else exact_text(setting.scale),
        "sample": setting.sample,
        "known": setting.known,
        "known_positives": setting.known_positives,
        "epsilon": exact_text(risks.epsilon),
        "odds": odds_sentence(risks.epsilon),
        "utility_loss": risks.loss,
        "standard_error": risks.standard_error * size,
        "standard_error_share": risks.standard_error,
        "adversaries": [
            {
                "adversary": risk.adversary.name,
                "knows": risk.adversary.knows,
                "delta": risk.delta,
                "bracket": list(risk.bracket),
                "guess": risk.guess,
                "usual_delta": risks.usual_delta,
                "usual_epsilon": risk.usual_epsilon if isfinite(risk.usual_epsilon) else None,
                "meaning": meaning,
            }
            for risk, (_, meaning) in zip(risks.risks, meanings(risks), strict=True)
        ],
        "overlapping_delta": risks.overlapping,
        "beyond_worst": [risk.adversary.name for risk in risks.beyond_worst],
        "cautions": dict(cautions(risks)),
    }
