"""Results as JSON: one shape for every way in which machines ask."""

from collections.abc import Sequence
from fractions import Fraction
from math import isfinite
from typing import TYPE_CHECKING, Any

from noisycount.app.refine.answer_table import RefinedTable
from noisycount.app.refine.assumption import Assumed
from noisycount.app.refine.contradiction import warning
from noisycount.app.refine.estimate import Refinement, kind_of_noise
from noisycount.app.risk.words import cautions, meanings
from noisycount.app.terminal.numbers import odds_sentence
from noisycount.model.exact import Exact
from noisycount.release.budget.budgets import (
    ApproximateBudget,
    Budget,
    ConcentratedBudget,
    budget_of,
)
from noisycount.release.budget.exact import exact_text
from noisycount.release.budget.neighbours import Neighbours
from noisycount.release.ledger.entries import Entry

if TYPE_CHECKING:  # they load the engine and the ledger, which few commands need
    from noisycount.app.count.question import Answer
    from noisycount.app.ledger.accounts import Account
    from noisycount.app.risk.risk import Risks

__all__ = [
    "account_objects",
    "answer_object",
    "budget_value",
    "entry_objects",
    "refinement_object",
    "risks_object",
    "table_object",
]

Object = dict[str, Any]

_NEIGHBOURS = {Neighbours.ADD_REMOVE: "adding or removing", Neighbours.REPLACEMENT: "replacement"}


def answer_object(answer: "Answer") -> Object:
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
        "budget": budget_value(answer.budget),
        "analyst": answer.analyst.name,
        "repeated": release.repeated,
        "key": release.key,
        "ledger": None if answer.ledger is None else str(answer.ledger),
    }


def budget_value(budget: Fraction | Budget) -> str | dict[str, str]:
    """A budget in ε as an exact text; another as an object of such texts."""
    if isinstance(budget, ApproximateBudget):
        return {"epsilon": exact_text(budget.epsilon), "delta": exact_text(budget.delta)}
    if isinstance(budget, ConcentratedBudget):
        return {"rho": exact_text(budget.rho)}
    return budget_of(budget).text


def refinement_object(refinement: Refinement) -> Object:
    """A Bayes estimate beside the raw answers and their average, in records."""
    told = refinement.told
    return {
        "answer": refinement.answer,
        "answers": list(refinement.answers),
        "answer_deviation": refinement.answer_deviation,
        **_assumed_members(refinement.assumed),
        "epsilon": None if refinement.epsilon is None else exact_text(refinement.epsilon),
        "mechanism": refinement.mechanism,
        "scale": exact_text(refinement.scale),
        "mean": told.mean,
        "median": told.median,
        "mode": told.mode,
        "standard_deviation": refinement.deviation,
        "interval": list(refinement.interval),
        "level": refinement.level,
        "surprise": told.surprise,
        "warning": warning(refinement),
    }


def _assumed_members(assumed: Assumed) -> Object:
    """What was assumed before an answer."""
    prior, rate = assumed.population.law(), assumed.rate
    return {
        "size": assumed.population.records,
        "rate": None if rate is None else rate.mean,
        "rate_deviation": None if rate is None else rate.deviation,
        "groups": assumed.groups,
        "expected": prior.mean,
        "expected_deviation": prior.variance**0.5,
    }


def table_object(table: RefinedTable) -> Object:
    """What became of a table of answers."""
    return {
        "rows": table.rows,
        "missing": table.missing,
        "level": table.level,
        "seconds": table.seconds,
        "out": str(table.out),
    }


def risks_object(risks: "Risks") -> Object:
    """What an answer reveals to each adversary; an ε that no answer has is null."""
    setting = risks.setting
    size = setting.assumed.population.records
    return {
        **_assumed_members(setting.assumed),
        "mechanism": "none" if isinstance(setting.noise, Exact) else kind_of_noise(setting.noise),
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


def account_objects(kind: str, accounts: "Sequence[Account]") -> list[Object]:
    """What each data set or analyst may spend; `remaining` is what one more answer may cost."""
    return [
        {
            kind: account.name,
            "budget": None if account.budget is None else budget_value(account.budget),
            "spent": exact_text(account.spent.epsilon),
            "spent_rho": exact_text(account.spent.rho),
            "remaining": None if account.left is None else exact_text(account.left),
        }
        for account in accounts
    ]


def entry_objects(entries: Sequence[Entry]) -> list[Object]:
    """The debits of a ledger, oldest first."""
    return [
        {
            "made": entry.made.isoformat(),
            "key": entry.key,
            "dataset": entry.request.dataset,
            "question": entry.request.question,
            "epsilon": exact_text(entry.request.epsilon),
            "spent": exact_text(entry.spent.epsilon),
            "spent_rho": exact_text(entry.spent.rho),
            "analyst": entry.analyst,
            "analyst_spent": exact_text(entry.analyst_spent.epsilon),
            "answer": entry.answer,
        }
        for entry in entries
    ]
