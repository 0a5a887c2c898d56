"""A private count as JSON."""

from typing import Any

from noisycount.app.count.question import Answer
from noisycount.release.budget.exact import exact_text
from noisycount.release.budget.neighbours import NeighbourRelation

__all__ = ["answer_object"]

_NEIGHBOURS = {
    NeighbourRelation.ADD_REMOVE: "adding or removing",
    NeighbourRelation.REPLACEMENT: "replacement",
}


def answer_object(answer: Answer) -> dict[str, Any]:
    """A private count; budgets and scales are exact decimals or fractions, as text."""
    release = answer.release
    return {
        "answer": release.answer,
        "error": answer.error,
        "confidence": answer.confidence,
        "dataset": release.dataset,
        "where": release.where,
        "meaning": answer.meaning,
        "unit": answer.unit,
        "neighbours": _NEIGHBOURS[answer.neighbours],
        "mechanism": release.mechanism,
        "scale": exact_text(release.scale),
        "epsilon": exact_text(release.epsilon),
        "odds": answer.odds,
        "charged": exact_text(release.charged),
        "remaining": exact_text(release.remaining),
        "budget": answer.budget.written,
        "analyst": answer.analyst.name,
        "repeated": release.repeated,
        "key": release.key,
        "ledger": None if answer.ledger is None else str(answer.ledger),
    }
