"""A Bayes estimate as JSON."""

from typing import Any

from noisycount.app.refine.answer_table import RefinedTable
from noisycount.app.refine.assumption import Assumed
from noisycount.app.refine.contradiction import warning
from noisycount.app.refine.estimate import Refinement, epsilon_of, scale_of
from noisycount.model.noises.additive import AdditiveNoise
from noisycount.release.budget.exact import exact_text, optional_text

__all__ = ["assumed_members", "refinement_object", "table_object"]

_NOISE = ("epsilon", "mechanism", "scale")


def refinement_object(refinement: Refinement) -> dict[str, Any]:
    """A Bayes estimate beside the raw answers and their average, in records."""
    told, noise = refinement.told, refinement.noise
    return {
        "answer": refinement.answer,
        "answers": list(refinement.answers),
        "answer_deviation": refinement.answer_deviation,
        **assumed_members(refinement.assumed),
        **(dict.fromkeys(_NOISE) if noise is None else _noise_members(noise)),
        "noises": [_noise_members(noise) for noise in refinement.noises],
        "mean": told.mean,
        "median": told.median,
        "mode": told.mode,
        "standard_deviation": refinement.deviation,
        "interval": list(refinement.interval),
        "level": refinement.level,
        "surprise": told.surprise,
        "warning": warning(refinement),
    }


def _noise_members(noise: AdditiveNoise) -> dict[str, str | None]:
    """The noise of an answer; ε is null for noise that has none."""
    told = optional_text(epsilon_of(noise)), noise.name, exact_text(scale_of(noise))
    return dict(zip(_NOISE, told, strict=True))


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
