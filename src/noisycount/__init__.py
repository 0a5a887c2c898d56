"""Private counts: count, add exact noise, keep the budget, and say what the answer means."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from noisycount.analysis.accuracy import (
        accuracy,
        chan_bound,
        epsilon_for_accuracy,
        failure_probability,
        out_of_range_bounds,
        out_of_range_probability,
    )
    from noisycount.analysis.difference import difference, probability_greater
    from noisycount.analysis.evaluation.evaluation import (
        break_even_rates,
        improvement_probability,
        mean_absolute_error,
        tie_probability,
    )
    from noisycount.analysis.posterior.posterior import Posterior, posterior
    from noisycount.analysis.posterior.refine import refine
    from noisycount.analysis.privacy.disjoint_samples import parts_curve
    from noisycount.analysis.privacy.list_risk import ListRisk, list_risk
    from noisycount.analysis.privacy.overlapping_samples import samples_curve
    from noisycount.analysis.privacy.privacy_curve import PrivacyCurve, privacy_curve
    from noisycount.analysis.privacy.smallest_scale import amplified_delta, belief_bounds, smallest_scale
    from noisycount.analysis.ratio import ratio
    from noisycount.analysis.relative_error import (
        affordable_answers,
        count_for_relative_error,
        epsilon_for_relative_error,
        epsilon_of_group,
        iso_epsilon_curves,
        readable_epsilon,
        relative_confidence,
        relative_error,
    )
    from noisycount.analysis.tables.table_posterior import TablePosterior, table_posterior
    from noisycount.analysis.unbiased import unbiased
    from noisycount.analysis.utility import scale_for_utility_loss, utility_loss
    from noisycount.charts.chart import chart
    from noisycount.errors import NoisyCountError
    from noisycount.model import releases
    from noisycount.model.atoms import Atoms
    from noisycount.model.exact import Exact, below
    from noisycount.model.half_width import readable_epsilon_within
    from noisycount.model.mechanism import Mechanism
    from noisycount.model.noises.discrete_gaussian import DiscreteGaussian
    from noisycount.model.noises.gaussian import Gaussian
    from noisycount.model.noises.laplace import DiscreteLaplace, Laplace
    from noisycount.model.noises.noise_sum import NoiseSum
    from noisycount.model.populations.binomial import BetaBinomial, Binomial
    from noisycount.model.populations.known import Known
    from noisycount.model.populations.population import Population
    from noisycount.model.populations.strata import Strata
    from noisycount.model.populations.tabulated import Tabulated
    from noisycount.model.subsampling import Subsample
    from noisycount.model.tables.splits import Splits
    from noisycount.model.tables.tree import Tree
    from noisycount.papers.catalogue import claims, figure, figures
    from noisycount.papers.figure import Figure
    from noisycount.tasks.open_desk import open_desk

__all__ = [
    "Atoms",
    "BetaBinomial",
    "Binomial",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Exact",
    "Figure",
    "Gaussian",
    "Known",
    "Laplace",
    "ListRisk",
    "Mechanism",
    "NoiseSum",
    "NoisyCountError",
    "Population",
    "Posterior",
    "PrivacyCurve",
    "Splits",
    "Strata",
    "Subsample",
    "TablePosterior",
    "Tabulated",
    "Tree",
    "accuracy",
    "affordable_answers",
    "amplified_delta",
    "belief_bounds",
    "below",
    "break_even_rates",
    "chan_bound",
    "chart",
    "claims",
    "count_for_relative_error",
    "difference",
    "epsilon_for_accuracy",
    "epsilon_for_relative_error",
    "epsilon_of_group",
    "failure_probability",
    "figure",
    "figures",
    "improvement_probability",
    "iso_epsilon_curves",
    "list_risk",
    "mean_absolute_error",
    "open_desk",
    "out_of_range_bounds",
    "out_of_range_probability",
    "parts_curve",
    "posterior",
    "privacy_curve",
    "probability_greater",
    "ratio",
    "readable_epsilon",
    "readable_epsilon_within",
    "refine",
    "relative_confidence",
    "relative_error",
    "releases",
    "samples_curve",
    "scale_for_utility_loss",
    "smallest_scale",
    "table_posterior",
    "tie_probability",
    "unbiased",
    "utility_loss",
]

_HOMES = {
    "Atoms": "model.atoms",
    "BetaBinomial": "model.populations.binomial",
    "Binomial": "model.populations.binomial",
    "DiscreteGaussian": "model.noises.discrete_gaussian",
    "DiscreteLaplace": "model.noises.laplace",
    "Exact": "model.exact",
    "Figure": "papers.figure",
    "Gaussian": "model.noises.gaussian",
    "Known": "model.populations.known",
    "Laplace": "model.noises.laplace",
    "Mechanism": "model.mechanism",
    "NoiseSum": "model.noises.noise_sum",
    "NoisyCountError": "errors",
    "Population": "model.populations.population",
    "Posterior": "analysis.posterior.posterior",
    "PrivacyCurve": "analysis.privacy.privacy_curve",
    "Splits": "model.tables.splits",
    "Strata": "model.populations.strata",
    "Subsample": "model.subsampling",
    "TablePosterior": "analysis.tables.table_posterior",
    "Tabulated": "model.populations.tabulated",
    "Tree": "model.tables.tree",
    "accuracy": "analysis.accuracy",
    "affordable_answers": "analysis.relative_error",
    "amplified_delta": "analysis.privacy.smallest_scale",
    "ListRisk": "analysis.privacy.list_risk",
    "list_risk": "analysis.privacy.list_risk",
    "parts_curve": "analysis.privacy.disjoint_samples",
    "samples_curve": "analysis.privacy.overlapping_samples",
    "belief_bounds": "analysis.privacy.smallest_scale",
    "below": "model.exact",
    "break_even_rates": "analysis.evaluation.evaluation",
    "chan_bound": "analysis.accuracy",
    "chart": "charts.chart",
    "claims": "papers.catalogue",
    "count_for_relative_error": "analysis.relative_error",
    "difference": "analysis.difference",
    "epsilon_for_accuracy": "analysis.accuracy",
    "epsilon_for_relative_error": "analysis.relative_error",
    "epsilon_of_group": "analysis.relative_error",
    "failure_probability": "analysis.accuracy",
    "figure": "papers.catalogue",
    "figures": "papers.catalogue",
    "improvement_probability": "analysis.evaluation.evaluation",
    "iso_epsilon_curves": "analysis.relative_error",
    "mean_absolute_error": "analysis.evaluation.evaluation",
    "open_desk": "tasks.open_desk",
    "out_of_range_bounds": "analysis.accuracy",
    "out_of_range_probability": "analysis.accuracy",
    "posterior": "analysis.posterior.posterior",
    "privacy_curve": "analysis.privacy.privacy_curve",
    "probability_greater": "analysis.difference",
    "ratio": "analysis.ratio",
    "readable_epsilon": "analysis.relative_error",
    "readable_epsilon_within": "model.half_width",
    "refine": "analysis.posterior.refine",
    "relative_confidence": "analysis.relative_error",
    "relative_error": "analysis.relative_error",
    "scale_for_utility_loss": "analysis.utility",
    "smallest_scale": "analysis.privacy.smallest_scale",
    "table_posterior": "analysis.tables.table_posterior",
    "tie_probability": "analysis.evaluation.evaluation",
    "unbiased": "analysis.unbiased",
    "utility_loss": "analysis.utility",
}
__version__: str
_MODULES = {"releases": "model.releases"}


def __getattr__(name: str) -> object:
    """A public name, imported on first use: the command line starts without NumPy."""
    if name == "__version__":
        return str(import_module("importlib.metadata").version("noisycount"))
    if name not in _HOMES and name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = import_module(f"noisycount.{_MODULES.get(name) or _HOMES[name]}")
    value: object = home if name in _MODULES else getattr(home, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names."""
    return sorted(__all__)
