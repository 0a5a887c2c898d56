"""The three averages of an estimate, whichever it is."""

from typing import Literal, Protocol, get_args

from noisycount.analysis.evaluation.answer import RawAnswer, RoundedAnswer
from noisycount.analysis.evaluation.case import case_of
from noisycount.analysis.evaluation.mean.improvements import MeanEstimate
from noisycount.analysis.evaluation.sampled import sampled_estimate
from noisycount.analysis.evaluation.whole import median_estimate, mode_estimate
from noisycount.model.exact import Exact
from noisycount.model.mechanism import Mechanism
from noisycount.model.noises.additive import SymmetricNoise, require_log_concave
from noisycount.model.populations.population import Population
from noisycount.model.subsampling import Subsample
from noisycount.model.validation import instance_of

__all__ = ["ESTIMATES", "Averages", "Estimated", "averages"]

Estimated = Literal["answer", "rounded", "mean", "median", "mode"]
ESTIMATES: tuple[Estimated, ...] = get_args(Estimated)


class Averages(Protocol):
    """How good an estimate is on average."""

    @property
    def error(self) -> float:
        """E|K − estimate|."""
        ...

    @property
    def improvement(self) -> float:
        """P[|K − estimate| < |K − Y|]."""
        ...

    @property
    def tie(self) -> float:
        """P[|K − estimate| = |K − Y|]."""
        ...


def averages(
    population: Population, mechanism: Mechanism, by: Estimated, assumed: Population | None
) -> Averages:
    """The averages of an estimate.

    Raises:
        ValueError: If they cannot be computed.
    """
    if by not in ESTIMATES:
        raise ValueError(f"by must be one of {', '.join(map(repr, ESTIMATES))}, got {by!r}")
    _check_populations(population, assumed)
    if isinstance(mechanism, Exact) and assumed is None:
        return RawAnswer(0.0)  # the count itself, from which no estimate differs
    if isinstance(mechanism, Subsample):
        if by in ("answer", "rounded"):
            assumed = None
        return sampled_estimate(population, mechanism, by, assumed)
    if not isinstance(mechanism, SymmetricNoise):
        raise ValueError(  # noqa: TRY004  (a bad value of an argument, as everywhere in analysis)
            "mechanism must be noise that is added to the count, Subsample, or Exact with nothing "
            f"else assumed, got {mechanism!r}"
        )
    if by == "answer":
        return RawAnswer(mechanism.mean_absolute)
    if by == "rounded":
        return RoundedAnswer(case_of(population, mechanism, None))
    require_log_concave(mechanism, f"the average of an estimate by {by!r}")
    case = case_of(population, mechanism, assumed)
    if by == "mean":
        return MeanEstimate(case)
    return median_estimate(case) if by == "median" else mode_estimate(case)


def _check_populations(population: Population, assumed: Population | None) -> None:
    """Refuse what is no population, and two of different sizes."""
    instance_of(population, Population, "population")
    if assumed is None:
        return
    instance_of(assumed, Population, "assumed")
    if assumed.size != population.size:
        raise ValueError(
            f"assumed must be about the {population.size} records of the population, got "
            f"{assumed.size}"
        )
