"""A private count as JSON."""

from collections.abc import Sequence
from typing import Any

from noisycount.app.count.question import Answer
from noisycount.app.count.trial import Trial
from noisycount.release.budget.exact import exact_text
from noisycount.release.budget.neighbours import NeighbourRelation, neighbours_of_size
from noisycount.shown.numbers import odds_sentence
from noisycount.shown.told import told_name

__all__ = ["NEIGHBOURS", "answer_object", "trial_object"]

NEIGHBOURS = {
    NeighbourRelation.ADD_REMOVE: "adding or removing",
    NeighbourRelation.REPLACEMENT: "replacement",
}


def answer_object(answer: Answer, hints: Sequence[str] = ()) -> dict[str, Any]:
    """A private count; budgets and scales are exact decimals or fractions, as text.

    The count lies from `low` to `high` with the confidence, as it lies within ±error of the answer,
    not below 0 and not above the public size.
    """
    release, (low, high) = answer.release, answer.interval
    return {
        "answer": release.answer,
        "error": answer.error,
        "low": low,
        "high": high,
        "confidence": answer.confidence,
        "dataset": release.dataset,
        "where": release.where,
        "meaning": answer.meaning,
        "unit": answer.unit,
        "unreadable_as_missing": list(release.unreadable_as_missing),
        "neighbours": NEIGHBOURS[answer.neighbours],
        "mechanism": release.mechanism.name,
        "scale": exact_text(release.scale),
        "epsilon": exact_text(release.epsilon),
        "odds": answer.odds,
        "charged": exact_text(release.charged),
        **answer.remains.object,
        "analyst": answer.analyst.name,
        "repeated": release.repeated,
        "key": release.key,
        "ledger": None if answer.ledger is None else told_name(answer.ledger),
        "better": _better(answer),
        "hints": list(hints),
    }


def _better(answer: Answer) -> dict[str, Any] | None:
    """A stored answer to the same question with less noise."""
    if answer.better is None:
        return None
    return {
        "answer": answer.better.answer,
        "error": answer.better.error(answer.confidence),
        "epsilon": exact_text(answer.better.epsilon),
        "key": answer.better.key,
    }


def trial_object(trial: Trial) -> dict[str, Any]:
    """What a question would cost and give; the names are those of an answer."""
    return {
        "dry_run": True,
        "answer": None,
        "error": trial.error,
        "confidence": trial.confidence,
        "dataset": told_name(trial.dataset.name),
        "where": trial.where,
        "meaning": trial.meaning,
        "unit": trial.unit,
        "unreadable_as_missing": list(trial.unreadable_as_missing),
        "neighbours": NEIGHBOURS[neighbours_of_size(trial.dataset.size)],
        "epsilon": exact_text(trial.epsilon),
        "odds": odds_sentence(trial.epsilon, "person" if trial.unit else "row"),
        "cost": exact_text(trial.cost),
        "charged": "0",
        **trial.remains.object,
        "affordable": trial.affordable,
        "analyst": trial.analyst.name,
        "repeated": trial.repeated,
        "hints": list(trial.hints),
    }
