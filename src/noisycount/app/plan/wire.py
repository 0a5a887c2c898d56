"""A plan as JSON."""

from typing import Any

from noisycount.app.plan.plan import Plan
from noisycount.release.budget.exact import exact_text, optional_text
from noisycount.shown.numbers import odds_sentence

__all__ = ["plan_object"]


def plan_object(plan: Plan) -> dict[str, Any]:
    """A plan; `formula` is ε by eq. (10), `epsilon` the exact one to use."""
    possible = [plan.centre + error for error in plan.possible_errors]
    return {
        "guess": plan.guess,
        "guessed_from": plan.guessed_from,
        "within": plan.within,
        "confidence": plan.confidence,
        "queries": plan.queries,
        "formula": plan.formula,
        "epsilon": exact_text(plan.epsilon),
        "total": exact_text(plan.total),
        "mechanism": "discrete Laplace",
        "scale": exact_text(plan.noise.scale),
        "error": plan.width,
        "reached": plan.reached,
        "errors": [{"confidence": level, "error": error} for level, error in plan.errors],
        "negative": plan.negative,
        "odds": odds_sentence(plan.epsilon),
        "budget": exact_text(plan.paying.left),
        "dataset": plan.paying.dataset,
        "affordable": plan.affordable,
        "left_in_rho": optional_text(plan.paying.left_in_rho),
        "possible_answers": None if plan.guess is None else possible,
        "possible_errors": list(plan.possible_errors),
    }
