"""A Bayes estimate as JSON."""

from typing import Any

from noisycount.app.refine.answer_table import RefinedTable
from noisycount.app.refine.assumption import Assumed
from noisycount.app.refine.contradiction import warning
from noisycount.app.refine.estimate import Refinement
from noisycount.release.budget.exact import exact_text

__all__ = ["assumed_members", "refinement_object", "table_object"]


def refinement_object(refinement: Refinement) -> dict[str, Any]:
    """A Bayes estimate beside the raw answers and their average, in records."""
    told = refinement.told
    return {
        "answer": refinement.answer,
        "answers": list(refinement.answers),
        "answer_deviation": refinement.answer_deviation,
        **assumed_members(refinement.assumed),
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


def assumed_members(assumed: Assumed) -> dict[str, Any]:
    """What was assumed before an answer."""
    prior, rate = assumed.population.law(), assumed.rate
    return {
        "size": assumed.population.records,
        "rate": None if rate is None else rate.mean,
        "rate_deviation": None if rate is None else rate.deviation,
        "groups": assumed.groups,
        "flat": assumed.is_flat,
        "expected": prior.mean,
        "expected_deviation": prior.variance**0.5,
    }


def table_object(table: RefinedTable) -> dict[str, Any]:
    """What became of a table of answers."""
    return {
        "rows": table.rows,
        "missing": table.missing,
        "contradictions": table.contradictions,
        "level": table.level,
        "seconds": table.seconds,
        "out": str(table.out),
    }
