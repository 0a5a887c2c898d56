"""Draft entries for the public registry of deployments of differential privacy.

A report has one entry for each data set with releases. The owner must fill in the members that are null.
"""

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

from noisycount.ledger.budget import Loss
from noisycount.ledger.price import approximate_loss, loss_words
from noisycount.tasks.report.report import DatasetReport, Report
from noisycount.tasks.report.words import neighbours_words

Object = dict[str, Any]
_TEMPLATE = Path(__file__).with_name("registry.json").read_text(encoding="utf-8")  # members that all entries share


def registry_json(report: Report) -> list[Object]:
    """Return an entry for each data set that has releases. Members that only its owner knows are null.

    The names are those of the registry's own entries and schema, which the page “The report for an officer” cites.
    """
    return [_entry(each) for each in report.datasets if each.releases]


def _entry(dataset: DatasetReport) -> Object:
    times = [released.entry.made for released in dataset.releases]
    number, first, last = len(times), f"{times[0]:%Y-%m-%d}", f"{times[-1]:%Y-%m-%d}"
    entry: Object = json.loads(_TEMPLATE)
    deployment = entry["deployment"]
    deployment["product"] |= {
        "name": dataset.account.name,
        "intended_use": _purposes(dataset),
        "description": f"Noisy counts: {number} of questions and tables.",
        "publication_date": first,
    }
    deployment["dp_flavor"] |= {
        "name": _flavor(dataset.total_loss),
        "unprotected_quantities": _unprotected(dataset),
    }
    deployment["privacy_loss"] = _loss(dataset)
    deployment["model"] |= {
        "release_type": "One release" if number == 1 else "Many releases",
        "release_type_description": f"{number} from {first} to {last}; the budget never refreshes by itself.",
    }
    return entry


def _purposes(dataset: DatasetReport) -> str | None:
    """Return the purposes that analysts stated for the answers; None if none was stated."""
    purposes = dict.fromkeys(purpose for released in dataset.releases for purpose in released.entry.purposes if purpose)
    return "; ".join(purposes) or None


def _unprotected(dataset: DatasetReport) -> list[str]:
    """Return sentences about the facts that the answers reveal without noise, or with a threshold."""
    facts = ["The names and the kinds of the columns."]
    if dataset.size is not None:
        facts.append(f"The number of {dataset.protected}s, {dataset.size}, is public.")
    if any(each.entry.request.delta for each in dataset.releases):
        facts.append(
            "Keys of tables that were read from the records: each is shown where its noisy count"
            " reaches a threshold, and a key of one unit alone with a probability of delta at most."
        )
    return facts


def _flavor(spent: Loss) -> str:
    if spent.delta:
        return "Custom" if spent.epsilon is None else "Approximate DP"
    return "Zero-concentrated DP" if spent.epsilon is None else "Pure DP"


def _loss(dataset: DatasetReport) -> Object:
    spent, unit = dataset.total_loss, dataset.protected
    column_text = "" if dataset.unit is None else f", identified by the column {dataset.unit}"
    now, more, others = neighbours_words(dataset).partition("; ")
    budget = dataset.account.budget
    budget_text = "" if budget is None else f", of a budget of {budget.text}"
    odds_text = "" if dataset.odds is None else f"; {dataset.odds}"
    why = "" if dataset.why is None else f" Why this budget: {dataset.why}"
    lower_bound = "" if dataset.is_intact else "at least "
    return {
        "privacy_unit": f"{unit.capitalize()}-level",
        "privacy_unit_description": f"Adjacent data sets differ by {now}{column_text}{more}{others}.",
        "privacy_parameters": _parameters(spent, dataset.rho_delta),
        "privacy_parameters_description": (
            f"All answers so far: {lower_bound}{loss_words(spent)}{budget_text}{odds_text}.{why}"
        ),
    }


def _parameters(spent: Loss, rho_delta: Fraction | None) -> dict[str, float]:
    """Return the parameters of a loss: ε, with δ if it is above 0; or ρ with the ε and δ that it implies."""
    if spent.epsilon is not None:
        parts = {"epsilon": _not_below(spent.epsilon)}
        return {**parts, "delta": _not_below(spent.delta)} if spent.delta else parts
    epsilon, delta = approximate_loss(spent, rho_delta)
    implied = {"epsilon": float(epsilon), "delta": _not_below(delta)}
    return {"rho": _not_below(spent.rho), **implied}


def _not_below(value: Fraction) -> float:
    """Return the smallest float whose decimal text is not below a rational number.

    Example:
        >>> _not_below(Fraction(1, 10**7)), _not_below(Fraction(1, 3))
        (1e-07, 0.33333333333333337)
    """
    nearest = float(value)
    return nearest if Fraction(repr(nearest)) >= value else math.nextafter(nearest, math.inf)
