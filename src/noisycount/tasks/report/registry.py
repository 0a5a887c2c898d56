"""Draft entries for the public registry of deployments of differential privacy.

A report has one entry for each data set with releases. The owner must fill in the members that are null.
"""

import math
from fractions import Fraction
from typing import Any

from noisycount.ledger.budget import Loss
from noisycount.ledger.price import approximate_loss, loss_words
from noisycount.tasks.report.report import DatasetReport, Report
from noisycount.tasks.report.words import neighbours_words

Object = dict[str, Any]
_TIER = 3

_ACTORS = (
    "The owner of the records, who is trusted; analysts, who are not, and who see noisy answers"
    " alone; everybody to whom these are shown."
)

_COMPOSITION = (
    "Sequential: the epsilon, the rho and the delta of all answers are added up exactly; analysts"
    " may choose questions and prices by earlier answers."
)

_MECHANISMS = (
    "Discrete Laplace and discrete Gaussian noise after Canonne, Kamath and Steinke (2020), drawn"
    " in integer arithmetic from the operating system's randomness, so that no floating-point"
    " number is released; counted by noisycount."
)


def registry_json(report: Report) -> list[Object]:
    """Return an entry for each data set that has releases. Members that only its owner knows are null.

    The names are those of the registry's own entries and schema, which the page “The report for an officer” cites.
    """
    return [_entry(each) for each in report.datasets if each.releases]


def _entry(dataset: DatasetReport) -> Object:
    answered = [each.entry.made for each in dataset.releases]
    is_one = len(answered) == 1
    return {
        "status": "Draft",
        "tier": _TIER,
        "deployment": {
            "product": {
                "name": dataset.account.name,
                "data_curators": None,
                "intended_use": _purposes(dataset),
                "data_product_type": "Summary statistics",
                "data_product_region": None,
                "description": f"Noisy counts: {len(answered)} of questions and tables.",
                "publication_date": f"{answered[0]:%Y-%m-%d}",
                "data_product_sector": None,
            },
            "dp_flavor": {
                "name": _flavor(dataset.total_loss),
                "data_domain": None,
                "unprotected_quantities": _unprotected(dataset),
            },
            "privacy_loss": _loss(dataset),
            "model": {
                "model_name": "Central",
                "actors": _ACTORS,
                "release_type": "One release" if is_one else "Many releases",
                "release_type_description": f"{len(answered)} from {answered[0]:%Y-%m-%d} to "
                f"{answered[-1]:%Y-%m-%d}; the budget never refreshes by itself.",
                "access_type": "Interactive",
            },
            "accounting": {
                "post_processing": "None by noisycount: answers may be negative.",
                "composition": _COMPOSITION,
            },
            "implementation": {
                "pre_processing_eda_hyperparameter_tuning": None,
                "mechanisms": _MECHANISMS,
                "justification": None,
            },
            "resources": {"sources": None, "registry_authors": None},
        },
    }


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
